"""A corpus that an index is measured with: vectors, queries, and which neighbours exact search finds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag_titan.errors import DatasetError, SettingsError
from rag_titan.lab.exact import exact_search, scores
from rag_titan.lab.generated import clustered

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.int64]

_TIE = 1e-5  # of a score: libraries add in float32, in another order
_SQUARES = 2.0**-22  # and some make a distance out of squared lengths and dot products, each rounded
_ROWS = 65_536


@dataclass(frozen=True)
class Corpus:
    """n vectors, the queries asked of them, and what exact search finds for these.

    kth    (m,) the score of the last of the nearest; NaN where there is none
    width  (m,) how many nearest there are: k, or fewer where vectors are fewer or have no score
    """

    vectors: Singles
    queries: Singles
    kth: Floats
    width: Ints
    k: int
    metric: str

    @classmethod
    def of(cls, vectors: NDArray[Any], queries: NDArray[Any], k: int, metric: str) -> Corpus:
        """Searches exactly."""
        k = min(k, len(vectors))
        found = exact_search(queries, vectors, k, metric)[1]
        width = np.isfinite(found).sum(axis=1)
        kth = np.where(width > 0, found[np.arange(len(found)), np.maximum(width, 1) - 1], np.nan)
        return cls(np.asarray(vectors, np.float32), np.asarray(queries, np.float32), kth, width, k, metric)

    def rows_of(self, answers: list[Any], name: str) -> Ints:
        """(m, k) the rows that m answers hold, one answer (1, k) for each query; -1 for none.

        Raises SettingsError where an answer is no such rows.
        """
        rows = np.full((len(answers), self.k), -1, dtype=np.int64)
        for row, answer in zip(rows, answers, strict=True):
            found = _row(answer, name)[: self.k]
            row[: len(found)] = found
        if rows.max(initial=-1) >= len(self.vectors):
            rule = f"must return rows below {len(self.vectors):,}, as many as there are vectors, got {rows.max():,}"
            raise SettingsError(f"{name}: {rule}. Return places in the vectors that it was built of, not ids.")
        return rows

    def recalls(self, rows: Ints) -> Floats:
        """(m,) the share of the nearest that the rows (m, k) hold; NaN for a query without any.

        A row that ties with the last of them is one of them; one that comes twice counts once.
        """
        rows = np.sort(rows, axis=1)
        fresh = np.diff(rows, axis=1, prepend=-2) != 0
        query, column = np.nonzero(fresh & (rows >= 0))
        near = self._as_near(query, rows[query, column])
        hits = np.bincount(query[near], minlength=len(self.queries))
        shares = np.full(len(self.queries), np.nan)
        np.divide(np.minimum(hits, self.width), self.width, out=shares, where=self.width > 0)
        return shares

    def _as_near(self, query: Ints, row: Ints) -> NDArray[np.bool_]:
        """(p,) whether the row of each pair is as near to the query as the last of the nearest."""
        asked, found, kth = self.queries[query], self.vectors[row], self.kth[query]
        score = scores(asked, found, self.metric)
        if self.metric == "cosine":
            return np.asarray(score >= kth - _TIE)
        squares = [np.einsum("ij,ij->i", side, side, dtype=np.float64) for side in (asked, found)]
        if self.metric == "dot":
            return np.asarray(score >= kth - _TIE * np.sqrt(squares[0] * squares[1]))
        return np.asarray(score**2 <= (kth * (1 + _TIE)) ** 2 + _SQUARES * (squares[0] + squares[1]))


def _row(answer: Any, name: str) -> Ints:
    """The rows of an answer to one query."""
    try:
        found = np.asarray(answer)
        got = f"{type(answer).__name__}: {found.dtype} of {found.shape}"
    except ValueError:  # lists of unlike lengths
        found, got = np.empty(0), type(answer).__name__
    if found.ndim != 2 or len(found) != 1 or (found.size and found.dtype.kind not in "iu"):
        rule = f"must return rows as whole numbers (queries, k), here of 1 query, got {got}"
        raise SettingsError(f"{name}: {rule}. Return the rows alone, without distances.")
    rows: Ints = found[0].astype(np.int64)
    return rows


def drawn(
    vectors: NDArray[Any] | None, queries: NDArray[Any] | None, size: int, asked: int, d: int, seed: int
) -> tuple[NDArray[Any], NDArray[Any]]:
    """So many vectors and queries: of those that are given, or generated.

    Raises SettingsError where there are too few, DatasetError where one is not finite.
    """
    if vectors is None:
        return clustered(size, d, asked, seed)
    order = np.random.default_rng(seed).permutation(len(vectors))
    held = order[:0] if queries is not None else order[:asked]
    rest = order[len(held) :]
    if size > len(rest):
        rule = f"must be at most {len(rest):,}, which the given vectors leave beside the queries, got {size:,}"
        raise SettingsError(f"sizes: {rule}. Choose smaller ones, or ask fewer.")
    found = vectors[np.sort(rest[:size])], vectors[held] if queries is None else np.asarray(queries[:asked])
    for rows in found:
        _check_finite(rows)
    return found


def _check_finite(rows: NDArray[Any]) -> None:
    bad = 0
    for start in range(0, len(rows), _ROWS):
        bad += int((~np.isfinite(np.asarray(rows[start : start + _ROWS], np.float32))).any(axis=1).sum())
    if bad:
        rule = f"must be finite numbers, got NaN or infinity in {bad:,} of {len(rows):,}. Run `rag-titan lab vectors`."
        raise DatasetError("vectors", rule)
