"""Rows of the caller's own: what they may be, and what their `compute` may return."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rag_titan.errors import DatasetError, SettingsError
from rag_titan.evaluation.evaluator import RAGEvaluator
from rag_titan.evaluation.metric import AMOUNT, COST, P50, P95, RATE, SHIFT, Metric, Stage

QUERIES = [{"id": "q1", "retrieved_ids": ["a"]}, {"id": "q2", "retrieved_ids": ["b"]}]


def mine(compute: Any, **changes: Any) -> Metric:
    row = Metric("mine", Stage.RETRIEVAL, "Mine", "x", "y", RATE, "query", ("retrieved_ids",), compute)
    return replace(row, **changes)


def value_of(*rows: Metric) -> Any:
    return RAGEvaluator(metrics=rows).evaluate(queries=QUERIES)["retrieval"]["summary"]["mine"]


@pytest.mark.parametrize("returned", [np.array([0.25, 0.75]), [0.25, 0.75], [None, 0.5], [np.nan, 0.5], (True, False)])
def test_one_number_a_query_is_taken_as_it_is(returned: Any) -> None:
    assert value_of(mine(lambda _: returned)) == 0.5


def test_the_slack_of_a_float_is_no_fault() -> None:
    assert value_of(mine(lambda _: [1 + 1e-12, 1 - 1e-12])) == 1.0


@pytest.mark.parametrize(
    ("returned", "got"),
    [
        (None, "None"),
        (0.5, "0.5"),
        (np.array(0.5), "array(0.5)"),
        ([0.5], "the shape (1,) for 2 queries"),
        ([], "the shape (0,) for 2 queries"),
        ([[0.5], [0.5]], "the shape (2, 1) for 2 queries"),
        ("ab", "'ab'"),
        (["1", "2"], "['1', '2']"),
        ([None, "2"], "[None, '2']"),
        ([[0.5], [0.5, 1]], "[[0.5], [0.5, 1]]"),
        ([1j, 2j], "[1j, 2j]"),
        ({"q1": 0.5}, "{'q1': 0.5}"),
    ],
)
def test_anything_else_is_an_error_that_names_the_metric(returned: Any, got: str) -> None:
    with pytest.raises(SettingsError) as caught:
        value_of(mine(lambda _: returned))
    assert str(caught.value) == f"metric retrieval.mine: compute must return one number a query (n,), got {got}."


@pytest.mark.parametrize(("kind", "value"), [(RATE, 1.5), (RATE, -0.1), (AMOUNT, -1), (SHIFT, np.inf), (COST, np.inf)])
def test_a_value_outside_the_range_of_its_kind(kind: Any, value: float) -> None:
    with pytest.raises(
        SettingsError, match=r"^metric retrieval\.mine: compute must return numbers from .* element 1\."
    ):
        value_of(mine(lambda _: [0.5, value], kind=kind))


def test_what_compute_raises_is_named_and_kept_as_the_cause() -> None:
    with pytest.raises(SettingsError, match=r"^metric retrieval\.mine: .*got a ZeroDivisionError \(division") as caught:
        value_of(mine(lambda _: 1 / 0))
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_an_error_of_the_data_stays_one() -> None:
    def compute(_: Any) -> Any:
        raise DatasetError("chunks", "must be x.")

    with pytest.raises(DatasetError, match=r"^chunks: must be x\.$"):
        value_of(mine(compute))


def test_rows_that_share_a_compute_share_one_pass() -> None:
    calls = []

    def compute(_: Any) -> Any:
        calls.append(1)
        return [1.0, 3.0]

    rows = [mine(compute, kind=COST, reduce=P50, key=key) for key in ("mine", "other")]
    assert value_of(*rows, mine(compute, kind=COST, reduce=P95, key="high")) == 2.0
    assert calls == [1]


def test_another_item_than_a_query_may_have_any_number() -> None:
    row = mine(lambda _: [0.5] * 7, stage=Stage.CHUNKING, per="chunk", needs=("chunks",))
    assert RAGEvaluator(metrics=[row]).evaluate(["a", "b"])["chunking"]["mine"] == 0.5


def test_a_query_of_the_embedding_stage_is_one_with_a_vector() -> None:
    embeddings = {"vectors": {"a": [1, 0]}, "query_vectors": {"q1": [1, 0]}}
    for n in (1, 2):
        row = mine(lambda _, n=n: [0.5] * n, stage=Stage.EMBEDDING, needs=("vectors",))
        if n == 1:
            assert RAGEvaluator(metrics=[row]).evaluate(embeddings=embeddings)["embedding"]["mine"] == 0.5
            continue
        with pytest.raises(SettingsError, match=r"the shape \(2,\) for 1 queries"):
            RAGEvaluator(metrics=[row]).evaluate(embeddings=embeddings)


@pytest.mark.parametrize(
    ("metrics", "told"),
    [
        ([3], "metrics[0]: must be a Metric, got 3."),
        ("x", "metrics[0]: must be a Metric, got 'x'."),
        ([{}], "metrics[0]: must be a Metric, got {}."),
        (3, "metrics: must be a list of Metric, got 3. Write [...] around one."),
        ([mine(None)], "metric retrieval.mine: compute must be callable, got None."),
        ([mine(len, kind="rate")], "metric retrieval.mine: kind must be a Kind, got 'rate'."),
        ([mine(len, reduce="mean")], "metric retrieval.mine: reduce must be a Reduce, got 'mean'."),
        ([mine(len, stage="retreival")], "metrics[0].stage: unknown stage 'retreival'; the nearest is 'retrieval'."),
        ([mine(len, key="id")], "metrics[0].key: must be a name other than id, detail, per_query, warnings, got 'id'."),
        (
            [mine(len, item="id")],
            "metrics[0].item: must be a name other than id, detail, per_query, warnings, got 'id'.",
        ),
        ([mine(len, key="")], "metrics[0].key: must be a name other than id, detail, per_query, warnings, got ''."),
    ],
)
def test_what_is_no_row(metrics: Any, told: str) -> None:
    with pytest.raises(SettingsError) as caught:
        RAGEvaluator(metrics=metrics)
    assert str(caught.value) == told


@pytest.mark.parametrize(
    ("returned", "reason"),
    [
        ([np.nan, np.nan], "not measured: undefined (0/0)"),
        ([np.nan, 0.5], "measured for 1 of 2; undefined (0/0) elsewhere"),
        ([0.5, 0.5], None),
    ],
)
def test_the_reason_of_a_row_that_needs_nothing(returned: list[float], reason: str | None) -> None:
    report = RAGEvaluator(metrics=[mine(lambda _: returned, needs=())]).evaluate(queries=QUERIES)
    assert report["retrieval"]["detail"]["mine"]["reason"] == reason
