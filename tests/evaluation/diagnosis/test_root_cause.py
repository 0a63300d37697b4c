from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rag_titan.errors import SettingsError, UnknownMetricError
from rag_titan.evaluation import metric as kinds
from rag_titan.evaluation.diagnosis.root_cause import CHECKS, RootCauseAnalyzer
from rag_titan.evaluation.metric import Kind, Metric, Stage


def row(stage: Stage, key: str, kind: Kind = kinds.RATE) -> Metric:
    return Metric(key, stage, key, "", f"Advice on {key}.", kind, "query", (), lambda inputs: np.empty(0))


ROWS = (
    row(Stage.CHUNKING, "coverage"),
    row(Stage.CHUNKING, "size_cv", kinds.AMOUNT),
    row(Stage.RETRIEVAL, "mrr_at_k"),
    row(Stage.RETRIEVAL, "recall_at_k"),
    row(Stage.RETRIEVAL, "p95_latency_ms", kinds.COST),
    row(Stage.RERANKING, "mrr_at_k"),
    row(Stage.GENERATION, "answer_f1"),
    row(Stage.END_TO_END, "answer_f1"),
)


def analyze(report: dict[str, Any], thresholds: Any = None) -> dict[str, Any]:
    return RootCauseAnalyzer(thresholds, rows=ROWS).analyze(report)


def test_the_eight_checks_of_stages_txt_in_pipeline_order_each_with_a_suggestion() -> None:
    assert [(check.stage, check.key, check.limit) for check in CHECKS] == [
        ("chunking", "coverage", 0.98),
        ("chunking", "evidence_completeness", 0.90),
        ("embedding", "index_coverage", 0.98),
        ("embedding", "query_topk_recall", 0.80),
        ("retrieval", "recall_at_k", 0.80),
        ("reranking", "ndcg_gain", -0.03),
        ("augmentation", "context_sufficient", 0.90),
        ("generation", "answer_f1", 0.75),
    ]
    assert len({check.suggestion for check in CHECKS}) == 8


def test_failures_stand_in_pipeline_order_and_the_first_names_the_stage() -> None:
    found = analyze({"generation": {"summary": {"answer_f1": 0.0}}, "chunking": {"coverage": 0.5}})
    assert found["first_failing_stage"] == "chunking"
    assert found["failures"][0] == {
        "stage": "chunking", "metric": "coverage", "observed": 0.5, "minimum": 0.98, "suggestion": CHECKS[0].suggestion,
    }  # fmt: skip
    assert [failure["stage"] for failure in found["failures"]] == ["chunking", "generation"]


def test_a_check_of_ones_own_stands_in_its_stage_behind_the_usual_ones() -> None:
    found = analyze(
        {
            "generation": {"summary": {"answer_f1": 0.0}},
            "retrieval": {"summary": {"mrr_at_k": 0.1, "recall_at_k": 0.1}},
        },
        {"retrieval.mrr_at_k": 0.5},
    )
    assert [failure["metric"] for failure in found["failures"]] == ["recall_at_k", "mrr_at_k", "answer_f1"]


@pytest.mark.parametrize("value", [0.8, 0.8 - 1e-12, 1.0, None])
def test_at_the_minimum_or_not_measured_is_no_failure(value: float | None) -> None:
    assert analyze({"retrieval": {"summary": {"recall_at_k": value}}}) == {"first_failing_stage": None, "failures": []}


@pytest.mark.parametrize("name", ["recall_at_k", "retrieval.recall_at_k"])
def test_a_threshold_takes_a_key_or_a_full_name_and_none_removes_it(name: str) -> None:
    report = {"retrieval": {"summary": {"recall_at_k": 0.85}}}
    assert analyze(report, {name: 0.9})["failures"][0]["minimum"] == 0.9
    assert not analyze({"retrieval": {"summary": {"recall_at_k": 0.0}}}, {name: None})["failures"]


def test_a_bare_key_of_several_stages_means_the_check_that_has_it() -> None:
    report = {"generation": {"summary": {"answer_f1": 0.5}}, "end_to_end": {"answer_f1": 0.5}}
    assert not analyze(report, {"answer_f1": 0.4})["failures"]
    found = analyze(report, {"answer_f1": 0.4, "end_to_end.answer_f1": 0.6})["failures"]
    assert [(failure["stage"], failure["suggestion"]) for failure in found] == [("end_to_end", "Advice on answer_f1.")]


def test_what_should_be_low_has_a_maximum() -> None:
    report = {"retrieval": {"summary": {"p95_latency_ms": 300, "recall_at_k": 0.0}}}
    first, second = analyze(report, {"p95_latency_ms": 200})["failures"]
    assert first["metric"] == "recall_at_k"  # the eight come first in their stage
    assert (second["minimum"], second["maximum"], second["observed"]) == (None, 200.0, 300.0)
    assert not analyze({"retrieval": {"summary": {"p95_latency_ms": 200}}}, {"p95_latency_ms": 200})["failures"]


@pytest.mark.parametrize(
    ("thresholds", "error", "message"),
    [
        ({"recal_at_k": 0.9}, UnknownMetricError, "the nearest is 'recall_at_k'"),
        ({"retreival.recall_at_k": 0.9}, UnknownMetricError, "the nearest is 'retrieval'"),
        ({"mrr_at_k": 0.9}, SettingsError, r"got retrieval\.mrr_at_k, reranking\.mrr_at_k"),
        (
            {"size_cv": 0.9},
            SettingsError,
            "thresholds.chunking.size_cv: must name a metric of which more or less is better",
        ),
        ({"recall_at_k": True}, SettingsError, "thresholds.recall_at_k: must be a finite number"),
        ({"recall_at_k": float("nan")}, SettingsError, "thresholds.recall_at_k: must be a finite number"),
    ],
)
def test_thresholds_that_cannot_be_meant_are_errors(thresholds: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        RootCauseAnalyzer(thresholds, rows=ROWS)
