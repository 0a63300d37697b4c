"""Shares of statements and of chunks, from verdicts that are 1 (yes), 0 (no) or NaN (nobody said)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rag_titan.evaluation.measures.ragged import Ragged

Floats = NDArray[np.float64]


def shares(verdicts: Ragged, among: Floats | None = None) -> Floats:
    """(n,) per list, the share of 1 among its verdicts; NaN for an empty list, and where one verdict is NaN.

    among  (total,) 1 for the verdicts that count, 0 for the others; NaN where nobody said whether

    A list with a verdict that is not there is not measured: to leave it out would make every failure of the judge a
    change of the score.

    >>> from rag_titan.evaluation.measures.ragged import ragged
    >>> lists = ragged([[1, 0, 1], [], [1, np.nan]], np.float64)
    >>> shares(lists).round(2).tolist()
    [0.67, nan, nan]
    >>> shares(lists, np.array([1, 1, 0, 1, 0.0])).tolist()
    [0.5, nan, 1.0]
    """
    counted = np.ones(len(verdicts.values)) if among is None else among
    met = np.where(counted == 0, 0.0, verdicts.values * counted)
    return _divided(verdicts.sums(met), verdicts.sums(counted))


def rank_weighted_precision(relevant: Ragged) -> Floats:
    """(n,) per ranking, the mean of precision@k over the ranks k of its relevant chunks; NaN where none is relevant.

    Whitepaper, section 4.3: sum of (precision@k * relevant_k) / number of relevant chunks that were retrieved.

    >>> from rag_titan.evaluation.measures.ragged import ragged
    >>> rank_weighted_precision(ragged([[1, 0, 1], [0, 1], [0]], np.float64)).round(4).tolist()
    [0.8333, 0.5, nan]
    """
    running = np.cumsum(relevant.values)
    before = np.concatenate(([0.0], running))[relevant.offsets[:-1]]
    found = running - np.repeat(before, relevant.lengths)
    precision = found / (relevant.places + 1)
    return _divided(relevant.sums(precision * relevant.values), relevant.sums(relevant.values))


def f1(precision: Floats, recall: Floats) -> Floats:
    """(n,) the harmonic mean; 0 where both are 0, NaN where one is.

    >>> f1(np.array([0.5, 0.0, np.nan]), np.array([1.0, 0.0, 1.0])).round(4).tolist()
    [0.6667, 0.0, nan]
    """
    total = precision + recall
    return np.where(total == 0, 0.0, _divided(2 * precision * recall, total))


def _divided(above: Floats, below: Floats) -> Floats:
    quotients: Floats = np.divide(above, below, out=np.full(len(below), np.nan), where=below != 0)
    return quotients
