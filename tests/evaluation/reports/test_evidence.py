from __future__ import annotations

from typing import Any

import pytest

from rag_titan.evaluation.catalogue import ROWS
from rag_titan.evaluation.reports import evidence
from rag_titan.evaluation.reports.evidence import alarms_text, evidence_line, fix_first, little_text, loss_text


def verdicts(*lost: str | None) -> list[dict[str, Any]]:
    return [{"id": f"b{i}", "lost_at": stage, "correct": False} for i, stage in enumerate(lost)]


@pytest.mark.parametrize(
    ("funnel", "said"),
    [
        ([], None),
        ([{"stage": "generation", "lost": 2, "kept": 3}], None),
        ([{"stage": "retrieval", "lost": 0, "kept": 4}], "Evidence lost for 0 of 4 questions"),
        (
            [{"stage": "chunking", "lost": 1, "kept": 4}, {"stage": "retrieval", "lost": 2, "kept": 2}],
            "Evidence lost for 3 of 5 questions: Document preparation (chunking) 1, Information search (retrieval) 2",
        ),
        (
            [{"stage": "embedding", "lost": 1, "kept": None}],
            "Evidence lost for 1 of 1 question: Semantic indexing (embedding) 1",
        ),
    ],
)
def test_one_line_says_where_the_evidence_was_lost(funnel: list[Any], said: str | None) -> None:
    assert evidence_line({"diagnosis": {"funnel": funnel}}) == said


@pytest.mark.parametrize(
    ("lost", "said"),
    [
        (
            ["retrieval"] * 2 + ["generation"],
            "Information search (retrieval), which lost the evidence of 2 of 3 failed",
        ),
        (["generation", "chunking"], "Document preparation (chunking), which lost the evidence of 1 of 2 failed"),
        (["generation", None, None], "Answer quality (generation), which gave the wrong answer to 1 of 3 failed"),
        (["end_to_end"], "User experience (end_to_end), where an error ended 1 of 1 failed question: b0"),
        (["retrieval"] * 7, "of 7 of 7 failed questions: b0, b1, b2, b3, b4 and 2 more"),
    ],
)
def test_fix_first_is_where_most_failed_questions_were_lost(lost: list[str | None], said: str) -> None:
    assert said in str(fix_first({"queries": verdicts(*lost)}))


@pytest.mark.parametrize("report", [{}, {"queries": []}, {"queries": verdicts(None)}])
def test_without_a_known_place_there_is_nothing_to_fix_first(report: dict[str, Any]) -> None:
    assert fix_first(report) is None


def test_a_loss_before_a_right_answer_is_nothing_to_fix() -> None:
    kept = [{"id": f"r{i}", "lost_at": "retrieval", "correct": True} for i in range(5)]
    assert "(augmentation)" in str(fix_first({"queries": [*kept, *verdicts("augmentation")]}))


def test_a_report_without_lists_counts_by_its_examples() -> None:
    examples = {"retrieval": [f"q{i}" for i in range(100)], "reranking": ["x"]}
    diagnosis = {"examples": examples, "counts": {"failed": 250}}
    assert "which lost the evidence of at least 100 of 250 failed" in str(fix_first({"diagnosis": diagnosis}))


def test_both_facts_stand_in_one_line() -> None:
    funnel = [{"stage": "retrieval", "lost": 1, "kept": 3}]
    said = loss_text({"queries": verdicts("retrieval"), "diagnosis": {"funnel": funnel}})
    first = "Fix first: Information search (retrieval), which lost the evidence of 1 of 1 failed question: b0"
    assert said == f"Evidence lost for 1 of 4 questions: Information search (retrieval) 1. {first}"


@pytest.mark.parametrize(("coverage", "little"), [(0.2499, True), (0.25, False), (None, False)])
def test_a_rating_on_little_says_so(coverage: float | None, little: bool) -> None:
    assert (little_text({"scorecard": {"overall": {"score": 80.0, "coverage": coverage}}}) is not None) is little


def test_alarms_are_metrics_that_there_are() -> None:
    assert {(stage, key) for stage, key, _ in evidence._ALARMS} <= {(row.stage, row.key) for row in ROWS}


def test_alarms_are_what_is_measured_and_not_0() -> None:
    summary = {"unsupported_number_rate": 0.5, "citations_outside_context_rate": None}
    report = {"generation": {"summary": summary}, "retrieval": {"summary": {"empty_rate": 0.0}}}
    assert alarms_text(report) == "invented numbers 0.500"
    assert alarms_text({"end_to_end": {"error_rate": 0.0}}) is None
