from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rag_titan.errors import SettingsError, UnknownMetricError
from rag_titan.evaluation import metric as kinds
from rag_titan.evaluation.measures.resampling import interval95
from rag_titan.evaluation.measures.sums import Moments
from rag_titan.evaluation.metric import Kind, Metric, Stage
from rag_titan.evaluation.scoring.scorecard import ScoreAggregator


def row(stage: Stage, key: str, kind: Kind = kinds.RATE) -> Metric:
    return Metric(key, stage, key, "", "", kind, "query", (), lambda inputs: np.empty(0))


ROWS = (
    row(Stage.CHUNKING, "coverage"),
    row(Stage.CHUNKING, "evidence_completeness"),
    row(Stage.CHUNKING, "size_cv", kinds.AMOUNT),
    row(Stage.RETRIEVAL, "recall_at_k"),
    row(Stage.RETRIEVAL, "mrr_at_k"),
    row(Stage.RETRIEVAL, "p95_latency_ms", kinds.COST),
    row(Stage.RERANKING, "mrr_at_k"),
)


def gates(values: dict[str, Any], **options: Any) -> tuple[str, list[dict[str, Any]]]:
    report = {"retrieval": {"summary": {"mrr_at_k": 1.0, **values}}}
    card = ScoreAggregator(rows=ROWS, **options).aggregate(report)
    return card["overall"]["status"], card["gates"]


def judged(value: float, ends: Any, n: Any = 10, **options: Any) -> dict[str, Any]:
    detail = {"recall_at_k": {"n": n, "of": 10, "reason": None, "ci95": ends}}
    report = {"retrieval": {"summary": {"recall_at_k": value}, "detail": detail}}
    return of(ScoreAggregator(rows=ROWS, **options).aggregate(report)["gates"], "recall_at_k")


def of(rows: list[dict[str, Any]], key: str) -> dict[str, Any]:
    return next(gate for gate in rows if gate["metric"] == key)


@pytest.mark.parametrize(
    ("value", "status"), [(0.7, "pass"), (0.7 - 1e-12, "pass"), (0.69, "fail"), (None, "unmeasured")]
)
def test_a_default_gate_fails_only_below_its_minimum(value: float | None, status: str) -> None:
    overall, rows = gates({"recall_at_k": value})
    assert of(rows, "recall_at_k") == {
        "stage": "retrieval", "metric": "recall_at_k", "minimum": 0.7,
        "value": value, "status": status, "required": False, "ci95": None, "verdict": status, "needed": None,
    }  # fmt: skip
    assert (overall == "Action Required") == (status == "fail")


def test_given_gates_are_merged_into_the_defaults_and_none_removes_one() -> None:
    given = {"chunking": {"coverage": None}, "retrieval": {"mrr_at_k": 0.5}}
    _, rows = gates({}, stages=["chunking", "retrieval"], quality_gates=given)
    assert [(gate["metric"], gate["minimum"]) for gate in rows] == [
        ("evidence_completeness", 0.8),
        ("recall_at_k", 0.7),
        ("mrr_at_k", 0.5),
    ]


def test_default_gates_are_those_of_the_chosen_stages() -> None:
    _, rows = gates({}, stages=["retrieval"])
    assert [gate["metric"] for gate in rows] == ["recall_at_k"]
    _, rows = gates({}, stages=["retrieval"], quality_gates={"chunking": {"coverage": 0.5}})
    assert [gate["metric"] for gate in rows] == ["coverage", "recall_at_k"]


@pytest.mark.parametrize(("value", "status"), [(200, "pass"), (201, "fail")])
def test_for_what_should_be_low_the_limit_is_a_maximum(value: float, status: str) -> None:
    _, rows = gates({"p95_latency_ms": value}, quality_gates={"retrieval": {"p95_latency_ms": 200}})
    gate = of(rows, "p95_latency_ms")
    assert (gate["minimum"], gate["maximum"], gate["status"]) == (None, 200.0, status)


def test_strict_gates_fail_on_what_is_not_measured() -> None:
    strict = {"retrieval": {"recall_at_k": 0.5}}
    overall, rows = gates({}, strict_gates=strict)
    assert overall == "Action Required"
    assert (of(rows, "recall_at_k")["status"], of(rows, "recall_at_k")["required"]) == ("fail", True)
    assert gates({"recall_at_k": 0.6}, strict_gates=strict)[0] != "Action Required"


@pytest.mark.parametrize("name", ["recall_at_k", "retrieval.recall_at_k"])
def test_a_required_metric_keeps_its_gate_and_must_be_measured(name: str) -> None:
    assert of(gates({}, required=[name])[1], "recall_at_k")["status"] == "fail"
    assert of(gates({"recall_at_k": 0.1}, required=[name])[1], "recall_at_k")["minimum"] == 0.7


def test_a_required_metric_without_a_gate_has_no_minimum() -> None:
    overall, rows = gates({"mrr_at_k": 0.0}, required=["retrieval.mrr_at_k"])
    assert of(rows, "mrr_at_k") == {
        "stage": "retrieval", "metric": "mrr_at_k", "minimum": None, "value": 0.0, "status": "pass", "required": True,
        "ci95": None, "verdict": "pass", "needed": None,
    }  # fmt: skip
    assert overall != "Action Required"


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"required": ["recal_at_k"]}, UnknownMetricError, "the nearest is 'recall_at_k'"),
        ({"required": ["mrr_at_k"]}, SettingsError, r"got retrieval\.mrr_at_k, reranking\.mrr_at_k"),
        ({"required": "recall_at_k"}, SettingsError, r"Write \['recall_at_k'\]"),
        ({"quality_gates": {"retrieval": {"recal_at_k": 0.5}}}, UnknownMetricError, "the nearest is 'recall_at_k'"),
        ({"quality_gates": {"retreival": {}}}, UnknownMetricError, "the nearest is 'retrieval'"),
        ({"quality_gates": {"retrieval": 0.5}}, SettingsError, "quality_gates.retrieval: must be a mapping"),
        (
            {"quality_gates": {"retrieval": {"recall_at_k": "high"}}},
            SettingsError,
            "quality_gates.retrieval.recall_at_k",
        ),
        ({"strict_gates": {"chunking": {"size_cv": 0.5}}}, SettingsError, "strict_gates.chunking.size_cv: must name"),
    ],
)
def test_gates_that_cannot_be_meant_are_errors_with_their_place(
    options: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        ScoreAggregator(rows=ROWS, **options)


@pytest.mark.parametrize(
    ("value", "ends", "status", "verdict"),
    [
        (0.9, [0.8, 0.95], "pass", "pass"),
        (0.75, [0.7, 0.8], "pass", "pass"),
        (0.75, [0.7 - 1e-12, 0.8], "pass", "pass"),
        (0.75, [0.69, 0.8], "pass", "undecided"),
        (0.65, [0.5, 0.7], "fail", "undecided"),
        (0.65, [0.5, 0.69], "fail", "fail"),
    ],
)
def test_a_verdict_needs_the_whole_interval_on_one_side(
    value: float, ends: list[float], status: str, verdict: str
) -> None:
    row = judged(value, ends)
    assert (row["status"], row["verdict"], row["ci95"]) == (status, verdict, ends)
    assert (row["needed"] is None) == (verdict != "undecided")


def test_seven_of_ten_against_a_minimum_of_eight_tenths_is_undecided() -> None:
    """By hand: Wilson's interval leaves 0.8 when 0.1 = 1.96 * sqrt(0.8 * 0.2 / n), n = 61.5."""
    ends = interval95(Moments.of(np.array([1.0] * 7 + [0.0] * 3)))
    row = judged(0.7, ends, quality_gates={"retrieval": {"recall_at_k": 0.8}})
    assert (row["status"], row["verdict"], row["needed"]) == ("fail", "undecided", 62)


def test_a_maximum_is_decided_from_the_other_side() -> None:
    rows = (row(Stage.RETRIEVAL, "recall_at_k", kinds.FAULT_RATE),)
    gate = {"quality_gates": {"retrieval": {"recall_at_k": 0.2}}, "stages": ["retrieval"], "rows": rows}
    detail = {"recall_at_k": {"n": 50, "ci95": None}}
    found = []
    for ends in ([0.0, 0.2], [0.1, 0.3], [0.21, 0.4]):
        detail["recall_at_k"]["ci95"] = ends  # type: ignore[assignment]  # None before
        report = {"retrieval": {"summary": {"recall_at_k": sum(ends) / 2}, "detail": detail}}
        found.append(ScoreAggregator(**gate).aggregate(report)["gates"][0]["verdict"])  # type: ignore[arg-type]  # options of many types
    assert found == ["pass", "undecided", "fail"]


@pytest.mark.parametrize(
    ("n", "ends"),
    [
        (10, None),
        (10, "01"),
        (10, [0.1]),
        (10, [0.1, None]),
        (10, [0.1, float("nan")]),
        (None, [0.1, 0.9]),
        (1, [0, 1]),
    ],
)
def test_without_an_interval_the_verdict_is_the_status(n: Any, ends: Any) -> None:
    row = judged(0.6, ends, n)
    assert (row["status"], row["verdict"], row["ci95"], row["needed"]) == ("fail", "fail", None, None)
