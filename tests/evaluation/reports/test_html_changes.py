"""The changes against a baseline, as the HTML report shows them."""

from __future__ import annotations

from rag_titan.evaluation.catalogue import ROWS
from rag_titan.evaluation.reports.html_changes import baseline
from rag_titan.evaluation.reports.html_sections import Sections


def entry(metric: str, change: float, ends: list[float], before: float) -> dict[str, object]:
    return {"metric": metric, "baseline": before, "current": before + change, "change": change, "ci95": ends}


def test_scores_share_an_axis_on_which_no_other_amount_stands() -> None:
    """A time without a direction changes in ms: on one axis with it every score would be a dot at 0."""
    comparison = {
        "comparable": True,
        "changed": [entry("end_to_end.unexplained_p50_latency_ms", 150.0, [-300.0, 310.0], 0.0)],
        "regressions": [entry("retrieval.recall_at_k", -0.1, [-0.2, 0.0], 0.9)],
        "improved": [entry("retrieval.mrr_at_k", 0.05, [0.01, 0.4], 0.5)],
    }
    view = baseline(Sections({}, ROWS), comparison)
    assert view is not None
    assert {row["metric"]: row["axis"] for row in view["rows"]} == {
        "Recall@K": "0.4",
        "MRR@K": "0.4",
        "Unexplained P50 Latency": "310",
    }
