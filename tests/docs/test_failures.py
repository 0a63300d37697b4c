"""Each failure's data show that failure and no other, and after the fix nothing fails."""

from __future__ import annotations

from typing import Any

import pytest
from tests.docs.blocks import DOCS

from rag_titan.evaluation import RAGEvaluator

FAILURES = DOCS / "failures"
SHOWN = {  # page -> where it was lost, for which questions, what the reason says
    "cut": ("chunking", ["q1", "q4"], "no chunk holds"),
    "missed": ("retrieval", ["q2", "q3"], "none of the retrieved chunks"),
    "pushed-down": ("reranking", ["q1", "q4"], "K is 2"),
    "did-not-fit": ("augmentation", ["q1", "q4"], "none of the context chunks"),
    "ignored": ("generation", ["q1", "q3"], "lacks the required fact"),
    "invented": ("generation", ["q1", "q2"], "not in the context"),
    "abstain": ("generation", ["u1", "u2"], "answered what cannot be answered"),
}
LIMITS: dict[str, dict[str, float | None]] = {  # those of the page's rag-titan.toml
    "invented": {"unsupported_number_rate": 0},
    "abstain": {"abstention_accuracy": 0.9, "answer_f1": None},
}


def report(name: str, thresholds: dict[str, float | None] | None) -> dict[str, Any]:
    return RAGEvaluator(k=2, thresholds=thresholds).evaluate_path(FAILURES / "data" / f"{name}.json")


def failed(of: dict[str, Any]) -> list[dict[str, Any]]:
    return [verdict for verdict in of["queries"] if verdict["correct"] is False]


def test_every_page_has_data_that_show_its_failure() -> None:
    assert {path.stem for path in FAILURES.glob("*.md")} - {"index"} == set(SHOWN)
    files = {path.stem for path in (FAILURES / "data").iterdir()}
    assert files == {*SHOWN, *(f"{name}-fixed" for name in SHOWN)}


@pytest.mark.parametrize("name", SHOWN)
def test_the_failure_is_named_and_gone_after_the_fix(name: str) -> None:
    stage, ids, why = SHOWN[name]
    before = report(name, LIMITS.get(name))
    assert [(verdict["id"], verdict["lost_at"]) for verdict in failed(before)] == [(id, stage) for id in ids]
    assert all(why in "; ".join(verdict["why"]) for verdict in failed(before))
    assert before["root_causes"]["first_failing_stage"] == stage
    after = report(f"{name}-fixed", LIMITS.get(name))
    assert failed(after) == []
    assert after["root_causes"]["first_failing_stage"] is None
    lost = {verdict["lost_at"] for verdict in after["queries"]}
    assert lost == {None}
