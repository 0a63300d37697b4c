from __future__ import annotations

import math
from typing import Any

import pytest

from rag_titan.evaluation.evaluator import RAGEvaluator
from rag_titan.evaluation.reports.priorities import blamed, priorities


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


def worded(right: int, wrong: int, unjudged: int, **values: float) -> dict[str, Any]:
    """A report of which the answers have these verdicts and the final answer these metrics."""
    metrics = {
        key: {"value": value, "score": 100 * value, "weight": 1.0, "points_lost": 10 * (1 - value)}
        for key, value in values.items()
    }
    counts = {"questions": right + wrong + unjudged, "right": right, "wrong": wrong, "unjudged": unjudged}
    detail = {key: {"n": counts["questions"], "of": counts["questions"]} for key in values}
    return {
        "scorecard": {"stages": {"end_to_end": {"metrics": metrics}}},
        "end_to_end": {"detail": detail},
        "diagnosis": {"counts": counts},
    }


@pytest.mark.parametrize(
    ("right", "wrong", "unjudged", "exact", "f1"),
    [
        (11, 0, 0, None, None),  # all right, in other words
        (8, 2, 0, 2.0, 2.0),  # 2 of the 10 that fail it: 2/10 of 10 points; 2 of the 5 that F1 lacks: 2/5 of 5 points
        (0, 0, 10, None, 5.0),  # nobody says: F1 stands in for a verdict, exact match says nothing of a long answer
        (0, 10, 0, 10.0, 5.0),
    ],
)
def test_words_count_as_far_as_answers_may_be_wrong(
    right: int, wrong: int, unjudged: int, exact: float | None, f1: float | None
) -> None:
    report = worded(right, wrong, unjudged, answer_exact_match=0.0, answer_f1=0.5, task_success_rate=0.5)
    found = {entry["metric"]: entry["points"] for entry in priorities(report)}
    assert found.pop("task_success_rate") == 5.0  # compares no words
    expected = {"answer_exact_match": exact, "answer_f1": f1}
    assert found == pytest.approx({key: value for key, value in expected.items() if value is not None})


def test_a_report_without_verdicts_blames_all_of_it() -> None:
    report = worded(1, 1, 0, answer_exact_match=0.0)
    metric = report["scorecard"]["stages"]["end_to_end"]["metrics"]["answer_exact_match"]
    assert blamed(report, "end_to_end.answer_exact_match", metric) == 0.5
    del report["diagnosis"]
    assert blamed(report, "end_to_end.answer_exact_match", metric) == 1.0


def one_gold_each(found: list[list[str]], **more: Any) -> list[dict[str, Any]]:
    return [{"id": f"q{i}", "expected_chunk_ids": ["g"], "retrieved_ids": ids, **more} for i, ids in enumerate(found)]


def test_what_the_labels_do_not_allow_is_no_priority() -> None:
    perfect = RAGEvaluator(k=10).evaluate(queries=one_gold_each([["g", "x"], ["g"]]))
    lost = perfect["scorecard"]["stages"]["retrieval"]["metrics"]
    assert min(lost["precision_at_k"]["points_lost"], lost["f1_at_k"]["points_lost"]) > 4
    assert priorities(perfect) == []  # Precision@10 is 0.1 and F1@10 is 2/11, which is all there can be


def test_a_miss_costs_precision_what_it_could_have_had() -> None:
    report = RAGEvaluator(k=10).evaluate(queries=one_gold_each([["g", "x"], ["x"]]))
    metric = report["scorecard"]["stages"]["retrieval"]["metrics"]["precision_at_k"]
    found = {entry["metric"]: entry["points"] for entry in priorities(report)}
    assert found["precision_at_k"] == pytest.approx(metric["points_lost"] * (0.1 - 0.05) / (1 - 0.05))
    assert next(iter(found)) == "recall_at_k"


def test_a_gain_in_precision_ends_where_precision_does() -> None:
    queries = one_gold_each([["x", "y", "g"], ["x", "y", "g"]], reranked_ids=["g", "x", "y"])
    queries[1]["reranked_ids"] = ["x", "y", "g"]
    report = RAGEvaluator(k=2).evaluate(queries=queries)
    metric = report["scorecard"]["stages"]["reranking"]["metrics"]["precision_gain"]
    found = {entry["metric"]: entry["points"] for entry in priorities(report) if entry["stage"] == "reranking"}
    # precision came from 0 to (1/2 + 0) / 2 and ends at 1/2: 1/4 of the 3/4 that the gain lacks
    assert found["precision_gain"] == pytest.approx(metric["points_lost"] / 3)


def test_a_gain_whose_end_nobody_knows_counts_whole() -> None:
    metric = {"value": -0.5, "score": 25.0, "weight": 1.0, "points_lost": 7.5}
    report: dict[str, Any] = {"scorecard": {"stages": {"reranking": {"metrics": {"ndcg_gain": metric}}}}}
    assert priorities(report)[0]["points"] == 7.5
    report["reranking"] = {"summary": {"ndcg_at_k": 0.4}}  # 0.6 of the 1.5 that it lacks
    assert priorities(report)[0]["points"] == pytest.approx(3.0)
