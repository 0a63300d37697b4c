"""What changed between reports: regressions, improvements, what vanished, trends."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import NoneType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag_titan.errors import DatasetError, SettingsError
from rag_titan.evaluation.catalogue import ROWS, Rows, by_place, stage_names, values_of
from rag_titan.evaluation.conventions import SEED
from rag_titan.evaluation.evaluator import SCHEMA
from rag_titan.evaluation.limits import above, below, finite, number
from rag_titan.evaluation.measures.latency import Sample
from rag_titan.evaluation.measures.sums import Moments
from rag_titan.evaluation.metric import Kind, Metric
from rag_titan.evaluation.scoring.policy import default_weight

Report = Mapping[str, Any]
Entry = dict[str, Any]
Places = dict[str, float]

TOLERANCE = 0.02  # stages.txt: 2 points for scores, 2 % for latency, cost and tokens

GAINS = {
    "reranking.ndcg_gain": ("reranking.ndcg_at_k",),
    "reranking.mrr_gain": ("reranking.mrr_at_k",),
    "reranking.precision_gain": ("retrieval.precision_at_k", "reranking.precision_gain"),
}  # what comes out of the reranker is the sum of these


@dataclass
class Pair:
    """The values of two reports that can be held against each other, by "stage.key"."""

    now: Places = field(default_factory=dict)
    before: Places = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    questions: dict[str, int] = field(default_factory=dict)


def compare(
    current: Report, baseline: Report, tolerance: float = TOLERANCE, *, rows: Rows | None = None
) -> dict[str, Any]:
    """What changed from the baseline to the current report by more than the tolerance.

    Returns {"comparable", "reason", "tolerance", "questions", "notes"} and, in pipeline order, lists of
    {"metric": "stage.key", "baseline", "current", "change", "relative_change", ...}:

    regressions  got worse. The change is a difference, for latency, cost and tokens a share of the baseline; from a
                 baseline of 0 any rise of these is worse
    improved     got better
    explained    a gain of the reranker that fell although what comes out of it did not: no fault
    changed      neither better nor worse (sizes, shifts, metrics that the catalogue does not know)
    vanished     measured then and not now, with the reason and the weight it has in the scorecard
    appeared     measured now and not then

    Where only some questions are in both reports, means and percentiles are taken over these, and a note says so.
    Reports of another K, other conventions or without a question in common are not comparable; the lists stay empty.
    Neither is a baseline that holds no values, or has a newer form than this version reads.

    >>> now = {"retrieval": {"summary": {"recall_at_k": 0.88, "empty_rate": 0.10}}}
    >>> before = {"retrieval": {"summary": {"recall_at_k": 0.90, "empty_rate": 0.05}}}
    >>> [entry["metric"] for entry in compare(now, before)["regressions"]]
    ['retrieval.empty_rate']
    """
    rows = ROWS if rows is None else rows
    for name, report in (("current", current), ("baseline", baseline)):
        if not isinstance(report, Mapping):
            raise DatasetError(name, f"must be a report, got {type(report).__name__}.")
    tolerance = number(tolerance, "tolerance", 0)
    pair = _pair(current, baseline, rows)
    reason = _unreadable(current, baseline, rows) or settings_differ(current, baseline) or _nothing_shared(pair)
    lists = _lists(pair if reason is None else Pair(), rows, tolerance)
    for entry in lists["vanished"]:
        entry |= _why_vanished(entry["metric"], current, baseline)
    result: Entry = {"comparable": reason is None, "reason": reason, "tolerance": tolerance}
    return {**result, "questions": pair.questions, "notes": pair.notes, **lists}


def regressions(
    current: Report, baseline: Report, tolerance: float = TOLERANCE, *, rows: Rows | None = None
) -> list[Entry]:
    """What got worse than the baseline by more than the tolerance, as `compare` lists it.

    Raises SettingsError where the reports cannot be compared: an empty list would read as "nothing got worse".
    """
    result = compare(current, baseline, tolerance, rows=rows)
    if not result["comparable"]:
        raise SettingsError(result["reason"])
    entries: list[Entry] = result["regressions"]
    return entries


def trends(reports: Sequence[Report], *, rows: Rows | None = None) -> dict[str, float]:
    """{"stage.key": last minus first} over reports in order of time, for what at least two of them measured.

    Raises SettingsError where K or conventions differ between them.

    >>> week = [{"retrieval": {"summary": {"recall_at_k": value}}} for value in (0.5, 0.9, 0.75)]
    >>> trends(week)
    {'retrieval.recall_at_k': 0.25}
    """
    rows = ROWS if rows is None else rows
    seen: dict[str, list[float]] = {}
    for report in reports:
        if reason := settings_differ(report, reports[0]):
            raise SettingsError(reason)
        for name, value in values_of(report, rows).items():
            seen.setdefault(name, []).append(value)
    order = {row.name: i for i, row in enumerate(rows)}
    names = sorted((name for name, values in seen.items() if len(values) > 1), key=lambda n: order.get(n, len(order)))
    return {name: seen[name][-1] - seen[name][0] for name in names}


def settings_differ(current: Report, baseline: Report) -> str | None:
    """Why the metrics of the two reports are not the same quantity; None where they are, or a report does not say."""
    now, before = _mapping(current.get("meta")), _mapping(baseline.get("meta"))
    if None not in (now.get("k"), before.get("k")) and now["k"] != before["k"]:
        return f"baseline: must have the same K, got {before['k']} against {now['k']}. Evaluate both with one K."
    default = SEED.as_dict()
    choices = [{**default, **_mapping(meta["conventions"])} for meta in (now, before) if "conventions" in meta]
    if len(choices) < 2:
        return None
    differ = [key for key in {**choices[0], **choices[1]} if choices[0].get(key) != choices[1].get(key)]
    if not differ:
        return None
    said = "; ".join(f"{key} {choices[1].get(key)!r} against {choices[0].get(key)!r}" for key in differ)
    return f"baseline: must have the same conventions, got {said}. Evaluate both with one set."


def _unreadable(current: Report, baseline: Report, rows: Rows) -> str | None:
    """Why there is nothing to compare with: an empty comparison would read as "nothing got worse"."""
    form = _mapping(baseline.get("meta")).get("schema")
    if form is not None and (isinstance(form, bool) or form not in range(1, SCHEMA + 1)):
        return f"baseline: must be a report of form {SCHEMA}, got form {form!r}. Make a new baseline."
    known = {row.name for row in rows} | set(values_of(current, rows))
    if known.isdisjoint(values_of(baseline, rows)):
        return "baseline: must hold values of metrics, got none: nothing to compare with. Make a new baseline."
    return None


def _nothing_shared(pair: Pair) -> str | None:
    asked = pair.questions
    if not asked or asked["shared"] or not asked["current"] or not asked["baseline"]:
        return None
    return "baseline: must have a question in common with the current report, got none. Make a new baseline."


def _pair(current: Report, baseline: Report, rows: Rows) -> Pair:
    pair = Pair(values_of(current, rows), values_of(baseline, rows))
    other_questions = _compare_prints(pair, current, baseline)
    sides = [{stage: rows_by_id(report, stage) for stage in stage_names(rows)} for report in (current, baseline)]
    ids = [{query for by_id in side.values() for query in by_id} for side in sides]
    if not ids[0] or not ids[1]:
        if other_questions:
            pair.notes.append("The questions differ and a report has no lists per query: all of both are compared.")
        return pair
    pair.questions = {"current": len(ids[0]), "baseline": len(ids[1]), "shared": len(ids[0] & ids[1])}
    if ids[0] == ids[1]:
        return pair
    pair.notes.append(
        f"Only {pair.questions['shared']} questions are in both reports ({len(ids[0])} now, {len(ids[1])} in the "
        "baseline): metrics of questions are compared over these."
    )
    for stage in stage_names(rows):
        of_queries = [row for row in rows if row.stage == stage and row.per == "query"]
        shared = [query for query in sides[0][stage] if query in sides[1][stage]]
        if sides[0][stage] and sides[1][stage]:
            for values, side in ((pair.now, sides[0][stage]), (pair.before, sides[1][stage])):
                _replace(values, of_queries, [side[query] for query in shared])
    return pair


def _compare_prints(pair: Pair, current: Report, baseline: Report) -> bool:
    """Notes what else changed between the runs, as far as both reports say; True where the questions did."""
    now, before = (_mapping(_mapping(report.get("meta")).get("fingerprints")) for report in (current, baseline))
    changed = [
        what
        for what in ("chunks", "gold", "queries")
        if now.get(what) and before.get(what) and now[what] != before[what]
    ]
    if "gold" in changed:
        pair.notes.append("The gold labels changed since the baseline: a difference can come from them alone.")
    if "chunks" in changed:
        pair.notes.append("The chunks changed since the baseline: labels by chunk id may mean other texts now.")
    return "queries" in changed


def rows_by_id(report: Report, stage: str) -> dict[str, Mapping[str, Any]]:
    """{query id: its row} of a stage's list per query; empty where the report has none."""
    rows = _mapping(report.get(stage)).get("per_query")
    if not isinstance(rows, list):
        return {}
    return {str(row["id"]): row for row in rows if isinstance(row, Mapping) and "id" in row}


def _replace(values: Places, rows: Sequence[Metric], items: Sequence[Mapping[str, Any]]) -> None:
    """Sets the values of the rows to what they are over these items; what an older report lacks in them stays."""
    known = {key for item in items for key in item}
    columns = {key: _column([item.get(key) for item in items]) for key in {row.item_key for row in rows} & known}
    for row in rows:
        if items and row.item_key not in known:
            continue
        values.pop(row.name, None)
        column = columns.get(row.item_key, np.empty(0))
        value = finite(row.reduce.value(Moments.of(column), Sample.of(column)))
        if value is not None:
            values[row.name] = value


def _column(values: list[Any]) -> NDArray[np.float64]:
    """(n,) the finite numbers, NaN for everything else."""
    if not {*map(type, values)} <= {float, int, NoneType}:
        values = [finite(value) for value in values]
    column = np.array(values, dtype=np.float64)  # None becomes NaN
    column[~np.isfinite(column)] = np.nan
    return column


def _lists(pair: Pair, rows: Rows, tolerance: float) -> dict[str, list[Entry]]:
    """The changes by what they count as, in pipeline order, then what the catalogue does not know."""
    names = ("regressions", "improved", "explained", "changed", "vanished", "appeared")
    lists: dict[str, list[Entry]] = {name: [] for name in names}
    kinds = {row.name: row.kind for row in rows}
    for name in dict.fromkeys([*kinds, *pair.before, *pair.now]):
        _sort_in(lists, name, pair, kinds.get(name), tolerance)
    return lists


def _sort_in(lists: dict[str, list[Entry]], name: str, pair: Pair, kind: Kind | None, tolerance: float) -> None:
    now, before = pair.now.get(name), pair.before.get(name)
    entry: Entry = {"metric": name, "baseline": before, "current": now, "change": None, "relative_change": None}
    if now is None or before is None:
        if now is not before:
            lists["vanished" if now is None else "appeared"].append(entry)
        return
    relative = kind is not None and kind.relative and before != 0
    entry["change"] = now - before
    entry["relative_change"] = finite((now - before) / abs(before)) if relative else None
    worse = worse_by(kind, now, before)
    if worse is None:
        moved = (now - before) / abs(before) if relative else now - before
        if above(abs(moved), tolerance):
            lists["changed"].append(entry)
    elif above(worse, tolerance):
        note = _explained(name, pair)
        lists["explained" if note else "regressions"].append({**entry, "note": note} if note else entry)
    elif above(-worse, tolerance):
        lists["improved"].append(entry)


def worse_by(kind: Kind | None, now: float, before: float) -> float | None:
    """How much worse `now` is: a difference, or a share of `before` where the kind is relative; negative is better.

    None for a kind that is neither better high nor low. Infinite for any rise of a cost from 0.

    >>> from rag_titan.evaluation.metric import COST, RATE, SIZE
    >>> worse_by(RATE, 0.5, 0.75), worse_by(COST, 105.0, 100.0), worse_by(COST, 0.01, 0.0), worse_by(SIZE, 1.0, 2.0)
    (0.25, 0.05, inf, None)
    """
    if kind is None or kind.better is None:
        return None
    worse = now - before if kind.better == "down" else before - now
    if not kind.relative:
        return worse
    if before:
        return worse / abs(before)
    return math.inf if above(worse, 0) else 0.0


def _explained(name: str, pair: Pair) -> str | None:
    """Why a gain may fall without anything being worse: the order that comes out is as good as it was."""
    parts = GAINS.get(name)
    if parts is None or any(part not in values for part in parts for values in (pair.now, pair.before)):
        return None
    now, before = (math.fsum(values[part] for part in parts) for values in (pair.now, pair.before))
    if below(now, before):
        return None
    return f"The reranker has less left to fix: after it the value is {now:.3f}, and was {before:.3f}."


def _why_vanished(name: str, current: Report, baseline: Report) -> Entry:
    stage, _, key = name.partition(".")
    detail = _mapping(_mapping(_mapping(current.get(stage)).get("detail")).get(key))
    return {"reason": detail.get("reason") or "the stage has no data", "weight": _weight(current, baseline, stage, key)}


def _weight(current: Report, baseline: Report, stage: str, key: str) -> float:
    """What the metric weighs in the scorecard of the current run (else of the baseline, else in the policy)."""
    for report in (current, baseline):
        stages = _mapping(_mapping(report.get("scorecard")).get("stages"))
        if stages:
            metric = _mapping(_mapping(_mapping(stages.get(stage)).get("metrics")).get(key))
            return 0.0 if metric.get("needs_target") else finite(metric.get("weight")) or 0.0
    row = by_place(ROWS).get((stage, key))
    return 0.0 if row is None or row.kind.targeted else default_weight(stage, key)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
