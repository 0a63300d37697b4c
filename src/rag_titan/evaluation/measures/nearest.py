"""Exact search: the K vectors of the highest cosine, without a table of all pairs.

Queries and vectors meet in blocks of a float32 matrix product. Of each small group of scores only the maximum is looked
at first; the few groups that can hold a winner are opened, and the winners are scored again in float64. A float32 score
of unit vectors is off by at most (d + 8) 2^-24 (Higham 2002, "Accuracy and Stability of Numerical Algorithms", 3.1), so
no winner is missed. Data whose cosines lie too close together for that are searched in float64 instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag_titan.evaluation.measures.vectors import Floats, Ints, Matrix, cosines, norms, unit_rows

_QUERIES = 1024
_VECTORS = 4096
_GROUP = 32  # scores of which the maximum is looked at first; divides _VECTORS
_SHORT, _LONG = 1e-18, 1e18  # the inverse of a length between these is as good in float32 as any number
_FEW = 256  # near-ties that are kept for a query beside the K best, before float64 takes over


def nearest(queries: Matrix, vectors: Matrix, k: int, lengths: Floats | None = None) -> tuple[Ints, Floats]:
    """The rows (m, k) of the k vectors with the highest cosine, best first, and the cosines (m, k).

    `lengths` (n,) are the norms of the vectors, where they are known already.

    Equal cosines stand in the order of the rows. Where fewer than k vectors have a direction, -1 and NaN fill the row,
    as they do for a query of zeros. Where several vectors come within 1e-12 of the k-th, any of them may be named.

    >>> rows, values = nearest(np.array([[1.0, 0.0]]), np.array([[0.0, 0.0], [0.6, 0.8], [2.0, 0.0]]), 3)
    >>> rows.tolist(), values.tolist()
    ([[2, 1, -1]], [[1.0, 0.6, nan]])
    """
    rows = np.full((len(queries), k), -1, dtype=np.int64)
    values = np.full((len(queries), k), np.nan)
    lengths = norms(vectors) if lengths is None else lengths
    searchable = np.flatnonzero(lengths)
    asked = np.flatnonzero(norms(queries))
    width = min(k, len(searchable))
    if not width:
        return rows, values
    table = _Table(vectors, lengths, searchable)
    for start in range(0, len(asked), _QUERIES):
        some = asked[start : start + _QUERIES]
        query, row = _candidates(unit_rows(queries[some])[0], table, width)
        value = cosines(queries, vectors, some[query], row)
        order = np.lexsort((row, -value, query))
        best = order[_ranks(query[order], len(some)) < width].reshape(len(some), width)
        rows[some, :width] = row[best]
        values[some, :width] = value[best]
    return rows, values


def kth_best(cosines_of_nearest: Floats) -> Floats:
    """(m,) the least of the cosines (m, k) that `nearest` found for each query; NaN where it found none.

    >>> kth_best(np.array([[0.9, 0.5, np.nan], [np.nan, np.nan, np.nan]])).tolist()
    [0.5, nan]
    """
    lowest: Floats = np.fmin.reduce(cosines_of_nearest, axis=1, initial=np.nan)
    return lowest


@dataclass(frozen=True)
class _Table:
    """The vectors that have a direction, as unit vectors, a block at a time."""

    vectors: Matrix
    lengths: Floats
    rows: Ints

    def __len__(self) -> int:
        return len(self.rows)

    def block(self, start: int, dtype: Any) -> NDArray[Any]:
        """(b, d) unit vectors from `start` on."""
        some: slice | Ints = slice(start, start + _VECTORS)
        if len(self.rows) < len(self.vectors):
            some = self.rows[some]
        part, lengths = self.vectors[some], self.lengths[some]
        if lengths.min() > _SHORT and lengths.max() < _LONG:
            units: NDArray[Any] = part.astype(dtype, copy=False) * (1 / lengths).astype(dtype)[:, np.newaxis]
            return units
        return unit_rows(part)[0].astype(dtype)


def _candidates(units: Floats, table: _Table, width: int) -> tuple[Ints, Ints]:
    """Pairs of a query and a row of the vectors, among them the `width` best of each query."""
    if len(table) > _VECTORS and 2 * width <= _VECTORS:
        found = _scan(units.astype(np.float32), table, width)
        if found is not None:
            return found
    return _scan_in_full(units, table, width)


class _Best:
    """What a scan in float32 keeps for m queries: every score that can still be among the `width` best.

    floor  (m,) a score below it cannot be: the `width`-th best score so far, less twice the error of a score
    """

    def __init__(self, scores: NDArray[np.float32], width: int, slack: np.float32) -> None:
        """`scores` (m, b) are those of the first block, from which the floor starts."""
        self.width = width
        self.slack = slack
        place = scores.shape[1] - width
        self.floor = np.partition(scores, place, axis=1)[:, place] - slack
        self._pieces: list[tuple[Ints, Ints, NDArray[np.float32]]] = []
        self._new = 0

    def add(self, query: Ints, place: Ints, score: NDArray[np.float32]) -> None:
        """Take new scores in; from time to time drop what cannot be among the best any more."""
        self._pieces.append((query, place, score))
        self._new += len(query)
        if self._new > self.width * len(self.floor):
            self.settled()

    def settled(self) -> tuple[Ints, Ints]:
        """Raise the floor, drop what is below it, and name the query and the place of what is left."""
        query, place, score = (np.concatenate(x) for x in zip(*self._pieces, strict=True))
        order = np.argsort(4.0 * query - score)  # by query, then falling: a score is within -1..1
        query, place, score = query[order], place[order], score[order]
        last = _ranks(query, len(self.floor)) == self.width - 1
        self.floor[query[last]] = score[last] - self.slack
        kept = score >= self.floor[query]
        query, place = query[kept], place[kept]
        self._pieces = [(query, place, score[kept])]
        self._new = 0
        return query, place

    @property
    def crowded(self) -> bool:
        """True when near-ties are so many that float64 is the faster way."""
        return sum(len(query) for query, _, _ in self._pieces) > len(self.floor) * (4 * self.width + _FEW)


def _scan(units: NDArray[np.float32], table: _Table, width: int) -> tuple[Ints, Ints] | None:
    """Candidates from float32 scores; None when near-ties make them too many."""
    best = None
    for start in range(0, len(table), _VECTORS):
        scores = units @ table.block(start, np.float32).T
        best = best or _Best(scores, width, np.float32((units.shape[1] + 8) * 2.0**-23))
        query, column, score = _hits(scores, best.floor)
        best.add(query, column + start, score)
        if best.crowded:
            return None
    assert best is not None, "an empty table has no candidates"
    query, place = best.settled()
    return query, table.rows[place]


def _hits(scores: NDArray[np.float32], floor: NDArray[np.float32]) -> tuple[Ints, Ints, NDArray[np.float32]]:
    """Query, column and score of the scores (m, b) that reach their query's floor."""
    m, b = scores.shape
    size = _GROUP if b % _GROUP == 0 else 1
    folded = scores.reshape(m, size, b // size)  # a group is a comb of columns: its maximum runs along whole rows
    query, group = np.nonzero(folded.max(axis=1) >= floor[:, np.newaxis])
    opened = folded[query, :, group]
    i, j = np.nonzero(opened >= floor[query, np.newaxis])
    return query[i], j * (b // size) + group[i], opened[i, j]


def _scan_in_full(units: Floats, table: _Table, width: int) -> tuple[Ints, Ints]:
    """The `width` best of each query by float64 scores."""
    places: Ints = np.empty((len(units), 0), dtype=np.int64)
    scores: Floats = np.empty((len(units), 0))
    for start in range(0, len(table), _VECTORS):
        new = units @ table.block(start, np.float64).T
        columns = _best_columns(new, width)
        places = np.hstack([places, start + columns])
        scores = np.hstack([scores, np.take_along_axis(new, columns, axis=1)])
        columns = _best_columns(scores, width)
        places = np.take_along_axis(places, columns, axis=1)
        scores = np.take_along_axis(scores, columns, axis=1)
    return np.repeat(np.arange(len(units)), places.shape[1]), table.rows[places.reshape(-1)]


def _best_columns(scores: Floats, width: int) -> Ints:
    """(m, min(width, b)) columns of the highest scores (m, b) of each row, in any order."""
    cut = scores.shape[1] - width
    if cut <= 0:
        return np.broadcast_to(np.arange(scores.shape[1]), scores.shape)
    return np.argpartition(scores, cut, axis=1)[:, cut:]


def _ranks(groups: Ints, n: int) -> Ints:
    """(p,) the place of each element among those of its group, from 0; `groups` (p,) is sorted, with values below n."""
    starts = np.searchsorted(groups, np.arange(n))
    return np.arange(len(groups)) - starts[groups]
