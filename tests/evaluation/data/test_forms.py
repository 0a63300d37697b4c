from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unicodedata import normalize

import pytest

from rag_titan.evaluation.evaluator import RAGEvaluator

NFC, NFD = "caf\xe9-1", "cafe\u0301-1"
TWO = "\u01d8"  # u with two marks; half composed it is "\xfc\u0301"


def warnings(chunks: list[str] | None, per_query: str | None = "report", **query: Any) -> list[str]:
    told = None if chunks is None else [{"id": name, "text": f"text {i}"} for i, name in enumerate(chunks)]
    report = RAGEvaluator(k=3).evaluate(chunks=told, queries=[{"id": "q1", **query}], per_query=per_query)
    return [text for text in report["warnings"] if "Unicode form" in text]


@pytest.mark.parametrize("per_query", ["report", None])
@pytest.mark.parametrize("lists", ["retrieved_ids", "reranked_ids", "context_ids"])
@pytest.mark.parametrize("labels", [lambda name: {"expected_chunk_ids": [name]}, lambda name: {"relevance": {name: 2}}])
def test_a_gold_id_that_its_lists_hold_in_another_form_is_told(
    labels: Callable[[str], dict[str, Any]], lists: str, per_query: str | None
) -> None:
    (told,) = warnings(None, per_query, **labels(NFC), **{lists: ["x", NFD]})
    assert "lists do not hold" in told
    assert r"'caf\xe9-1' is 'cafe\u0301-1' there (query q1)" in told
    (turned,) = warnings(None, per_query, **labels(NFD), **{lists: ["x", NFC]})
    assert r"'cafe\u0301-1' is 'caf\xe9-1' there (query q1)" in turned


@pytest.mark.parametrize(("gold", "known"), [(NFC, NFD), (NFD, NFC), (TWO, "\xfc\u0301")])
def test_a_gold_id_that_a_chunk_has_in_another_form_is_told(gold: str, known: str) -> None:
    assert normalize("NFC", gold) == normalize("NFC", known)
    (told,) = warnings(["x", known], expected_chunk_ids=[gold])
    assert f"no chunk has as they are written, but one has in another Unicode form (NFC, NFD): {gold!a} is" in told


@pytest.mark.parametrize(
    ("chunks", "query"),
    [
        ([NFC, NFD], {"expected_chunk_ids": [NFC, "unknown"], "retrieved_ids": [NFC, NFD]}),  # two ids on purpose
        (None, {"relevance": {NFC: 0, "a": 1}, "retrieved_ids": [NFD]}),  # no gold
        (None, {"expected_chunk_ids": [NFC], "retrieved_ids": ["caf"]}),
        (None, {"expected_chunk_ids": [NFC]}),
        (["x"], {"expected_chunk_ids": [NFC], "retrieved_ids": ["x"]}),
    ],
)
def test_other_ids_are_not(chunks: list[str] | None, query: dict[str, Any]) -> None:
    assert warnings(chunks, **query) == []


def test_the_first_are_named_and_the_rest_is_counted() -> None:
    queries = [{"id": f"q{i}", "expected_chunk_ids": [NFC], "retrieved_ids": [NFD]} for i in range(300)]
    (told,) = [text for text in RAGEvaluator(k=3).evaluate(queries=queries)["warnings"] if "Unicode form" in text]
    assert "(query q0), " in told
    assert " and 280 more. " in told
