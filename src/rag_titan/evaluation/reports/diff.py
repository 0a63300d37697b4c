"""Several reports in order of time: what became of each metric, and which questions changed sides.

What `diff` returns is what `compare` says of the last and the first beside its lists, and

reports            {"name", "created_at", "questions"} of each
metrics            one entry a metric, by `verdict` (see VERDICTS), worst first: as `compare` lists it, with the "list"
                   it is in, and "values", one for each report. A change that is listed but not more than chance is "not
                   sure"; one that nothing can test counts as it is
questions_changed  {"failed_before", "failed_now", "newly_failed", "newly_right"} of the questions in both, the last two
                   lists of {"id", "lost_at", "why"}; None where a report does not hold the verdicts on its questions
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rag_titan.errors import RagTitanError, SettingsError
from rag_titan.evaluation.catalogue import ROWS, Rows
from rag_titan.evaluation.limits import finite, listed
from rag_titan.evaluation.limits import names as text_names
from rag_titan.evaluation.reports.comparability import settings_differ, values_beside
from rag_titan.evaluation.reports.compare import TOLERANCE, Entry, compare_all, worse_by
from rag_titan.evaluation.reports.failures import is_failure
from rag_titan.evaluation.reports.form import check_mapping
from rag_titan.evaluation.reports.pairing import Report, items_of, mapping, stored_at
from rag_titan.evaluation.reports.parquet import stored_columns

WORSE, BETTER, UNSURE, CHANGED, SAME = "worse", "better", "not sure", "changed", "same"
NO_FAULT, VANISHED, APPEARED, NOT_COMPARED = "no fault", "no longer measured", "newly measured", "not comparable"
VERDICTS = (WORSE, VANISHED, BETTER, NOT_COMPARED, NO_FAULT, CHANGED, APPEARED, UNSURE, SAME)
"""What a metric can have come to, in the order in which a reader wants to know."""

_LISTS = {
    "regressions": WORSE, "vanished": VANISHED, "improved": BETTER, "explained": NO_FAULT, "changed": CHANGED,
    "appeared": APPEARED, "not_compared": NOT_COMPARED, "unchanged": SAME,
}  # fmt: skip


def diff(
    reports: Sequence[Report],
    tolerance: float = TOLERANCE,
    *,
    names: Sequence[str] | None = None,
    rows: Rows | None = None,
    primary: Iterable[str] | None = None,
) -> Entry:
    """The last report against the first, and what those between them measured (the head of this file has the form).

    Raises SettingsError for fewer than two reports.

    >>> week = [{"retrieval": {"summary": {"recall_at_k": value}}} for value in (0.9, 0.8, 0.7)]
    >>> [(entry["metric"], entry["verdict"], entry["values"]) for entry in diff(week)["metrics"]]
    [('retrieval.recall_at_k', 'worse', [0.9, 0.8, 0.7])]
    """
    rows = ROWS if rows is None else rows
    reports = listed(reports, "reports", "reports")
    called = _called(names, len(reports))
    for i, report in enumerate(reports):
        check_mapping(report, f"reports[{i}]")
    first, last = reports[0], reports[-1]
    found = compare_all(last, first, tolerance, rows=rows, primary=primary)
    others = [settings_differ(report, last) for report in reports[1:-1]]
    odd = [f"{called[i + 1]} is not comparable: {reason}" for i, reason in enumerate(others) if reason]
    middle = [
        {} if reason else values_beside(report, last, rows)
        for reason, report in zip(others, reports[1:-1], strict=True)
    ]
    entries = [entry | {"values": _values(entry, middle)} for entry in _entries(found)]
    return {
        **{key: value for key, value in found.items() if key not in _LISTS},
        "notes": [*found["notes"], *odd],
        "reports": [_about(report, name, rows) for report, name in zip(reports, called, strict=True)],
        "metrics": _worst_first(entries, rows),
        "questions_changed": _changed_sides(first, last, rows) if found["comparable"] else None,
    }


def _called(names: Sequence[str] | None, count: int) -> list[str]:
    """What the reports are called: their numbers, where nobody names them."""
    if count < 2:
        raise SettingsError(f"diff: must have at least two reports, got {count}. Name the oldest first.")
    if names is None:
        return [str(i + 1) for i in range(count)]
    called = text_names(names, "names", "names of reports")
    if len(called) != count:
        raise SettingsError(f"names: must be as many as there are reports ({count}), got {len(called)}.")
    return called


def _entries(found: Mapping[str, Any]) -> Iterator[Entry]:
    for name, verdict in _LISTS.items():
        for entry in found[name]:
            unsure = verdict in (WORSE, BETTER) and entry["significant"] is False
            yield {**entry, "list": name, "verdict": UNSURE if unsure else verdict}


def _values(entry: Entry, middle: Sequence[Mapping[str, float]]) -> list[float | None]:
    ends = entry.get("baseline"), entry.get("current")
    return [ends[0], *(values.get(entry["metric"]) for values in middle), ends[1]]


def _worst_first(entries: Iterable[Entry], rows: Rows) -> list[Entry]:
    """By verdict; what was tested before what nothing can test, the primary metrics first, then those that got worse by
    most; the rest in pipeline order."""
    kinds = {row.name: row.kind for row in rows}

    def rank(entry: Entry) -> tuple[int, bool, bool, float]:
        before, now = entry.get("baseline"), entry.get("current")
        if before is None or now is None:
            return VERDICTS.index(entry["verdict"]), False, False, 0.0
        worse = worse_by(kinds.get(entry["metric"]), now, before) or 0.0
        size = -worse if entry["verdict"] in (WORSE, UNSURE) else -abs(worse)
        untested = entry["significant"] is None
        size = size if math.isfinite(size) else -math.inf
        return VERDICTS.index(entry["verdict"]), untested, not entry["primary"], size

    return sorted(entries, key=rank)


def _about(report: Report, name: str, rows: Rows) -> Entry:
    meta = mapping(report.get("meta"))
    made, questions = meta.get("created_at"), finite(mapping(meta.get("counts")).get("queries"))
    counted = int(questions) if questions is not None else len(items_of(report, rows).ids) or None
    return {"name": name, "created_at": made if isinstance(made, str) else None, "questions": counted}


# --- questions that changed sides -----------------------------------------------------------------


def _changed_sides(first: Report, last: Report, rows: Rows) -> Entry | None:
    before, now = _verdicts(first, rows), _verdicts(last, rows)
    if before is None or now is None:
        return None
    shared = [query for query in now if query in before]
    failed = {query: is_failure(now[query]) for query in shared}
    return {
        "failed_before": sum(is_failure(before[query]) for query in shared),
        "failed_now": sum(failed.values()),
        "newly_failed": [_where(q, now[q]) for q in shared if failed[q] and not is_failure(before[q])],
        "newly_right": [_where(q, before[q]) for q in shared if not failed[q] and is_failure(before[q])],
    }


def _where(query: str, verdict: Mapping[str, Any]) -> Entry:
    why = verdict.get("why")
    lost = verdict.get("lost_at")
    return {
        "id": query,
        "lost_at": lost if isinstance(lost, str) else None,
        "why": [str(reason) for reason in why] if isinstance(why, list) else [],
    }


def _verdicts(report: Report, rows: Rows) -> dict[str, Mapping[str, Any]] | None:
    """{query id: its verdict}, from the report or its Parquet file; None where neither holds them."""
    listed = report.get("queries")
    if isinstance(listed, list):
        return {str(one["id"]): one for one in listed if isinstance(one, Mapping) and "id" in one}
    path = stored_at(report)
    if path is None or items_of(report, rows).missing:  # gone, or another run's by now
        return None
    try:
        columns = stored_columns(Path(path), ("id", "lost_at", "correct", "why"))
    except (RagTitanError, OSError):
        return None
    if not {"id", "lost_at", "correct"} <= columns.keys():
        return None
    names = list(columns)
    found = (dict(zip(names, cells, strict=True)) for cells in zip(*columns.values(), strict=True))
    return {str(one["id"]): one for one in found}
