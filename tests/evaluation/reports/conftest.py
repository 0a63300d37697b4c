"""A report as the evaluator makes it, small, with a scorecard of the default policy, for the tests of the reports."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from rag_titan.evaluation.diagnosis.root_cause import RootCauseAnalyzer
from rag_titan.evaluation.scoring.scorecard import ScoreAggregator

NOT_GIVEN = "not measured, because expected_evidence was not passed"
SAMPLE: dict[str, Any] = {
    "meta": {
        "rag_titan": "0.1.0",
        "schema": 1,
        "k": 5,
        "conventions": {"gain": "linear"},
        "counts": {"queries": 3, "chunks": 9, "documents": 2},
        "created_at": "2026-11-12T06:00:00+00:00",
    },
    "warnings": ["no chunk has the gold id c|9."],
    "chunking": None,
    "embedding": None,
    "retrieval": {
        "summary": {
            "recall_at_k": 0.5,
            "ndcg_at_k": 0.75,
            "mrr_at_k": 0.625,
            "p50_latency_ms": 110.0,
            "p95_latency_ms": 290.0,
            "p99_latency_ms": None,
            "token_recall": None,
        },
        "detail": {
            "recall_at_k": {"n": 2, "of": 3, "reason": "measured for 2 of 3; the others lack gold", "ci95": [0.1, 0.9]},
            "p50_latency_ms": {"n": 3, "of": 3, "reason": None, "ci95": None},
            "p95_latency_ms": {"n": 3, "of": 3, "reason": None, "ci95": None},
            "search_p95_latency_ms": {"n": 0, "of": 3, "reason": NOT_GIVEN.replace("evidence", "x"), "ci95": None},
            "token_recall": {"n": 0, "of": 3, "reason": NOT_GIVEN, "ci95": None},
        },
        "per_query": [
            {"id": "q1", "recall_at_k": 0.0},
            {"id": "q2", "recall_at_k": 1.0},
            {"id": "q3", "recall_at_k": None},
        ],
    },
    "reranking": {"summary": {"ndcg_at_k": 1.0, "ndcg_gain": 0.25}, "detail": {}, "per_query": []},
    "augmentation": None,
    "generation": {"summary": {"answer_f1": 0.5}, "detail": {}, "per_query": []},
    "end_to_end": {"answer_f1": 0.5, "own_metric": 3.0, "detail": {}, "per_query": []},
    "queries": [
        {
            "id": "q1",
            "lost_at": "retrieval",
            "correct": False,
            "correct_by": "required_facts",
            "scenario": "C",
            "why": ["gold chunk c7 is at rank 9"],
            "tags": None,
        },
        {
            "id": "q2",
            "lost_at": None,
            "correct": True,
            "correct_by": "task_success",
            "scenario": "A",
            "why": [],
            "tags": None,
        },
        {"id": "q3", "lost_at": None, "correct": None, "correct_by": None, "scenario": None, "why": [], "tags": None},
    ],
    "diagnosis": {
        "funnel": [{"stage": "retrieval", "lost": 1, "kept": 1}, {"stage": "generation", "lost": 0, "kept": None}],
        "counts": {
            "questions": 3,
            "known": 2,
            "lost": 1,
            "right": 1,
            "wrong": 1,
            "unjudged": 1,
            "failed": 1,
            "errors": 0,
        },
        "scenarios": {"A": 1, "B": 0, "C": 1, "D": 0},
        "examples": {"retrieval": ["q1"]},
    },
}


@pytest.fixture
def report() -> dict[str, Any]:
    """The sample with its scorecard and root causes; each test gets its own copy."""
    made = copy.deepcopy(SAMPLE)
    made["root_causes"] = RootCauseAnalyzer().analyze(made)
    made["scorecard"] = ScoreAggregator().aggregate(made)
    return made
