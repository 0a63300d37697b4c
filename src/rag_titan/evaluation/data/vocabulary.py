"""Texts -> token codes: white-space pieces are recognised as bytes, and each different piece is split only once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from rag_titan.evaluation.data.tokens import Split
from rag_titan.evaluation.measures.interning import PADDING, KeyIndex, run_keys, runs
from rag_titan.evaluation.measures.ragged import Ragged, offsets_of

_BLOCK = 1 << 19  # bytes of text that are worked on at once: what is made of them stays in the processor's cache
_MOST_PIECES = 1 << 18
_MOST_TOKENS = 1 << 20
_MOST_CHARACTERS = 1 << 24
_SPACES = "\t\n\v\f\r\x1c\x1d\x1e\x1f "  # the ASCII characters that str.split() splits at
_IN_PIECE = bytes(chr(c) not in _SPACES for c in range(256))


@dataclass
class _Known:
    """The tokens of the pieces under one split: those of piece i are codes[first[i] : first[i] + count[i]]."""

    codes: NDArray[np.int32] = field(default_factory=lambda: np.empty(0, np.int32))
    first: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    count: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))


class Vocabulary:
    """Token text <-> code, and what was learnt about the white-space pieces that the tokens come from.

    Codes of one vocabulary can be compared whatever split they come from; codes of two cannot. It is kept from batch to
    batch, and bounded: where it has grown too large, `fresh()` is an empty one.

    >>> from rag_titan.evaluation.data.tokens import words
    >>> vocabulary = Vocabulary()
    >>> lists = vocabulary.encode(["To be, or not", "to be"], words())
    >>> lists.values.tolist(), lists.offsets.tolist()
    ([0, 1, 2, 3, 0, 1], [0, 4, 6])
    """

    def __init__(self) -> None:
        self._index = KeyIndex()
        self._pieces: list[str] = []
        self._characters = 0
        self._codes: dict[str, int] = {}
        self._known: dict[Split, _Known] = {}

    def __len__(self) -> int:
        return len(self._codes)

    @property
    def full(self) -> bool:
        """True when it should not be taken into the next batch."""
        return (
            len(self._pieces) > _MOST_PIECES or len(self._codes) > _MOST_TOKENS or self._characters > _MOST_CHARACTERS
        )

    def fresh(self) -> Vocabulary:
        """The vocabulary for the next batch: this one, or an empty one when this is full."""
        return Vocabulary() if self.full else self

    def code(self, token: str) -> int:
        """The code of a token's text."""
        return self._codes.setdefault(token, len(self._codes))

    def encode(self, texts: Sequence[str], split: Split) -> Ragged:
        """(len(texts) lists) int32 codes of the tokens of each text, in order."""
        return CodedTexts(self, texts).tokens(split)

    def pieces(self, texts: Sequence[str]) -> Ragged:
        """(len(texts) lists) int32 codes of the pieces of each text between ASCII white space, in order."""
        data = [text.encode("utf-8", "surrogatepass") for text in texts]
        offsets = offsets_of(np.fromiter(map(len, data), np.int64, len(data)) + 1)
        codes, counts, row = [np.empty(0, np.int32)], [np.empty(0, np.int64)], 0
        while row < len(data):
            end = max(row + 1, int(np.searchsorted(offsets, offsets[row] + _BLOCK, side="right")) - 1)
            found, starts = self._recognise(b"\n".join(data[row:end]) + b"\n" + bytes(PADDING))
            codes.append(found)
            counts.append(np.diff(np.searchsorted(starts, offsets[row : end + 1] - offsets[row])))
            row = end
        return Ragged(np.concatenate(codes), offsets_of(np.concatenate(counts)))

    def _recognise(self, buffer: bytes) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """The codes of the pieces in a buffer, and where each starts."""
        inside = np.frombuffer(buffer.translate(_IN_PIECE), dtype=np.bool_)[:-PADDING]
        starts, ends = runs(inside)
        codes, new = self._index.codes(run_keys(buffer, starts, ends))
        for start, end in zip(starts[new].tolist(), ends[new].tolist(), strict=True):
            self._pieces.append(buffer[start:end].decode("utf-8", "surrogatepass"))
            self._characters += end - start
        return codes, starts

    def tokens(self, pieces: Ragged, split: Split) -> Ragged:
        """The token codes of texts whose pieces these are; `split` must work by piece."""
        known = self._learnt(split)
        counts = known.count[pieces.values]
        ends = np.cumsum(counts)
        starts = ends - counts
        codes = np.empty(int(ends[-1]) if len(ends) else 0, dtype=np.int32)
        some = np.flatnonzero(counts)  # nearly all pieces have one token: those first, what follows in a piece then
        codes[starts[some]] = known.codes[known.first[pieces.values[some]]]
        more = np.flatnonzero(counts > 1)
        rest = counts[more] - 1
        piece = np.repeat(more, rest)
        step = 1 + Ragged(piece, offsets_of(rest)).places
        codes[starts[piece] + step] = known.codes[known.first[pieces.values[piece]] + step]
        return Ragged(codes, np.concatenate(([0], ends))[pieces.offsets])

    def _learnt(self, split: Split) -> _Known:
        known = self._known.get(split, _Known())
        new = self._pieces[len(known.count) :]
        if new:
            code = self._codes
            tokens = [split.tokens(piece) for piece in new]
            codes = [code.setdefault(token, len(code)) for some in tokens for token in some]
            counts = np.fromiter(map(len, tokens), np.int64, len(tokens))
            first = len(known.codes) + offsets_of(counts)[:-1]
            known = _Known(
                np.concatenate([known.codes, np.array(codes, dtype=np.int32)]),
                np.concatenate([known.first, first]),
                np.concatenate([known.count, counts]),
            )
            self._known[split] = known
        return known


class CodedTexts:
    """Texts under a vocabulary; their pieces are found once, however many splits ask."""

    def __init__(self, vocabulary: Vocabulary, texts: Sequence[str]) -> None:
        self.vocabulary = vocabulary
        self.texts = texts
        self._pieces: Ragged | None = None

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def pieces(self) -> Ragged:
        """(n lists) codes of the white-space pieces."""
        if self._pieces is None:
            self._pieces = self.vocabulary.pieces(self.texts)
        return self._pieces

    def tokens(self, split: Split) -> Ragged:
        """(n lists) int32 codes of the tokens of each text."""
        if split.by_piece:
            return self.vocabulary.tokens(self.pieces, split)
        lists = [[self.vocabulary.code(token) for token in split.tokens(text)] for text in self.texts]
        offsets = offsets_of(np.fromiter(map(len, lists), np.int64, len(lists)))
        flat = (code for codes in lists for code in codes)
        return Ragged(np.fromiter(flat, np.int32, int(offsets[-1])), offsets)
