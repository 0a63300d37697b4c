"""Runs the rows of a stage, and keeps what merges. The only place where NaN becomes None."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag_titan.evaluation.measures.latency import Sample
from rag_titan.evaluation.measures.resampling import KEPT, interval95, is_binary
from rag_titan.evaluation.measures.sums import Moments, exact_sum
from rag_titan.evaluation.metric import MEAN, Floats, Metric

Values = dict[str, Floats]


def measure(metrics: Sequence[Metric], inputs: Any) -> Values:
    """{key: (n_items,) float64, NaN where not measured}; rows that share a `compute` share one pass."""
    done: dict[Any, Floats] = {}
    values: Values = {}
    for row in metrics:
        if row.compute not in done:
            done[row.compute] = np.asarray(row.compute(inputs), dtype=np.float64)
        values[row.key] = done[row.compute]
    return values


def bounds(metrics: Sequence[Metric], inputs: Any, values: Values) -> Values:
    """{key: (n_items,) the most that each measured item can have} for the rows that declare it; NaN as in `values`."""
    return {row.key: np.where(np.isnan(values[row.key]), np.nan, row.bound(inputs)) for row in metrics if row.bound}


def plain(value: float | None) -> float | None:
    """A number as it may stand in a report: NaN is "not measured", None."""
    return None if value is None or math.isnan(value) else float(value)


def item_keys(metrics: Sequence[Metric]) -> dict[str, str]:
    """{key in `per_query`: key of the first row that gives its value}, in the order of the rows."""
    keys: dict[str, str] = {}
    for row in metrics:
        if row.per == "query":
            keys.setdefault(row.item_key, row.key)
    return keys


def per_query_rows(metrics: Sequence[Metric], values: Values, ids: Sequence[str]) -> list[dict[str, Any]]:
    """One dict a query, in the order of the rows; NaN is None."""
    keys = item_keys(metrics)
    columns = []
    for key in keys.values():
        column = values[key].astype(object)
        column[np.isnan(values[key])] = None
        columns.append(column.tolist())
    names = ("id", *keys)
    return [dict(zip(names, cells, strict=True)) for cells in zip(ids, *columns, strict=True)]


_NOTHING = np.empty(0)


def _total(values: Floats) -> int:
    """The exact sum of values that are often all the same."""
    same = len(values) and bool((values == values[0]).all())
    return len(values) * exact_sum(values[:1]) if same else exact_sum(values)


def _worth_keeping(moments: Moments) -> bool:
    """Do the values themselves say more of their mean than the moments?"""
    return 0 < moments.n <= KEPT and not is_binary(moments)


@dataclass
class StageTally:
    """What the items of a stage add up to; two tallies merge into the tally of both.

    present  some input of the stage was given
    moments  by key, for rows that reduce by moments
    samples  by the first key of the rows that share a `compute`, for rows that reduce by a quantile
    values   by key, the measured values of rows that reduce by their mean, as long as they are few and not all 0 or 1:
             what a bootstrap needs
    of       by key, how many items there were, measured or not
    reasons  by key, why a metric is not measured, where the stage knows better than "X was not passed"
    bounds   by key, the exact sum of the most that each measured item can have, of rows that declare it
    """

    present: bool = False
    moments: dict[str, Moments] = field(default_factory=dict)
    samples: dict[str, Sample] = field(default_factory=dict)
    values: dict[str, Floats] = field(default_factory=dict)
    of: dict[str, int] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    bounds: dict[str, int] = field(default_factory=dict)

    @classmethod
    def tally(
        cls,
        metrics: Sequence[Metric],
        values: Values,
        *,
        present: bool = True,
        reasons: Mapping[str, str] | None = None,
        moments: dict[int, Moments] | None = None,
        most: int | None = None,
        bounds: Values | None = None,
    ) -> StageTally:
        """From the values of one batch.

        moments  by the id of an array of values, where they are known already
        most     how many values a sample keeps (see Sample)
        bounds   the most that each item can have (see `bounds`)
        """
        tally = cls(present=present, reasons=dict(reasons or {}))
        moments = {} if moments is None else moments
        sampled: set[Any] = set()
        for row in metrics:
            items = values[row.key]
            if id(items) not in moments:
                moments[id(items)] = Moments.of(items)
            tally.of[row.key], tally.moments[row.key] = len(items), moments[id(items)]
            if row.reduce.quantile is not None and row.compute not in sampled:
                sampled.add(row.compute)
                tally.samples[row.key] = Sample.of(items, most)
            if row.reduce is MEAN and _worth_keeping(tally.moments[row.key]):
                tally.values[row.key] = items[~np.isnan(items)]
        tally.bounds = {key: _total(items[~np.isnan(items)]) for key, items in (bounds or {}).items()}
        return tally

    @classmethod
    def groups(
        cls,
        metrics: Sequence[Metric],
        values: Values,
        order: NDArray[np.int64],
        offsets: NDArray[np.int64],
        *,
        present: Sequence[bool],
        most: int | None = None,
    ) -> list[StageTally]:
        """From the values of one batch, a tally for each group of its items.

        order    (n,) the places of the items, those of a group one after the other
        offsets  (groups + 1,) where each group begins in `order`, and its end
        present  (groups,) some input of the stage was given in the group
        """
        whole = {id(items): items[order] for items in values.values()}
        moments = {name: Moments.of_groups(items, offsets) for name, items in whole.items()}
        tallies = []
        for group, (first, last) in enumerate(zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)):
            parts = {name: items[first:last] for name, items in whole.items()}
            known = {id(part): moments[name][group] for name, part in parts.items()}
            own = {key: parts[id(items)] for key, items in values.items()}
            tallies.append(cls.tally(metrics, own, present=present[group], moments=known, most=most))
        return tallies

    @classmethod
    def unmeasured(cls, metrics: Sequence[Metric], n: int) -> StageTally:
        """Of n queries that carry nothing for this stage."""
        nothing = np.full(n, np.nan)
        return cls.tally(
            metrics, {row.key: nothing if row.per == "query" else nothing[:0] for row in metrics}, present=False
        )

    def merge(self, other: StageTally) -> StageTally:
        """Both together; exact, so neither order nor batch size changes a digit."""
        keys = dict.fromkeys([*self.of, *other.of])
        none, empty = Moments(), Sample()
        moments = {k: self.moments.get(k, none).merge(other.moments.get(k, none)) for k in keys}
        kept = [k for k in dict.fromkeys([*self.values, *other.values]) if _worth_keeping(moments[k])]
        return StageTally(
            self.present or other.present,
            moments,
            {
                k: self.samples.get(k, empty).merge(other.samples.get(k, empty))
                for k in dict.fromkeys([*self.samples, *other.samples])
            },
            {k: np.concatenate([self._values_of(k), other._values_of(k)]) for k in kept},
            {k: self.of.get(k, 0) + other.of.get(k, 0) for k in keys},
            {**other.reasons, **self.reasons},
            {k: self.bounds.get(k, 0) + other.bounds.get(k, 0) for k in dict.fromkeys([*self.bounds, *other.bounds])},
        )

    def _values_of(self, key: str) -> Floats:
        """The measured values of a key whose values are few: those that were kept, or as many zeros and ones."""
        if key in self.values or key not in self.moments:
            return self.values.get(key, _NOTHING)
        of = self.moments[key]
        ones = round((of.mean() or 0.0) * of.n)
        return np.repeat([0.0, 1.0], [of.n - ones, ones])

    def summary(self, metrics: Sequence[Metric]) -> dict[str, float | None]:
        """{key: the number or None}, in the order of the rows."""
        return {row.key: plain(row.reduce.value(self.moments[row.key], self._sample(row, metrics))) for row in metrics}

    def _sample(self, row: Metric, metrics: Sequence[Metric]) -> Sample | None:
        if row.reduce.quantile is None:
            return None
        lead = next(other.key for other in metrics if other.compute is row.compute and other.key in self.samples)
        return self.samples[lead]

    def detail(self, metrics: Sequence[Metric], given: Mapping[str, int]) -> dict[str, dict[str, Any]]:
        """{key: {"n", "of", "reason", "ci95"}}: on how many items each value stands, and why not on all.

        A row with a `bound` has "attainable" as well, the most that its value can be by the labels of these items.
        `given` says for each input name how many queries carry it, or 1 for an input of the whole dataset.
        """
        details: dict[str, dict[str, Any]] = {}
        for row in metrics:
            moments, of = self.moments[row.key], self.of[row.key]
            values = self.values.get(row.key)
            interval = interval95(moments, row.kind.low, row.kind.high, values) if row.reduce is MEAN else None
            undefined = bool(moments.n) and row.reduce.value(moments, self._sample(row, metrics)) is None
            reason = "not measured: undefined (0/0)" if undefined else self._reason(row, given)
            details[row.key] = {"n": moments.n, "of": of, "reason": reason, "ci95": interval}
            if row.bound:
                most = Moments(moments.n, self.bounds[row.key]).mean() if row.key in self.bounds else None
                details[row.key]["attainable"] = plain(most)
        return details

    def _reason(self, row: Metric, given: Mapping[str, int]) -> str | None:
        n, of = self.moments[row.key].n, self.of[row.key]
        if n and n == of:
            return None
        missing = [
            need.replace("|", " or ") for need in row.needs if not any(given.get(name, 0) for name in need.split("|"))
        ]
        if missing:
            verb = "was" if len(missing) == 1 else "were"
            return f"not measured, because {' and '.join(missing)} {verb} not passed"
        if row.key in self.reasons:
            return self.reasons[row.key]
        if not of:
            return f"not measured, because there is no {row.per}"
        needs = " and ".join(need.replace("|", " or ") for need in row.needs)
        if not needs:  # a row of the caller's own may need nothing that has a name
            return "not measured: undefined (0/0)" if not n else f"measured for {n} of {of}; undefined (0/0) elsewhere"
        if not n:
            return f"not measured: undefined (0/0), or no {row.per} has {needs} together"
        lack = f"lack {needs}" if len(row.needs) == 1 else f"do not have {needs} together"
        return f"measured for {n} of {of}; the others {lack}, or it is undefined (0/0) there"
