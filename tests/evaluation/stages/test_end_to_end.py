"""The rows of the end-to-end stage, worked by hand."""

from __future__ import annotations

import math
from typing import Any

import pytest

from rag_titan.evaluation.data.records import Query
from rag_titan.evaluation.data.tables import QueryTable
from rag_titan.evaluation.evaluator import RAGEvaluator
from rag_titan.evaluation.stages.end_to_end import METRICS, EndToEndInputs
from rag_titan.evaluation.stages.stage import StageTally, measure

NAN = math.nan
SEEDS = [
    "answer_exact_match",
    "answer_f1",
    "task_success_rate",
    "p95_latency_ms",
    "p50_latency_ms",
    "mean_cost_usd",
    "mean_total_tokens",
]


def inputs(*queries: dict[str, Any]) -> EndToEndInputs:
    return EndToEndInputs(QueryTable([Query(id=f"q{i}", **query) for i, query in enumerate(queries)]))


def summary(*queries: dict[str, Any]) -> dict[str, float | None]:
    return StageTally.tally(METRICS, measure(METRICS, inputs(*queries))).summary(METRICS)


def test_the_rows_of_the_seeds_come_first() -> None:
    assert [row.key for row in METRICS][: len(SEEDS)] == SEEDS


def test_percentiles_are_those_of_the_seed() -> None:
    found = summary({"latency_ms": 100.0}, {"latency_ms": 300.0})
    assert (found["p50_latency_ms"], found["p95_latency_ms"]) == (200, 290)
    assert found["p99_latency_ms"] == pytest.approx(298)


def test_means_are_over_what_was_measured() -> None:
    found = summary(
        {"answer": "a blue fox", "expected_answer": "blue fox", "task_success": False, "total_tokens": 300.0},
        {"answer": "red", "expected_answer": "red fox", "task_success": True, "cost_usd": 0.0},
        {"answer": "x", "cost_usd": math.inf, "total_tokens": 0.0},
    )
    assert found["answer_exact_match"] == 0.5
    assert found["answer_f1"] == pytest.approx(5 / 6)
    assert found["task_success_rate"] == 0.5
    assert found["mean_cost_usd"] == 0
    assert found["mean_total_tokens"] == 150
    assert found["p95_latency_ms"] is None


def test_every_record_counts_in_the_error_rate() -> None:
    assert summary({"error": "timeout"}, {"answer": "x"}, {}, {"error": ""})["error_rate"] == 0.5


def test_the_rest_of_the_time_is_what_no_part_explains() -> None:
    whole = {"latency_ms": 1000.0}
    found = inputs(
        whole | {"retrieval_latency_ms": 100.0, "rerank_latency_ms": 50.0, "generation_latency_ms": 700.0},
        whole | {"embedding_latency_ms": 20.0, "search_latency_ms": 30.0, "generation_latency_ms": 700.0},
        whole | {"retrieval_latency_ms": 100.0, "embedding_latency_ms": 20.0, "search_latency_ms": 30.0},
        whole | {"search_latency_ms": 30.0},
        whole | {"generation_latency_ms": 1200.0},
        whole,
        {"generation_latency_ms": 700.0},
    ).unexplained()
    assert found.tolist() == pytest.approx([150, 250, 900, 970, -200, NAN, NAN], nan_ok=True)


def test_what_a_question_with_an_error_logged_is_measured_as_docs_report_md_says() -> None:
    gold = {"expected_chunk_ids": ["c1"]}
    queries = [
        {"id": "q1", "retrieved_ids": ["c1"], **gold},
        {"id": "q2", "retrieved_ids": ["c2"], "error": "time-out", **gold},
        {"id": "q3", "error": "time-out", **gold},
    ]
    report = RAGEvaluator(k=1).evaluate(queries=queries)
    assert report["end_to_end"]["error_rate"] == pytest.approx(2 / 3)
    assert report["retrieval"]["summary"]["recall_at_k"] == 0.5
