"""Is a change between two reports more than chance: interval, p, wins and losses, and what the set can resolve."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag_titan.evaluation.catalogue import Rows
from rag_titan.evaluation.limits import SLACK, finite
from rag_titan.evaluation.measures.resampling import ALPHA, holm, needed, paired, resolvable, two_samples
from rag_titan.evaluation.measures.student import Z95
from rag_titan.evaluation.metric import MEAN, Kind, Metric
from rag_titan.evaluation.reports.pairing import Pair, Report, mapping
from rag_titan.evaluation.scoring.policy import PRIMARY, PRIMARY_SHARE

Floats = NDArray[np.float64]
Entry = dict[str, Any]

_HELD = 1 << 24  # differences that are held at the same time
_ENOUGH_BEYOND = 5  # questions beyond a percentile, below which nothing is known of its spread


@dataclass(frozen=True)
class ChangeTest:
    """What is known of one change; None where it is not.

    n           questions measured in both runs
    change      mean change of these, for a percentile the change of it
    low, high   its 95 % interval
    sd          of the changes of single questions, so that sd / sqrt(n) is the standard error
    better, worse, same  questions by the metric's own direction
    untested    why there is no p
    """

    n: int | None = None
    paired: bool = False
    change: float | None = None
    low: float | None = None
    high: float | None = None
    sd: float | None = None
    p: float | None = None
    better: int | None = None
    worse: int | None = None
    same: int | None = None
    untested: str | None = None


class Significance:
    """The tests of all metrics that two reports measured, corrected for how many there are.

    All tests together call a change real with a chance of at most 5 % where there is none: weighted Holm (1979). Of the
    5 % the primary metrics share `PRIMARY_SHARE`, all others the rest; where one of the two has no test, the other has
    it all.

    primary  names of the metrics that the comparison is about, None for those of the policy
    """

    def __init__(
        self, pair: Pair, current: Report, baseline: Report, rows: Rows, primary: Iterable[str] | None
    ) -> None:
        self.names = [name for name in pair.now if name in pair.before]
        wanted = dict.fromkeys(PRIMARY if primary is None else primary)
        self.primary = [name for name in wanted if name in self.names]
        self.tests = _tests(pair, current, baseline, {row.name: row for row in rows}, self.names)
        self._corrected = self._holm()
        self._tested = sum(p is not None for p in self._corrected.values())

    def _holm(self) -> dict[str, float | None]:
        known = (self.tests[name].p for name in self.names)
        p = np.array([math.nan if value is None else value for value in known], dtype=np.float64)
        about = np.array([name in self.primary for name in self.names], dtype=bool)
        counts = [int(np.count_nonzero(~np.isnan(p[side]))) for side in (about, ~about)]
        share = PRIMARY_SHARE.value
        weights = np.where(about, share / counts[0], (1 - share) / counts[1]) if all(counts) else None
        return {name: finite(one) for name, one in zip(self.names, holm(p, weights).tolist(), strict=True)}

    def of(self, name: str, change: float) -> Entry:
        """What a comparison says of a metric that changed by `change`."""
        test, corrected = self.tests[name], self._corrected[name]
        same_way = test.change is not None and test.change * change > 0
        spread = test.sd if test.sd is not None else math.nan
        n = test.n or 0
        return {
            "n": test.n,
            "paired": test.paired,
            "paired_change": test.change if test.paired else None,
            "ci95": None if test.low is None or test.high is None else [test.low, test.high],
            "p": test.p,
            "p_corrected": corrected,
            "tested": None if corrected is None else self._tested,
            "significant": None if corrected is None else bool(corrected <= ALPHA and same_way),
            "untested": test.untested,
            "primary": name in self.primary,
            "wins": test.better,
            "losses": test.worse,
            "ties": test.same,
            "resolvable": resolvable(spread, n),
            "needed": needed(spread, test.change or 0.0),
        }


def _tests(
    pair: Pair, current: Report, baseline: Report, rows: Mapping[str, Metric], names: Sequence[str]
) -> dict[str, ChangeTest]:
    tests: dict[str, ChangeTest] = {}
    sides: dict[str, tuple[Floats, Floats]] = {}
    for name in names:
        row = rows.get(name)
        columns = None if row is None or row.per != "query" else pair.columns(row)
        if row is None:
            tests[name] = ChangeTest(untested="the catalogue does not know the metric")
        elif columns is not None and (row.reduce is MEAN or row.reduce.quantile is not None):
            sides[name] = columns
        elif row.reduce is MEAN:
            tests[name] = _unpaired(row, pair, current, baseline)
        else:
            tests[name] = ChangeTest(untested=_no_values(row, pair))
    listed = list(sides)
    at_once = max(1, _HELD // max(1, len(pair.places[0])))
    for first in range(0, len(listed), at_once):
        some = [rows[name] for name in listed[first : first + at_once]]
        tests |= zip([row.name for row in some], _paired(some, [sides[row.name] for row in some]), strict=True)
    return tests


# --- where the values of questions are kept -------------------------------------------------------


def _paired(rows: Sequence[Metric], sides: Sequence[tuple[Floats, Floats]]) -> Iterator[ChangeTest]:
    """A test for each metric from its values now and before, of the same questions."""
    differences = np.stack([_differences(row, *side) for row, side in zip(rows, sides, strict=True)], axis=1)
    found = paired(differences)
    for i, (row, (now, before)) in enumerate(zip(rows, sides, strict=True)):
        test = ChangeTest(
            int(found.n[i]), True, finite(found.mean[i]), finite(found.low[i]), finite(found.high[i]),
            finite(found.sd[i]), finite(found.p[i]),
            untested=None if found.n[i] else "no question was measured in both runs",
        )  # fmt: skip
        if row.reduce.quantile is not None:
            test = _of_percentile(test, now, before, row.reduce.quantile)
        yield _with_wins(test, row.kind, _change_of(now, before))


def _differences(row: Metric, now: Floats, before: Floats) -> Floats:
    """(n,) what is tested by flipping signs: changes of the values; for a percentile changes of "it lies above".

    Above what: the same percentile of both runs together, which stays where it is when the runs of a question change
    places. So the test is as exact as that of a mean.
    """
    change = _change_of(now, before)
    if row.reduce.quantile is None:
        return change
    known = ~np.isnan(change)
    if not known.any():
        return change
    edge = np.quantile(np.concatenate([now[known], before[known]]), row.reduce.quantile)
    return np.where(known, (now > edge).astype(np.float64) - (before > edge), np.nan)


def _change_of(now: Floats, before: Floats) -> Floats:
    with np.errstate(over="ignore"):
        change = now - before
    return np.where(np.isfinite(change), change, np.nan)


def _of_percentile(test: ChangeTest, now: Floats, before: Floats, q: float) -> ChangeTest:
    """The change of the percentile, and its interval by normal theory of order statistics (Bahadur 1966)."""
    known = ~np.isnan(_change_of(now, before))
    n = int(known.sum())
    if n < 2:
        return replace(test, change=None, low=None, high=None, sd=None)
    sides = [np.sort(side[known]) for side in (now, before)]
    ends = [float(np.quantile(side, q)) for side in sides]
    spreads = [_spread_at(side, q) for side in sides]
    above = [side[known] > end for side, end in zip((now, before), ends, strict=True)]
    shared = float(np.mean(above[0] & above[1]) - np.mean(above[0]) * np.mean(above[1])) / (q * (1 - q))
    rho = min(1.0, max(-1.0, shared))
    most = max(spreads) or 1.0  # the squares of what floats hold are beyond them
    a, b = (spread / most for spread in spreads)
    sd = most * math.sqrt(max(0.0, a**2 + b**2 - 2 * rho * a * b))
    half = Z95 * sd / math.sqrt(n)
    change = ends[0] - ends[1]
    sure = n * min(q, 1 - q) >= _ENOUGH_BEYOND and sd > 0 and math.isfinite(half)
    return replace(
        test, change=finite(change), sd=finite(sd),
        low=finite(change - half) if sure else None, high=finite(change + half) if sure else None,
    )  # fmt: skip


def _spread_at(values: Floats, q: float) -> float:
    """sqrt(n) times the standard error of a percentile of values in order, from the distance of those around it."""
    n = len(values)
    reach = Z95 * math.sqrt(n * q * (1 - q))
    low = max(0, math.floor(q * (n - 1) - reach))
    high = min(n - 1, math.ceil(q * (n - 1) + reach))
    return float(values[high] - values[low]) * n / (high - low) * math.sqrt(q * (1 - q)) if high > low else 0.0


def _with_wins(test: ChangeTest, kind: Kind, change: Floats) -> ChangeTest:
    if kind.better is None:
        return test
    up, down = int((change > SLACK).sum()), int((change < -SLACK).sum())
    better, worse = (up, down) if kind.better == "up" else (down, up)
    return replace(test, better=better, worse=worse, same=int((~np.isnan(change)).sum()) - up - down)


# --- where only a mean and its interval are -------------------------------------------------------


def _unpaired(row: Metric, pair: Pair, current: Report, baseline: Report) -> ChangeTest:
    """The test of two means that nothing pairs."""
    now, before = (_sample(report, row) for report in (current, baseline))
    if now is None or before is None:
        return ChangeTest(untested=_no_values(row, pair))
    values = pair.now[row.name], pair.before[row.name]
    low, high, p = two_samples((values[1], before[0], before[1]), (values[0], now[0], now[1]))
    n = min(now[1], before[1])
    sd = finite((high - low) / (2 * Z95) * math.sqrt(n))
    return ChangeTest(
        n if row.per == "query" else None, False, values[0] - values[1], finite(low), finite(high), sd, finite(p)
    )


def _sample(report: Report, row: Metric) -> tuple[list[float], int] | None:
    """The interval and n of a metric as the report has them; None where it has not, or holds something else there."""
    part = mapping(report.get(row.stage))
    detail = mapping(mapping(part.get("detail")).get(row.key))
    ends, n = detail.get("ci95"), detail.get("n")
    if not isinstance(ends, list) or len(ends) != 2 or not isinstance(n, int) or isinstance(n, bool) or n < 2:
        return None
    low, high = (finite(end) for end in ends)
    return None if low is None or high is None or low > high else ([low, high], n)


def _no_values(row: Metric, pair: Pair) -> str:
    """Why a metric cannot be tested."""
    if row.per != "query":
        return "it is one value of the whole run, without an interval"
    if row.reduce is not MEAN and row.reduce.quantile is None:
        return f"there is no test of a {row.reduce.name} of questions"
    return pair.missing or "a report lacks the values of the questions"
