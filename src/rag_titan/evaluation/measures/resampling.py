"""How far a mean can be trusted: 95 % intervals from sums and squares."""

from __future__ import annotations

import math

from rag_titan.evaluation.measures.sums import Moments

Z95 = 1.959963984540054  # the 97.5 % point of the normal distribution
NORMAL_FROM = 30


def interval95(moments: Moments, low: float = -math.inf, high: float = math.inf) -> list[float] | None:
    """[low, high] of the mean at 95 %, cut at the range of the values.

    Wilson's interval (Wilson 1927) where all values are 0 or 1; normal theory with the sample's variance from 30 values
    on; None below, where normal theory does not hold.

    >>> import numpy as np
    >>> [round(x, 4) for x in interval95(Moments.of(np.array([1.0] * 8 + [0.0] * 2)))]
    [0.4902, 0.9433]
    >>> interval95(Moments.of(np.array([0.5, 0.7]))) is None
    True
    """
    mean, variance, n = moments.mean(), moments.variance(), moments.n
    if mean is None or variance is None or n < 2:
        return None
    if moments.total == moments.squares and moments.low in (0.0, 1.0) and moments.high in (0.0, 1.0):
        return _wilson(mean, n)
    if n < NORMAL_FROM:
        return None
    half = Z95 * math.sqrt(variance / (n - 1))
    return [max(low, mean - half), min(high, mean + half)]


def _wilson(share: float, n: int) -> list[float]:
    z2 = Z95 * Z95
    centre = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = Z95 / (1 + z2 / n) * math.sqrt(share * (1 - share) / n + z2 / (4 * n * n))
    return [max(0.0, min(share, centre - half)), min(1.0, max(share, centre + half))]  # at 0 and 1 rounding moves them
