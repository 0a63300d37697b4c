from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_titan.errors import DatasetError, SettingsError
from rag_titan.evaluation import metric as kinds
from rag_titan.evaluation.metric import MEAN, P95, Kind, Metric, Reduce, Stage
from rag_titan.evaluation.reports.compare import compare, regressions, trends


def row(stage: Stage, key: str, kind: Kind = kinds.RATE, reduce: Reduce = MEAN, item: str = "") -> Metric:
    per = "chunk" if stage is Stage.CHUNKING else "query"
    return Metric(key, stage, key, "", "", kind, per, (), lambda inputs: np.empty(0), reduce, item)


ROWS = (
    row(Stage.CHUNKING, "coverage"),
    row(Stage.CHUNKING, "mean_chunk_tokens", kinds.SIZE),
    row(Stage.RETRIEVAL, "recall_at_k"),
    row(Stage.RETRIEVAL, "precision_at_k"),
    row(Stage.RETRIEVAL, "p95_latency_ms", kinds.COST, P95, "retrieval_latency_ms"),
    row(Stage.RERANKING, "ndcg_at_k"),
    row(Stage.RERANKING, "ndcg_gain", kinds.GAIN),
    row(Stage.RERANKING, "precision_gain", kinds.GAIN),
    row(Stage.RERANKING, "first_relevant_rank_change", kinds.SHIFT),
    row(Stage.AUGMENTATION, "context_noise", kinds.FAULT_RATE),
    row(Stage.END_TO_END, "mean_cost_usd", kinds.COST),
    row(Stage.END_TO_END, "error_rate", kinds.FAULT_RATE),
)
LISTS = ("regressions", "improved", "explained", "changed", "vanished", "appeared")


def report(values: dict[str, Any], **more: Any) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for name, value in values.items():
        stage, key = name.split(".")
        node = made.setdefault(stage, {} if Stage[stage.upper()].flat else {"summary": {}})
        (node if Stage[stage.upper()].flat else node["summary"])[key] = value
    return {**made, **more}


def where(now: dict[str, Any], before: dict[str, Any], tolerance: float = 0.02) -> dict[str, list[str]]:
    """{list: names} of the lists that are not empty."""
    result = compare(report(now), report(before), tolerance, rows=ROWS)
    return {name: [entry["metric"] for entry in result[name]] for name in LISTS if result[name]}


@pytest.mark.parametrize(
    ("name", "before", "now", "expected"),
    [
        ("retrieval.recall_at_k", 0.90, 0.88, None),  # exactly the tolerance, whatever the binary rounding
        ("retrieval.recall_at_k", 0.90, 0.8799, "regressions"),
        ("retrieval.recall_at_k", 0.90, 0.95, "improved"),
        ("retrieval.recall_at_k", 0.90, 0.91, None),
        ("augmentation.context_noise", 0.10, 0.13, "regressions"),
        ("augmentation.context_noise", 0.10, 0.05, "improved"),
        ("end_to_end.error_rate", 0.0, 0.01, None),  # absolute: a point is within two
        ("retrieval.p95_latency_ms", 1000, 1020, None),
        ("retrieval.p95_latency_ms", 1000, 1021, "regressions"),
        ("retrieval.p95_latency_ms", 1000, 900, "improved"),
        ("end_to_end.mean_cost_usd", 0.001, 0.00103, "regressions"),  # 3 %, however small the amount
        ("end_to_end.mean_cost_usd", 0.0, 0.00001, "regressions"),  # from nothing any rise is worse
        ("end_to_end.mean_cost_usd", 0.0, 0.0, None),
        ("end_to_end.mean_cost_usd", 1.0, 0.0, "improved"),
        ("reranking.first_relevant_rank_change", 2.0, -5.0, "changed"),
        ("chunking.mean_chunk_tokens", 100, 101, None),
        ("chunking.mean_chunk_tokens", 100, 130, "changed"),
        ("chunking.mean_chunk_tokens", 0.0, 1.0, "changed"),
        ("retrieval.mine", 0.5, 0.9, "changed"),  # nobody knows which way is better
        ("retrieval.recall_at_k", 0.9, None, "vanished"),
        ("retrieval.recall_at_k", None, 0.9, "appeared"),
        ("retrieval.recall_at_k", None, None, None),
    ],
)
def test_what_a_change_counts_as(name: str, before: float | None, now: float | None, expected: str | None) -> None:
    same = {"augmentation.mine": 0.5}  # a baseline without any value is not compared
    assert where({name: now, **same}, {name: before, **same}) == ({expected: [name]} if expected else {})


def test_an_entry_says_from_where_to_where_and_by_how_much() -> None:
    entries = regressions(
        report({"retrieval.p95_latency_ms": 150, "retrieval.recall_at_k": 0.5}),
        report({"retrieval.p95_latency_ms": 100, "retrieval.recall_at_k": 0.75}),
        rows=ROWS,
    )
    named = ("metric", "baseline", "current", "change", "relative_change")
    assert [{name: entry[name] for name in named} for entry in entries] == [
        {"metric": "retrieval.recall_at_k", "baseline": 0.75, "current": 0.5, "change": -0.25, "relative_change": None},
        {
            "metric": "retrieval.p95_latency_ms",
            "baseline": 100.0,
            "current": 150.0,
            "change": 50.0,
            "relative_change": 0.5,
        },
    ]


def test_a_tolerance_of_zero_still_forgives_rounding() -> None:
    assert where({"retrieval.recall_at_k": 0.1 + 0.2}, {"retrieval.recall_at_k": 0.3}, 0) == {}
    assert where({"retrieval.recall_at_k": 0.2999}, {"retrieval.recall_at_k": 0.3}, 0) == {
        "regressions": ["retrieval.recall_at_k"]
    }


@pytest.mark.parametrize("tolerance", [-0.1, float("nan"), "2%", True])
def test_a_tolerance_that_is_none_is_refused(tolerance: Any) -> None:
    with pytest.raises(SettingsError, match=r"^tolerance: must be a finite number from 0"):
        compare({}, {}, tolerance)


def test_a_gain_may_fall_when_what_comes_out_did_not() -> None:
    before = {"reranking.ndcg_gain": 0.3, "reranking.ndcg_at_k": 0.9}
    result = compare(report({"reranking.ndcg_gain": 0.1, "reranking.ndcg_at_k": 0.9}), report(before), rows=ROWS)
    assert not result["regressions"]
    assert result["explained"][0]["metric"] == "reranking.ndcg_gain"
    assert "0.900" in result["explained"][0]["note"]
    assert where({"reranking.ndcg_gain": 0.1, "reranking.ndcg_at_k": 0.895}, before) == {
        "regressions": ["reranking.ndcg_gain"]
    }
    assert where({"reranking.ndcg_gain": 0.1}, {"reranking.ndcg_gain": 0.3}) == {"regressions": ["reranking.ndcg_gain"]}


def test_the_precision_after_reranking_is_that_before_it_plus_the_gain() -> None:
    before = {"retrieval.precision_at_k": 0.4, "reranking.precision_gain": 0.2}
    better_search = {"retrieval.precision_at_k": 0.6, "reranking.precision_gain": 0.0}
    worse_reranker = {"retrieval.precision_at_k": 0.4, "reranking.precision_gain": 0.0}
    assert where(better_search, before)["explained"] == ["reranking.precision_gain"]
    assert where(worse_reranker, before)["regressions"] == ["reranking.precision_gain"]


def test_what_vanished_says_why_and_what_it_weighs() -> None:
    before = report({"retrieval.recall_at_k": 0.9, "retrieval.p95_latency_ms": 5, "end_to_end.mean_cost_usd": 1})
    now = report({"retrieval.recall_at_k": None}, end_to_end=None)
    now["retrieval"]["detail"] = {
        "recall_at_k": {"n": 0, "of": 3, "reason": "not measured, because gold was not passed"}
    }
    vanished = {entry["metric"]: entry for entry in compare(now, before, rows=ROWS)["vanished"]}
    assert vanished["retrieval.recall_at_k"]["reason"] == "not measured, because gold was not passed"
    assert vanished["retrieval.recall_at_k"]["weight"] == 4
    assert vanished["retrieval.p95_latency_ms"]["weight"] == 0  # nothing counts it without a target
    assert vanished["end_to_end.mean_cost_usd"]["reason"] == "the stage has no data"


def test_the_weight_of_what_vanished_is_that_of_the_run() -> None:
    metrics = {
        "recall_at_k": {"weight": 7.0, "needs_target": False},
        "p95_latency_ms": {"weight": 2.0, "needs_target": True},
    }
    now = report({}, scorecard={"stages": {"retrieval": {"metrics": metrics}}})
    before = report({"retrieval.recall_at_k": 0.9, "retrieval.precision_at_k": 0.5, "retrieval.p95_latency_ms": 9})
    weights = [entry["weight"] for entry in compare(now, before, rows=ROWS)["vanished"]]
    assert weights == [7.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("now", "before", "reason"),
    [
        ({"k": 5}, {"k": 10}, "must have the same K, got 10 against 5"),
        ({"conventions": {"gain": "linear"}}, {"conventions": {}}, "gain 'exponential' against 'linear'"),
        ({"conventions": {"tokenizer": "unicode"}}, {"conventions": {"tokenizer": "word"}}, "tokenizer 'word' against"),
    ],
)
def test_reports_of_other_settings_are_not_comparable(now: Any, before: Any, reason: str) -> None:
    worse, better = (
        report({"retrieval.recall_at_k": 0.1}, meta=now),
        report({"retrieval.recall_at_k": 0.9}, meta=before),
    )
    result = compare(worse, better, rows=ROWS)
    assert not result["comparable"]
    assert reason in result["reason"]
    assert not any(result[name] for name in LISTS)
    with pytest.raises(SettingsError, match=r"^baseline: must have the same"):
        regressions(worse, better, rows=ROWS)
    with pytest.raises(SettingsError, match=r"^baseline: must have the same"):
        trends([better, worse], rows=ROWS)


def test_a_baseline_that_does_not_say_its_settings_is_compared() -> None:
    now = report({"retrieval.recall_at_k": 0.5}, meta={"k": 5, "conventions": {"gain": "linear"}})
    assert regressions(now, report({"retrieval.recall_at_k": 0.9}), rows=ROWS)
    assert regressions(now, report({"retrieval.recall_at_k": 0.9}, meta={"k": 5}), rows=ROWS)


def of_queries(**recalls: float | None) -> dict[str, Any]:
    """A report on these queries, with a latency of 100 ms for each and 10 % of the text in no chunk."""
    rows = [{"id": query, "recall_at_k": value, "retrieval_latency_ms": 100.0} for query, value in recalls.items()]
    measured = [value for value in recalls.values() if value is not None]
    summary = {"recall_at_k": sum(measured) / len(measured) if measured else None, "p95_latency_ms": 100.0}
    return {"chunking": {"coverage": 0.9}, "retrieval": {"summary": summary, "per_query": rows}}


def test_where_some_questions_changed_the_shared_ones_are_compared() -> None:
    now, before = of_queries(q1=1.0, q2=0.5, new=0.0), of_queries(q1=1.0, q2=0.5, old=1.0)
    result = compare(now, before, rows=ROWS)
    assert result["questions"] == {"current": 3, "baseline": 3, "shared": 2}
    assert "Only 2 questions are in both reports" in result["notes"][0]
    assert not any(result[name] for name in LISTS)
    worse = compare(of_queries(q1=1.0, q2=0.0, new=1.0), before, rows=ROWS)["regressions"]
    assert [(entry["metric"], entry["baseline"], entry["current"]) for entry in worse] == [
        ("retrieval.recall_at_k", 0.75, 0.5)
    ]


def test_percentiles_are_taken_over_the_shared_questions_too() -> None:
    now, before = of_queries(q1=1.0, q2=1.0), of_queries(q1=1.0, q2=1.0, slow=1.0)
    before["retrieval"]["per_query"][2]["retrieval_latency_ms"] = 5000.0
    before["retrieval"]["summary"]["p95_latency_ms"] = 4510.0
    assert not compare(now, before, rows=ROWS)["improved"]


def test_an_unmeasured_shared_question_counts_nowhere() -> None:
    now, before = of_queries(q1=None, new=1.0), of_queries(q1=1.0, old=1.0)
    assert [entry["metric"] for entry in compare(now, before, rows=ROWS)["vanished"]] == ["retrieval.recall_at_k"]


def test_the_order_of_the_questions_is_no_change() -> None:
    result = compare(of_queries(q2=0.5, q1=1.0), of_queries(q1=1.0, q2=0.5), rows=ROWS)
    assert not result["notes"]


def test_without_a_question_in_common_nothing_is_compared() -> None:
    result = compare(of_queries(a=1.0), of_queries(b=0.0), rows=ROWS)
    assert not result["comparable"]
    assert "a question in common" in result["reason"]


def test_changed_labels_and_chunks_are_noted() -> None:
    now, before = ({"meta": {"fingerprints": {"chunks": f"c{i}", "gold": f"g{i}", "queries": f"q{i}"}}} for i in (1, 2))
    notes = compare(now, before, rows=ROWS)["notes"]
    assert len(notes) == 3
    assert "gold labels changed" in notes[0]
    assert "chunks changed" in notes[1]
    assert "The questions differ and a report has no lists per query" in notes[2]


def test_the_trend_is_last_minus_first_of_what_was_measured_twice() -> None:
    weeks = [
        report({"retrieval.recall_at_k": 0.5, "end_to_end.mean_cost_usd": 1}),
        report({"retrieval.recall_at_k": 0.9, "retrieval.mine": 3, "end_to_end.mean_cost_usd": None}),
        report({"retrieval.recall_at_k": 0.75, "retrieval.mine": 1, "end_to_end.mean_cost_usd": 3}),
    ]
    found = trends(weeks, rows=ROWS)
    assert list(found.items()) == [
        ("retrieval.recall_at_k", 0.25),
        ("end_to_end.mean_cost_usd", 2.0),
        ("retrieval.mine", -2.0),
    ]
    assert all(type(change) is float for change in found.values())
    assert trends(weeks[:1], rows=ROWS) == trends([], rows=ROWS) == {}


@pytest.mark.parametrize("broken", [None, [], "report"])
def test_what_is_no_report_is_refused(broken: Any) -> None:
    with pytest.raises(DatasetError, match=r"^baseline: must be a report"):
        compare({}, broken)


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["summary", "per_query", "id", "recall_at_k", "detail", "k", "conventions"]), inner
        )
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(["retrieval", "chunking", "scorecard", "meta"]), ANYTHING), st.floats(0, 1))
def test_an_older_or_damaged_report_is_compared_as_far_as_it_goes(old: dict[str, Any], value: float) -> None:
    now = report({"retrieval.recall_at_k": value})
    for result in (compare(now, old, rows=ROWS), compare(old, now, rows=ROWS)):
        json.dumps(result, allow_nan=False)
        names = [entry["metric"] for name in LISTS for entry in result[name]]
        assert len(names) == len(set(names))


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 0.5))
def test_worse_one_way_is_better_the_other_way(a: float, b: float, tolerance: float) -> None:
    name = "retrieval.recall_at_k"
    forth, back = where({name: a}, {name: b}, tolerance), where({name: b}, {name: a}, tolerance)
    assert forth.get("regressions") == back.get("improved")
    assert ("regressions" in forth) == (b - a > tolerance + 1e-9)


def test_a_stage_without_values_on_one_side_is_compared_as_it_is() -> None:
    """Over the shared questions alone on one side, and over all on the other, the difference would say nothing."""

    def report(ids: str, **generation: Any) -> dict[str, Any]:
        recall = {"summary": {"recall_at_k": 1.0}, "per_query": [{"id": name, "recall_at_k": 1.0} for name in ids]}
        return {"retrieval": recall, "generation": {"summary": {"answer_f1": 0.5}, **generation}}

    now = report("ab", per_query=[{"id": "a", "answer_f1": 1.0}, {"id": "b", "answer_f1": 0.0}])
    result = compare(now, report("bc"))
    assert result["questions"] == {"current": 2, "baseline": 2, "shared": 1}
    assert [result[kind] for kind in ("regressions", "improved", "vanished", "appeared")] == [[], [], [], []]
