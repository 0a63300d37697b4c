"""The evaluator as a whole: options, the form of the report, and datasets from valid to hostile."""

from __future__ import annotations

import json
import math
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, event, example, given, settings
from hypothesis import strategies as st
from tests.contract.rich_dataset import rich_dataset
from tests.strategies import datasets

from rag_titan.errors import DatasetError, SettingsError, UnknownMetricError
from rag_titan.evaluation import CATALOGUE, Metric, RAGEvaluator, Stage
from rag_titan.evaluation.diagnosis.verdicts import PLACES
from rag_titan.evaluation.metric import AMOUNT

LINEAR = {"gain": "linear"}
MANY = int(os.environ.get("RAG_TITAN_EXAMPLES") or (2_000 if os.environ.get("RAG_TITAN_CI") == "1" else 100))
TOLERATED = 1e-12  # above 1 by no more than this is rounding


def faults_of(report: dict[str, Any]) -> list[str]:
    """Everything in a report that cannot be right, whatever the data were."""
    faults = _strange_numbers(report, "report")
    for (stage, key), row in CATALOGUE.items():
        part = report.get(stage)
        if part is None:
            continue
        value = (part if Stage(stage).flat else part["summary"])[key]
        items = [query[row.item_key] for query in part.get("per_query", [])] if row.per == "query" else []
        spread = TOLERATED * max(1.0, abs(row.kind.high if math.isfinite(row.kind.high) else 1.0))
        for number in [value, *items]:
            if number is not None and not row.kind.low - spread <= number <= row.kind.high + spread:
                faults.append(f"{row.name}: {number} is outside {row.kind.low}..{row.kind.high}")
        detail = part["detail"][key]
        if not 0 <= detail["n"] <= detail["of"] or (value is not None and not detail["n"]):
            faults.append(f"{row.name}: {value} with {detail}")
        if (value is None or detail["n"] < detail["of"]) != bool(detail["reason"]):
            faults.append(f"{row.name}: {value} with the reason {detail['reason']}")
    return faults + _wrong_card(report["scorecard"]) + _wrong_diagnosis(report)


def _strange_numbers(node: Any, where: str) -> list[str]:
    if isinstance(node, dict):
        return [text for key, value in node.items() for text in _strange_numbers(value, f"{where}.{key}")]
    if isinstance(node, list):
        return [text for i, value in enumerate(node) for text in _strange_numbers(value, f"{where}[{i}]")]
    if isinstance(node, float) and not math.isfinite(node):
        return [f"{where}: {node}"]
    return [] if node is None or type(node) in (str, int, float, bool) else [f"{where}: {type(node).__name__}"]


def _wrong_card(card: dict[str, Any]) -> list[str]:
    rows = {"overall": card["overall"], **card["stages"]}
    return [
        f"scorecard {name}: score {row['score']}, coverage {row['coverage']}"
        for name, row in rows.items()
        if not 0 <= row["coverage"] <= 1 or (row["score"] is not None and not 0 <= row["score"] <= 100)
    ]


def _wrong_diagnosis(report: dict[str, Any]) -> list[str]:
    rows, counts = report["queries"], report["diagnosis"]["counts"]
    lost = {step["stage"]: step["lost"] for step in report["diagnosis"]["funnel"]}
    found = {place: sum(row["lost_at"] == place for row in rows) for place in PLACES}
    faults = [
        f"{place}: {n} verdicts, {lost.get(place, 0)} counted" for place, n in found.items() if n != lost.get(place, 0)
    ]
    if counts["questions"] != report["meta"]["counts"]["queries"] or len(rows) != counts["questions"]:
        faults.append(f"{len(rows)} verdicts on {report['meta']['counts']['queries']} queries")
    if counts["right"] + counts["wrong"] + counts["unjudged"] != counts["questions"]:
        faults.append(f"the counts do not add up: {counts}")
    return faults


OPTIONS = st.fixed_dictionaries(
    {"k": st.integers(1, 5)},
    optional={
        "also_at": st.lists(st.integers(1, 7), max_size=2),
        "conventions": st.sampled_from(
            ["seed", "trec_eval", "squad", {"all_topics": True}, {"ap_denominator": "retrieved"}, {"tokenizer": "word"}]
        ),
    },
)


def run(dataset: dict[str, Any], options: dict[str, Any]) -> dict[str, Any] | DatasetError:
    """The report, or the one kind of error that is allowed."""
    try:
        return RAGEvaluator(**options).evaluate(**dataset)
    except DatasetError as error:
        return error


@pytest.mark.slow
@settings(max_examples=MANY, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(dataset=st.one_of(datasets(hostile=False), datasets()), options=OPTIONS)
@example({"chunks": [{"id": "c1", "text": ""}], "queries": []}, {})
@example({"embeddings": {"vectors": {"\ud800": [1, 0]}, "query_vectors": {"q": [1, 0]}}}, {})
@example({"queries": [{"\u2028": 1, "id\x9b": 2}]}, {})
@example({"queries": [{"id": 1, "search_latency_ms": 1e308, "embedding_latency_ms": 1e308, "latency_ms": 1}]}, {})
@example(
    {"queries": [{"id": 1, "relevance": {"a": 1e308, "b": 1.5e308}, "retrieved_ids": ["b"]}]},
    {"conventions": "trec_eval"},
)
@example({"queries": [{"id": i, "cost_usd": 1e308} for i in range(2)]}, {})
@example({"queries": [{"id": 1, "answerable": "yes"}]}, {})
def test_whatever_the_data_there_is_a_report_or_an_error_about_the_data(
    dataset: dict[str, Any], options: dict[str, Any]
) -> None:
    got = run(dataset, options)
    event(type(got).__name__)
    if isinstance(got, DatasetError):
        assert str(got).startswith(got.where)
        assert len(str(got).splitlines()) == 1
        return
    assert faults_of(got) == []
    assert json.loads(json.dumps(got, allow_nan=False)) == got
    json.dumps(got, ensure_ascii=False).encode()


@settings(max_examples=30)
@given(dataset=datasets(hostile=False), options=OPTIONS)
def test_valid_data_are_never_refused(dataset: dict[str, Any], options: dict[str, Any]) -> None:
    assert isinstance(run(dataset, options), dict)


# Options.


@pytest.mark.parametrize("k", [0, -1, 1.5, "5", True, None])
def test_k_is_a_whole_number_from_1(k: Any) -> None:
    with pytest.raises(SettingsError, match="k: must be a whole number from 1"):
        RAGEvaluator(k=k)


def test_k_may_be_any_kind_of_whole_number() -> None:
    assert RAGEvaluator(k=np.int64(3)).k == 3


def test_further_cutoffs_are_sorted_and_named_once() -> None:
    assert RAGEvaluator(k=5, also_at=(100, 5, 10, 10)).also_at == (10, 100)
    with pytest.raises(SettingsError, match="also_at"):
        RAGEvaluator(also_at=(0,))


def test_a_further_cutoff_has_the_summary_of_an_evaluation_at_it() -> None:
    queries = [
        {"id": "q1", "expected_chunk_ids": ["a", "b"], "retrieved_ids": ["x", "a", "y", "b"]},
        {"id": "q2", "expected_chunk_ids": ["a"], "retrieved_ids": ["x"]},
    ]
    report = RAGEvaluator(k=2, also_at=(1, 4)).evaluate(queries=queries)
    assert list(report["retrieval"]["at"]) == ["1", "4"]
    for k, summary in report["retrieval"]["at"].items():
        whole = RAGEvaluator(k=int(k)).evaluate(queries=queries)["retrieval"]["summary"]
        assert summary == {key: whole[key] for key in summary}
        assert "recall_at_k" in summary
    alone = RAGEvaluator(k=2).evaluate(queries=queries)["retrieval"]
    assert alone["summary"] == report["retrieval"]["summary"]
    assert "at" not in alone


@pytest.mark.parametrize("stage", list(Stage))
def test_only_the_stages_asked_for_are_computed(stage: Stage) -> None:
    report = RAGEvaluator(k=3, stages=[stage]).evaluate(**rich_dataset())
    assert [str(other) for other in Stage if report.get(other) is not None] == [str(stage)]
    whole = RAGEvaluator(k=3).evaluate(**rich_dataset())
    assert report[stage] == whole[stage]
    assert list(report["scorecard"]["stages"]) == [str(stage)]


@pytest.mark.parametrize("options", [{"stages": ["retreival"]}, {"thresholds": {"recal_at_k": 1}}])
def test_an_unknown_name_in_the_options_is_an_error_that_names_the_nearest(options: dict[str, Any]) -> None:
    with pytest.raises(UnknownMetricError, match="the nearest is"):
        RAGEvaluator(**options)


@pytest.mark.parametrize(
    "conventions", ["trec", {"gains": "linear"}, {"gain": "cubic"}, {"relevance_level": -1}, {"no_relevant": 0}]
)
def test_an_unknown_convention_is_an_error(conventions: Any) -> None:
    with pytest.raises(SettingsError, match="conventions"):
        RAGEvaluator(conventions=conventions)


def test_the_conventions_stand_in_the_report() -> None:
    report = RAGEvaluator(conventions="trec_eval").evaluate(queries=[])
    assert report["meta"]["conventions"]["gain"] == "linear"
    assert report["meta"]["conventions"]["ap_denominator"] == "relevant"


def test_an_unknown_input_is_an_error_that_names_the_nearest() -> None:
    with pytest.raises(DatasetError, match=r"querys: .*the nearest is 'queries'"):
        RAGEvaluator().evaluate(querys=[])


# Metrics of one's own.


def length_of_answer(inputs: Any) -> Any:
    return np.array([np.nan if a is None else float(len(a)) for a in inputs.table.column("answer")])


MINE = Metric(
    "answer_length", Stage.GENERATION, "Answer Length", "characters", "How long.", AMOUNT, "query", ("answer",),
    length_of_answer,
)  # fmt: skip


def test_a_metric_of_ones_own_stands_beside_the_others() -> None:
    queries = [{"id": "q1", "answer": "four"}, {"id": "q2", "answer": "sixsix"}, {"id": "q3", "question": "?"}]
    report = RAGEvaluator(metrics=[MINE]).evaluate(queries=queries)
    part = report["generation"]
    assert part["summary"]["answer_length"] == 5.0
    assert [row["answer_length"] for row in part["per_query"]] == [4.0, 6.0, None]
    assert (part["detail"]["answer_length"]["n"], part["detail"]["answer_length"]["of"]) == (2, 3)


def test_a_metric_of_ones_own_with_a_name_that_is_taken_is_an_error() -> None:
    with pytest.raises(SettingsError, match=r"generation\.answer_f1"):
        RAGEvaluator(metrics=[replace(MINE, key="answer_f1")])


# The report.


def test_the_form_of_the_report() -> None:
    report = RAGEvaluator(k=3, also_at=(1,)).evaluate(**rich_dataset())
    stages = [str(stage) for stage in Stage]
    assert list(report) == ["meta", "warnings", *stages, "queries", "diagnosis", "root_causes", "scorecard"]
    meta = {"rag_titan", "schema", "k", "conventions", "fingerprints", "counts", "created_at"}
    assert meta <= report["meta"].keys()
    assert report["meta"]["counts"] == {"queries": 12, "chunks": 16, "documents": 2, "vectors": 16}
    for stage in Stage:
        part = report[stage]
        assert ("summary" in part) == (not stage.flat)
        assert ("per_query" in part) == (stage is not Stage.CHUNKING)
        assert "detail" in part
        assert ("at" in part) == (stage is Stage.RETRIEVAL)
    for row in report["queries"]:
        assert list(row) == ["id", "lost_at", "correct", "correct_by", "scenario", "why", "tags", "judge"]
    assert list(report["diagnosis"]) == ["funnel", "counts", "scenarios", "examples"]


def test_a_stage_without_any_data_is_none() -> None:
    report = RAGEvaluator().evaluate(queries=[{"id": "q", "expected_chunk_ids": ["a"], "retrieved_ids": ["a"]}])
    assert [str(stage) for stage in Stage if report.get(stage) is not None] == ["retrieval"]


def test_the_lists_per_query_have_every_query_in_the_order_given() -> None:
    report = RAGEvaluator(k=3).evaluate(**rich_dataset())
    names = [query["id"] for query in rich_dataset()["queries"]]
    for stage in (Stage.RETRIEVAL, Stage.RERANKING, Stage.AUGMENTATION, Stage.GENERATION, Stage.END_TO_END):
        assert [row["id"] for row in report[stage]["per_query"]] == names


def test_gold_ids_that_no_chunk_has_are_named() -> None:
    chunks = [{"id": "doc-1", "text": "x"}]
    queries = [{"id": "q1", "expected_chunk_ids": ["1"], "retrieved_ids": ["doc-1"]}]
    warnings = RAGEvaluator().evaluate(chunks=chunks, queries=queries)["warnings"]
    assert any("none of the 1 gold chunk ids is among the chunks, whose ids look like 'doc-1'" in w for w in warnings)
    assert any("no chunk has the gold id 1 (query q1)" in w for w in warnings)


@pytest.mark.parametrize("progress", [None, [].append])
def test_progress_counts_the_queries(progress: Any, tmp_path: Path) -> None:
    path, seen = tmp_path / "queries.jsonl", []
    path.write_text("".join(f'{{"id": {i}, "retrieved_ids": []}}\n' for i in range(5000)), encoding="utf-8")
    report = RAGEvaluator().evaluate_path(path, per_query=None, progress=progress and seen.append)
    assert report["retrieval"]["detail"]["empty_rate"]["of"] == 5000
    assert not progress or (seen == sorted(seen) and seen[-1] == 5000 and len(seen) > 1)
