"""Every chunk at its place among the characters and tokens of the documents.

A place is verified, never trusted: text[start:end] must be the chunk's text. Otherwise the text is searched and must
occur exactly once; a chunk whose place stays unknown is "lost", and a notice names it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum, auto
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rag_titan.errors import DatasetError
from rag_titan.evaluation.data.documents import ANY, UNKNOWN, Documents, line_ends_alike
from rag_titan.evaluation.data.normal import normal_text
from rag_titan.evaluation.data.notices import Notices
from rag_titan.evaluation.data.records import Chunk
from rag_titan.evaluation.data.tokens import words
from rag_titan.evaluation.data.vocabulary import Vocabulary
from rag_titan.evaluation.measures.intervals import Intervals
from rag_titan.evaluation.measures.ragged import Ints, Ragged

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


class _State(IntEnum):
    """What became of a chunk's place."""

    PLACED = auto()
    LINE_ENDS_DIFFER = auto()
    TO_SEARCH = auto()
    MOVED = auto()
    BLANK = auto()
    NO_TEXT = auto()
    NO_DOCUMENT = auto()
    NOWHERE = auto()
    REPEATED = auto()


_SENTENCES = {
    _State.LINE_ENDS_DIFFER: "the line ends of chunk {ids} are not those of its document; it was placed all the same.",
    _State.MOVED: "`start` and `end` do not hold the text of chunk {ids}; it was placed by searching its text. "
    "Offsets count characters, not bytes.",
    _State.NO_TEXT: "chunk {ids} has neither a text nor a place in the documents; span metrics are not measured.",
    _State.NO_DOCUMENT: "the doc_id of chunk {ids} is not among the documents; span metrics are not measured.",
    _State.NOWHERE: "the text of chunk {ids} is not in the documents, so that it has no place and span metrics are not "
    "measured. If the chunker cleaned it up, give `start` and `end` and leave `text` out.",
    _State.REPEATED: "the text of chunk {ids} occurs more than once in the documents, so that it has no sure place and "
    "span metrics are not measured. Give `start` and `end`.",
}
_LOST = (_State.NO_TEXT, _State.NO_DOCUMENT, _State.NOWHERE, _State.REPEATED)


@dataclass(frozen=True)
class Layout:
    """The chunks in their documents; a chunk's code is its place in `chunks`.

    texts         the chunk's text (from its document where it was given by its offsets alone), None where unknown
    starts, ends  (n,) its characters in the laid out documents, -1 where it has no place
    lost          (n,) True where documents were given and the chunk has a text but no sure place in them

    A chunk of white space alone needs no place: it holds no token, so it is neither placed nor lost.
    """

    chunks: tuple[Chunk, ...]
    documents: Documents
    texts: tuple[str | None, ...]
    starts: Ints
    ends: Ints
    lost: Mask

    @classmethod
    def of(
        cls, chunks: Sequence[Chunk], documents: Documents, notices: Notices | None = None, where: str = "chunks"
    ) -> Layout:
        """Every chunk at its place; `where` is their place in the dataset, for the errors.

        Raises DatasetError for a chunk that is given by offsets alone which no document holds.

        >>> text = "Leave is 25 days. Sick pay is full."
        >>> chunks = [Chunk(id="a", text="Leave is 25 days. "), Chunk(id="b", start=18, end=35)]
        >>> chunks.append(Chunk(id="c", text="is"))
        >>> notices = Notices()
        >>> layout = Layout.of(chunks, Documents.of(document_text=text), notices)
        >>> layout.starts.tolist(), layout.texts[1], layout.lost.tolist()
        ([0, 18, -1], 'Sick pay is full.', [False, False, True])
        >>> notices.texts()[0][:60]
        'the text of chunk c occurs more than once in the documents, '
        """
        n = len(chunks)
        if not documents.given:
            none = np.full(n, -1, dtype=np.int64)
            return cls(tuple(chunks), documents, tuple(c.text for c in chunks), none, none, np.zeros(n, dtype=bool))
        rows = [_given_place(chunk, f"{where}[{i}]", documents) for i, chunk in enumerate(chunks)]
        texts = tuple(text for text, *_ in rows)
        starts, ends, within, states = (np.array([row[j] for row in rows], dtype=np.int64) for j in (1, 2, 3, 4))
        _search(documents, texts, starts, ends, within, states)
        if notices is not None:
            names = [f"{where}[{i}]" if chunk.id is None else chunk.id for i, chunk in enumerate(chunks)]
            for state, sentence in _SENTENCES.items():
                notices.add(sentence, [names[i] for i in np.flatnonzero(states == state).tolist()])
        return cls(tuple(chunks), documents, texts, starts, ends, np.isin(states, _LOST))

    def __len__(self) -> int:
        return len(self.chunks)

    def with_chunks(self, chunks: Sequence[Chunk]) -> Layout:
        """The same layout with more chunks behind those that it has; only the new ones are looked for."""
        more = Layout.of(chunks, self.documents)
        starts, ends = np.concatenate((self.starts, more.starts)), np.concatenate((self.ends, more.ends))
        lost = np.concatenate((self.lost, more.lost))
        return Layout(self.chunks + more.chunks, self.documents, self.texts + more.texts, starts, ends, lost)

    @cached_property
    def placed(self) -> Mask:
        """(n,) True where the chunk has a place."""
        return self.starts >= 0

    @cached_property
    def wordless(self) -> Mask:
        """(n,) True where the text of the chunk is not known."""
        return np.array([text is None for text in self.texts], dtype=bool)

    @cached_property
    def codes(self) -> Ragged:
        """(n lists) the words of each chunk's text, in order, as codes of one vocabulary; none without a text."""
        return Vocabulary().encode([text or "" for text in self.texts], words(self.documents.tokenizer))

    @cached_property
    def sizes(self) -> Floats:
        """(n,) words in each chunk's text, NaN where the text is not known."""
        return np.where(self.wordless, np.nan, self.codes.lengths)

    @cached_property
    def normal_texts(self) -> tuple[str, ...]:
        """(n,) the texts as words are compared in them; empty where there is none."""
        return tuple("" if text is None else normal_text(text) for text in self.texts)

    @cached_property
    def document_codes(self) -> Ints:
        """(n,) the document that each chunk stands in, -1 where it has no place."""
        return self.documents.document_at(self.starts)

    @cached_property
    def tokens(self) -> tuple[Ints, Ints]:
        """(n,) and (n,) the tokens [first, last) that each chunk holds whole; none where it has no place."""
        first, last = self.documents.tokens_inside(self.starts, self.ends)
        return np.where(self.placed, first, 0), np.where(self.placed, last, 0)

    @cached_property
    def reading_order(self) -> tuple[Ints, Ints]:
        """(n,) the codes document by document, and (n,) by code the number of its document.

        Inside a document by place where all of its chunks have one, else as they were given. Chunks whose document is
        not known belong together.
        """
        numbers: dict[object, int] = {}
        found = self.document_codes.tolist() if self.documents.given else [-1] * len(self)
        names = (chunk.doc_id if at < 0 else (at,) for chunk, at in zip(self.chunks, found, strict=True))
        groups = np.array([numbers.setdefault(self._document_of(name), len(numbers)) for name in names], dtype=np.int64)
        open_ones = np.zeros(len(numbers), dtype=bool)
        open_ones[groups[~self.placed]] = True
        starts, ends = (np.where(open_ones[groups], 0, places) for places in (self.starts, self.ends))
        return np.lexsort((np.arange(len(self)), ends, starts, groups)), groups

    def _document_of(self, name: object) -> object:
        code = self.documents.code(name) if isinstance(name, str) and self.documents.given else -1
        return (code,) if code >= 0 else name

    def token_intervals(self, codes: Ints, groups: Ints | None = None) -> Intervals:
        """The tokens of the chunks with these codes, each in its group (default: all in group 0)."""
        first, last = self.tokens
        return Intervals(np.zeros(len(codes), dtype=np.int64) if groups is None else groups, first[codes], last[codes])

    @cached_property
    def all_tokens(self) -> Intervals:
        """The tokens of all chunks, in group 0."""
        return self.token_intervals(np.arange(len(self)))

    @cached_property
    def characters(self) -> Intervals:
        """The characters of all chunks, in group 0; those without a place are empty intervals."""
        return Intervals(np.zeros(len(self), dtype=np.int64), self.starts, self.ends)


def _given_place(chunk: Chunk, where: str, documents: Documents) -> tuple[str | None, int, int, int, _State]:
    """Text, start, end, document and state of a chunk, as far as its own offsets go."""
    within, text, start = documents.code(chunk.doc_id), chunk.text, chunk.start
    if within == UNKNOWN:
        return text, -1, -1, within, _State.BLANK if text is not None and not text.strip() else _State.NO_DOCUMENT
    end = chunk.end if chunk.end is not None or start is None or text is None else start + len(text)
    if start is None or end is None:
        state = _State.NO_TEXT if text is None else _State.TO_SEARCH if text.strip() else _State.BLANK
        return text, -1, -1, within, state
    if text is None:
        return _from_offsets(where, start, end, within, documents)
    state = _State.TO_SEARCH if within == ANY else _compared(documents.texts[within], start, end, text)
    if state in (_State.PLACED, _State.LINE_ENDS_DIFFER):
        shift = int(documents.offsets[within])
        return text, start + shift, end + shift, within, state
    return text, -1, -1, within, state if text.strip() else _State.BLANK


def _from_offsets(
    where: str, start: int, end: int, within: int, documents: Documents
) -> tuple[str, int, int, int, _State]:
    if within == ANY:
        raise DatasetError.without_data(
            f"{where}.doc_id", "must say which document `start` and `end` count in, got none."
        )
    text = documents.texts[within]
    if not 0 <= start <= end <= len(text):
        rule = f"must lie in a document of {len(text)} characters, got {start} and {end}. Count characters, not bytes."
        raise DatasetError.without_data(f"{where}.start, end", rule)
    shift = int(documents.offsets[within])
    return text[start:end], start + shift, end + shift, within, _State.PLACED


def _compared(document: str, start: int, end: int, text: str) -> _State:
    """Whether the offsets hold the text; white space at its ends does not matter."""
    if not 0 <= start <= end <= len(document):
        return _State.MOVED
    there = document[start:end]
    if there == text or there.strip() == text.strip():
        return _State.PLACED
    return _State.LINE_ENDS_DIFFER if line_ends_alike(there).strip() == line_ends_alike(text).strip() else _State.MOVED


def _search(
    documents: Documents, texts: Sequence[str | None], starts: Ints, ends: Ints, within: Ints, states: Ints
) -> None:
    """Look for the texts that their offsets did not place; fills in starts, ends and states."""
    open_ones = np.flatnonzero(np.isin(states, (_State.TO_SEARCH, _State.MOVED)))
    if not len(open_ones):
        return
    found = documents.place([texts[i] or "" for i in open_ones.tolist()], within[open_ones])
    starts[open_ones], ends[open_ones] = found.starts, found.ends
    moved = np.where(states[open_ones] == _State.TO_SEARCH, _State.PLACED, _State.MOVED)
    there = np.where(found.loose, _State.LINE_ENDS_DIFFER, moved)
    absent = np.where(found.counts == 0, _State.NOWHERE, _State.REPEATED)
    states[open_ones] = np.where(found.starts >= 0, there, absent)
