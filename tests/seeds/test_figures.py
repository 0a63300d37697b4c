"""The figures that the seed documents print, from inputs of our own that mean the same."""

from __future__ import annotations

from typing import Any

import pytest

from rag_titan.evaluation import (
    ChunkEvaluator,
    EndToEndEvaluator,
    GenerationEvaluator,
    RAGEvaluator,
    RerankingEvaluator,
    RetrievalEvaluator,
)
from rag_titan.evaluation.data.tokens import words
from rag_titan.evaluation.scoring.scorecard import StageRow, overall


def retrieval(queries: list[dict[str, Any]], k: int, conventions: Any = None) -> dict[str, Any]:
    rows = [{"id": f"q{i}", **query} for i, query in enumerate(queries)]
    summary: dict[str, Any] = RetrievalEvaluator(conventions=conventions).evaluate(queries=rows, k=k)["summary"]
    return summary


def names(n: int, letter: str = "c") -> list[str]:
    return [f"{letter}{i}" for i in range(n)]


# stages.txt


def test_the_quick_start_prints_one_half_one_half_and_one() -> None:
    """The gold chunk is found at rank 2, reranked to rank 1, and the answer is the reference."""
    texts = ["Members pay 30 euros a year. ", "Guests pay 4 euros a visit. ", "Lockers cost 1 euro."]
    chunks = [{"id": f"c{i}", "text": text} for i, text in enumerate(texts, 1)]
    query = {
        "id": "q1",
        "expected_chunk_ids": ["c1"],
        "expected_answer": texts[0].strip(),
        "retrieved_ids": ["c2", "c1", "c3"],
        "reranked_ids": ["c1", "c2", "c3"],
        "context_ids": ["c1", "c2"],
        "answer": texts[0].strip(),
        "latency_ms": 840,
    }
    report = RAGEvaluator(k=3).evaluate(chunks=chunks, queries=[query])
    assert report["retrieval"]["summary"]["mrr_at_k"] == 0.5
    assert report["reranking"]["summary"]["mrr_gain"] == 0.5
    assert report["generation"]["summary"]["answer_f1"] == 1.0
    assert 0 <= report["scorecard"]["overall"]["score"] <= 100


def test_the_chunk_example_prints_one_and_one() -> None:
    chunks = ["Entry is 4 euros. ", "Towels are free. ", "Bring a padlock."]
    evidence = ["4 euros", "Towels are free"]
    scores = ChunkEvaluator().evaluate(
        chunks, document_text="".join(chunks), expected_evidence=evidence, size_limits=(3, 50)
    )
    assert (scores["coverage"], scores["evidence_completeness"]) == (1.0, 1.0)


def test_the_retrieval_example_prints_one_and_two_sevenths() -> None:
    """Two gold words among the seven of two chunks; the ids of plain texts are chunk_1, chunk_2, ..."""
    chunks = ["Entry is 4 euros. ", "Towels are free. ", "Bring a padlock."]
    query = {
        "id": "q1",
        "expected_evidence": ["4 euros"],
        "expected_chunk_ids": ["chunk_1"],
        "retrieved_ids": ["chunk_3", "chunk_1"],
    }
    summary = RetrievalEvaluator().evaluate(chunks, [query], k=2, document_text="".join(chunks))["summary"]
    assert summary["recall_at_k"] == 1.0
    assert round(summary["token_precision"], 4) == 0.2857


def test_the_printed_stage_rows_give_93_2_at_97_percent() -> None:
    printed = [(10, 97.6, 0.74), (10, 98.4, 1), (20, 79.4, 1), (10, 89.7, 1), (15, 92.3, 1), (20, 100, 1), (15, 100, 1)]
    score, coverage = overall(StageRow(weight, share, value) for weight, value, share in printed)
    assert score is not None
    assert (round(score, 1), round(100 * coverage)) == (93.2, 97)


# metrics.txt


def test_a_token_is_a_word_in_lower_case() -> None:
    assert words().tokens("Hi, Bob!") == ["hi", "bob"]


@pytest.mark.parametrize("key", ["latency_ms", "retrieval_latency_ms", "generation_latency_ms"])
def test_of_100_and_300_ms_the_median_is_200_and_the_95th_percentile_290(key: str) -> None:
    queries = [{"id": str(ms), "answer": "yes", "retrieved_ids": [], key: ms} for ms in (100, 300)]
    report = RAGEvaluator().evaluate(queries=queries)
    parts = (report["retrieval"]["summary"], report["generation"]["summary"], report["end_to_end"])
    measured = [
        (part["p50_latency_ms"], part["p95_latency_ms"]) for part in parts if part["p50_latency_ms"] is not None
    ]
    assert measured == [(200, 290)]


def test_a_reranker_that_cuts_the_list_keeps_no_candidate_set() -> None:
    query = {"id": "q", "retrieved_ids": names(5), "reranked_ids": names(2)}
    assert RerankingEvaluator().evaluate([query])["summary"]["candidate_set_preservation_rate"] == 0


# whitepaper.txt


def test_three_hits_among_five_of_four_relevant_are_precision_0_6_and_recall_0_75() -> None:
    got = retrieval([{"expected_chunk_ids": names(4), "retrieved_ids": ["c0", "x", "c1", "y", "c2"]}], k=5)
    assert (got["precision_at_k"], got["recall_at_k"]) == (0.6, 0.75)


def test_first_hits_at_ranks_1_4_and_2_are_an_mrr_of_0_583() -> None:
    lists = [["c0"], ["x", "y", "z", "c0"], ["x", "c0"]]
    got = retrieval([{"expected_chunk_ids": ["c0"], "retrieved_ids": ids} for ids in lists], k=5)
    assert round(got["mrr_at_k"], 3) == 0.583


def test_grades_3_2_0_1_are_an_ndcg_of_0_985_with_linear_gain() -> None:
    query = {"relevance": {"perfect": 3, "good": 2, "none": 0, "marginal": 1}}
    ranked = {"retrieved_ids": ["perfect", "good", "none", "marginal"]}
    assert round(retrieval([{**query, **ranked}], k=4, conventions={"gain": "linear"})["ndcg_at_k"], 3) == 0.985
    assert round(retrieval([{**query, **ranked}], k=4, conventions="trec_eval")["ndcg_at_k"], 3) == 0.985
    assert round(retrieval([{**query, **ranked}], k=4)["ndcg_at_k"], 3) == 0.993


def test_precision_0_9_and_recall_0_3_are_an_f1_of_0_45() -> None:
    got = retrieval([{"expected_chunk_ids": names(30), "retrieved_ids": [*names(9), "x"]}], k=10)
    assert (got["precision_at_k"], got["recall_at_k"]) == (0.9, 0.3)
    assert got["f1_at_k"] == pytest.approx(0.45)


def test_two_of_three_claims_supported_are_a_faithfulness_of_0_67() -> None:
    claims = [{"text": "founded 1997", "supported": True}, {"text": "in Berlin", "supported": False}]
    query = {"id": "q", "answer": "...", "verified_claims": [*claims, {"text": "turbines", "supported": True}]}
    assert round(GenerationEvaluator().evaluate([query])["summary"]["annotated_claim_support"], 2) == 0.67


def test_nine_tenths_of_nine_tenths_are_0_81_right() -> None:
    """Of 100 questions 90 found their evidence, and of those nine were answered wrong."""
    found, right = [True] * 90 + [False] * 10, [False] * 9 + [True] * 81 + [False] * 10
    rows = [
        {
            "id": f"q{i}",
            "expected_chunk_ids": ["gold"],
            "retrieved_ids": ["gold" if has else "other"],
            "answer": "...",
            "task_success": good,
        }
        for i, (has, good) in enumerate(zip(found, right, strict=True))
    ]
    report = RAGEvaluator().evaluate(queries=rows)
    assert report["retrieval"]["summary"]["recall_at_k"] == 0.9
    assert report["end_to_end"]["task_success_rate"] == 0.81
    assert report["diagnosis"]["scenarios"] == {"A": 81, "B": 9, "C": 10, "D": 0}


def test_the_same_number_for_the_user_comes_from_the_end_to_end_evaluator_alone() -> None:
    queries = [{"id": str(i), "task_success": i < 81} for i in range(100)]
    assert EndToEndEvaluator().evaluate(queries)["task_success_rate"] == 0.81
