"""Near-duplicates: which texts share nearly all of their words with an earlier one.

Candidates are texts with one band of their MinHash in common (Broder 1997; bands: Leskovec, Rajaraman and Ullman,
Mining of Massive Datasets, 3.4); each candidate is then compared exactly, so that nothing wrong is reported. A pair at
the threshold is missed with a chance below MISSED.
"""

from __future__ import annotations

import math
from array import array
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from rag_titan.evaluation.limits import SLACK
from rag_titan.evaluation.measures.ragged import Ints, Ragged, offsets_of
from rag_titan.evaluation.measures.text import blocks, part, take
from rag_titan.evaluation.preparation.word_sets import WordSets, distinct

Floats = NDArray[np.float64]

MISSED = 2e-7
LOWEST = 0.1  # below it every band holds a single slot, and nearly every pair is a candidate
_SLOTS = (128, 256, 512, 1024)
_LONG, _LONGER, _MANY = (
    6,
    8,
    50_000,
)  # slots in a band: so many, or more from _MANY texts on, as pairs grow by the square
_SEED = 20_260
_TEXTS = 2048  # whose MinHashes are made at once
_FEW = 8  # candidates a band that are looked at first
_ENTRIES = 1 << 22  # candidates that are held at once
_WORDS = 1 << 23  # words of candidates that are held at once
_ODD, _SHIFT = np.uint64(0x9E3779B97F4A7C15), np.uint64(29)


@dataclass(frozen=True)
class NearDuplicates:
    """The texts that are near an earlier one.

    rows        (m,) their numbers, rising
    earliest    (m,) the first text in the order given that each is near
    similarity  (m,) Jaccard similarity of the two sets of words, from the threshold to 1
    """

    rows: Ints
    earliest: Ints
    similarity: Floats


def near_duplicates(words: WordSets, threshold: float = 0.9) -> NearDuplicates:
    """The texts whose set of words has a Jaccard similarity of at least `threshold` (LOWEST..1) with an earlier one.

    The Jaccard similarity of A and B is |A n B| / |A u B|. A text without words is near no other. Whether two texts are
    near does not depend on the others, nor on the order. Memory grows by some 1.5 KB a text at 0.9, beside the words.

    >>> from rag_titan.evaluation.preparation.word_sets import word_sets
    >>> found = near_duplicates(word_sets(["a b c d", "x y z", "D, C, B, A!", "a b c d e"]), 0.8)
    >>> found.rows.tolist(), found.earliest.tolist(), found.similarity.tolist()
    ([2, 3], [0, 0], [1.0, 0.8])
    """
    rows = np.flatnonzero(words.sets.lengths)
    sets = take(words.sets, rows)
    n = len(rows)
    earliest, similarity = np.full(n, n, dtype=np.int64), np.zeros(n)
    if n > 1:
        search = _Search(sets, threshold, earliest, similarity, np.zeros(len(words.keys), dtype=bool))
        search.through(_Buckets.of(_band_keys(sets, words.keys, *banding(threshold, n))))
    found = np.flatnonzero(earliest < n)
    return NearDuplicates(rows[found], rows[earliest[found]], similarity[found])


def banding(threshold: float, texts: int) -> tuple[int, int]:
    """(slots in a band, bands): bands so long that texts that have only common words in common rarely share one, and so
    many that a pair at the threshold t is missed with a chance below MISSED.

    b bands of r slots miss a pair with a chance of (1 - t^r)^b, were all slots independent. Those of rensa (Dahlgaard,
    Knudsen and Thorup 2017, Fast Similarity Sketching) spread less than independent ones, so they miss fewer.

    >>> banding(0.9, 20_000), banding(0.9, 200_000), banding(0.5, 100), banding(1.0, 100)
    ((6, 21), (8, 32), (4, 256), (128, 1))
    """
    longest, slots = 1, _SLOTS[0]
    for slots in _SLOTS:
        longest = max((r for r in range(1, slots + 1) if slots // r >= _needed(threshold, r)), default=1)
        if longest >= (_LONG if texts < _MANY else _LONGER):
            break
    return longest, slots // longest


def _needed(threshold: float, slots: int) -> float:
    """How many bands of that many slots it takes."""
    shared = threshold**slots
    if not 0 < shared < 1:
        return 1.0 if shared else math.inf
    return math.log(MISSED) / math.log1p(-shared)


def _band_keys(sets: Ragged, keys: NDArray[np.uint64], slots: int, bands: int) -> NDArray[np.uint64]:
    """(bands, n) a hash of each band of each text's MinHash."""
    from rensa import RMinHash

    found = np.empty((bands, len(sets)), dtype=np.uint64)
    for start in range(0, len(sets), _TEXTS):
        some = part(sets, start, min(start + _TEXTS, len(sets)))
        offsets = some.offsets.astype(np.uint64)
        matrix = RMinHash.digest_matrix_from_flat_token_hashes(keys[some.values], offsets, slots * bands, _SEED)
        data = b"".join(array("I", row) for row in matrix.to_rows())
        hashes = np.zeros((len(some), bands), dtype=np.uint64)
        minima = np.frombuffer(data, dtype=np.uintc).reshape(len(some), bands, slots)
        for slot in range(slots):
            hashes = (hashes ^ minima[:, :, slot]) * _ODD
            hashes ^= hashes >> _SHIFT
        found[:, start : start + len(some)] = hashes.T
    return found


@dataclass(frozen=True)
class _Buckets:
    """Which texts share a band: in each band those of a bucket stand together in `members`, in the order given.

    members  (bands, n) the texts
    first    (bands, n) by text, where its bucket starts among the members
    earlier  (bands, n) by text, how many of its bucket stand before it
    """

    members: NDArray[np.int32]
    first: NDArray[np.int32]
    earlier: NDArray[np.int32]

    @classmethod
    def of(cls, keys: NDArray[np.uint64]) -> _Buckets:
        members, first, earlier = (np.empty(keys.shape, dtype=np.int32) for _ in range(3))
        places = np.arange(keys.shape[1], dtype=np.int32)
        for band, row in enumerate(keys):
            order = np.argsort(row, kind="stable")
            new = np.append(True, row[order[1:]] != row[order[:-1]])
            starts = np.maximum.accumulate(np.where(new, places, 0))
            members[band] = order
            first[band, order] = starts
            earlier[band, order] = places - starts
        return cls(members, first, earlier)

    def candidates(self, rows: Ints, done: int, most: int) -> tuple[Ints, Ints]:
        """(m,) places in `rows`, rising, and (m,) earlier texts of their buckets, rising for each; none twice.

        Of each bucket the first `done` texts are passed over, and at most `most` taken.
        """
        n = self.members.shape[1]
        lengths = np.clip(self.earlier[:, rows] - done, 0, most)
        bands, places = np.nonzero(lengths)
        taken = Ragged(np.empty(0), offsets_of(lengths[bands, places]))
        at = np.repeat(self.first[bands, rows[places]].astype(np.int64) + done - taken.offsets[:-1], taken.lengths)
        at += np.arange(taken.offsets[-1])
        texts = self.members[np.repeat(bands, taken.lengths), at].astype(np.int64)
        pairs = distinct(np.repeat(places, taken.lengths) * n + texts)
        return pairs // n, pairs % n

    def next(self, rows: Ints, done: int) -> Ints:
        """(len(rows),) the first text left in any bucket when `done` of each were looked at; n where none is."""
        more = self.earlier[:, rows] > done
        bands, places = np.nonzero(more)
        found = np.full(len(rows), self.members.shape[1], dtype=np.int64)
        np.minimum.at(found, places, self.members[bands, self.first[bands, rows[places]] + done])
        return found


@dataclass(frozen=True)
class _Search:
    """Looks for the earliest text that each is near; writes it into `earliest` (n where there is none)."""

    sets: Ragged
    threshold: float
    earliest: Ints
    similarity: Floats
    marked: NDArray[np.bool_]  # by word; all False between two comparisons

    def through(self, buckets: _Buckets) -> None:
        """All candidates, the earliest of each bucket first: in a large group of copies these nearly always decide."""
        bands = len(buckets.members)
        todo = [(np.flatnonzero(buckets.earlier.any(axis=0)), 0)]
        while todo:
            rows, done = todo.pop()
            most = min(max(_FEW, done), _ENTRIES // bands)
            if len(rows) > 1 and len(rows) * bands * most > _ENTRIES:
                todo += [(rows[len(rows) // 2 :], done), (rows[: len(rows) // 2], done)]
                continue
            places, others = buckets.candidates(rows, done, most)
            self._compare(rows[places], others)
            left = rows[buckets.next(rows, done + most) < self.earliest[rows]]
            if len(left):
                todo.append((left, done + most))

    def _compare(self, rows: Ints, others: Ints) -> None:
        """Note which of these pairs are near; `rows` rise."""
        sizes, other_sizes = self.sets.lengths[rows], self.sets.lengths[others]
        least = self.threshold - SLACK
        able = np.minimum(sizes, other_sizes) >= least * np.maximum(sizes, other_sizes)
        rows, others = rows[able], others[able]
        for start, stop in blocks(other_sizes[able], _WORDS):
            pair = slice(start, stop)
            shared = self._shared(rows[pair], others[pair])
            values = shared / (sizes[able][pair] + other_sizes[able][pair] - shared)
            self._note(rows[pair][values >= least], others[pair][values >= least], values[values >= least])

    def _shared(self, rows: Ints, others: Ints) -> Ints:
        """(m,) words that each pair has in common."""
        words = take(self.sets, others)
        hits = np.empty(len(words.values), dtype=bool)
        edges = np.append(np.flatnonzero(np.diff(rows, prepend=-1)), len(rows)).tolist()
        for start, stop in pairwise(edges):
            row, span = int(rows[start]), slice(words.offsets[start], words.offsets[stop])
            own = self.sets.values[self.sets.offsets[row] : self.sets.offsets[row + 1]]
            self.marked[own] = True
            hits[span] = self.marked[words.values[span]]
            self.marked[own] = False
        return np.add.reduceat(hits, words.offsets[:-1], dtype=np.int64)

    def _note(self, rows: Ints, others: Ints, values: Floats) -> None:
        first = np.flatnonzero(np.diff(rows, prepend=-1))  # the others rise for each row
        rows, others, values = rows[first], others[first], values[first]
        better = others < self.earliest[rows]
        self.earliest[rows[better]], self.similarity[rows[better]] = others[better], values[better]
