"""Quantiles of measured times, costs and counts that merge over batches; the parts of a latency."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

EXACT_UP_TO = 1_000_000
_DROPPED = 43  # bits of a float64 below its sign, its exponent and the first 9 bits of its mantissa
RELATIVE_ERROR = 2.0**-10


class Sample:
    """The measured values of a metric, and their quantiles.

    Up to 1,000,000 values they are kept (8 bytes each) and quantiles are exact. Above that number, and by that number
    alone, they are counted in buckets, each 2^-9 of its lower edge wide, so that a value is known to 0.1 % (below
    2.3e-308 to 5e-311; zero is zero). A quantile depends on the values only: not on their order or their batches.
    Buckets of equal relative width that merge by adding: DDSketch (Masson, Rim, Lee 2019); buckets read from the bits
    of the number: HdrHistogram (Tene). Values may be negative (the buckets are mirrored); infinite ones are refused.

    most  keep no more than this many values, where many samples stand side by side; default: 1,000,000

    >>> times = Sample.of(np.array([100.0, np.nan])).merge(Sample.of(np.array([300.0])))
    >>> times.n, times.quantile(0.5), times.quantile(0.95)
    (2, 200.0, 290.0)
    >>> Sample().quantile(0.5) is None
    True
    """

    __slots__ = ("_buckets", "_chunks", "most", "n")

    def __init__(
        self,
        n: int = 0,
        chunks: tuple[Floats, ...] = (),
        buckets: _Buckets | None = None,
        most: int | None = None,
    ) -> None:
        self.n = n
        self.most = most
        self._chunks = chunks
        self._buckets = buckets

    @classmethod
    def of(cls, values: Floats, most: int | None = None) -> Sample:
        """From values (n,); NaN means not measured and is left out. ValueError when a value is infinite."""
        kept = values[~np.isnan(values)]
        if not np.isfinite(kept).all():
            raise ValueError("the values of a sample must be finite, got an infinite one.")
        if not len(kept):
            return cls(most=most)
        return cls._counted_from(len(kept), (kept,), None, most)

    @classmethod
    def _counted_from(cls, n: int, chunks: tuple[Floats, ...], buckets: _Buckets | None, most: int | None) -> Sample:
        """Keep the values while they are few enough, else count them."""
        if n <= (EXACT_UP_TO if most is None else most):
            return cls(n, _stacked(chunks), None, most)
        for chunk in chunks:
            counted = _Buckets.of(chunk)
            buckets = counted if buckets is None else buckets.merge(counted)
        return cls(n, (), buckets, most)

    @property
    def exact(self) -> bool:
        """True while the values themselves are kept."""
        return self._buckets is None

    @property
    def relative_error(self) -> float:
        """How far a value may be off, as a share of it: 0.0 or 2^-10."""
        return 0.0 if self.exact else RELATIVE_ERROR

    def merge(self, other: Sample) -> Sample:
        """Both together, with the lower limit of the two; merging n values batch by batch copies each value O(log n)
        times."""
        mine, others = self._buckets, other._buckets
        buckets = mine.merge(others) if mine is not None and others is not None else mine or others
        limits = [limit for limit in (self.most, other.most) if limit is not None]
        most = min(limits, default=None)
        return self._counted_from(self.n + other.n, (*self._chunks, *other._chunks), buckets, most)

    def quantile(self, q: float) -> float | None:
        """The q-quantile (0 <= q <= 1), linear between the two nearest values as numpy's default; None of nothing."""
        if not self.n:
            return None
        if self._buckets is not None:
            return self._buckets.quantile(q, self.n)
        if len(self._chunks) > 1:
            self._chunks = (np.concatenate(self._chunks),)  # the next quantile finds them together
        return float(np.quantile(self._chunks[0], q))

    def __reduce__(self) -> tuple[type[Sample], tuple[int, tuple[Floats, ...], _Buckets | None, int | None]]:
        return type(self), (self.n, self._chunks, self._buckets, self.most)


def _stacked(chunks: Sequence[Floats]) -> tuple[Floats, ...]:
    """The same values in O(log n) arrays, each at least twice as long as the next, so that merging stays cheap."""
    stack: list[Floats] = []
    for chunk in sorted(chunks, key=len, reverse=True):
        stack.append(chunk)
        while len(stack) > 1 and len(stack[-2]) < 2 * len(stack[-1]):
            stack[-2:] = [np.concatenate(stack[-2:])]
    return tuple(stack)


@dataclass(frozen=True)
class _Buckets:
    """How many values fell in each bucket, and the least and the greatest value.

    keys    (b,) int32, rising with the values: the leading bits of |x| with the sign of x; 0 for zero
    counts  (b,) int64, above 0
    """

    keys: NDArray[np.int32]
    counts: NDArray[np.int64]
    low: float
    high: float

    @classmethod
    def of(cls, values: Floats) -> _Buckets:
        bits = np.abs(values).view(np.int64) >> _DROPPED
        keys, counts = np.unique(np.where(values < 0, -bits, bits).astype(np.int32), return_counts=True)
        return cls(keys, counts.astype(np.int64), float(values.min()), float(values.max()))

    def merge(self, other: _Buckets) -> _Buckets:
        keys, place = np.unique(np.concatenate([self.keys, other.keys]), return_inverse=True)
        counts = np.zeros(len(keys), dtype=np.int64)
        np.add.at(counts, place.reshape(-1), np.concatenate([self.counts, other.counts]))
        return _Buckets(keys, counts, min(self.low, other.low), max(self.high, other.high))

    def quantile(self, q: float, n: int) -> float:
        if not 0 <= q <= 1:
            raise ValueError(f"a quantile must be asked between 0 and 1, got {q!r}.")
        place = q * (n - 1)
        before = int(place)
        low, high = self._value(before, n), self._value(min(before + 1, n - 1), n)
        return low + (high - low) * (place - before)

    def _value(self, place: int, n: int) -> float:
        """The value at a place of the n sorted values, from 0: the middle of its bucket; the ends are known exactly."""
        if place in (0, n - 1):
            return self.low if place == 0 else self.high
        key = int(self.keys[np.searchsorted(np.cumsum(self.counts), place, side="right")])
        edges = np.array([abs(key), abs(key) + 1], dtype=np.int64) << _DROPPED
        middle = float((edges.view(np.float64) * 0.5).sum()) if key else 0.0
        return min(max(middle if key >= 0 else -middle, self.low), self.high)


def inter_token_ms(generation_ms: Floats, first_token_ms: Floats, output_tokens: Floats) -> Floats:
    """Mean time between two tokens of an answer: (generation - time to first token) / (tokens - 1).

    All (n,), NaN where not measured. NaN below two tokens, and where the first token came after the end, which two
    clocks can do to a log.

    >>> inter_token_ms(np.array([500.0, 500.0]), np.array([100.0, 100.0]), np.array([5.0, 1.0]))
    array([100.,  nan])
    """
    rest = generation_ms - first_token_ms
    sound = (output_tokens >= 2) & (rest >= 0)
    between = np.full(len(rest), np.nan)
    np.divide(rest, output_tokens - 1, out=between, where=sound)
    return between


def unexplained_ms(total_ms: Floats, parts: Sequence[Floats]) -> Floats:
    """What the measured parts do not explain of the whole: total - sum of the parts; all (n,), NaN where not measured.

    A part that was not measured explains nothing; NaN without a total or without any part. Below 0 where the parts
    exceed the whole, as parts that ran side by side do.

    >>> nan = np.nan
    >>> unexplained_ms(np.array([900.0, 900.0, 900.0]), [np.array([100.0, 100.0, nan]), np.array([700.0, nan, nan])])
    array([100., 800.,  nan])
    """
    table = np.stack([np.asarray(part, dtype=np.float64) for part in parts])
    measured = ~np.isnan(table)
    with np.errstate(over="ignore"):  # parts that no clock can have measured explain nothing
        rest = total_ms - np.where(measured, table, 0.0).sum(axis=0)
    return np.where(measured.any(axis=0) & np.isfinite(rest), rest, np.nan)
