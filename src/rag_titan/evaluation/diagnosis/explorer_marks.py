"""What is marked in the texts of the explorer: quotes in chunks, invented numbers and citations in answers."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from rag_titan.evaluation.data.citations import markers_of
from rag_titan.evaluation.data.edits import Edits
from rag_titan.evaluation.data.normal import normal_text
from rag_titan.evaluation.data.numerals import number_spans
from rag_titan.evaluation.data.spans import Spans
from rag_titan.evaluation.stages.generation import GenerationInputs

Span = tuple[int, int]
_JOINING = range(0x1160, 0x1200)  # the vowels and finals of Korean syllables, which NFC joins with what is before them


def located(words: str, text: str, near: int = 0) -> Span | None:
    """Where the words stand in the text: at `near`, else as they are, else nearest to `near` with white space and
    Unicode forms aside.

    >>> located("two words", "one two\\n words, two  words", near=12)
    (16, 26)
    >>> located("cafe\\u0301", "a caf\\u00e9"), located("three", "one two")
    ((2, 6), None)
    """
    at = near if words and text.startswith(words, near) else text.find(words) if words and not near else -1
    if at >= 0:
        return at, at + len(words)
    wanted = normal_text(words).split(" ")
    if wanted == [""]:
        return None
    pattern = re.compile(r"\s+".join(map(re.escape, wanted)))
    if unicodedata.is_normalized("NFC", text):
        found: Iterator[Span] = (match.span() for match in pattern.finditer(text))
        return min(found, key=lambda span: abs(span[0] - near), default=None)
    pieces = list(_characters(text))
    whole, normal = (np.array([0, *accumulate(map(len, some))]) for some in (pieces, map(_composed, pieces)))
    places = (np.array(match.span()) for match in pattern.finditer("".join(map(_composed, pieces))))
    ends = ((np.searchsorted(normal, first, "right") - 1, np.searchsorted(normal, last)) for first, last in places)
    return min(
        ((int(whole[first]), int(whole[last])) for first, last in ends),
        key=lambda span: abs(span[0] - near),
        default=None,
    )


def _characters(text: str) -> Iterator[str]:
    """The characters of a text, each with the marks that belong to it."""
    start = 0
    for at, character in enumerate(text):
        if at > start and not (unicodedata.combining(character) or ord(character) in _JOINING):
            yield text[start:at]
            start = at
    if start < len(text):
        yield text[start:]


def _composed(text: str) -> str:
    return unicodedata.normalize("NFC", text)


@dataclass(frozen=True)
class ChunkMarks:
    """The evidence of queries in the texts of chunks, by the rules of `Spans`: by position where both have one, else by
    their words."""

    spans: Spans

    @cached_property
    def _places(self) -> tuple[list[int], ...]:
        """The characters of the options, and those of the chunks, as plain numbers: one by one they are faster."""
        evidence, layout = self.spans.evidence, self.spans.layout
        return tuple(ends.tolist() for ends in (evidence.starts, evidence.ends, layout.starts, layout.ends))

    @cached_property
    def _words(self) -> list[tuple[str, str]]:
        """The words of each option, as they are and as they are compared: a quote is looked for in many chunks."""
        return [(words or "", normal_text(words or "")) for words in self.spans.evidence.texts]

    @cached_property
    def _options(self) -> list[range]:
        """The options of each item."""
        edges = self.spans.evidence.options.tolist()
        return [range(*ends) for ends in pairwise(edges)]

    def of(self, item: int, code: int, text: str) -> list[Span]:
        """Where an evidence item is in a chunk: its options that are whole there, else the parts that are.

        code  the chunk's
        text  its text as it is shown
        """
        found = (self._mark(option, code, text) for option in self._options[item])
        marks = [mark for mark in found if mark is not None]
        if not marks:
            return []
        wholes = [span for span, whole in marks if whole]
        return sorted(set(wholes or [span for span, _ in marks]))

    def in_text(self, item: int, text: str) -> list[Span]:
        """The same in a text that is no chunk."""
        options, normal = (self.spans.evidence.texts[option] for option in self._options[item]), normal_text(text)
        found = (located(words, text) for words in options if words and normal_text(words) in normal)
        return sorted({span for span in found if span is not None})

    def _mark(self, option: int, code: int, text: str) -> tuple[Span, bool] | None:
        """Where one option is, and whether it is all of it."""
        firsts, lasts, starts, ends = self._places
        first, last, start, end = firsts[option], lasts[option], starts[code], ends[code]
        if first < 0 or start < 0:
            return self._by_words(option, code, text)
        low, high = max(first, start), min(last, end)
        whole = (low, high) == (first, last)
        if low >= high or not (whole or self._share_a_token(option, code)):
            return None
        words = self.spans.layout.documents.text(low, high)
        span = located(words.strip(), text, low - start + len(words) - len(words.lstrip()))
        return None if span is None else (span, whole)

    def _by_words(self, option: int, code: int, text: str) -> tuple[Span, bool] | None:
        words, normal = self._words[option]
        if not normal or normal not in self.spans.layout.normal_texts[code]:
            return None
        span = located(words, text)
        return None if span is None else (span, True)

    def _share_a_token(self, option: int, code: int) -> bool:
        of_option, (firsts, lasts) = self.spans.evidence.tokens, self.spans.layout.tokens
        return bool(max(of_option.starts[option], firsts[code]) < min(of_option.ends[option], lasts[code]))


def answer_marks(inputs: GenerationInputs, i: int) -> list[dict[str, Any]]:
    """The numbers in the answer of query i that its context lacks, and the citations of what is not in it, in order."""
    marks = [*_numbers(inputs, i), *_citations(inputs, i)]
    return [{"start": start, "end": end, "what": what} for start, end, what in sorted(marks)]


def _numbers(inputs: GenerationInputs, i: int) -> Iterator[tuple[int, int, str]]:
    table, lacking = inputs.table, inputs.numbers_lacking(i)
    if not any(lacking):
        return
    answer, context = table.column("answer")[i], table.column("context_ids")[i]
    markers = markers_of(answer, context, table.corpus.codes) if table.settings.conventions.strip_citations else []
    edits = Edits.of([marker[:2] for marker in markers], kept=1)
    read = table.markers[i].text if markers else answer
    spans = np.array(number_spans(read), dtype=np.int64).reshape(-1, 2)[np.array(lacking)]
    starts, ends = edits.original(spans[:, 0]), edits.original(spans[:, 1] - 1) + 1
    yield from ((start, end, "number") for start, end in zip(starts.tolist(), ends.tolist(), strict=True))


def _citations(inputs: GenerationInputs, i: int) -> Iterator[tuple[int, int, str]]:
    table = inputs.table
    answer, cited, context = table.column("answer")[i], table.citations[i], table.lists("context")[i]
    if not cited or context is None or answer is None:
        return
    outside = set(cited).difference(context)
    if outside:
        for start, end, ids in markers_of(answer, table.column("context_ids")[i], table.corpus.codes):
            if not outside.isdisjoint(ids):
                yield start, end, "citation"


def ranks_of(ids: Sequence[str] | None) -> dict[str, int]:
    """{id: its rank from 1}, of repeated ids the first.

    >>> ranks_of(["b", "a", "b"])
    {'b': 1, 'a': 2}
    """
    return {name: rank for rank, name in enumerate(dict.fromkeys(ids or ()), 1)}
