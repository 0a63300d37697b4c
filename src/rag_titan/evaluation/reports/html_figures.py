"""The figures of the HTML report as geometry: shares of the width and height in percent, and the same in words.

The templates draw them as SVG; nothing here knows of a tag or a colour.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from rag_titan.evaluation.limits import finite
from rag_titan.evaluation.reports.figures import count_text

BINS = 10


@dataclass(frozen=True)
class Bar:
    """A bar of a chart, in percent of the figure."""

    start: float
    size: float


@dataclass(frozen=True)
class FunnelBar:
    """A step of the funnel: what is kept, then what is lost here; the rest of the width was lost before.

    lost_text  the number lost here, "" where none
    """

    label: str
    stage: str
    kept: Bar
    lost: Bar
    text: str
    lost_text: str


@dataclass(frozen=True)
class Funnel:
    """The steps of the evidence funnel, in pipeline order; `says` is the figure in words."""

    bars: tuple[FunnelBar, ...]
    says: str


@dataclass(frozen=True)
class Histogram:
    """Counts of values in bins of equal width; `bars` are heights in percent of the tallest.

    >>> histogram([0.0, 0.05, 1.0], 0.0, 1.0).counts
    (2, 0, 0, 0, 0, 0, 0, 0, 0, 1)
    """

    counts: tuple[int, ...]
    edges: tuple[float, ...]

    @property
    def bars(self) -> tuple[tuple[Bar, Bar], ...]:
        """(place across, height) of each bin."""
        most, width = max(self.counts, default=0) or 1, 100 / (len(self.counts) or 1)
        return tuple(
            (Bar(_percent(i * width), _percent(width)), Bar(_percent(100 - 100 * n / most), _percent(100 * n / most)))
            for i, n in enumerate(self.counts)
        )

    def says(self, text: Mapping[float, str]) -> str:
        """The bins that hold something, in words; `text` names the edges."""
        filled = [
            f"{text[low]} to {text[high]}: {n:,}"
            for (low, high), n in zip(pairwise(self.edges), self.counts, strict=True)
            if n
        ]
        return "; ".join(filled)


@dataclass(frozen=True)
class Interval:
    """An estimate and its 95 % interval on an axis."""

    at: float
    span: Bar | None
    zero: float | None = None


def funnel(steps: Sequence[Mapping[str, Any]], labels: Mapping[str, str], whole: int) -> Funnel:
    """The funnel of the diagnosis; `whole` is the number of questions whose evidence is known.

    >>> figure = funnel([{"stage": "retrieval", "lost": 1, "kept": 3}], {"retrieval": "Information search"}, 4)
    >>> figure.bars[0].kept, figure.bars[0].lost, figure.says
    (Bar(start=0.0, size=75.0), Bar(start=75.0, size=25.0), 'Information search: 1 lost, 3 kept')
    """
    most = max([whole, *(step["lost"] + (step.get("kept") or 0) for step in steps), 1])
    bars = []
    for step in steps:
        stage, lost, kept = str(step["stage"]), step["lost"], step.get("kept")
        start, size = 100 * (kept or 0) / most, 100 * lost / most
        text = f"{lost:,} lost" + ("" if kept is None else f", {kept:,} kept")
        parts = Bar(0.0, _percent(start)), Bar(_percent(start), _percent(size))
        bars.append(FunnelBar(labels[stage], stage, *parts, text, f"{lost:,}" if lost else ""))
    return Funnel(tuple(bars), "; ".join(f"{bar.label}: {bar.text}" for bar in bars))


def histogram(values: Sequence[float], low: float | None = None, high: float | None = None) -> Histogram:
    """Counts of the finite values in ten bins from `low` to `high` (default: the least and the greatest value).

    The last bin holds its upper end too; what lies outside counts in the bin at that end.

    >>> histogram([], 0, 1).counts
    (0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
    """
    finite_values = [number for value in values if (number := finite(value)) is not None]
    low = min(finite_values, default=0.0) if low is None else low
    high = max(finite_values, default=1.0) if high is None else high
    width = high - low
    if not (width > 0 and math.isfinite(width)):
        return Histogram((len(finite_values),), (low, high))
    counts = [0] * BINS
    for value in finite_values:
        share = (min(high, max(low, value)) - low) / width
        counts[min(BINS - 1, int(BINS * share + 1e-9))] += 1
    return Histogram(tuple(counts), tuple(low + width * (i / BINS) for i in range(BINS + 1)))


def interval(value: float | None, ends: Any, low: float, high: float) -> Interval | None:
    """A value and its interval on an axis from `low` to `high`, cut at the axis' ends; None without a value.

    >>> interval(0.5, [0.25, 0.75], 0.0, 1.0)
    Interval(at=50.0, span=Bar(start=25.0, size=50.0), zero=None)
    >>> interval(0.1, None, -0.2, 0.2)
    Interval(at=75.0, span=None, zero=50.0)
    """
    if value is None or not high > low:
        return None
    zero = _place(0.0, low, high) if low < 0 < high else None
    span = None
    if pair := ends_of(ends):
        start, end = (_place(end, low, high) for end in pair)
        span = Bar(start, _percent(end - start))
    return Interval(_place(value, low, high), span, zero)


def ends_of(ends: Any) -> tuple[float, float] | None:
    """The two ends of an interval as a report has it; None for anything else."""
    if not isinstance(ends, list | tuple) or len(ends) != 2:
        return None
    low, high = finite(ends[0]), finite(ends[1])
    return None if low is None or high is None else (low, high)


def reach(numbers: Sequence[float | None]) -> float:
    """Half the length of an axis around 0 on which all of the numbers have their place.

    >>> reach([0.1, -0.25, None]), reach([])
    (0.25, 1.0)
    """
    return max((abs(number) for number in numbers if number is not None), default=0.0) or 1.0


def scaled(value: float | None, most: float) -> Bar:
    """The bar of an amount where the greatest is `most`.

    >>> scaled(25.0, 50.0), scaled(None, 50.0)
    (Bar(start=0.0, size=50.0), Bar(start=0.0, size=0.0))
    """
    return Bar(0.0, _percent(100 * min(1.0, max(0.0, value / most))) if value and most > 0 else 0.0)


def counted(histogram: Histogram) -> str:
    """How many values a histogram holds."""
    return count_text(sum(histogram.counts), "question")


def _place(value: float, low: float, high: float) -> float:
    most = max(abs(low), abs(high))  # differences of the ends of what floats hold would be none
    start, end, at = low / most, high / most, min(high, max(low, value)) / most
    return _percent(100 * (at - start) / (end - start)) if end > start else 0.0


def _percent(share: float) -> float:
    return round(share, 2)
