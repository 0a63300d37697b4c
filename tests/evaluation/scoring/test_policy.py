"""The opinions: complete, each with its reason, and those that stages.txt states are as it states them."""

from __future__ import annotations

import pytest

from rag_titan.evaluation.catalogue import ROWS
from rag_titan.evaluation.metric import Stage
from rag_titan.evaluation.scoring import policy

OF_THE_SEED = {  # the keys of metrics.txt
    "chunking": "coverage size_compliance mean_chunk_tokens min_chunk_tokens max_chunk_tokens size_cv overlap_ratio "
    "evidence_completeness evidence_fragmentation structural_integrity boundary_f1 semantic_cohesion "
    "semantic_boundary_clarity semantic_chunk_stickiness metadata_completeness metadata_accuracy lexical_cohesion "
    "lexical_boundary_clarity lexical_chunk_stickiness",
    "embedding": "zero_norm_rate duplicate_vector_rate mean_vector_norm index_coverage query_topk_recall "
    "ann_recall_at_k positive_similarity negative_similarity similarity_margin",
    "retrieval": "precision_at_k recall_at_k f1_at_k mrr_at_k ndcg_at_k hit_at_k average_precision_at_k token_recall "
    "token_precision token_iou complete_evidence_recall p95_latency_ms p50_latency_ms",
    "reranking": "ndcg_at_k mrr_at_k ndcg_gain mrr_gain precision_gain first_relevant_rank_change "
    "candidate_set_preservation_rate",
    "augmentation": "context_precision context_recall context_noise context_sufficient duplicate_ratio "
    "budget_compliant evidence_edge_placement",
    "generation": "exact_match answer_precision answer_recall answer_f1 rouge_l_f1 required_fact_coverage "
    "citation_precision citation_recall citation_f1 annotated_claim_support abstention_accuracy context_grounding "
    "unsupported_number_rate task_success p95_latency_ms",
    "end_to_end": "answer_exact_match answer_f1 task_success_rate p95_latency_ms p50_latency_ms mean_cost_usd "
    "mean_total_tokens",
}
NEVER_SCORED = {"size_cv", "mean_vector_norm", "first_relevant_rank_change"}


def test_every_metric_of_the_seed_is_weighted_or_never_scored_and_no_other() -> None:
    for stage, keys in OF_THE_SEED.items():
        assert set(policy.METRIC_WEIGHTS[stage]) == set(keys.split()) - NEVER_SCORED


def test_every_row_with_a_score_is_weighted_or_stands_beyond_the_seed() -> None:
    for row in ROWS:
        scored = row.kind.score is not None or row.kind.targeted
        of_the_seed = row.key in OF_THE_SEED.get(row.stage, "").split()
        assert bool(policy.default_weight(row.stage, row.key)) == (scored and of_the_seed), row.name


def test_every_weight_belongs_to_a_row() -> None:
    names = {row.name for row in ROWS}
    weighted = {f"{stage}.{key}" for stage, weights in policy.METRIC_WEIGHTS.items() for key in weights}
    assert weighted <= names


def test_every_choice_gives_its_reason_in_a_sentence() -> None:
    choices = [*policy.STAGE_WEIGHTS.values(), policy.TARGET_WEIGHT, policy.ENOUGH_MEASURED]
    for nested in (policy.METRIC_WEIGHTS, policy.QUALITY_GATES):
        choices += [choice for of_stage in nested.values() for choice in of_stage.values()]
    assert all(choice.value > 0 and choice.why.endswith(".") and " " in choice.why for choice in choices)


def test_what_stages_txt_states() -> None:
    assert [policy.STAGE_WEIGHTS[stage].value for stage in Stage if not stage.optional] == [10, 10, 20, 10, 15, 20, 15]
    gates = {
        (stage, key): gate.value for stage, of_stage in policy.QUALITY_GATES.items() for key, gate in of_stage.items()
    }
    assert gates == {
        ("chunking", "coverage"): 0.95,
        ("chunking", "evidence_completeness"): 0.80,
        ("embedding", "index_coverage"): 0.95,
        ("retrieval", "recall_at_k"): 0.70,
        ("augmentation", "context_sufficient"): 0.80,
        ("generation", "annotated_claim_support"): 0.80,
        ("end_to_end", "task_success_rate"): 0.75,
    }


@pytest.mark.parametrize(
    ("score", "rating"),
    [
        (100, "Excellent"), (90, "Excellent"), (90 - 1e-12, "Excellent"), (89.9, "Very Good"), (80, "Very Good"),
        (79.9, "Good"), (70, "Good"), (69.9, "Average"), (60, "Average"), (59.9, "Needs Improvement"),
        (40, "Needs Improvement"), (39.9, "Poor"), (0, "Poor"), (-1e-12, "Poor"), (None, None),
    ],
)  # fmt: skip
def test_an_edge_belongs_to_the_upper_band(score: float | None, rating: str | None) -> None:
    assert policy.rating_of(score) == rating


@pytest.mark.parametrize(
    ("score", "coverage", "gate_failed", "status"),
    [
        (None, 0.0, True, "Not Evaluated"),
        (99.0, 0.1, True, "Action Required"),
        (99.0, 0.7499, False, "Provisional"),
        (10.0, 0.75, False, "Evaluated"),
        (10.0, 0.75 - 1e-12, False, "Evaluated"),
    ],
)
def test_the_gravest_status_wins(score: float | None, coverage: float, gate_failed: bool, status: str) -> None:
    assert policy.status_of(score, coverage, gate_failed) == status
