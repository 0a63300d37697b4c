"""The tables of stages.txt: scores by kind, ratings, weights, gates and thresholds, as facts of our own typing."""

from __future__ import annotations

from typing import Any

import pytest

from rag_titan.evaluation import RAGEvaluator, ReportManager, ScoreAggregator
from rag_titan.evaluation.scoring.policy import rating_of
from rag_titan.evaluation.stages.chunking import METRICS as CHUNKING


def part(stage: str, key: str, value: float) -> dict[str, Any]:
    """A stage of a report that measured one metric."""
    return {key: value} if stage in ("chunking", "embedding", "end_to_end") else {"summary": {key: value}}


def card(stage: str, key: str, value: float, **options: Any) -> dict[str, Any]:
    """The scorecard of a report that measured one metric."""
    return ScoreAggregator(**options).aggregate({stage: part(stage, key, value)})


@pytest.mark.parametrize(
    ("stage", "key", "value", "score"),
    [
        ("retrieval", "recall_at_k", 0.8, 80),
        ("augmentation", "context_noise", 0.1, 90),
        ("chunking", "overlap_ratio", 0.25, 80),
        ("chunking", "evidence_fragmentation", 2, 50),
        ("embedding", "positive_similarity", 0.6, 80),
        ("embedding", "negative_similarity", 0, 50),
        ("chunking", "semantic_boundary_clarity", 1, 50),
        ("embedding", "similarity_margin", 0.25, 75),
        ("reranking", "ndcg_gain", 0, 50),
    ],
)
def test_the_score_of_each_kind_of_metric(stage: str, key: str, value: float, score: float) -> None:
    assert card(stage, key, value)["stages"][stage]["score"] == pytest.approx(score)


def test_2000_ms_for_a_target_of_1000_ms_score_one_half() -> None:
    targets = {"end_to_end": {"p95_latency_ms": 1000}}
    assert card("end_to_end", "p95_latency_ms", 2000, targets=targets)["stages"]["end_to_end"]["score"] == 50


def test_a_latency_without_a_target_has_no_score() -> None:
    assert card("end_to_end", "p95_latency_ms", 2000)["stages"]["end_to_end"]["score"] is None


@pytest.mark.parametrize(("value", "score"), [(75, 50), (150, 100), (300, 100), (400, 100), (800, 50)])
def test_a_size_within_its_band(value: float, score: float) -> None:
    targets = {"chunking": {"mean_chunk_tokens": {"min": 150, "max": 400}}}
    assert card("chunking", "mean_chunk_tokens", value, targets=targets)["stages"]["chunking"]["score"] == score


@pytest.mark.parametrize(
    ("score", "rating"),
    [
        (100, "Excellent"), (90, "Excellent"), (89.9, "Very Good"), (80, "Very Good"), (70, "Good"), (60, "Average"),
        (59, "Needs Improvement"), (40, "Needs Improvement"), (39, "Poor"), (0, "Poor"),
    ],
)  # fmt: skip
def test_the_ratings(score: float, rating: str) -> None:
    assert rating_of(score) == rating


def test_the_stage_weights() -> None:
    """The overall score of one perfect stage among worthless ones is that stage's weight."""
    keys = {
        "chunking": "coverage", "embedding": "index_coverage", "retrieval": "recall_at_k", "reranking": "ndcg_at_k",
        "augmentation": "context_sufficient", "generation": "answer_f1", "end_to_end": "answer_f1",
    }  # fmt: skip
    rows = RAGEvaluator().rows
    off = {stage: {row.key: 0 for row in rows if row.stage == stage and row.key != key} for stage, key in keys.items()}
    worthless = {stage: part(stage, key, 0.0) for stage, key in keys.items()}
    scorer = ScoreAggregator(metric_weights=off)
    got = {
        stage: scorer.aggregate({**worthless, stage: part(stage, key, 1.0)})["overall"]["score"]
        for stage, key in keys.items()
    }
    wanted = {"chunking": 10, "embedding": 10, "retrieval": 20, "reranking": 10, "augmentation": 15, "generation": 20}
    assert got == pytest.approx({**wanted, "end_to_end": 15})


@pytest.mark.parametrize(
    ("stage", "key", "minimum"),
    [
        ("chunking", "coverage", 0.95), ("chunking", "evidence_completeness", 0.80),
        ("embedding", "index_coverage", 0.95),
        ("retrieval", "recall_at_k", 0.70), ("augmentation", "context_sufficient", 0.80),
        ("generation", "annotated_claim_support", 0.80), ("end_to_end", "task_success_rate", 0.75),
    ],
)  # fmt: skip
def test_the_quality_gates(stage: str, key: str, minimum: float) -> None:
    assert card(stage, key, minimum)["overall"]["status"] == "Provisional"
    assert card(stage, key, minimum - 0.001)["overall"]["status"] == "Action Required"


@pytest.mark.parametrize(
    ("stage", "key", "minimum"),
    [
        ("chunking", "coverage", 0.98), ("chunking", "evidence_completeness", 0.90),
        ("embedding", "index_coverage", 0.98),
        ("embedding", "query_topk_recall", 0.80), ("retrieval", "recall_at_k", 0.80), ("reranking", "ndcg_gain", -0.03),
        ("augmentation", "context_sufficient", 0.90), ("generation", "answer_f1", 0.75),
    ],
)  # fmt: skip
def test_the_root_cause_thresholds(stage: str, key: str, minimum: float) -> None:
    analyzer = RAGEvaluator().analyzer

    def failing(value: float) -> list[tuple[Any, ...]]:
        failures = analyzer.analyze({stage: part(stage, key, value)})["failures"]
        return [(failure["stage"], failure["metric"], failure["minimum"]) for failure in failures]

    assert failing(minimum) == []
    assert failing(minimum - 0.001) == [(stage, key, minimum)]


def test_a_threshold_of_ones_own() -> None:
    query = {"id": "q", "expected_chunk_ids": list("abcdefgh"), "retrieved_ids": list("abcdefg")}
    reports = [RAGEvaluator(k=8, thresholds=t).evaluate(queries=[query]) for t in (None, {"recall_at_k": 0.9})]
    assert [report["root_causes"]["first_failing_stage"] for report in reports] == [None, "retrieval"]


def test_every_hint_has_a_suggestion() -> None:
    query = {"id": "q", "expected_chunk_ids": ["a"], "retrieved_ids": []}
    (failure,) = RAGEvaluator().evaluate(queries=[query])["root_causes"]["failures"]
    assert list(failure) == ["stage", "metric", "observed", "minimum", "suggestion"]
    assert failure["suggestion"].endswith(".")


@pytest.mark.parametrize(("now", "listed"), [(0.88, False), (0.879, True)])
def test_a_metric_that_fell_by_more_than_two_points_is_a_regression(now: float, listed: bool) -> None:
    rows = 1000
    good = [{"id": f"q{i:04}", "expected_chunk_ids": ["a"], "retrieved_ids": ["a"]} for i in range(rows)]

    def report(share: float) -> dict[str, Any]:
        missed = {"retrieved_ids": ["b"]}
        queries = [query if i < round(share * rows) else {**query, **missed} for i, query in enumerate(good)]
        return RAGEvaluator().evaluate(queries=queries)

    found = {item["metric"] for item in ReportManager().regressions(report(now), report(0.9))}
    assert ("retrieval.recall_at_k" in found) == listed


def test_the_chunking_keys_without_vectors() -> None:
    lexical = [row.key for row in CHUNKING if row.key.startswith("lexical")]
    assert lexical == ["lexical_cohesion", "lexical_boundary_clarity", "lexical_chunk_stickiness"]
