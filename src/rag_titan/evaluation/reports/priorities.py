"""What to improve first: the metrics by the points of the overall score that they cost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rag_titan.evaluation.catalogue import value_of
from rag_titan.evaluation.reports.compare import GAINS

WORTH_NAMING = 0.05  # points; less does not show in a score with one decimal


def priorities(report: Mapping[str, Any], least: float = WORTH_NAMING) -> list[dict[str, Any]]:
    """[{"stage", "metric", "value", "score", "points"}], the most points first; from `least` points on.

    `points` is by how much the overall score would rise if the metric were perfect. A gain of the reranker can rise
    only as far as the order that comes out of it can still improve, so it counts that far.

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


def _attainable(report: Mapping[str, Any], name: str, metric: Mapping[str, Any]) -> float:
    """The part of the lost points that can be won at all: 1 but for gains."""
    parts = [value_of(report, *part.split(".")) for part in GAINS.get(name, ())]
    if not parts or None in parts or metric["score"] is None:
        return 1.0
    room = 50 * (1 - sum(part for part in parts if part is not None))  # a gain of g is scored (1 + g) / 2
    lost = 100 - metric["score"]
    return min(1.0, max(0.0, room / lost)) if lost > 0 else 0.0
