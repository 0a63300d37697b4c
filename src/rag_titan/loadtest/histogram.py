"""Latencies in bounded memory: HdrHistogram (Tene), within 0.1 % from 1 microsecond to two days; two can be added."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag_titan.errors import DatasetError, MissingExtraError

Floats = NDArray[np.float64]

LONGEST_US = 172_800_000_000  # a request may take a day, and be due a day before it is sent
_DIGITS = 3
_MOST = 2**53
_US = 1000.0  # microseconds in a millisecond
QUANTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}


@dataclass(frozen=True)
class Latencies:
    """The latencies of `of` requests, of which those that failed have none: they rank behind all others.

    So the p99 of a run in which two of a hundred failed is None, however fast the rest was.

    >>> some = Latencies.measured(np.array([10.0, 20.0, 30.0]), of=4)
    >>> round(some.quantile(0.5)), some.quantile(0.99), some.answered, round(some.mean)
    (20, None, 3, 20)
    >>> round(some.plus(some).quantile(0.75)), some.plus(some).of
    (30, 8)
    """

    histogram: Any
    total_ms: float
    of: int

    @classmethod
    def measured(cls, values_ms: Floats, of: int | None = None) -> Latencies:
        """From values of milliseconds, shape (answered,); `of` is as many where it is not given."""
        histogram = _empty()
        whole = np.clip(np.rint(values_ms * _US), 0, LONGEST_US).astype(np.int64)
        for value, count in zip(*(part.tolist() for part in np.unique(whole, return_counts=True)), strict=True):
            histogram.record_value(value, count)
        return cls(histogram, math.fsum(values_ms), len(values_ms) if of is None else of)

    @classmethod
    def read(cls, summary: Any, where: str) -> Latencies:
        """From what `summary` gave. Raises DatasetError for anything else."""
        histogram = _empty()
        try:
            histogram.decode_and_add(summary["histogram"].encode("ascii"))
            answered, mean, of = histogram.get_total_count(), summary["mean"], summary["of"]
            total = 0.0 if mean is None else amount(mean) * answered
            if not 0 <= answered <= count(of):
                raise ValueError("fewer than were answered")
            return cls(histogram, total, of)
        except Exception:  # whatever the decoder makes of a text that is no histogram
            rule = "must be what `rag-titan load --output` wrote, got something else. Run the load test anew."
            raise DatasetError(where, rule) from None

    @property
    def answered(self) -> int:
        """How many have a latency."""
        return int(self.histogram.get_total_count())

    @property
    def mean(self) -> float | None:
        """Of those that have one, in ms; None without any."""
        return self.total_ms / self.answered if self.answered else None

    @property
    def longest(self) -> float | None:
        """Of those that have one, in ms."""
        return self.histogram.get_max_value() / _US if self.answered else None

    def quantile(self, share: float) -> float | None:
        """The latency, in ms, that this share of all requests did not exceed; None where it is one that failed."""
        rank = needed(share, self.of)
        if not self.of or rank > self.answered:
            return None
        return float(self.histogram.get_value_at_percentile(100.0 * rank / self.answered)) / _US

    def plus(self, other: Latencies) -> Latencies:
        """Both together."""
        histogram = _empty()
        histogram.add(self.histogram)
        histogram.add(other.histogram)
        return Latencies(histogram, self.total_ms + other.total_ms, self.of + other.of)

    def summary(self) -> dict[str, Any]:
        """As JSON: figures in ms, and the histogram in the format that HdrHistograms of all languages share."""
        return {
            "of": self.of,
            "answered": self.answered,
            "mean": self.mean,
            **{name: self.quantile(share) for name, share in QUANTILES.items()},
            "max": self.longest,
            "histogram": self.histogram.encode().decode("ascii"),
        }


def needed(share: float, of: int) -> int:
    """How many are at least this share of them.

    >>> needed(0.99, 100), needed(0.99, 30)
    (99, 30)
    """
    return max(1, math.ceil(share * of - 1e-9))


def amount(value: Any) -> float:
    """A finite number from 0 up that a file holds. Raises ValueError for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        raise ValueError("no amount")
    return float(value)


def count(value: Any) -> int:
    """A whole number from 0 up that a file holds. Raises ValueError for anything else."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _MOST:
        raise ValueError("no count")
    return value


def _empty() -> Any:
    try:
        from hdrh.histogram import HdrHistogram
    except ImportError:
        raise MissingExtraError("hdrhistogram", "load") from None
    return HdrHistogram(1, LONGEST_US, _DIGITS)
