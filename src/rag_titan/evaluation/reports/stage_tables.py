"""A table for each stage: every value with what it stands on, what is not measured and why; then the times."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from rag_titan.evaluation.catalogue import Rows, label_of, stage_names, stage_values, value_of, values_of
from rag_titan.evaluation.metric import Metric
from rag_titan.evaluation.reports.cells import line, table
from rag_titan.evaluation.reports.figures import NOTHING, count_text, title_text, value_text
from rag_titan.evaluation.scoring.policy import default_weight

Report = Mapping[str, Any]

_ITEMS = {"query": "question"}
_TIME = re.compile(r"^(?P<before>.*?)(?P<quantile>p\d+)_(?P<after>.*_ms)$")
_TITLE = re.compile(r" ?\bP\d+\b")
_NOT_PASSED = re.compile(r"^not measured, because (.+) (?:was|were) not passed$")


def tables(report: Report, rows: Rows) -> list[str]:
    """The lines of the section "Stages": one table a stage."""
    lines = ["## Stages"]
    for stage in stage_names(rows):
        of_stage = [row for row in rows if row.stage == stage]
        if of_stage and stage in report:
            lines += ["", f"### {label_of(stage)} ({stage})", "", *_stage(report, stage, of_stage)]
            lines += _cutoffs(report, stage, of_stage)
    return lines if len(lines) > 1 else []


def _stage(report: Report, stage: str, rows: Sequence[Metric]) -> list[str]:
    if not stage_values(report, stage):
        return [not_evaluated_text(rows)]
    meta, scores = report.get("meta") or {}, _scores(report, stage)
    detail = (report.get(stage) or {}).get("detail") or {}
    cells, unmeasured = [], []
    for row in rows:
        value, score = value_of(report, stage, row.key), scores.get(row.key)
        if value is None:
            unmeasured.append(row)
            continue
        if _TIME.match(row.key) and not default_weight(row.stage, row.key):
            continue  # it stands in the section "Times" alone
        shown = [title_text(row, meta), row.key, value_text(row, row.key, value), _scored(score)]
        cells.append([*shown, stands_on(row, detail.get(row.key) or {}), interval_text(row, detail.get(row.key) or {})])
    known = {row.key for row in rows}
    own = {key: value for key, value in _own_values(report, stage, rows).items() if key not in known}
    cells += [
        [key, key, value_text(None, key, v), _scored(scores.get(key)), NOTHING, NOTHING] for key, v in own.items()
    ]
    header = ["Metric", "Key", "Value", "Score", "Measured on", "95 % interval"]
    if all(row[-1] == NOTHING for row in cells):  # no mean of so few values has one
        header, cells = header[:-1], [row[:-1] for row in cells]
    shown_table = table(header, cells, right=(2, 3)) if cells else ["Nothing could be measured."]
    missing = [f"- {line(text)}" for text in missing_texts(unmeasured, detail, meta)]
    return [*shown_table, *([""] if missing else []), *missing]


def _cutoffs(report: Report, stage: str, rows: Sequence[Metric]) -> list[str]:
    """A table of the metrics at further cut-offs, beside K; nothing where there are none."""
    part, k = report.get(stage), (report.get("meta") or {}).get("k")
    at = part.get("at") if isinstance(part, Mapping) else None
    if not isinstance(at, Mapping) or not at:
        return []
    columns: dict[int, Mapping[str, Any]] = {int(cut): values for cut, values in at.items()}
    if isinstance(k, int):
        columns[k] = stage_values(report, stage)
    cuts = sorted(columns)
    shown = [row for row in rows if "@K" in row.title and any(row.key in at[cut] for cut in at)]
    cells = [[row.title, *(value_text(row, row.key, columns[cut].get(row.key)) for cut in cuts)] for row in shown]
    return [
        "",
        "At further cut-offs:",
        "",
        *table(["Metric", *(f"K = {cut}" for cut in cuts)], cells, range(1, len(cuts) + 1)),
    ]


def _scored(score: float | None) -> str:
    return NOTHING if score is None else f"{score:.1f}"


def _own_values(report: Report, stage: str, rows: Sequence[Metric]) -> dict[str, float]:
    """What the report measured under keys that the catalogue does not have."""
    start = f"{stage}."
    return {name.removeprefix(start): v for name, v in values_of(report, rows).items() if name.startswith(start)}


def _scores(report: Report, stage: str) -> dict[str, float | None]:
    card = (report.get("scorecard") or {}).get("stages") or {}
    return {key: metric["score"] for key, metric in ((card.get(stage) or {}).get("metrics") or {}).items()}


def stands_on(row: Metric, detail: Mapping[str, Any]) -> str:
    """On how many items a value stands."""
    n, of = detail.get("n"), detail.get("of")
    if n is None or of is None:
        return NOTHING
    if row.per == "corpus":
        return "the whole corpus" if n else NOTHING
    items = count_text(of, _ITEMS.get(row.per, row.per))
    return f"all {items}" if n == of and n > 1 else f"{n:,} of {items}"


def interval_text(row: Metric, detail: Mapping[str, Any]) -> str:
    """The 95 % interval of a value."""
    ends = detail.get("ci95")
    if not ends:
        return NOTHING
    return f"{value_text(row, row.key, ends[0])} to {value_text(row, row.key, ends[1])}"


def missing_texts(rows: Sequence[Metric], detail: Mapping[str, Any], meta: Mapping[str, Any]) -> list[str]:
    """A sentence for each reason, with the metrics that it keeps from being measured; those without a weight
    together."""
    by_reason: dict[str, list[str]] = {}
    beyond: list[Metric] = []
    for row in rows:
        if not default_weight(row.stage, row.key):
            beyond.append(row)
            continue
        reason = (detail.get(row.key) or {}).get("reason") or "not measured"
        by_reason.setdefault(reason, []).append(title_text(row, meta))
    texts = [f"{', '.join(titles)}: {reason}." for reason, titles in by_reason.items()]
    waits = [
        found[1] for row in beyond if (found := _NOT_PASSED.search(str((detail.get(row.key) or {}).get("reason"))))
    ]
    if waits:
        inputs = dict.fromkeys(name for names in waits for name in names.split(" and "))
        texts.append(f"{len(waits)} more, which no score counts, wait for {', '.join(inputs)}.")
    return texts


def not_evaluated_text(rows: Sequence[Metric]) -> str:
    """Why a stage has no values: the input that most of its metrics need."""
    needs = Counter(need for row in rows for need in row.needs)
    first = max(needs, key=lambda need: needs[need]).replace("|", " or ") if needs else "its data"
    return f"Not evaluated, because {first} was not passed."


def is_time(key: str) -> bool:
    """True for a percentile of a time.

    >>> is_time("search_p95_latency_ms"), is_time("mean_cost_usd")
    (True, False)
    """
    return _TIME.match(key) is not None


def without_quantile(title: str) -> str:
    """The name of a time without the percentile.

    >>> without_quantile("Search P95 Latency")
    'Search Latency'
    """
    return _TITLE.sub("", title)


def time_parts(report: Report, rows: Rows) -> list[dict[str, Any]]:
    """[{"title", "stage", "p50", "p95", "p99", "n"}], the parts of a request that were timed, in milliseconds; what is
    not known is absent."""
    parts: dict[tuple[str, str], dict[str, Any]] = {}
    for row in rows:
        found, value = _TIME.match(row.key), value_of(report, row.stage, row.key)
        if found is None or value is None:
            continue
        part = parts.setdefault(
            (str(row.stage), found["before"] + found["after"]),
            {"title": without_quantile(row.title), "stage": str(row.stage)},
        )
        part[found["quantile"]] = value
        part["n"] = ((report[row.stage].get("detail") or {}).get(row.key) or {}).get("n")
    return list(parts.values())


def times(report: Report, rows: Rows) -> list[str]:
    """The section "Times": a line for each part of a request, with its percentiles."""
    parts = time_parts(report, rows)
    if not parts:
        return []
    cells = [
        [
            part["title"],
            label_of(part["stage"]),
            *(value_text(None, "_ms", part.get(name)) for name in ("p50", "p95", "p99")),
            part["n"],
        ]
        for part in parts
    ]
    header = ["Part", "Stage", "Median", "95 % are below", "99 % are below", "Measured on"]
    return ["## Times", "", *table(header, cells, right=(2, 3, 4, 5))]
