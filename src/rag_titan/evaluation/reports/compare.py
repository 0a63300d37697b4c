"""What changed between reports: regressions, improvements, what vanished, trends.

What is put side by side stands in pairing.py, what cannot be in comparability.py, and whether a change is more than
chance in significance.py. An entry of a change says

n, paired                  questions measured in both runs, and whether their values were held against each other (else
                           two means and their intervals)
ci95, paired_change        95 % interval of the change, and the change of these questions
p, p_corrected             of the paired randomisation test, two-sided; corrected for all metrics that were tested (Holm
                           1979, weighted: the primary ones have most of the 5 %)
tested                     how many metrics p is corrected for
significant, untested      p_corrected is at most 0.05; None where nothing can be tested, and why
primary                    one of the metrics that the comparison is about
wins, losses, ties         questions that got better, got worse, stayed
resolvable, needed         the smallest change that these questions show 4 times in 5, and how many questions would show
                           the one that is seen
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from rag_titan.errors import SettingsError
from rag_titan.evaluation.catalogue import ROWS, Rows, by_place, find
from rag_titan.evaluation.limits import above, below, finite, names, number
from rag_titan.evaluation.metric import Kind
from rag_titan.evaluation.reports import comparability
from rag_titan.evaluation.reports.comparability import settings_differ
from rag_titan.evaluation.reports.form import check_mapping
from rag_titan.evaluation.reports.pairing import Pair, Report, mapping, pair_of
from rag_titan.evaluation.reports.significance import Significance
from rag_titan.evaluation.scoring.policy import default_weight

Entry = dict[str, Any]

TOLERANCE = 0.02  # stages.txt: 2 points for scores, 2 % for latency, cost and tokens

GAINS = {
    "reranking.ndcg_gain": ("reranking.ndcg_at_k",),
    "reranking.mrr_gain": ("reranking.mrr_at_k",),
    "reranking.precision_gain": ("retrieval.precision_at_k", "reranking.precision_gain"),
}  # what comes out of the reranker is the sum of these
TESTED = ("regressions", "improved", "explained", "changed", "unchanged")
"""The lists of a comparison whose entries say whether the change is more than chance."""


def compare(
    current: Report,
    baseline: Report,
    tolerance: float = TOLERANCE,
    *,
    rows: Rows | None = None,
    primary: Iterable[str] | None = None,
) -> dict[str, Any]:
    """What changed from the baseline to the current report by more than the tolerance.

    Returns {"comparable", "reason", "tolerance", "rechunked", "primary", "questions", "notes"} and, in pipeline order,
    lists of {"metric": "stage.key", "baseline", "current", "change", "relative_change", ...}:

    regressions   got worse. The change is a difference, for latency, cost and tokens a share of the baseline; from a
                  baseline of 0 any rise of these is worse
    improved      got better
    explained     a gain of the reranker that fell although what comes out of it did not: no fault
    changed       neither better nor worse (sizes, shifts, metrics that the catalogue does not know)
    vanished      measured then and not now, with the reason and the weight it has in the scorecard
    appeared      measured now and not then
    not_compared  {"metric", "reason"}: gold counted by chunk ids, where the chunks are others; scores by other judges

    The tolerance alone decides what is listed; how sure a change is stands in each entry (see the head of this file).

    Where only some questions are in both reports, means and percentiles are taken over these, and a note says so.
    Reports of another K, other conventions or without a question in common are not comparable; the lists stay empty.
    Neither is a baseline that holds no values, or has a newer form than this version reads.

    primary  the metrics that the comparison is about, "key" or "stage.key"; None: those with a default gate. Raises
             UnknownMetricError for one that there is not.

    >>> now = {"retrieval": {"summary": {"recall_at_k": 0.88, "empty_rate": 0.10}}}
    >>> before = {"retrieval": {"summary": {"recall_at_k": 0.90, "empty_rate": 0.05}}}
    >>> [entry["metric"] for entry in compare(now, before)["regressions"]]
    ['retrieval.empty_rate']
    """
    result = compare_all(current, baseline, tolerance, rows=rows, primary=primary)
    del result["unchanged"]
    return result


def compare_all(
    current: Report,
    baseline: Report,
    tolerance: float = TOLERANCE,
    *,
    rows: Rows | None = None,
    primary: Iterable[str] | None = None,
) -> dict[str, Any]:
    """The same with a further list, "unchanged": what changed by no more than the tolerance."""
    rows = ROWS if rows is None else rows
    for name, report in (("current", current), ("baseline", baseline)):
        check_mapping(report, name)
    tolerance = number(tolerance, "tolerance", 0)
    wanted = _known(primary, rows)
    pair, ground = pair_of(current, baseline, rows), comparability.ground_of(current, baseline)
    notes = [*comparability.notes_on(ground, pair), *pair.notes, *comparability.notes_on_files(current, baseline, pair)]
    reason = comparability.reason_against(current, baseline, pair, rows)
    left_out = comparability.left_out(current, baseline, pair, rows) if reason is None else []
    comparability.without(pair, {entry["metric"] for entry in left_out})
    pair = pair if reason is None else Pair(questions=pair.questions)
    tests = Significance(pair, current, baseline, rows, wanted)
    return {
        "comparable": reason is None,
        "reason": reason,
        "tolerance": tolerance,
        "rechunked": ground.rechunked,
        "primary": tests.primary,
        "questions": pair.questions,
        "notes": notes,
        **_sure(_lists(pair, rows, tolerance), tests, current, baseline),
        "not_compared": left_out,
    }


def _known(primary: Iterable[str] | None, rows: Rows) -> list[str] | None:
    return None if primary is None else [find(name, rows).name for name in names(primary, "primary", "metrics")]


def _sure(
    lists: dict[str, list[Entry]], tests: Significance, current: Report, baseline: Report
) -> dict[str, list[Entry]]:
    """The lists, with what is known of how sure each change is, and why a metric vanished."""
    for entry in (entry for name in TESTED for entry in lists[name]):
        entry |= tests.of(entry["metric"], entry["change"])
    for entry in lists["vanished"]:
        entry |= _why_vanished(entry["metric"], current, baseline)
    return lists


def regressions(
    current: Report,
    baseline: Report,
    tolerance: float = TOLERANCE,
    *,
    rows: Rows | None = None,
    primary: Iterable[str] | None = None,
) -> list[Entry]:
    """What got worse than the baseline by more than the tolerance, as `compare` lists it.

    Raises SettingsError where the reports cannot be compared: an empty list would read as "nothing got worse".
    """
    result = compare(current, baseline, tolerance, rows=rows, primary=primary)
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
        for name, value in comparability.values_beside(report, reports[0], rows).items():
            seen.setdefault(name, []).append(value)
    order = {row.name: i for i, row in enumerate(rows)}
    names = sorted((name for name, values in seen.items() if len(values) > 1), key=lambda n: order.get(n, len(order)))
    return {name: seen[name][-1] - seen[name][0] for name in names}


def _lists(pair: Pair, rows: Rows, tolerance: float) -> dict[str, list[Entry]]:
    """The changes by what they count as, in pipeline order, then what the catalogue does not know."""
    names = (*TESTED, "vanished", "appeared")
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
    entry["change"] = max(-sys.float_info.max, min(sys.float_info.max, now - before))
    entry["relative_change"] = finite((now - before) / abs(before)) if relative else None
    worse = worse_by(kind, now, before)
    if worse is None:
        moved = (now - before) / abs(before) if relative else now - before
        lists["changed" if above(abs(moved), tolerance) else "unchanged"].append(entry)
    elif above(worse, tolerance):
        note = _explained(name, pair)
        lists["explained" if note else "regressions"].append({**entry, "note": note} if note else entry)
    else:
        lists["improved" if above(-worse, tolerance) else "unchanged"].append(entry)


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
    detail = mapping(mapping(mapping(current.get(stage)).get("detail")).get(key))
    return {"reason": detail.get("reason") or "the stage has no data", "weight": _weight(current, baseline, stage, key)}


def _weight(current: Report, baseline: Report, stage: str, key: str) -> float:
    """What the metric weighs in the scorecard of the current run (else of the baseline, else in the policy)."""
    for report in (current, baseline):
        stages = mapping(mapping(report.get("scorecard")).get("stages"))
        if stages:
            metric = mapping(mapping(mapping(stages.get(stage)).get("metrics")).get(key))
            return 0.0 if metric.get("needs_target") else finite(metric.get("weight")) or 0.0
    row = by_place(ROWS).get((stage, key))
    return 0.0 if row is None or row.kind.targeted else default_weight(stage, key)
