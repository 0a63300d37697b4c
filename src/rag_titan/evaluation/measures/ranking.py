"""Ranking measures over a batch: what stands at the first K ranks of n queries, as (n, K) arrays.

`grades[q, i]` is the gold grade of what query q has at rank i + 1; 0 for what is not relevant and for ranks that the
list does not reach. Duplicates are gone already (first rank kept). Each function gives one value a query, NaN where
the measure is undefined (no relevant item at all).
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Hits = NDArray[np.bool_]
Counts = NDArray[np.int64]

_EXACT_POWER = 512.0  # 2**grade is finite, and 2**grade - 1 keeps its digits, well beyond this
_SUMMABLE, _SMALLER = 1e300, 2.0**-100  # linear gains beyond the first are made smaller, so that their sum is finite


def precision(hits: Hits, k: int | None = None) -> Floats:
    """(n,) share of the K ranks that hold a relevant item; divides by K however short the list is.

    k  K, where it lies deeper than the columns of `hits`; default: their number

    >>> precision(np.array([[True, False, False]])), precision(np.array([[True, False, False]]), 10)
    (array([0.33333333]), array([0.1]))
    """
    return np.asarray(hits.sum(axis=1) / (hits.shape[1] if k is None else k))


def recall(hits: Hits, relevant: Counts) -> Floats:
    """(n,) share of all relevant items that stand in the first K; NaN without any relevant item."""
    return _share(hits.sum(axis=1), relevant)


def f1(precision: Floats, recall: Floats) -> Floats:
    """(n,) harmonic mean; 0 where both are 0, NaN where either is."""
    total = precision + recall
    return np.where(total == 0, 0.0, _share(2 * precision * recall, total))


def first_rank(hits: Hits) -> Floats:
    """(n,) rank from 1 of the first relevant item; NaN where there is none in the first K."""
    if not hits.shape[1]:
        return np.full(len(hits), np.nan)
    return np.where(hits.any(axis=1), hits.argmax(axis=1) + 1.0, np.nan)


def reciprocal_rank(hits: Hits) -> Floats:
    """(n,) 1 / rank of the first relevant item, 0 for a miss (Voorhees 1999).

    >>> reciprocal_rank(np.array([[False, True], [False, False]]))
    array([0.5, 0. ])
    """
    first = first_rank(hits)
    ranks: Floats = np.where(np.isnan(first), 0.0, 1.0 / first)
    return ranks


def hit(hits: Hits) -> Floats:
    """(n,) 1 where a relevant item stands in the first K, else 0."""
    return np.asarray(hits.any(axis=1), dtype=np.float64)


def ndcg(grades: Floats, ideal: Floats, gain: Literal["exponential", "linear"] = "exponential") -> Floats:
    """(n,) normalised discounted cumulative gain (Järvelin & Kekäläinen 2002; exponential gain: Burges et al. 2005).

    grades, ideal  (n, K); `ideal` holds the grades of ALL gold items in falling order, cut at K

    >>> found, best = np.array([[3.0, 2, 0, 1]]), np.array([[3.0, 2, 1, 0]])
    >>> ndcg(found, best, "linear").round(3), ndcg(found, best).round(3)
    (array([0.985]), array([0.993]))
    """
    discount = 1.0 / np.log2(np.arange(2, grades.shape[1] + 2))
    if gain == "exponential":
        top = ideal.max(axis=1, keepdims=True, initial=0.0)
        shift = np.where(top > _EXACT_POWER, np.ceil(top), 0.0)  # cancels in the ratio; keeps 2**grade finite
        grades, ideal = (np.exp2(g - shift) - np.exp2(-shift) for g in (grades, ideal))
    elif ideal.max(initial=0.0) > _SUMMABLE:
        grades, ideal = grades * _SMALLER, ideal * _SMALLER
    return _share(_in_order(grades * discount), _in_order(ideal * discount))


def average_precision(
    hits: Hits, relevant: Counts, denominator: Literal["min", "relevant", "retrieved"] = "min"
) -> Floats:
    """(n,) mean of the precision at each relevant rank, cut at K.

    denominator  "min": min(#relevant, K) (metrics.txt); "relevant": all relevant (trec_eval's map_cut);
                 "retrieved": the relevant ones in the first K (Ragas), 0 when there is none

    >>> average_precision(np.array([[True, False, True]]), np.array([4])).round(4)
    array([0.5556])
    """
    ranks = np.arange(1, hits.shape[1] + 1)
    found = np.cumsum(hits, axis=1)
    total = _in_order(np.where(hits, found / ranks, 0.0))
    if denominator == "retrieved":
        return np.where(relevant > 0, np.where(total > 0, _share(total, hits.sum(axis=1)), 0.0), np.nan)
    return _share(total, relevant if denominator == "relevant" else np.minimum(relevant, hits.shape[1]))


def _in_order(terms: Floats) -> Floats:
    """(n,) sums of the rows, rank by rank: the digits depend neither on n nor on how the library blocks its loops."""
    return np.cumsum(terms, axis=1)[:, -1] if terms.shape[1] else np.zeros(len(terms))


def _share(part: NDArray[np.generic], whole: NDArray[np.generic]) -> Floats:
    """part / whole, NaN where the whole is 0."""
    share = np.full(len(part), np.nan)
    np.divide(part, whole, out=share, where=np.asarray(whole) != 0)
    return share
