"""How far a mean can be trusted, and whether a change is more than chance: intervals and tests by resampling.

The sums of a resample are sums of whole numbers, so they are exact: neither the order of the questions nor the machine
changes a digit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rag_titan.evaluation.measures.draws import coins, normals, picks
from rag_titan.evaluation.measures.student import Z80, Z95, t_p, t_point
from rag_titan.evaluation.measures.sums import Moments

Floats = NDArray[np.float64]

ALPHA = 0.05  # what an interval of 95 % leaves out, and how often a test calls chance a change
KEPT = 200  # up to so many values the bootstrap has its say; above, t theory covers nearly as well
BOOTSTRAP_FROM = 10
RESAMPLES = 1_999  # (RESAMPLES + 1) * 0.025 is whole: the quantiles are order statistics
_FARTHEST = 1.75  # times Student's t: where few values differ from the rest, resamples without them reach anywhere
_BITS = 18  # values as whole numbers of so many bits: 200 times the sum of 200 squares stays exact
EXACT_UP_TO = 13  # differences that are not 0: all 2^13 signs are fewer than 10,000 resamples
MOST_FLIPPED = 10_000  # the largest differences; the sum of what is left is as good as normal
_BLOCK = 1 << 20  # signs of one block: 8 MB


class Paired(NamedTuple):
    """What `paired` says of each of m metrics, arrays (m,); NaN where it cannot be known.

    n          pairs measured on both sides, int64
    mean       of the differences
    low, high  its 95 % interval; NaN for fewer than 2 pairs and where all differences are equal
    p          two-sided, not corrected; NaN without a pair
    sd         of the differences (divided by n - 1); NaN for fewer than 2 pairs
    """

    n: NDArray[np.int64]
    mean: Floats
    low: Floats
    high: Floats
    p: Floats
    sd: Floats


def interval95(
    moments: Moments, low: float = -math.inf, high: float = math.inf, values: Floats | None = None
) -> list[float] | None:
    """[low, high] of the mean at 95 %, cut at the range of the values; None for fewer than 2 values.

    Wilson's interval (Wilson 1927) where all values are 0 or 1. Otherwise the bootstrap-t (Efron 1981) with a fixed
    seed where 10 to 200 `values` are given, in any order, and Student's t for fewer and more.

    Where all values are equal, nothing is known of their spread: as with Wilson's interval, z^2 / (n + z^2) of all
    questions may have any other value of the range. None where the range has no end.

    >>> import numpy as np
    >>> [round(x, 4) for x in interval95(Moments.of(np.array([1.0] * 8 + [0.0] * 2)))]
    [0.4902, 0.9433]
    >>> [round(x, 4) for x in interval95(Moments.of(np.array([0.5] * 30)), 0, 1)]
    [0.4432, 0.5568]
    >>> interval95(Moments.of(np.array([0.5]))) is None
    True
    """
    mean, variance, n = moments.mean(), moments.variance(), moments.n
    if mean is None or variance is None or n < 2:
        return None
    if is_binary(moments):
        return _wilson(mean, n)
    if moments.low == moments.high:
        return _of_a_constant(mean, n, low, high)
    below, above = _reaches(n, values)
    error = math.sqrt(variance / (n - 1))
    ends = [mean - below * error, mean + above * error]
    if math.isfinite(low) and math.isfinite(high) and low <= mean <= high:  # no spread is greater than that of two ends
        widest = _wilson((mean - low) / (high - low), n)
        ends = [max(ends[0], low + (high - low) * widest[0]), min(ends[1], low + (high - low) * widest[1])]
    return [max(low, min(mean, ends[0])), min(high, max(mean, ends[1]))]


def is_binary(moments: Moments) -> bool:
    """True where all values are 0 or 1."""
    return moments.total == moments.squares and moments.low in (0.0, 1.0) and moments.high in (0.0, 1.0)


def _wilson(share: float, n: int) -> list[float]:
    z2 = Z95 * Z95
    centre = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = Z95 / (1 + z2 / n) * math.sqrt(share * (1 - share) / n + z2 / (4 * n * n))
    return [max(0.0, min(share, centre - half)), min(1.0, max(share, centre + half))]  # at 0 and 1 rounding moves them


def _of_a_constant(value: float, n: int, low: float, high: float) -> list[float] | None:
    if not (math.isfinite(low) and math.isfinite(high)):
        return None
    unseen = Z95 * Z95 / (n + Z95 * Z95)
    return [value - unseen * max(0.0, value - low), value + unseen * max(0.0, high - value)]


def _reaches(n: int, values: Floats | None) -> tuple[float, float]:
    """How many standard errors the interval reaches below and above the mean."""
    student = t_point(n - 1)
    if values is None or not BOOTSTRAP_FROM <= n <= KEPT:
        return student, student
    below, above = _studentised(np.sort(values))
    return min(below, _FARTHEST * student), min(above, _FARTHEST * student)


def _studentised(values: Floats) -> tuple[float, float]:
    """The bootstrap's own quantiles of (mean - true mean) / standard error, for sorted values that are not all equal.

    A resample of one value alone has no standard error: it stands beyond all others.
    """
    n = len(values)
    whole = np.rint((values - values[0]) * (2.0**_BITS / (values[-1] - values[0])))
    drawn = _picks_of(n) @ np.stack([whole, whole * whole], axis=1)
    shifts, spreads = drawn[:, 0] - whole.sum(), n * drawn[:, 1] - drawn[:, 0] ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        scores = shifts * math.sqrt(n - 1) / np.sqrt(spreads)
    scores[shifts == 0] = 0.0
    scores.sort()
    edge = (RESAMPLES + 1) // 40
    return float(scores[-edge]), float(-scores[edge - 1])


@lru_cache(maxsize=4)
def _picks_of(n: int) -> Floats:
    return picks(0, RESAMPLES, n)


def paired(differences: Floats, *, resamples: int = 10_000, seed: int = 0) -> Paired:
    """The mean difference of each metric between two runs of the same questions, and whether it is more than chance.

    differences (n, m), one row a question, one column a metric; NaN where a question was not measured in both runs.

    The test is the paired randomisation test (Fisher 1935; for retrieval: Smucker, Allan and Carterette 2007): without
    a change each difference is as likely to have the other sign. p is the share of all signs, or of `resamples` drawn
    ones and the observed, that give a mean as far from 0. Up to 13 differences other than 0 all signs are tried; of
    more than 10,000 the largest 10,000 are flipped and the sum of the rest is drawn from its normal distribution. Each
    metric is tested by itself: neither the order of the questions nor the other metrics change a digit of its p.

    Few differences that are all alike may have an interval that leaves out 0 although the test cannot tell them from
    chance; it is drawn as far as 0 then, so that the two never contradict each other.

    Raises ValueError for an infinite difference.

    >>> import numpy as np
    >>> change = paired(np.array([[-0.5], [-0.25], [-1.0], [-0.5], [-0.125], [-0.5]]))
    >>> float(change.p[0])  # 2 of the 64 ways to set 6 signs
    0.03125
    """
    columns = [column[~np.isnan(column)] for column in differences.T]
    if any(not np.isfinite(column).all() for column in columns):
        raise ValueError("differences: must be finite or NaN, got an infinite one.")
    moments = [Moments.of(column) for column in columns]
    known = np.array([_known(of, column) for of, column in zip(moments, columns, strict=True)]).reshape(-1, 4)
    n = np.array([of.n for of in moments], dtype=np.int64)
    mean, low, high, sd = known.T
    p = _p_of_signs(columns, resamples, seed)
    chance = p > ALPHA
    low, high = np.where(chance, np.minimum(low, 0.0), low), np.where(chance, np.maximum(high, 0.0), high)
    return Paired(n, mean, low, high, p, sd)


def _known(moments: Moments, values: Floats) -> tuple[float, float, float, float]:
    """(mean, low, high, sd) of differences; NaN where they say nothing of it."""
    mean, variance, n = moments.mean(), moments.variance(), moments.n
    if mean is None or variance is None or n < 2:
        return math.nan if mean is None else mean, math.nan, math.nan, math.nan
    if moments.low == moments.high:
        return mean, math.nan, math.nan, 0.0
    error = math.sqrt(variance / (n - 1))
    below, above = _reaches(n, values)
    return mean, mean - below * error, mean + above * error, error * math.sqrt(n)


def _p_of_signs(columns: Sequence[Floats], resamples: int, seed: int) -> Floats:
    """(m,) p of each column of differences; NaN of an empty one."""
    p = np.array([1.0 if len(column) else math.nan for column in columns])
    sizes = [np.count_nonzero(column) for column in columns]
    few = [i for i, size in enumerate(sizes) if 0 < size <= EXACT_UP_TO]
    many = [i for i, size in enumerate(sizes) if size > EXACT_UP_TO]
    if few:
        sums = _Sums.of([columns[i] for i in few])
        codes = np.arange(1 << len(sums.largest), dtype=np.uint64)[:, None]
        bits = (codes >> np.arange(len(sums.largest), dtype=np.uint64)) & np.uint64(1)
        p[few] = sums.beyond(bits.astype(np.float64)) / len(codes)
    if many:
        sums = _Sums.of([columns[i] for i in many])
        rest = normals(seed + 1, resamples) if sums.rest.any() else np.zeros(resamples)
        block, width = max(1, _BLOCK // len(sums.largest)), len(sums.largest)
        counts = np.zeros(len(many))
        for first in range(0, resamples, block):
            rows = min(block, resamples - first)
            bits = coins(seed, first, rows, width, -(-MOST_FLIPPED // 64))
            counts += sums.beyond(bits.astype(np.float64), rest[first : first + rows])
        p[many] = (1 + counts) / (1 + resamples)
    return p


class _Sums(NamedTuple):
    """Columns of differences as whole numbers, whose sums are exact in float64.

    largest   (rows, m) absolute differences, the largest first, 0 below
    rest      (m,) the standard deviation of the sum of the others under random signs
    observed  (m,) how far a sum must be from 0 to count, with some slack for the rounding to whole numbers
    """

    largest: Floats
    rest: Floats
    observed: Floats

    @classmethod
    def of(cls, columns: Sequence[Floats]) -> _Sums:
        """Of columns with a difference other than 0 each."""
        rows = min(MOST_FLIPPED, max(int(np.count_nonzero(column)) for column in columns))
        largest, rest, observed = np.zeros((rows, len(columns))), np.zeros(len(columns)), np.zeros(len(columns))
        for i, column in enumerate(columns):
            size = len(column)
            exponent = math.frexp(float(np.abs(column).max()))[1] + size.bit_length()
            whole = np.rint(np.ldexp(column, 51 - exponent))
            sizes = np.sort(np.abs(whole))[::-1]
            kept = sizes[:rows]
            largest[: len(kept), i] = kept
            rest[i] = math.sqrt(float((sizes[rows:] ** 2).sum()))
            observed[i] = abs(whole.sum()) - size
        return cls(largest, rest, observed)

    def beyond(self, heads: Floats, rest: Floats | None = None) -> Floats:
        """(m,) in how many rows of `heads` (1 for a plus, 0 for a minus) the sum is as far from 0 as observed."""
        sums = 2 * (heads @ self.largest) - self.largest.sum(axis=0)
        if rest is not None:
            sums += rest[:, None] * self.rest
        counted: Floats = np.count_nonzero(np.abs(sums) >= self.observed, axis=0).astype(np.float64)
        return counted


def holm(p: Floats, weights: Floats | None = None) -> Floats:
    """(m,) p corrected for having made all m tests (Holm 1979), at most 1; NaN is no test, and stays.

    Call a change real where the corrected p is at most 0.05, and the chance of even one false alarm is at most 5 %,
    however the metrics hang together.

    weights  (m,) above 0, set before the p are known: what share of the 5 % a test has; None: all the same. The share
             of a test that found something goes to the others, by their weights (Holm 1979, section 4)

    >>> import numpy as np
    >>> holm(np.array([0.01, 0.04, 0.03])).tolist()
    [0.03, 0.06, 0.06]
    >>> holm(np.array([0.01, 0.04, 0.03]), np.array([1.0, 2.0, 1.0])).tolist()
    [0.04, 0.06, 0.06]
    """
    corrected = np.full(len(p), np.nan)
    shares = np.ones(len(p)) if weights is None else weights
    scaled = p / shares
    order = np.argsort(scaled, kind="stable")[: np.count_nonzero(~np.isnan(p))]
    steps = scaled[order] * np.cumsum(shares[order][::-1])[::-1]
    corrected[order] = np.minimum(1.0, np.maximum.accumulate(steps)) if len(order) else steps
    return corrected


def resolvable(sd: float, n: int) -> float | None:
    """The smallest true mean difference that n pairs show as significant (5 %, two-sided) four times out of five.

    sd is that of the differences. None for fewer than 2 pairs, and without a spread, or with one beyond floats.

    >>> round(resolvable(0.4, 200), 3)
    0.08
    """
    if n < 2 or not 0 < sd < math.inf:
        return None
    smallest = (t_point(n - 1) + t_point(n - 1, Z80)) * sd / math.sqrt(n)
    return smallest if smallest < math.inf else None


def needed(sd: float, difference: float) -> int | None:
    """About how many pairs would show a mean difference of this size four times out of five: at least 2.

    None where the difference or the spread is 0, or more than 1e12 pairs were needed.

    >>> needed(0.4, 0.15), needed(0.4, 0.0)
    (58, None)
    """
    size = abs(difference)
    if not 0 < sd < math.inf or not 0 < size < math.inf or (Z95 + Z80) * sd / size > 1e6:
        return None
    count = max(2, math.ceil(((Z95 + Z80) * sd / size) ** 2))
    while (resolvable(sd, count) or 0.0) > size:
        count += 1
    return count


def deciding(mean: float, limit: float, n: int, ends: Sequence[float]) -> int | None:
    """About how many values would put `limit` outside the interval of the mean, if the mean stayed what it is.

    ends  the interval of n values: Wilson's where all were 0 or 1, else its width tells their spread. None where the
          mean lies on the limit, or more than 1e12 values were needed.

    >>> deciding(0.7, 0.8, 10, [0.39677814746114537, 0.8922087325936989])
    62
    """
    gap, half = abs(mean - limit), max(mean - ends[0], ends[1] - mean)
    if not half or gap < 1e-6 * half:
        return None
    if 0 <= mean <= 1 and np.allclose(_wilson(mean, n), ends, rtol=0, atol=1e-9):
        if not 0 < limit < 1:
            return None
        return max(2, math.ceil(Z95**2 * limit * (1 - limit) / gap**2))
    error = half / gap * math.sqrt(n) / t_point(n - 1)  # in gaps, which no size of the values overflows
    count = max(2, math.ceil((Z95 * error) ** 2))
    while t_point(count - 1) * error / math.sqrt(count) > 1:
        count += 1
    return count


def two_samples(
    baseline: tuple[float, Sequence[float], int], current: tuple[float, Sequence[float], int]
) -> tuple[float, float, float]:
    """(low, high, p) of the change of a mean between two sets of different or unknown questions.

    Each is (mean, 95 % interval, n) as a report gives it, n >= 2. The interval of current - baseline combines the two
    as Newcombe (1998) does shares, and Zou and Donner (2008) any mean; p is two-sided, 0.05 where the interval ends at
    0.

    >>> low, high, p = two_samples((0.8, [0.72, 0.86], 120), (0.6, [0.51, 0.68], 120))
    >>> round(low, 3), round(high, 3), round(p, 4)
    (-0.308, -0.087, 0.0007)
    """
    (old, (old_low, old_high), old_n), (new, (new_low, new_high), new_n) = baseline, current
    change = new - old
    down, up = math.hypot(new - new_low, old_high - old), math.hypot(new_high - new, old - old_low)
    towards = down if change > 0 else up
    if not towards:
        return change - down, change + up, 1.0 if not change else 0.0
    freedom = min(old_n, new_n) - 1
    return change - down, change + up, t_p(change / towards * t_point(freedom), freedom)
