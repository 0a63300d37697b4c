"""The evidence for each verdict: what a person needs to see to believe it."""

from __future__ import annotations

from typing import Any

import pytest
from tests.evaluation.diagnosis.logs import verdicts_of

from rag_titan.evaluation.diagnosis.reasons import reasons

QUOTE = {"expected_evidence": ["costs 12 euros"]}
GOLD = {"expected_chunk_ids": ["parking"]}
CUT = [{"id": "half", "text": "Parking costs 12"}, {"id": "rest", "text": " euros a month."}]
FOUND = {"context_ids": ["parking"]}


def why(query: dict[str, Any], **setting: Any) -> list[str]:
    return reasons(verdicts_of([query], **setting))[0]


@pytest.mark.parametrize(
    ("query", "setting", "text"),
    [
        (QUOTE, {"chunks": CUT}, "no chunk holds “costs 12 euros” whole"),
        (GOLD, {"indexed": {"badges"}}, "not in the vector index: parking"),
        (QUOTE, {"indexed": {"badges"}}, "no chunk with the evidence is in the vector index"),
        ({**GOLD, "retrieved_ids": []}, {}, "the search returned nothing"),
        ({**GOLD, "retrieved_ids": ["badges"]}, {}, "gold chunk parking is not among the 1 retrieved"),
        (
            {**GOLD, "retrieved_ids": ["badges", "badges", "x", "parking"]},
            {},
            "gold chunk parking is at rank 3, K is 2",
        ),
        ({**QUOTE, "retrieved_ids": ["badges"]}, {}, "“costs 12 euros” is whole in none of the retrieved chunks"),
        (
            {**GOLD, "retrieved_ids": ["parking"], "reranked_ids": ["badges"]},
            {},
            "gold chunk parking was dropped by the reranker from rank 1",
        ),
        (
            {**GOLD, "retrieved_ids": ["parking", "x", "y"], "reranked_ids": ["x", "y", "parking"]},
            {},
            "gold chunk parking went from rank 1 to rank 3, K is 2",
        ),
        (
            {**QUOTE, "retrieved_ids": ["parking"], "reranked_ids": ["badges"]},
            {},
            "“costs 12 euros” is whole in none of the reranked chunks",
        ),
        (
            {**GOLD, "retrieved_ids": ["x", "parking"], "context_ids": ["x"]},
            {},
            "gold chunk parking is not in the context (it was at rank 2)",
        ),
        ({**GOLD, "context_ids": ["x"]}, {}, "gold chunk parking is not in the context"),
        ({**QUOTE, "context_ids": ["badges"]}, {}, "“costs 12 euros” is whole in none of the context chunks"),
        (
            {**QUOTE, "retrieved_ids": ["badges", "canteen", "parking"]},
            {},
            "“costs 12 euros” is whole in chunk parking, at rank 3, K is 2",
        ),
        (
            {**QUOTE, "retrieved_ids": ["parking"], "reranked_ids": ["badges", "canteen", "parking"]},
            {},
            "“costs 12 euros” is whole in chunk parking, at rank 3, K is 2",
        ),
        (
            {**QUOTE, "expected_chunk_ids": ["badges"], "retrieved_ids": ["badges"]},
            {},
            "“costs 12 euros” is whole in none of the retrieved chunks",
        ),
        (
            {"expected_evidence": ["free of charge"], **GOLD, "retrieved_ids": ["badges"]},
            {},
            "gold chunk parking is not among the 1 retrieved",
        ),
        ({**QUOTE, "context": "The canteen opens at 11."}, {}, "the context lacks the evidence"),
        ({"error": "504 from the model\nserver"}, {}, "error: 504 from the model server"),
        ({**GOLD, **FOUND, "task_success": False}, {}, "marked as not successful"),
        (
            {**GOLD, **FOUND, "answer": "7 euros", "expected_answer": "12 euros"},
            {},
            "answered “7 euros”, expected “12 euros”",
        ),
        (
            {**GOLD, **FOUND, "answer": "It costs money.", "required_facts": ["12 euros", "money"]},
            {},
            "lacks the required fact “12 euros”",
        ),
        (
            {**GOLD, **FOUND, "verified_claims": [{"text": "It is free.", "supported": False}]},
            {},
            "not supported: It is free.",
        ),
        (
            {"answerable": True, "abstained": True, **GOLD, **FOUND},
            {},
            "it refused a question that can be answered",
        ),
        ({"answerable": False, "abstained": False, "answer": "12"}, {}, "it answered what cannot be answered"),
        (
            {**GOLD, **FOUND, "answer": "It is 15 euros a month.", "task_success": False},
            {},
            "not in the context: 15",
        ),
    ],
)
def test_the_reason_names_what_is_missing(query: dict[str, Any], setting: dict[str, Any], text: str) -> None:
    assert text in why(query, **setting)


@pytest.mark.parametrize(
    "query",
    [
        {},
        {**GOLD, **FOUND},
        {**GOLD, **FOUND, "answer": "12", "expected_answer": "12"},
        {**QUOTE, "retrieved_ids": ["parking"]},
        {"answerable": False, "abstained": True},
    ],
)
def test_what_is_well_needs_no_reason(query: dict[str, Any]) -> None:
    assert why(query) == []


def test_a_long_quote_is_shortened_and_many_are_counted() -> None:
    words = " ".join(f"w{i}" for i in range(60))
    query = {"expected_evidence": [words], "retrieved_ids": ["a"]}
    told = why(query, chunks=[{"id": "a", "text": "w0"}, {"id": "b", "text": words}], documents={"d": words})
    assert len(told) == 1
    assert len(told[0]) < 140
    assert "…" in told[0]
    many = {"expected_chunk_ids": ["a", "b", "c", "d", "e"], "retrieved_ids": ["x"]}
    assert "3 retrieved" not in (text := " ".join(why(many)))
    assert text.count("gold chunk") <= 4


def test_only_the_quotes_that_are_missing_are_named() -> None:
    query = {"expected_evidence": ["costs 12 euros", "opens at 11"], "retrieved_ids": ["parking"]}
    assert why(query) == ["“opens at 11” is whole in none of the retrieved chunks"]


def test_a_loss_before_the_answer_is_explained_before_the_answer_is() -> None:
    query = {**GOLD, "retrieved_ids": ["badges"], "answer": "7", "expected_answer": "12"}
    assert why(query)[0] == "gold chunk parking is not among the 1 retrieved"


def test_gold_below_the_level_of_relevance_is_not_missed() -> None:
    query = {"relevance": {"parking": 2, "canteen": 1}, "retrieved_ids": ["badges"]}
    assert why(query) == [
        "gold chunk canteen is not among the 1 retrieved", "gold chunk parking is not among the 1 retrieved",
    ]  # fmt: skip
    assert why(query, relevance_level=2) == ["gold chunk parking is not among the 1 retrieved"]


def test_a_quote_behind_k_that_the_reranker_was_given_is_not_missed() -> None:
    query = {"expected_evidence": ["costs 12 euros", "opens at 11"], "retrieved_ids": ["badges", "parking"]}
    lacks = "“opens at 11” is whole in none of the retrieved chunks"
    assert why({**query, "reranked_ids": ["badges"]}, k=1) == [lacks]
    assert why(query, k=1) == ["“costs 12 euros” is whole in chunk parking, at rank 2, K is 1", lacks]


def test_a_wrong_refusal_is_said_once() -> None:
    query = {"answerable": True, "abstained": True, "answer": "I do not know.", "context_ids": ["parking"]}
    assert why(query)[0] == "it refused a question that can be answered"
    assert "it refused" not in why(query)
