"""Exact sums that merge: the same values give the same digits in any order and in any batches.

A float64 is an integer times a power of two; the integers are added without rounding (Kulisch 2013, "Computer
Arithmetic and Validity", ch. 8: the long accumulator), here as one Python integer in units of 2^-1074.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

_UNIT = 1074  # the smallest positive float64 is 2^-1074
_MANTISSA = 53
_HALF = 26
_SQUARABLE = 1e150  # the squares of smaller values are float64; those of greater ones are whole numbers
_SAFE = 1 << 25  # values of 27 bits, this many of them, add up below 2^53
_CELLS = 1 << 20  # of a table of groups and exponents; where it would be larger, each group is summed by itself


def exact_sum(values: NDArray[np.float64]) -> int:
    """The sum of finite float64 values (n,), as an integer in units of 2^-1074.

    >>> exact_sum(np.array([1e100, 1.0, -1e100])) == exact_sum(np.array([1.0]))
    True
    """
    total = 0
    for start in range(0, len(values), _SAFE):
        total += _sum_block(values[start : start + _SAFE])
    return total


def _sum_block(values: NDArray[np.float64]) -> int:
    return group_sums(values, np.array([0, len(values)]))[0]


def group_sums(values: NDArray[np.float64], offsets: NDArray[np.int64]) -> list[int]:
    """The exact sum of each group of values that stand together, as `exact_sum` gives it.

    values (n,) finite, at most 2^25; offsets (groups + 1,) rising from 0 to n.

    >>> group_sums(np.array([0.5, 0.5, 3.0]), np.array([0, 2, 2, 3])) == [1 << 1074, 0, 3 << 1074]
    True
    """
    groups = len(offsets) - 1
    if not len(values):
        return [0] * groups
    mantissa, exponent = np.frexp(values)
    lowest = int(exponent.min())
    width = int(exponent.max()) - lowest + 1
    if groups > 1 and groups * width > _CELLS:
        pairs = zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)
        return [_sum_block(values[first:last]) for first, last in pairs]
    whole = np.ldexp(mantissa, _MANTISSA).astype(np.int64)
    bins = (exponent - lowest).astype(np.intp)
    if groups > 1:
        bins += np.repeat(np.arange(0, groups * width, width), np.diff(offsets))
    high = np.bincount(bins, weights=whole >> _HALF)
    low = np.bincount(bins, weights=whole & ((1 << _HALF) - 1))
    filled = np.flatnonzero((high != 0) | (low != 0))
    totals = [0] * groups
    parts = zip(filled.tolist(), high[filled].tolist(), low[filled].tolist(), strict=True)
    for place, above, below in parts:
        of, bin_ = divmod(place, width)
        shift = lowest + bin_ - _MANTISSA + _UNIT
        part = (int(above) << _HALF) + int(below)
        totals[of] += part << shift if shift >= 0 else part >> -shift  # below 2^-1074 the dropped bits are zeros
    return totals


@dataclass
class Moments:
    """Count, exact sum, exact sum of the (rounded) squares, least and greatest of the measured values of a metric.

    >>> a = Moments.of(np.array([0.1, np.nan])).merge(Moments.of(np.array([0.2])))
    >>> a.n, a.mean(), a.lowest()
    (2, 0.15000000000000002, 0.1)
    """

    n: int = 0
    total: int = 0
    squares: int = 0
    low: float = math.inf
    high: float = -math.inf

    @classmethod
    def of(cls, values: NDArray[np.float64]) -> Moments:
        """From values (n,); NaN means not measured and counts nowhere."""
        kept = values[~np.isnan(values)]
        if not len(kept):
            return cls()
        low, high = float(kept.min()), float(kept.max())
        return cls(len(kept), exact_sum(kept), _sum_of_squares(kept, max(-low, high)), low, high)

    @classmethod
    def of_groups(cls, values: NDArray[np.float64], offsets: NDArray[np.int64]) -> list[Moments]:
        """Those of each group of values that stand together, in one pass over all.

        values (n,), NaN where not measured; offsets (groups + 1,) int64, rising from 0 to n.

        >>> [m.mean() for m in Moments.of_groups(np.array([1.0, 2.0, np.nan]), np.array([0, 2, 2, 3]))]
        [1.5, None, None]
        """
        measured = ~np.isnan(values)
        kept = values[measured]
        ends = np.concatenate(([0], np.cumsum(measured)))[offsets]
        if not len(kept) or len(kept) > _SAFE or max(-kept.min(), kept.max()) >= _SQUARABLE:
            pairs = zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)
            return [cls.of(kept[first:last]) for first, last in pairs]
        sizes = np.diff(ends)
        found = np.flatnonzero(sizes)
        starts = ends[:-1][found]
        totals, squares = group_sums(kept, ends), group_sums(kept * kept, ends)
        low, high = np.minimum.reduceat(kept, starts).tolist(), np.maximum.reduceat(kept, starts).tolist()
        moments = [cls() for _ in sizes]
        for place, (group, n) in enumerate(zip(found.tolist(), sizes[found].tolist(), strict=True)):
            moments[group] = cls(n, totals[group], squares[group], low[place], high[place])
        return moments

    def merge(self, other: Moments) -> Moments:
        """Both together; exact, so the order of merging does not matter."""
        return Moments(
            self.n + other.n,
            self.total + other.total,
            self.squares + other.squares,
            min(self.low, other.low),
            max(self.high, other.high),
        )

    def mean(self) -> float | None:
        """The mean, rounded once; None of nothing."""
        return _quotient(self.total, self.n) if self.n else None

    def lowest(self) -> float | None:
        """The least value; None of nothing."""
        return self.low if self.n else None

    def highest(self) -> float | None:
        """The greatest value; None of nothing."""
        return self.high if self.n else None

    def variance(self) -> float | None:
        """Population variance (divided by n), never below 0; None of nothing, and beyond the floats."""
        if not self.n:
            return None
        try:
            return max(0.0, float(self._spread()))
        except OverflowError:
            return None

    def variation(self) -> float | None:
        """Coefficient of variation sigma/mu, sigma being the population's; None where the mean is 0, or of nothing."""
        if not self.total:
            return None
        mean = Fraction(self.total, self.n << _UNIT)
        return math.sqrt(max(0.0, float(self._spread() / mean**2)))

    def _spread(self) -> Fraction:
        return Fraction(self.squares, self.n << _UNIT) - Fraction(self.total, self.n << _UNIT) ** 2


def _sum_of_squares(values: NDArray[np.float64], greatest: float) -> int:
    """The sum of the squares, in units of 2^-1074; `greatest` is the greatest absolute value."""
    if greatest < _SQUARABLE:
        return exact_sum(values * values)
    large = np.abs(values) >= _SQUARABLE
    beyond = sum(int(Fraction(value) ** 2) for value in values[large].tolist())
    return exact_sum(values[~large] ** 2) + (beyond << _UNIT)


def _quotient(total: int, n: int) -> float:
    return float(Fraction(total, n << _UNIT))
