from __future__ import annotations

from typing import Any

import pytest

from rag_titan.evaluation.reports.failures import failed_queries


def verdict(query: str, **more: Any) -> dict[str, Any]:
    nothing = {"lost_at": None, "correct": None, "correct_by": None, "scenario": None, "why": [], "tags": None}
    return {"id": query, **nothing, **more}


@pytest.mark.parametrize(
    ("lost_at", "correct", "failed"),
    [
        (None, True, False), ("retrieval", True, False), (None, None, False), ("retrieval", None, True),
        (None, False, True), ("retrieval", False, True),
    ],
)  # fmt: skip
def test_only_wrong_ones_and_unjudged_lost_ones_failed(lost_at: str | None, correct: bool | None, failed: bool) -> None:
    report = {"queries": [verdict("q1", lost_at=lost_at, correct=correct)]}
    assert bool(failed_queries(report)) is failed


def test_a_row_carries_the_evidence() -> None:
    why = ["gold chunk c7 is at rank 9", "the number 25 is not in the context"]
    found = failed_queries(
        {
            "queries": [
                verdict("q1", lost_at="retrieval", correct=False, correct_by="required_facts", scenario="C", why=why),
                verdict("q2", correct=False),
                verdict("q3", lost_at="augmentation"),
            ]
        }
    )
    assert found[0] == {
        "query_id": "q1", "stage": "retrieval", "reason": "; ".join(why), "correct": False,
        "correct_by": "required_facts", "scenario": "C", "why": why, "tags": None,
    }  # fmt: skip
    assert (found[1]["stage"], found[1]["reason"]) == ("unknown", "the answer is wrong")
    assert found[2]["reason"] == "its evidence was lost and nobody judged the answer"


def test_an_older_report_is_read_by_its_values_per_query() -> None:
    report = {
        "retrieval": {
            "per_query": [
                {"id": "found", "hit_at_k": 1.0},
                {"id": "missed", "hit_at_k": 0.0},
                {"id": "lucky", "hit_at_k": 0},
                {"id": "unlabelled", "hit_at_k": None},
            ]
        },
        "augmentation": {
            "per_query": [{"id": "missed", "context_sufficient": 0.0}, {"id": "cut", "context_sufficient": 0.0}]
        },
        "generation": {
            "per_query": [
                {"id": "lucky", "task_success": True, "answer_f1": 0.1},
                {"id": "wrong", "task_success": False},
                {"id": "fact", "required_fact_coverage": 0.5},
                {"id": "found", "answer_f1": 0.0},  # word overlap calls nothing wrong
            ]
        },
        "end_to_end": None,
    }
    found = [(row["query_id"], row["stage"], row["reason"], row["correct"]) for row in failed_queries(report)]
    assert found == [
        ("missed", "retrieval", "no gold chunk in the top K", None),
        ("cut", "augmentation", "not every evidence span is whole in the context", None),
        ("wrong", "unknown", "the task was marked as failed", False),
        ("fact", "unknown", "the answer lacks a required fact", False),
    ]


def test_a_report_without_lists_per_query_has_the_examples_of_its_diagnosis() -> None:
    report = {
        "retrieval": {"summary": {}},
        "diagnosis": {"examples": {"retrieval": ["q1", "q2"], "generation": ["q3"]}},
    }
    found = failed_queries(report)
    assert [(row["query_id"], row["stage"]) for row in found] == [
        ("q1", "retrieval"), ("q2", "retrieval"), ("q3", "generation"),
    ]  # fmt: skip
    assert "without lists per query" in found[0]["reason"]


def test_verdicts_win_over_what_the_values_would_say() -> None:
    per_query = [{"id": "q1", "hit_at_k": 0.0}]
    assert failed_queries({"queries": [], "retrieval": {"per_query": per_query}}) == []


@pytest.mark.parametrize("report", [{}, {"retrieval": None}, {"queries": ["x"]}, {"diagnosis": {"examples": []}}])
def test_nothing_to_read_is_no_failure(report: dict[str, Any]) -> None:
    assert failed_queries(report) == []
