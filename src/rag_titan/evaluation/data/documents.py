"""The source texts, one after another: their characters, their tokens, and where a text stands among them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rag_titan.evaluation.conventions import SEED, Tokenizer
from rag_titan.evaluation.data.search import occurrences
from rag_titan.evaluation.data.tokens import token_spans
from rag_titan.evaluation.measures.ragged import Ints, offsets_of

Mask = NDArray[np.bool_]
ANY, UNKNOWN = -1, -2
_PIECE = 1 << 12
_WHITE_SPACE = re.compile("[ \\n]")


@dataclass(frozen=True)
class Places:
    """Where n searched texts stand.

    starts, ends  (n,) characters of the laid out documents, -1 where there is no such place
    counts        (n,) how often the text occurs: 0, 1, or more
    loose         (n,) True where only the line ends differ
    """

    starts: Ints
    ends: Ints
    counts: Ints
    loose: Mask

    def with_rows(self, rows: Ints, others: Places) -> Places:
        """A copy in which these rows are those of the others."""
        starts, ends, counts, loose = self.starts.copy(), self.ends.copy(), self.counts.copy(), self.loose.copy()
        starts[rows], ends[rows], counts[rows], loose[rows] = others.starts, others.ends, others.counts, others.loose
        return Places(starts, ends, counts, loose)


@dataclass(frozen=True)
class Documents:
    """The source texts, one after another: character i of document d has the number offsets[d] + i, tokens likewise.

    ids    the documents' ids; (None,) for a single text without an id
    given  False where no documents were passed at all
    """

    ids: tuple[str | None, ...] = ()
    texts: tuple[str, ...] = ()
    given: bool = False
    tokenizer: str | Tokenizer = SEED.tokenizer

    @classmethod
    def of(
        cls,
        documents: Mapping[str, str] | None = None,
        document_text: str | None = None,
        tokenizer: str | Tokenizer = SEED.tokenizer,
    ) -> Documents:
        """From what the user passed; neither of the two means that there are none.

        >>> Documents.of({"a": "one two", "b": "three"}).offsets.tolist()
        [0, 7, 12]
        """
        if document_text is not None:
            return cls((None,), (document_text,), True, tokenizer)
        if documents is None:
            return cls(tokenizer=tokenizer)
        return cls(tuple(documents), tuple(documents.values()), True, tokenizer)

    def __len__(self) -> int:
        return len(self.texts)

    @cached_property
    def offsets(self) -> Ints:
        """(len + 1,) the number of each document's first character, and of all characters."""
        return offsets_of([len(text) for text in self.texts])

    @cached_property
    def _codes(self) -> dict[str | None, int]:
        return {doc_id: code for code, doc_id in enumerate(self.ids)}

    def code(self, doc_id: str | None) -> int:
        """The number of a document; ANY where several come into question, UNKNOWN for an id that is not there.

        >>> Documents.of({"a": "", "b": ""}).code("b"), Documents.of(document_text="").code("any id")
        (1, 0)
        """
        if self.ids == (None,) or (doc_id is None and len(self) == 1):
            return 0
        return ANY if doc_id is None else self._codes.get(doc_id, UNKNOWN)

    def text(self, start: int, end: int) -> str:
        """The characters [start, end) of one document."""
        document = int(np.searchsorted(self.offsets, start, side="right")) - 1
        shift = int(self.offsets[document])
        return self.texts[document][start - shift : end - shift]

    def document_at(self, places: Ints) -> Ints:
        """The document that holds each character; -1 for -1."""
        return np.searchsorted(self.offsets, places, side="right") - 1

    @cached_property
    def tokens(self) -> tuple[Ints, Ints]:
        """The first character of each token and the one past its last."""
        spans = [
            (starts + shift, ends + shift)
            for text, offset in zip(self.texts, self.offsets.tolist(), strict=False)
            for shift, (starts, ends) in _token_spans(text, offset, self.tokenizer)
        ]
        none = np.zeros(0, dtype=np.int64)
        return np.concatenate([none, *(s for s, _ in spans)]), np.concatenate([none, *(e for _, e in spans)])

    def tokens_inside(self, starts: Ints, ends: Ints) -> tuple[Ints, Ints]:
        """The tokens [first, last) wholly inside the characters [start, end); a word that is cut belongs to none."""
        token_starts, token_ends = self.tokens
        first = np.searchsorted(token_starts, starts, side="left")
        last = np.searchsorted(token_ends, ends, side="right")
        return first, np.maximum(first, last)

    def place(self, texts: Sequence[str], within: Ints, occurrence: Ints | int = 0) -> Places:
        """Where each text stands: as it is; else without white space at its ends; else with all line ends alike.

        within      (n,) the only document in which to look, or ANY
        occurrence  0: it must occur exactly once; from 1: which of its occurrences is meant
        """
        which = np.broadcast_to(np.asarray(occurrence, dtype=np.int64), len(texts))
        found = self._place(texts, within, which)
        mixed = any("\r" in text for text in self.texts)
        for again, differs in (
            (self._place_stripped, lambda text: text != text.strip()),
            (self._place_with_line_ends_alike, lambda text: mixed or "\r" in text),
        ):
            missing = np.array(
                [i for i in np.flatnonzero(found.counts == 0).tolist() if differs(texts[i])], dtype=np.int64
            )
            if len(missing):
                better = again([texts[i] for i in missing.tolist()], within[missing], which[missing])
                found = found.with_rows(missing, better)
        return found

    def _place(self, texts: Sequence[str], within: Ints, which: Ints) -> Places:
        found = occurrences(self.texts, texts, within, np.maximum(which, 2))
        wanted = np.maximum(which, 1)
        there = (found.lengths >= wanted) & ((which > 0) | (found.lengths == 1))
        starts = np.full(len(texts), -1, dtype=np.int64)
        starts[there] = found.values[(found.offsets[:-1] + wanted - 1)[there]]
        lengths = np.array([len(text) for text in texts], dtype=np.int64)
        ends = np.where(there, starts + lengths, -1)
        return Places(starts, ends, found.lengths, np.zeros(len(texts), dtype=bool))

    def _place_stripped(self, texts: Sequence[str], within: Ints, which: Ints) -> Places:
        return self._place([text.strip() for text in texts], within, which)

    def _place_with_line_ends_alike(self, texts: Sequence[str], within: Ints, which: Ints) -> Places:
        plain, breaks = self._with_line_ends_alike
        found = plain._place([line_ends_alike(text).strip() for text in texts], within, which)
        there = found.starts >= 0
        for ends in (found.starts, found.ends):
            ends[there] += np.searchsorted(breaks, ends[there], side="left")
        return Places(found.starts, found.ends, found.counts, there)

    @cached_property
    def _with_line_ends_alike(self) -> tuple[Documents, Ints]:
        """The documents with \\n alone, and the numbers of the characters in them before which a \\r was dropped."""
        plain = Documents(self.ids, tuple(map(line_ends_alike, self.texts)), self.given, self.tokenizer)
        if len(plain.texts) and int(plain.offsets[-1]) == int(self.offsets[-1]):
            return plain, np.zeros(0, dtype=np.int64)
        pairs = occurrences(self.texts, ["\r\n"], limit=int(self.offsets[-1]) + 1).values
        return plain, pairs - np.arange(len(pairs))


def _token_spans(text: str, offset: int, tokenizer: str | Tokenizer) -> Iterator[tuple[int, tuple[Ints, Ints]]]:
    """The tokens of a text in pieces, each with the number of its first character.

    A long text is cut at white space, which no built-in tokenizer reaches over: most pieces of it are then plain ASCII,
    whose tokens are found at once, and the others stay small.
    """
    start = 0
    while len(text) - start > _PIECE and not callable(tokenizer):
        space = _WHITE_SPACE.search(text, start + _PIECE)
        end = space.end() if space else len(text)
        yield offset + start, token_spans(text[start:end], tokenizer)
        start = end
    if start < len(text):
        yield offset + start, token_spans(text[start:], tokenizer)


def line_ends_alike(text: str) -> str:
    """The text with \\n for every kind of line end."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text
