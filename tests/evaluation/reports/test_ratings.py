from __future__ import annotations

from typing import Any

import pytest
from rich.console import Console

from rag_titan.cli import demo
from rag_titan.evaluation import RAGEvaluator
from rag_titan.evaluation.reports.html import html
from rag_titan.evaluation.reports.markdown import markdown
from rag_titan.evaluation.reports.priorities import priorities
from rag_titan.evaluation.reports.ratings import rated_text
from rag_titan.evaluation.scoring.policy import LITTLE_MEASURED


@pytest.fixture(scope="module")
def free_text() -> dict[str, Any]:
    """Right answers in other words than the references, and a context of which only the copies are known."""
    queries = [
        {
            "id": f"q{i}",
            "context_ids": ["a"],
            "answer": "All of our staff may take up to 25 days off, as the handbook has it.",
            "expected_answer": "The handbook grants every employee an annual leave of twenty-five working days in all.",
            "task_success": True,
        }
        for i in range(11)
    ]
    return RAGEvaluator(k=3).evaluate(chunks=[{"id": "a", "text": "Some text."}], queries=queries)


def stage(report: dict[str, Any], name: str) -> Any:
    return report["scorecard"]["stages"][name]


def test_right_answers_in_other_words_are_said_beside_the_rating(free_text: dict[str, Any]) -> None:
    assert free_text["diagnosis"]["counts"]["right"] == 11
    quality = stage(free_text, "generation")
    assert quality["rating"] == "Poor"
    said = "Poor, Good but for the wording of answers that nothing calls wrong"
    assert rated_text(free_text, "generation", quality) == said
    assert said in markdown(free_text)
    assert "Good but for the wording of answers that nothing calls wrong</small>" in html(free_text)
    assert [entry["metric"] for entry in priorities(free_text)] == ["unsupported_number_rate", "context_grounding"]


def test_wrong_answers_are_not_excused(free_text: dict[str, Any]) -> None:
    counts = {**free_text["diagnosis"]["counts"], "right": 0, "wrong": 11}
    wrong = {**free_text, "diagnosis": {**free_text["diagnosis"], "counts": counts}}
    assert "but for" not in rated_text(wrong, "generation", stage(wrong, "generation"))


def test_a_rating_on_little_stands_in_brackets_everywhere(free_text: dict[str, Any]) -> None:
    context = stage(free_text, "augmentation")
    assert context["rating"] == "Excellent"
    assert context["coverage"] < LITTLE_MEASURED.value
    assert rated_text(free_text, "augmentation", context) == "(Excellent), only 8% measured"
    assert "| (Excellent), only 8% measured" in markdown(free_text)
    assert "<span>(Excellent)<small>only 8% measured</small></span>" in html(free_text)
    console = Console(width=100)
    with console.capture() as captured:
        console.print(demo._scorecard(free_text))
    assert "(Excellent)" in captured.get()
    assert "In brackets: of the stage less than 25% was measured" in captured.get()


def test_a_rating_on_enough_has_no_brackets() -> None:
    edge = {"score": 95.0, "rating": "Excellent", "coverage": LITTLE_MEASURED.value}
    assert rated_text({}, "retrieval", edge) == "Excellent"
