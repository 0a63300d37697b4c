"""What to improve first: the metrics by the points of the overall score that they cost."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from rag_titan.evaluation.catalogue import value_of
from rag_titan.evaluation.limits import finite
from rag_titan.evaluation.reports.compare import GAINS
from rag_titan.evaluation.reports.evidence import counts_of

WORTH_NAMING = 0.05  # points; less does not show in a score with one decimal
_EXACT = {"generation.exact_match", "end_to_end.answer_exact_match"}
_WORDED = _EXACT | {
    "generation.answer_precision", "generation.answer_recall", "generation.answer_f1", "generation.rouge_l_f1",
    "end_to_end.answer_f1",
}  # fmt: skip


def priorities(report: Mapping[str, Any], least: float = WORTH_NAMING) -> list[dict[str, Any]]:
    """[{"stage", "metric", "value", "score", "points"}], the most points first; from `least` points on.

    `points` is by how much the overall score would rise if the metric were as high as the labels allow: with one gold
    chunk a question Precision@10 ends at 0.1. A gain of the reranker can rise only as far as the order that comes out
    of it can still improve, so it counts that far; what compares words with those of the reference counts as far as
    answers may be wrong (`blamed`).

    >>> metric = {"value": 0.5, "score": 50.0, "weight": 4.0, "points_lost": 12.5}
    >>> priorities({"scorecard": {"stages": {"retrieval": {"metrics": {"recall_at_k": metric}}}}})[0]["points"]
    12.5
    """
    card = report.get("scorecard") or {}
    found = []
    for stage, of_stage in (card.get("stages") or {}).items():
        for key, metric in of_stage["metrics"].items():
            points = (metric.get("points_lost") or 0.0) * _attainable(report, f"{stage}.{key}", metric)
            if points >= least:
                entry = {"stage": stage, "metric": key, "value": metric["value"], "score": metric["score"]}
                found.append({**entry, "points": points})
    return sorted(found, key=lambda entry: -entry["points"])


def blamed(report: Mapping[str, Any], name: str, metric: Mapping[str, Any]) -> float:
    """The most of what a metric lacks that wrong answers can explain, 0..1; 1 for what compares no words.

    A right answer in other words than the reference's is no fault. Exact match says nothing of an answer that no rule
    judges either: its reference or itself is long. Where the diagnosis has no verdicts, all is blamed.

    >>> counts = {"questions": 11, "right": 10, "wrong": 1, "unjudged": 0}
    >>> blamed({"diagnosis": {"counts": counts}}, "end_to_end.answer_exact_match", {"value": 0.0})
    0.09090909090909091
    """
    counts, value = counts_of(report), finite(metric.get("value"))
    wrong, unjudged, questions = (finite(counts.get(key)) for key in ("wrong", "unjudged", "questions"))
    if name not in _WORDED or wrong is None or value is None:
        return 1.0
    asked = finite(_detail(report, name).get("n")) or questions or 0.0
    lost = asked * (1 - value)
    may = wrong + (0.0 if name in _EXACT else unjudged or 0.0)
    return min(1.0, may / lost) if lost > 0 else 1.0


def _detail(report: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    stage, _, key = name.partition(".")
    return ((report.get(stage) or {}).get("detail") or {}).get(key) or {}


def _attainable(report: Mapping[str, Any], name: str, metric: Mapping[str, Any]) -> float:
    """The part of the lost points that is worth winning, and can be won at all."""
    if name in _WORDED:
        return blamed(report, name, metric)
    score = metric["score"]
    parts = [value_of(report, *part.split(".")) for part in GAINS.get(name, ())]
    if score is None or None in parts:
        return 1.0
    if parts:  # a gain of g is scored (1 + g) / 2
        room = 50 * (_most(report, GAINS[name][0]) - math.fsum(part for part in parts if part is not None))
    else:
        room = 100 * _most(report, name) - score
    return min(1.0, max(0.0, room / (100 - score))) if score < 100 else 0.0


def _most(report: Mapping[str, Any], name: str) -> float:
    """The most that the value can be by the labels."""
    most = finite(_detail(report, name).get("attainable"))
    return 1.0 if most is None else most
