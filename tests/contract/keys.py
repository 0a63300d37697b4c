"""The metrics that metrics.txt names, by stage: each must be in the catalogue."""

from __future__ import annotations

import re
from pathlib import Path

from tests.architecture.source_tree import ROOT

SEEDS = ROOT.parent / "shared" / "seeds"

OF_THE_SEEDS: dict[str, tuple[str, ...]] = {
    "chunking": (
        "coverage", "size_compliance", "mean_chunk_tokens", "min_chunk_tokens", "max_chunk_tokens", "size_cv",
        "overlap_ratio", "evidence_completeness", "evidence_fragmentation", "structural_integrity", "boundary_f1",
        "semantic_cohesion", "semantic_boundary_clarity", "semantic_chunk_stickiness", "metadata_completeness",
        "metadata_accuracy", "lexical_cohesion", "lexical_boundary_clarity", "lexical_chunk_stickiness",
    ),
    "embedding": (
        "zero_norm_rate", "duplicate_vector_rate", "mean_vector_norm", "index_coverage", "query_topk_recall",
        "ann_recall_at_k", "positive_similarity", "negative_similarity", "similarity_margin",
    ),
    "retrieval": (
        "precision_at_k", "recall_at_k", "f1_at_k", "mrr_at_k", "ndcg_at_k", "hit_at_k", "average_precision_at_k",
        "token_recall", "token_precision", "token_iou", "complete_evidence_recall", "p95_latency_ms", "p50_latency_ms",
    ),
    "reranking": (
        "ndcg_at_k", "mrr_at_k", "ndcg_gain", "mrr_gain", "precision_gain", "first_relevant_rank_change",
        "candidate_set_preservation_rate",
    ),
    "augmentation": (
        "context_precision", "context_recall", "context_noise", "context_sufficient", "duplicate_ratio",
        "budget_compliant", "evidence_edge_placement",
    ),
    "generation": (
        "exact_match", "answer_precision", "answer_recall", "answer_f1", "rouge_l_f1", "required_fact_coverage",
        "citation_precision", "citation_recall", "citation_f1", "annotated_claim_support", "abstention_accuracy",
        "context_grounding", "unsupported_number_rate", "task_success", "p95_latency_ms",
    ),
    "end_to_end": (
        "answer_exact_match", "answer_f1", "task_success_rate", "p95_latency_ms", "p50_latency_ms", "mean_cost_usd",
        "mean_total_tokens",
    ),
}  # fmt: skip

HEADINGS = {
    "Chunking": "chunking", "Embedding and indexing": "embedding", "Retrieval": "retrieval", "Reranking": "reranking",
    "Augmentation (context)": "augmentation", "Generation": "generation", "End to end": "end_to_end",
}  # fmt: skip


def keys_in(text: str) -> set[tuple[str, str]]:
    """(stage, key) of every table row of metrics.txt, and of the keys that a row names beside its own."""
    found: set[tuple[str, str]] = set()
    stage = ""
    for line in text.splitlines():
        heading = re.fullmatch(r"\d\. (.+)", line)
        if heading:
            stage = HEADINGS.get(heading[1], "")
        titled = re.match(r"\| [^|]+ \| (\w+) \|$", line)
        untitled = re.match(r"([a-z0-9]+_[a-z0-9_]+) \|", line)
        found |= {(stage, m[1]) for m in (titled, untitled) if m and stage}
        for also in re.findall(r"Also ([^|]+)\. \|", line):
            found |= {(stage, key) for key in re.findall(r"[a-z0-9]+_[a-z0-9_]+", also)}
    return found


def metrics_page() -> Path:
    """metrics.txt, which need not be there."""
    return SEEDS / "metrics.txt"
