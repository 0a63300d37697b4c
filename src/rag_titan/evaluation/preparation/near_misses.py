"""Quotes that no document holds: the passage that was probably meant, and in what it differs."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rag_titan.evaluation.data.documents import Documents
from rag_titan.evaluation.data.search import occurrences
from rag_titan.evaluation.measures.ragged import Ints, Ragged, offsets_of

MOST = 200  # quotes for which a passage is looked for that differs in its words; each takes some milliseconds
ENOUGH = 0.6  # of a passage's characters, in order, so that it is called near

_INVISIBLE = "\u00ad\u200b\u200c\u200d\u2060\ufeff"  # soft hyphen, zero-width spaces and joiners
_MARKS = {"'": "‘’‚‛′`´", '"': "“”„‟″«»", "-": "‐‑‒–—―−"}
_PIECE = 1 << 9
_LONGEST = 600  # characters of a quote that are compared
_FRAGMENT = 16  # characters of a quote that must stand somewhere as they are, in short quotes fewer
_FRAGMENTS = 12  # of a quote that are looked for
_HITS = 20  # of each fragment
_CANDIDATES = 2  # places that are compared with a quote


@dataclass(frozen=True)
class Passage:
    """What a document says where a quote was probably taken from.

    document    its number
    start, end  characters in it
    text        what stands there
    differs_in  "white space", "Unicode form", "quote marks or dashes", "case"; empty where words differ
    """

    document: int
    start: int
    end: int
    text: str
    differs_in: tuple[str, ...]


def near_misses(quotes: Sequence[str], documents: Documents) -> list[Passage | None]:
    """For each quote, which stands in no document as it is, the passage nearest to it; None where none is near.

    A quote that differs in white space, Unicode form, marks and case alone is always found. For the first `MOST` others
    the passage is the one that shares most fragments of 16 characters (white space left out) with the quote, and is
    near when `ENOUGH` of the characters agree in order (Ratcliff and Obershelp's measure, as difflib has it).

    >>> documents = Documents.of({"a": "Employees get\\n25 days of leave."})
    >>> [p and (p.text, p.differs_in) for p in near_misses(["employees get 25 days", "no such thing"], documents)]
    [('Employees get\\n25 days', ('white space', 'case')), None]
    """
    if not quotes:
        return []
    folded = _Folded(documents)
    wanted = [fold(quote) for quote in quotes]
    found = folded.find(wanted, 1)
    passages: list[Passage | None] = [None] * len(quotes)
    for i in np.flatnonzero(found.lengths).tolist():
        place = int(found.values[found.offsets[i]])
        document, start, end = folded.original(place, place + len(wanted[i]))
        text = documents.texts[document][start:end]
        passages[i] = Passage(document, start, end, text, differences(quotes[i], text))
    others = [i for i, passage in enumerate(passages) if passage is None and len(wanted[i]) > 4][:MOST]
    for i, passage in zip(others, _nearest([wanted[i][:_LONGEST] for i in others], folded), strict=True):
        passages[i] = passage
    return passages


def fold(text: str, *, leave: str = "") -> str:
    """The text with everything made alike in which copied text differs from its source; `leave` names one step.

    >>> fold("“25\u00a0days”"), fold("Cafe\u0301 au lait"), fold("A – b", leave="case")
    ('"25days"', 'caféaulait', 'A-b')
    """
    if leave != "Unicode form":
        text = unicodedata.normalize("NFKC", text)
        if not text.isascii():
            for character in _INVISIBLE:
                text = text.replace(character, "")
    if leave != "quote marks or dashes" and not (text.isascii() and "`" not in text):
        for plain, marks in _MARKS.items():
            for mark in marks:
                text = text.replace(mark, plain)
    if leave != "case":
        text = text.lower() if leave == "Unicode form" else text.casefold()  # which would take ligatures apart
    return "".join(text.split())


_STEPS = ("Unicode form", "quote marks or dashes", "case")


def differences(quote: str, text: str) -> tuple[str, ...]:
    """In what two texts differ that are alike when folded: the steps without which they would not be.

    >>> differences("25 days", "25\\u00a0Days")
    ('white space', 'case')
    """
    needed = tuple(step for step in _STEPS if fold(quote, leave=step) != fold(text, leave=step))
    spaces = [re.findall(r"\s+", side.strip()) for side in (quote, text)]
    return needed if spaces[0] == spaces[1] and needed else ("white space", *needed)


class _Folded:
    """The documents, folded, and the way back from a folded character to the one that it was."""

    def __init__(self, documents: Documents) -> None:
        self.documents = documents
        self.texts = [fold(text) for text in documents.texts]
        self.edges: Ints = offsets_of([len(text) for text in self.texts])
        self._pieces: dict[int, _Pieces] = {}

    def find(self, wanted: Sequence[str], limit: int) -> Ragged:
        return occurrences(self.texts, wanted, limit=limit)

    def document_at(self, place: int) -> int:
        return int(np.searchsorted(self.edges, place, side="right")) - 1

    def original(self, start: int, end: int) -> tuple[int, int, int]:
        """The document that holds the folded characters [start, end), and its characters that they were."""
        document = self.document_at(start)
        if document not in self._pieces:
            self._pieces[document] = _Pieces(self.documents.texts[document])
        pieces, shift = self._pieces[document], int(self.edges[document])
        return document, pieces.first(start - shift), pieces.last(end - shift)


class _Pieces:
    """A document in pieces that are folded each for itself, so that a place is found by looking at one of them."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def _cuts(self) -> tuple[list[int], list[int]]:
        """Where each piece begins in the text, and in the folded text."""
        cuts, folded = [0], [0]
        for start, end in _cut(self.text):
            cuts.append(end)
            folded.append(folded[-1] + len(fold(self.text[start:end])))
        return cuts, folded

    def first(self, place: int) -> int:
        """The first character of what became the folded character at `place`."""
        at, _ = self._within(place)
        while at < len(self.text) and self.text[at].isspace():
            at += 1
        return at

    def last(self, place: int) -> int:
        """One past the last character of what became the folded characters before `place`."""
        at, whole = self._within(place)
        if not whole:
            at += 1
        while at and self.text[at - 1].isspace():
            at -= 1
        return at

    def _within(self, place: int) -> tuple[int, bool]:
        """The longest start of the text that folds to at most `place` characters, and whether to just as many."""
        cuts, folded = self._cuts
        piece = max(bisect_right(folded, place) - 1, 0)
        start, wanted = cuts[piece], place - folded[piece]
        end = cuts[piece + 1] if piece + 1 < len(cuts) else len(self.text)
        lengths = range(end - start + 1)
        size = bisect_right(lengths, wanted, key=lambda n: len(fold(self.text[start : start + n]))) - 1
        return start + size, len(fold(self.text[start : start + size])) == wanted


def _cut(text: str) -> Iterator[tuple[int, int]]:
    """Pieces of some hundred characters, cut before white space, over which no step of the folding reaches."""
    start = 0
    while start < len(text):
        end = start + _PIECE
        while end < len(text) and not text[end].isspace():
            end += 1
        yield start, min(end, len(text))
        start = min(end, len(text))


# --- passages that differ in their words ------------------------------------------------------------


def _nearest(quotes: Sequence[str], folded: _Folded) -> Iterator[Passage | None]:
    """For each folded quote the passage that is most like it."""
    fragments = [list(_fragments(quote)) for quote in quotes]
    flat = [(quote[at : at + width], at) for quote, of_it in zip(quotes, fragments, strict=True) for at, width in of_it]
    found = folded.find([text for text, _ in flat], _HITS)
    row = 0
    for quote, of_it in zip(quotes, fragments, strict=True):
        starts = []
        for row_of_fragment in range(row, row + len(of_it)):
            places = found.values[found.offsets[row_of_fragment] : found.offsets[row_of_fragment + 1]]
            starts.extend((places - flat[row_of_fragment][1]).tolist())
        row += len(of_it)
        yield _best(quote, _crowded(sorted(starts), len(quote)), folded)


def _fragments(quote: str) -> Iterator[tuple[int, int]]:
    """(first character, length) of pieces evenly spread over a quote."""
    width = min(_FRAGMENT, max(5, len(quote) // 3))
    last = len(quote) - width
    count = min(_FRAGMENTS, last + 1)
    for at in sorted({last * i // max(count - 1, 1) for i in range(count)}):
        yield at, width


def _crowded(starts: list[int], size: int) -> list[int]:
    """Where a quote of that size may begin, judged by its fragments: the places that most of them speak for."""
    groups: list[list[int]] = []
    for start in starts:
        if groups and start - groups[-1][0] <= size // 2:
            groups[-1].append(start)
        else:
            groups.append([start])
    groups.sort(key=lambda group: (-len(group), group[0]))
    return [group[len(group) // 2] for group in groups[:_CANDIDATES]]


def _best(quote: str, starts: list[int], folded: _Folded) -> Passage | None:
    from difflib import SequenceMatcher

    best: tuple[float, int, int] = (ENOUGH, 0, 0)
    matcher = SequenceMatcher(autojunk=False, b=quote)
    for start in starts:
        document = folded.document_at(max(start + len(quote) // 2, 0))
        low, high = int(folded.edges[document]), int(folded.edges[document + 1])
        first = max(low, start - len(quote) // 4)
        text = folded.texts[document][first - low : min(high, start + len(quote) * 5 // 4) - low]
        matcher.set_seq1(text)
        blocks = [block for block in matcher.get_matching_blocks() if block.size > 2]
        if blocks:
            alike = 2 * sum(block.size for block in blocks)
            begin, end = blocks[0].a, blocks[-1].a + blocks[-1].size
            best = max(best, (alike / (len(quote) + end - begin), first + begin, first + end))
    if not best[2]:
        return None
    document, begin, end = folded.original(best[1], best[2])
    return Passage(document, begin, end, folded.documents.texts[document][begin:end], ())
