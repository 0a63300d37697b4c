"""The slices of a run: a table of them, worst first, and what is worse in them than in the whole."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rag_titan.evaluation.catalogue import Rows, label_of, value_of
from rag_titan.evaluation.limits import above, below, finite
from rag_titan.evaluation.reports.cells import line, shown, table
from rag_titan.evaluation.reports.figures import (
    NOTHING,
    count_text,
    score_text,
    share_text,
    title_text,
    value_text,
)
from rag_titan.evaluation.scoring.scorecard import score_of

Report = Mapping[str, Any]
Entry = Mapping[str, Any]

EXPLAINED = 3  # slices, the worst ones
REASONS = 3  # metrics that are worse there
_SMALL_NAMED = 20
_NAME = 60  # characters of a tag's value


def slice_name(entry: Entry) -> str:
    """The tag and its value, as one line of text without markup.

    >>> slice_name({"tag": "language", "value": "de"}), slice_name({"tag": "language", "value": None})
    ('language = de', 'no language')
    """
    tag, value = shown(entry["tag"], _NAME), entry["value"]
    return f"no {tag}" if value is None else f"{tag} = {shown(value, _NAME)}"


def differences(report: Report, entry: Entry, rows: Rows) -> list[dict[str, Any]]:
    """[{"stage", "metric", "value", "ci95", "whole", "clear", "points"}]: where a slice is worse than all questions.

    clear   True where the value of all questions lies outside the 95 % interval of the slice; None without an interval
    points  by how much of a point of the overall score, by the weights of the scorecard; what is clear stands first,
            then the most points
    """
    found = []
    for row in rows:
        weight = _weight(report, row.stage, row.key)
        part = (entry.get("stages") or {}).get(row.stage) or {}
        value, whole = finite((part.get("summary") or {}).get(row.key)), value_of(report, row.stage, row.key)
        if not weight or value is None or whole is None or row.kind.score is None:
            continue
        points = 100 * weight * ((score_of(row, whole) or 0.0) - (score_of(row, value) or 0.0))
        if above(points, 0):
            ends = ((part.get("detail") or {}).get(row.key) or {}).get("ci95")
            clear = None if not ends else below(whole, ends[0]) or above(whole, ends[1])
            known = {"stage": str(row.stage), "metric": row.key, "value": value, "ci95": ends, "whole": whole}
            found.append({**known, "clear": clear, "points": points})
    return sorted(found, key=lambda one: (not one["clear"], -one["points"]))


def _weight(report: Report, stage: str, key: str) -> float:
    """The share of a metric in the overall score, where every stage is measured."""
    stages = (report.get("scorecard") or {}).get("stages") or {}
    all_stages = sum(of_stage["weight"] for of_stage in stages.values())
    metrics = (stages.get(stage) or {}).get("metrics") or {}
    counted = sum(metric["weight"] for metric in metrics.values() if not metric.get("needs_target"))
    if key not in metrics or not all_stages or not counted:
        return 0.0
    return float(stages[stage]["weight"] / all_stages * metrics[key]["weight"] / counted)


def tables(report: Report, rows: Rows) -> list[str]:
    """The lines of the section "Slices"; none where the run was not sliced."""
    sliced = report.get("slices")
    if not isinstance(sliced, Mapping) or not sliced["by"]:
        return []
    lines = ["## Slices", ""]
    entries = [*sliced["slices"], *sliced["pooled"]]
    if not entries:
        asked = ", ".join(shown(tag, _NAME) for tag in sliced["by"])
        return [*lines, line(f"No question has the tag it was to be sliced by ({asked}); the warnings say more.")]
    lines += [line(_intro(sliced)), "", *_overview(sliced)]
    if small := sliced["small"]:
        lines += ["", line(_small_text(small, sliced["minimum"]))]
    reasons = [(entry, one) for entry in _worse(sliced) for one in differences(report, entry, rows)[:REASONS]]
    return [*lines, *(_explained(report, reasons, rows) if reasons else [])]


def _intro(sliced: Entry) -> str:
    by, whole = _listed(shown(tag, _NAME) for tag in sliced["by"]), sliced["whole"]
    score = f" score {score_text(whole['score'])}" if whole["score"] is not None else " have no score"
    said = (
        f"By {by}, worst first. All {count_text(whole['n'], 'question')}{score} by what is measured for each question"
    )
    return f"{said}; what is measured once, for all chunks and vectors, is not in these scores."


def _overview(sliced: Entry) -> list[str]:
    cells = [[slice_name(entry), *_scores(entry)] for entry in sliced["slices"]]
    cells += [[_pool_name(entry), *_scores(entry)] for entry in sliced["pooled"]]
    cells.append(["all questions", *_scores(sliced["whole"])])
    return table(["Slice", "Questions", "Score / 100", "Failed"], cells, right=(1, 2, 3))


def _scores(entry: Entry) -> list[str]:
    failed = NOTHING if entry["failed"] is None else f"{entry['failed']:,} ({share_text(entry['failed_share'])})"
    return [f"{entry['n']:,}", score_text(entry["score"]), failed]


def _pool_name(entry: Entry) -> str:
    tag = shown(entry["tag"], _NAME)
    if entry["slices"] is None:
        return f"{tag}: too many values, all together"
    return f"{tag}: {count_text(entry['slices'], 'other value')}" + (" together" if entry["slices"] > 1 else "")


def _small_text(small: Sequence[Entry], minimum: int) -> str:
    named = ", ".join(f"{slice_name(entry)} ({entry['n']})" for entry in small[:_SMALL_NAMED])
    more = len(small) - _SMALL_NAMED
    rest = f" and {more:,} more" if more > 0 else ""
    return f"With fewer than {minimum} questions, so among the other values: {named}{rest}."


def _worse(sliced: Entry) -> list[Entry]:
    """The worst slices, as far as they are worse than all questions."""
    whole = sliced["whole"]["score"]
    found = [e for e in sliced["slices"] if whole is not None and e["score"] is not None and below(e["score"], whole)]
    return found[:EXPLAINED]


def _explained(report: Report, reasons: Sequence[tuple[Entry, Entry]], rows: Rows) -> list[str]:
    places = {(str(row.stage), row.key): row for row in rows}
    cells = []
    for entry, one in reasons:
        row = places[one["stage"], one["metric"]]
        value, whole = (value_text(row, row.key, one[name]) for name in ("value", "whole"))
        ends = [value_text(row, row.key, end) for end in one["ci95"] or ()]
        clear = {True: "yes", False: "may be chance", None: "not known"}[one["clear"]]
        title = title_text(row, report.get("meta") or {})
        cells.append([slice_name(entry), label_of(row.stage), title, value, " to ".join(ends) or NOTHING, whole, clear])
    header = ["Slice", "Stage", "Metric", "Here", "95 % interval", "All questions", "Worse"]
    note = (
        "Worse is yes where the value of all questions lies outside the interval; of many slices and metrics, about "
        "one in twenty does so by chance."
    )
    return ["", "What is worse there than in all questions:", "", *table(header, cells, right=(3, 5)), "", note]


def slice_lines(report: Report) -> list[str]:
    """What the slices say, for a terminal: at most three lines, without markup.

    >>> whole = {"n": 90, "score": 78.5, "failed": 9, "failed_share": 0.1}
    >>> slices = [{"tag": "language", "value": "de", "n": 40, "score": 61.2, "failed": 8, "failed_share": 0.2}]
    >>> slice_lines({"slices": {"whole": whole, "slices": slices, "pooled": [], "small": [], "minimum": 10}})
    ['Worst slice: language = de 61.2 (40 questions, 20% failed); all questions 78.5 (90 questions, 10% failed)']
    """
    sliced = report.get("slices")
    if not isinstance(sliced, Mapping) or not (sliced["slices"] or sliced["pooled"]):
        return []
    named = [f"{slice_name(entry)}{_score(entry)} ({_counted(entry)})" for entry in sliced["slices"][:EXPLAINED]]
    everyone = f"all questions{_score(sliced['whole'])} ({_counted(sliced['whole'])})"
    pooled = [f"{_pool_name(entry)}{_score(entry)} ({_counted(entry)})" for entry in sliced["pooled"]]
    lines = [f"Worst slice: {named[0]}; {everyone}"] if named else []
    lines += [f"Then: {', '.join(named[1:])}"] if named[1:] else []
    return [*lines, *([f"Pooled: {', '.join(pooled)}"] if pooled else [])]


def _score(entry: Entry) -> str:
    return "" if entry["score"] is None else f" {score_text(entry['score'])}"


def _counted(entry: Entry) -> str:
    failed = "" if entry["failed_share"] is None else f", {share_text(entry['failed_share'])} failed"
    return f"{count_text(entry['n'], 'question')}{failed}"


def _listed(names: Iterable[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
