"""Texts -> token codes: white-space pieces are recognised as bytes, and each different piece is split only once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from rag_titan.evaluation.data.tokens import Split
from rag_titan.evaluation.measures.interning import PADDING, Codes, KeyIndex, run_keys, runs
from rag_titan.evaluation.measures.ragged import Ints, Ragged, offsets_of
from rag_titan.evaluation.measures.text import take

_BLOCK = 1 << 19  # bytes of text that are worked on at once: what is made of them stays in the processor's cache
_MOST_PIECES = 1 << 18
_MOST_TOKENS = 1 << 20
_MOST_CHARACTERS = 1 << 24
_SPACES = "\t\n\v\f\r\x1c\x1d\x1e\x1f "  # the ASCII characters that str.split() splits at
_NONE, _SEVERAL = -1, -2  # what stands in place of the code of a piece that has not exactly one token
_IN_PIECE = bytes(chr(c) not in _SPACES for c in range(256))


@dataclass
class _Known:
    """The tokens of the pieces under one split.

    only   (n_pieces,) the code of a piece's one token, or _NONE, or _SEVERAL
    codes  the tokens of all pieces, one piece after the other
    first, count   (n_pieces,) those of piece i are codes[first[i] : first[i] + count[i]]
    """

    only: Codes = field(default_factory=lambda: np.empty(0, np.int32))
    codes: Codes = field(default_factory=lambda: np.empty(0, np.int32))
    first: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    count: Ints = field(default_factory=lambda: np.empty(0, np.int64))

    def followed_by(self, codes: Codes, count: Ints) -> _Known:
        """With further pieces, of `count` tokens each."""
        first = offsets_of(count)[:-1]
        only = np.where(count == 0, _NONE, _SEVERAL).astype(np.int32)
        only[count == 1] = codes[first[count == 1]]
        return _Known(
            np.append(self.only, only),
            np.append(self.codes, codes),
            np.append(self.first, len(self.codes) + first),
            np.append(self.count, count),
        )


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

    def token_texts(self, first: int = 0) -> list[str]:
        """The texts of the tokens with the codes first, first + 1, ..."""
        return list(islice(self._codes, first, None))

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

    def _recognise(self, buffer: bytes) -> tuple[Codes, Ints]:
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
        if not len(pieces.values):
            return Ragged(np.empty(0, dtype=np.int32), pieces.offsets)
        known = self._learnt(split)
        only = known.only[pieces.values]
        one = only >= 0
        several = np.flatnonzero(only == _SEVERAL)
        if not len(several):
            return Ragged(only[one], _counted(one, pieces.offsets))
        counts = one.astype(np.int64)
        rest = counts[several] = known.count[pieces.values[several]]
        codes = np.repeat(only, counts)
        piece = np.repeat(several, rest)
        place = Ragged(piece, offsets_of(rest)).places
        starts = np.cumsum(counts) - counts
        codes[starts[piece] + place] = known.codes[known.first[pieces.values[piece]] + place]
        return Ragged(codes, _counted(counts, pieces.offsets))

    def _learnt(self, split: Split) -> _Known:
        known = self._known.get(split, _Known())
        new = self._pieces[len(known.only) :]
        if new:
            code, (tokens, counts) = self._codes, split.of_pieces(new)
            codes = [code.setdefault(token, len(code)) for token in tokens]
            known = known.followed_by(np.array(codes, dtype=np.int32), counts)
            self._known[split] = known
        return known


def _counted(counts: NDArray[np.generic], offsets: Ints) -> Ints:
    """The offsets of lists whose elements are replaced by counts[i] elements each."""
    return offsets_of(counts)[offsets]


class Vocabularies:
    """Hands one vocabulary from batch to batch, and an empty one where it has grown full. It is pickled empty."""

    def __init__(self) -> None:
        self._current = Vocabulary()

    def __reduce__(self) -> tuple[type[Vocabularies], tuple[()]]:
        return Vocabularies, ()

    def current(self) -> Vocabulary:
        """The vocabulary for the next batch; a batch keeps the one that it began with."""
        self._current = self._current.fresh()
        return self._current


class CodedTexts:
    """Texts under a vocabulary; their pieces are found once, however many splits ask."""

    def __init__(self, vocabulary: Vocabulary, texts: Sequence[str]) -> None:
        self.vocabulary = vocabulary
        self.texts = texts
        self._whole: dict[Split, Ragged] = {}

    def __len__(self) -> int:
        return len(self.texts)

    @cached_property
    def pieces(self) -> Ragged:
        """(n lists) codes of the white-space pieces."""
        return self.vocabulary.pieces(self.texts)

    def tokens(self, split: Split, rows: Ints | None = None) -> Ragged:
        """(n lists) int32 codes of the tokens of each text; or of the texts `rows`, in that order."""
        if split.by_piece:
            return self.vocabulary.tokens(self.pieces if rows is None else take(self.pieces, rows), split)
        if split not in self._whole:
            self._whole[split] = self._each(split)
        return self._whole[split] if rows is None else take(self._whole[split], rows)

    def _each(self, split: Split) -> Ragged:
        lists = [[self.vocabulary.code(token) for token in split.tokens(text)] for text in self.texts]
        offsets = offsets_of(np.fromiter(map(len, lists), np.int64, len(lists)))
        flat = (code for codes in lists for code in codes)
        return Ragged(np.fromiter(flat, np.int32, int(offsets[-1])), offsets)
