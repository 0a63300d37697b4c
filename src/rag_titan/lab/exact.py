"""Exact search by cosine, dot product or Euclidean distance, in bounded memory: what an index is measured against.

Queries and vectors meet in blocks of a float32 matrix product. Of each small group of scores only the maximum is looked
at first; the few groups that can hold a winner are opened, and the winners are scored again in float64. A float32
score is off by at most (d + 8) 2^-24 |q| |v| (Higham 2002, "Accuracy and Stability of Numerical Algorithms", 3.1), so
no winner is missed unless more than 4 k + 256 scores of a query come that close to each other. numpy alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rag_titan.errors import SettingsError

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.int64]

METRICS = ("cosine", "dot", "l2")
_QUERIES = 1024
_VECTORS = 4096
_GROUP = 32  # scores of which the maximum is looked at first; divides _VECTORS
_SPARE = 256  # near-ties that are kept for a query beside 4 k
_NUMBERS = 1 << 22  # of the winners that are scored again at a time
LONGEST = 2.0**62  # a length, whose product with another still fits float32; 1 / LONGEST is the shortest


class Rows(Protocol):
    """n vectors of which slices and rows can be read: an array, or one that stays in its file."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    def __getitem__(self, rows: Any) -> NDArray[Any]: ...


def exact_search(queries: NDArray[Any], vectors: Rows, k: int, metric: str = "cosine") -> tuple[Ints, Floats]:
    """The rows (m, k) of the k vectors nearest to each of m queries, best first, and their scores (m, k).

    queries  (m, d)
    vectors  (n, d), read a block at a time
    metric   "cosine", "dot" or "l2"

    Scores: the cosine, the dot product, or minus the Euclidean distance, so that more is nearer. Equal scores stand in
    the order of the rows; where several come within 1e-12 of the k-th, any of them may be named. Where there are fewer
    than k, -1 and NaN fill up. Vectors that are not finite or longer than 2^62 are found by none, and those of zeros or
    shorter than 2^-62 have no cosine. Queries that are not finite, longer or shorter than that find nothing. Raises
    SettingsError for another metric.

    >>> rows, scores = exact_search(np.array([[1.0, 0.0]]), np.array([[0.6, 0.8], [3.0, 4.0], [0.0, 1.0]]), 2, "dot")
    >>> rows.tolist(), scores.tolist()
    ([[1, 0]], [[3.0, 0.6]])
    >>> exact_search(np.array([[1.0, 0.0]]), np.array([[0.6, 0.8], [3.0, 4.0]]), 2, "l2")[0].tolist()
    [[0, 1]]
    """
    check_metric(metric)
    found_rows = np.full((len(queries), k), -1, dtype=np.int64)
    found = np.full((len(queries), k), np.nan)
    for start in range(0, len(queries) if vectors.shape[0] else 0, _QUERIES):
        asked = _measurable(np.asarray(queries[start : start + _QUERIES], dtype=np.float64))
        query, row = _candidates(asked, vectors, min(k, vectors.shape[0]), metric)
        score = _scored(asked, vectors, query, row, metric)
        query, row, score = query[~np.isnan(score)], row[~np.isnan(score)], score[~np.isnan(score)]
        order = np.lexsort((row, -score, query))
        query, row, score = query[order], row[order], score[order]
        rank = _ranks(query, len(asked))
        best = rank < k
        found_rows[start + query[best], rank[best]] = row[best]
        found[start + query[best], rank[best]] = score[best]
    return found_rows, found


def check_metric(metric: str) -> None:
    """Raises SettingsError for another metric than "cosine", "dot" and "l2"."""
    if metric not in METRICS:
        raise SettingsError(f'metric: must be "cosine", "dot" or "l2", got {metric!r}. Choose one of them.')


def scores(left: NDArray[Any], right: NDArray[Any], metric: str) -> Floats:
    """(p,) score of left[i] and right[i] in float64: cosine, dot product, or minus the distance; NaN for none."""
    a, b = np.asarray(left, dtype=np.float64), np.asarray(right, dtype=np.float64)
    if metric == "l2":
        distances: Floats = np.sqrt(((a - b) ** 2).sum(axis=1))
        return -distances
    dots: Floats = (a * b).sum(axis=1)
    if metric == "dot":
        return dots
    lengths = np.sqrt((a * a).sum(axis=1)) * np.sqrt((b * b).sum(axis=1))
    values = np.full(len(dots), np.nan)
    np.divide(dots, lengths, out=values, where=lengths > 0)
    return np.clip(values, -1.0, 1.0, out=values)


def _measurable(queries: Floats) -> Floats:
    """The queries, NaN in those of which a product may leave float32."""
    with np.errstate(over="ignore", invalid="ignore"):
        lengths = np.sqrt((queries * queries).sum(axis=1))
    fits = ((lengths >= 1 / LONGEST) & (lengths <= LONGEST)) | ~queries.any(axis=1)
    return queries if fits.all() else np.where(fits[:, np.newaxis], queries, np.nan)


def _scored(queries: Floats, vectors: Rows, query: Ints, row: Ints, metric: str) -> Floats:
    """(p,) the score of each pair, so many at a time that they take no memory to speak of; NaN for none."""
    score, step = np.empty(len(row)), max(1, _NUMBERS // queries.shape[1])
    for start in range(0, len(row), step):
        part = slice(start, start + step)
        score[part] = scores(queries[query[part]], vectors[row[part]], metric)
    return score


def _candidates(queries: Floats, vectors: Rows, k: int, metric: str) -> tuple[Ints, Ints]:
    """Pairs of a query and a row, among them the k best of each query."""
    queries = np.nan_to_num(queries)  # what has no score finds what it may, and is left out afterwards
    lengths = np.sqrt((queries * queries).sum(axis=1))
    if metric == "cosine":
        queries = queries / np.where(lengths > 0, lengths, 1.0)[:, np.newaxis]
        lengths = (lengths > 0).astype(np.float64)
    units = queries.astype(np.float32)
    error = (queries.shape[1] + 8) * 2.0**-23
    best = _Best(len(queries), k, error * lengths, error / 2 if metric == "l2" else 0.0)
    room = np.empty(len(queries) * _VECTORS, dtype=np.float32)  # allocated once: fresh pages cost a tenth of the time
    for start, block, offsets, longest in _blocks(vectors, metric):
        table = room[: len(queries) * len(block)].reshape(len(queries), len(block))
        np.matmul(units, block.T, out=table)
        if offsets is not None:
            table += offsets
        best.take(table, start, longest)
    return best.settled()


def _blocks(vectors: Rows, metric: str) -> Iterator[tuple[int, Singles, Singles | None, float]]:
    """Start, block (b, d), what is added to its scores (b,) or None, and the greatest length in it."""
    for start in range(0, vectors.shape[0], _VECTORS):
        with np.errstate(over="ignore"):
            block: Singles = np.asarray(vectors[start : start + _VECTORS], dtype=np.float32)
        squares = np.einsum("ij,ij->i", block, block)
        none = (squares < LONGEST**-2) & (metric != "cosine")
        known = ((squares >= LONGEST**-2) & (squares <= LONGEST**2)) | none
        if not known.all():
            block = np.where(known[:, np.newaxis], block, np.float32(0))
        lengths: Singles = np.sqrt(np.where(known, squares, np.float32(0)))
        if metric == "cosine":
            divisors: Singles = np.where(known, lengths, 1).astype(np.float32)
            block = block / divisors[:, np.newaxis]
            lengths = known.astype(np.float32)
        added = -squares / 2 if metric == "l2" else np.zeros(len(block), dtype=np.float32)
        added = np.where(known, added, -np.inf).astype(np.float32)
        longest = float(lengths.max(initial=0.0))
        yield start, block, added if metric == "l2" or not known.all() else None, longest


class _Best:
    """What a scan keeps for m queries: every score that can still be among the k best.

    floor  (m,) a score below it cannot be: the k-th best so far, less twice the error of a score
    """

    def __init__(self, m: int, k: int, error: Floats, own: float) -> None:
        """Twice the error of a score with a vector of length l is `error` (m,) times l, and `own` times l squared."""
        self.k = k
        self.floor = np.full(m, -np.inf, dtype=np.float32)
        self._error, self._own = error, own
        self._longest = 0.0
        self._pieces: list[tuple[Ints, Ints, Singles]] = []
        self._new = 0

    def take(self, table: Singles, start: int, longest: float) -> None:
        """Look at the scores (m, b) of the rows from `start` on."""
        self._longest = max(self._longest, longest)
        if not self._pieces and table.shape[1] > self.k:  # the first: its own k-th best is the floor
            place = table.shape[1] - self.k
            self._raise(np.arange(len(table)), np.partition(table, place, axis=1)[:, place])
        query, column, score = _fewer(table, *_hits(table, self.floor), 4 * self.k + _SPARE)
        self._pieces.append((query, column + start, score))
        self._new += len(query)
        if self._new > 2 * self.k * len(self.floor):
            self.settled()

    def settled(self) -> tuple[Ints, Ints]:
        """Raise the floor, drop what is below it, and name the query and the row of what is left."""
        query, row, score = (np.concatenate(x) for x in zip(*self._pieces, strict=True))
        order = np.lexsort((row, -score, query))
        query, row, score = query[order], row[order], score[order]
        rank = _ranks(query, len(self.floor))
        last = rank == self.k - 1
        self._raise(query[last], score[last])
        kept = (score >= self.floor[query]) & (rank < 4 * self.k + _SPARE)
        query, row = query[kept], row[kept]
        self._pieces = [(query, row, score[kept])]
        self._new = 0
        return query, row

    def _raise(self, query: Ints, kth: Singles) -> None:
        slack = self._error[query] * self._longest + self._own * self._longest**2
        self.floor[query] = (kth - np.maximum(slack, np.abs(kth) * 2.0**-20)).astype(np.float32)


def _hits(table: Singles, floor: Singles) -> tuple[Ints, Ints, Singles]:
    """Query, column and score of the scores (m, b) that reach their query's floor."""
    m, b = table.shape
    size = _GROUP if b % _GROUP == 0 else 1
    folded = table.reshape(m, size, b // size)  # a group is a comb of columns: its maximum runs along whole rows
    query, group = np.nonzero(folded.max(axis=1) >= floor[:, np.newaxis])
    opened = folded[query, :, group]
    i, j = np.nonzero((opened >= floor[query, np.newaxis]) & (opened > -np.inf))
    return query[i], j * (b // size) + group[i], opened[i, j]


def _fewer(table: Singles, query: Ints, column: Ints, score: Singles, most: int) -> tuple[Ints, Ints, Singles]:
    """Of the queries that have more than so many hits, as of vectors that are all alike, only the best."""
    crowded = np.flatnonzero(np.bincount(query, minlength=len(table)) > most)
    if not len(crowded):
        return query, column, score
    scores_of = table[crowded]
    best = np.argpartition(scores_of, -most, axis=1)[:, -most:]
    rest = ~np.isin(query, crowded)
    return (
        np.concatenate([query[rest], np.repeat(crowded, most)]),
        np.concatenate([column[rest], best.ravel()]),
        np.concatenate([score[rest], np.take_along_axis(scores_of, best, axis=1).ravel()]),
    )


def _ranks(groups: Ints, n: int) -> Ints:
    """(p,) the place of each element among those of its group, from 0; `groups` (p,) is sorted, with values below n."""
    starts = np.searchsorted(groups, np.arange(n))
    return np.arange(len(groups)) - starts[groups]
