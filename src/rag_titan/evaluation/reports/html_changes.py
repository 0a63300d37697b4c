"""What the HTML report says of a run against others: the baseline, and the slices of the run itself."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from rag_titan.evaluation.catalogue import label_of, value_of
from rag_titan.evaluation.limits import finite
from rag_titan.evaluation.metric import Metric
from rag_titan.evaluation.reports import html_figures as figures
from rag_titan.evaluation.reports.changes import corrected_text, names_by_reason, p_corrected_text
from rag_titan.evaluation.reports.figures import NOTHING, count_text, relative_text, score_text, share_text
from rag_titan.evaluation.reports.first_run import refusal_text
from rag_titan.evaluation.reports.html_sections import Sections, View, mapping
from rag_titan.evaluation.reports.slice_tables import REASONS, differences, slice_name
from rag_titan.evaluation.scoring.policy import default_weight

_KINDS = (
    ("regressions", "worse"),
    ("improved", "better"),
    ("explained", "no fault"),
    ("changed", "changed"),
    ("vanished", "no longer measured"),
    ("appeared", "newly measured"),
)
_DRAWN = ("regressions", "improved", "explained", "changed")
_SURE: Mapping[Any, str] = {True: "real", False: "could be noise"}


def baseline(sections: Sections, comparison: Mapping[str, Any] | None) -> View | None:
    """The changes against a baseline, each with its interval on an axis that it shares with its like."""
    if not isinstance(comparison, Mapping):
        return None
    found = [(kind, word, mapping(entry)) for kind, word in _KINDS for entry in comparison.get(kind) or []]
    drawn = [_moved(sections, entry) for kind, _, entry in found if kind in _DRAWN]
    numbers: dict[str, list[float | None]] = {}
    for move in drawn:
        numbers.setdefault(move["axis"], []).extend(move["numbers"])
    axes = {axis: figures.reach(of_axis) for axis, of_axis in numbers.items()}
    rows = [_change(sections, kind, word, entry, axes) for kind, word, entry in found]
    left_out = [mapping(entry) for entry in comparison.get("not_compared") or []]
    missed = names_by_reason(left_out, lambda entry: _named(sections, entry))
    return {
        "comparable": bool(comparison.get("comparable")),
        "refusal": refusal_text(comparison) if "reason" in comparison else "",
        "says": _summary(comparison),
        "tolerance": f"{comparison.get('tolerance') or 0:g}",
        "rows": rows,
        "notes": [str(note) for note in comparison.get("notes") or []],
        "missed": [f"{', '.join(names)}: {reason}" for reason, names in missed.items()],
        "missed_of": len(left_out),
        "tested": any(row["sure"] for row in rows),
    }


def _summary(comparison: Mapping[str, Any]) -> str:
    """How many got worse, and of how many of them that is more than noise."""
    worse, better = (comparison.get(kind) or [] for kind in ("regressions", "improved"))
    if not worse:
        said = "No metric got worse"
    else:
        real = sum(mapping(entry).get("significant") is True for entry in worse)
        tested = any("significant" in entry for entry in worse)
        sure = f", {real or 'none'} of them for sure" if tested else ""
        said = f"{count_text(len(worse), 'metric')} got worse{sure}"
    return f"{said}; {len(better)} got better." if better else f"{said}."


def _moved(sections: Sections, entry: Mapping[str, Any]) -> View:
    """The change and its interval in the unit of its axis: a share of the baseline, or a difference.

    Differences of scores share an axis; those of other amounts, such as milliseconds, have one of their own.
    """
    stage, _, key = str(entry.get("metric")).partition(".")
    row, base = sections.places.get((stage, key)), finite(entry.get("baseline"))
    relative = row is not None and row.kind.relative and bool(base)
    unit = abs(base) if relative and base else 1.0
    change, ends = finite(entry.get("change")), figures.ends_of(entry.get("ci95"))
    scaled = None if change is None else change / unit
    span = None if ends is None else [end / unit for end in ends]
    score = row is not None and math.isfinite(row.kind.high - row.kind.low)
    axis = "share" if relative else "score" if score else f"{stage}.{key}"
    return {"relative": relative, "axis": axis, "change": scaled, "ends": span, "numbers": [scaled, *(span or ())]}


def _change(
    sections: Sections, kind: str, word: str, entry: Mapping[str, Any], axes: Mapping[str, float]
) -> dict[str, Any]:
    stage, _, key = str(entry.get("metric")).partition(".")
    move = _moved(sections, entry)
    most = axes.get(move["axis"], 1.0)
    tested = "significant" in entry and kind in _DRAWN
    return {
        "stage": label_of(stage),
        "metric": sections.name(stage, key),
        "primary": entry.get("primary") is True,
        "before": sections.value(stage, key, entry.get("baseline")),
        "now": sections.value(stage, key, entry.get("current")),
        "change": _signed(sections, stage, key, move),
        "interval": _span(sections, stage, key, move),
        "figure": figures.interval(move["change"], move["ends"], -most, most) if kind in _DRAWN else None,
        "axis": (f"{100 * most:.0f} %" if most < 1e4 else "999,999 %") if move["relative"] else f"{most:.3g}",
        "kind": kind,
        "word": word,
        "sure": _SURE.get(entry.get("significant"), "cannot be tested") if tested else "",
        "why": str(entry.get("untested") or entry.get("note") or entry.get("reason") or ""),
        "evidence": _evidence(entry) if tested else "",
    }


def _signed(sections: Sections, stage: str, key: str, move: View) -> str:
    change = move["change"]
    if change is None:
        return NOTHING
    return relative_text(change) if move["relative"] else _plus(sections, stage, key, change)


def _span(sections: Sections, stage: str, key: str, move: View) -> str:
    if move["ends"] is None:
        return ""
    low, high = move["ends"]
    if move["relative"]:
        return f"{relative_text(low)} to {relative_text(high)}"
    return f"{_plus(sections, stage, key, low)} to {_plus(sections, stage, key, high)}"


def _plus(sections: Sections, stage: str, key: str, number: float) -> str:
    return ("+" if number > 0 else "") + sections.value(stage, key, number)


def _evidence(entry: Mapping[str, Any]) -> str:
    """What the verdict stands on: pairs, wins and losses, p, and how many questions it would take."""
    n, p, needed = entry.get("n"), finite(entry.get("p_corrected")), entry.get("needed")
    parts = [count_text(n, "question")] if isinstance(n, int) else []
    if all(isinstance(entry.get(name), int) for name in ("wins", "losses", "ties")):
        parts.append(f"{entry['wins']:,} better, {entry['losses']:,} worse, {entry['ties']:,} same")
    parts += [] if p is None else [corrected_text(entry) or p_corrected_text(entry)]
    if isinstance(needed, int) and entry.get("significant") is False:
        parts.append(f"about {count_text(needed, 'question')} needed to tell")
    return "; ".join(parts)


def _named(sections: Sections, entry: Mapping[str, Any]) -> str:
    stage, _, key = str(entry.get("metric")).partition(".")
    return f"{sections.name(stage, key)} ({label_of(stage)})"


def slices(sections: Sections) -> View | None:
    """The slices, worst first, each with its metrics beside those of the whole run."""
    found = mapping(sections.report.get("slices"))
    listed = [mapping(entry) for entry in found.get("slices") or []]
    pooled = [mapping(entry) for entry in found.get("pooled") or []]
    small = [mapping(entry) for entry in found.get("small") or []]
    if not (listed or pooled or small):
        return None
    rows = [{**_slice(sections, entry), "name": slice_name(entry), "pooled": False} for entry in listed]
    rest = [
        {**_slice(sections, entry), "name": f"{entry.get('tag')}: {entry.get('slices')} more together", "pooled": True}
        for entry in pooled
    ]
    return {
        "by": ", ".join(map(str, found.get("by") or [])),
        "minimum": found.get("minimum"),
        "whole": _slice(sections, whole) if (whole := mapping(found.get("whole"))) else None,
        "rows": [*rows, *rest],
        "small": [f"{slice_name(entry)} ({count_text(entry.get('n') or 0, 'question')})" for entry in small],
    }


def _slice(sections: Sections, entry: Mapping[str, Any]) -> View:
    score, failed = finite(entry.get("score")), entry.get("failed")
    weighed = [row for row in sections.rows if default_weight(row.stage, row.key)]
    return {
        "tag": entry.get("tag"),
        "value": entry.get("value"),
        "n": f"{entry.get('n') or 0:,}",
        "score": score_text(score),
        "bar": figures.scaled(score, 100),
        "coverage": share_text(finite(entry.get("coverage"))),
        "failed": NOTHING if not isinstance(failed, int) else f"{failed:,}",
        "share": share_text(finite(entry.get("failed_share"))),
        "worse": [_difference(sections, one) for one in differences(sections.report, entry, sections.rows)[:REASONS]],
        "metrics": _slice_metrics(sections, mapping(entry.get("stages")), weighed),
    }


def _difference(sections: Sections, one: Mapping[str, Any]) -> str:
    """A metric that is worse in a slice than in the whole, and whether that is more than noise."""
    stage, key = one["stage"], one["metric"]
    here, whole = (sections.value(stage, key, one[name]) for name in ("value", "whole"))
    sure = {True: ", more than noise", False: ", maybe noise"}.get(one["clear"], "")
    return f"{sections.name(stage, key)} ({label_of(stage)}): {here}, of all questions {whole}{sure}"


def _slice_metrics(sections: Sections, stages: Mapping[str, Any], rows: Sequence[Metric]) -> list[View]:
    found = []
    for row in rows:
        stage = str(row.stage)
        part = mapping(stages.get(stage))
        value = finite(mapping(part.get("summary")).get(row.key))
        if value is None:
            continue
        detail = mapping(mapping(part.get("detail")).get(row.key))
        found.append({
            "stage": label_of(stage),
            "title": sections.name(stage, row.key),
            "value": sections.value(stage, row.key, value),
            "interval": sections.interval(stage, row.key, detail.get("ci95")),
            "n": f"{detail['n']:,}" if isinstance(detail.get("n"), int) else NOTHING,
            "all": sections.value(stage, row.key, value_of(sections.report, stage, row.key)),
        })  # fmt: skip
    return found
