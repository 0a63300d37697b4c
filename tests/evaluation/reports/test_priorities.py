from __future__ import annotations

import math
from typing import Any

import pytest

from rag_titan.evaluation.reports.priorities import priorities


def test_the_most_points_come_first_and_all_of_them_are_what_the_score_lacks(report: dict[str, Any]) -> None:
    report["reranking"] = None
    found = priorities(report, least=0)
    points = [entry["points"] for entry in found]
    assert points == sorted(points, reverse=True)
    lost = [m["points_lost"] or 0 for s in report["scorecard"]["stages"].values() for m in s["metrics"].values()]
    assert math.fsum(lost) == pytest.approx(100 - report["scorecard"]["overall"]["score"])


def test_a_gain_counts_as_far_as_the_order_can_still_improve(report: dict[str, Any]) -> None:
    metric = report["scorecard"]["stages"]["reranking"]["metrics"]["ndcg_gain"]
    assert metric["points_lost"] > 1
    assert "ndcg_gain" not in [entry["metric"] for entry in priorities(report)]  # what comes out is perfect already
    report["reranking"]["summary"]["ndcg_at_k"] = 0.25  # (1 - 0.25) of the (1 - 0.25) that the gain lacks
    won = next(entry for entry in priorities(report) if entry["metric"] == "ndcg_gain")
    assert won["points"] == pytest.approx(metric["points_lost"])


def test_what_costs_next_to_nothing_is_left_out_and_so_is_a_missing_scorecard(report: dict[str, Any]) -> None:
    assert len(priorities(report, least=5)) < len(priorities(report))
    assert priorities({}) == []
    assert priorities({"scorecard": None}) == []
