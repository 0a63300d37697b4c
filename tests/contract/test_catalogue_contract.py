"""What every metric promises, checked for each row of the catalogue on one dataset that has every input.

A new metric is checked by being in the catalogue; give `rich_dataset.py` the input that it needs.
"""

from __future__ import annotations

import json
import math
import re
from functools import cache
from typing import Any

import pytest
from tests.contract.keys import OF_THE_SEEDS, keys_in, metrics_page
from tests.contract.rich_dataset import rich_dataset, without

from rag_titan.evaluation import CATALOGUE, Metric, RAGEvaluator
from rag_titan.evaluation.catalogue import value_of
from rag_titan.evaluation.scoring.policy import METRIC_WEIGHTS

K = 3
ROWS = pytest.mark.parametrize("row", CATALOGUE.values(), ids=lambda row: row.name)
NEEDS = [(row, need) for row in CATALOGUE.values() for need in row.needs]
STANDS_IN = {"chunk_vectors": ["chunk_vectors", "vectors"]}  # the default of an input is taken out with it

# Scored by nobody, each for a reason: what the seeds do not name has no weight until a user gives it one.
UNSCORED = {
    "chunking.size_cv": "neither more nor less is better",
    "embedding.mean_vector_norm": "neither more nor less is better",
    "reranking.first_relevant_rank_change": "metrics.txt: not scored",
}


@cache
def rich_report() -> dict[str, Any]:
    return RAGEvaluator(k=K).evaluate(**rich_dataset())


def detail_of(report: dict[str, Any], row: Metric) -> dict[str, Any] | None:
    part = report.get(row.stage)
    return None if part is None else part["detail"][row.key]


@ROWS
def test_it_is_measured_when_everything_is_given(row: Metric) -> None:
    assert value_of(rich_report(), row.stage, row.key) is not None, detail_of(rich_report(), row)


@ROWS
def test_its_value_lies_in_the_range_of_its_kind(row: Metric) -> None:
    value = value_of(rich_report(), row.stage, row.key)
    assert value is not None
    assert row.kind.low <= value <= row.kind.high
    for query in (rich_report()[row.stage].get("per_query") or []) if row.per == "query" else []:
        item = query[row.item_key]
        assert item is None or row.kind.low <= item <= row.kind.high


@ROWS
def test_its_detail_says_on_how_many_it_stands(row: Metric) -> None:
    detail = detail_of(rich_report(), row)
    assert detail is not None
    assert list(detail) == ["n", "of", "reason", "ci95", *(["attainable"] if row.bound else [])]
    assert type(detail["n"]) is type(detail["of"]) is int
    assert 0 < detail["n"] <= detail["of"]
    assert (detail["reason"] is None) == (detail["n"] == detail["of"])
    value = value_of(rich_report(), row.stage, row.key)
    assert value is not None
    if row.bound:
        assert value <= detail["attainable"] <= row.kind.high
    if detail["ci95"] is not None:
        assert row.kind.low <= detail["ci95"][0] <= value <= detail["ci95"][1] <= row.kind.high


@pytest.mark.parametrize(("row", "need"), NEEDS, ids=lambda x: x if isinstance(x, str) else x.name)
def test_without_one_of_its_needs_it_is_none_and_says_so(row: Metric, need: str) -> None:
    names = [name for part in need.split("|") for name in STANDS_IN.get(part, [part])]
    report = RAGEvaluator(k=K).evaluate(**without(rich_dataset(), names))
    assert value_of(report, row.stage, row.key) is None
    detail = detail_of(report, row)
    if detail is not None:
        assert (detail["n"], detail["ci95"]) == (0, None)
        assert need.split("|")[0] in detail["reason"]
        lists = report[row.stage].get("per_query", []) if row.per == "query" else []
        assert [query["id"] for query in lists if query[row.item_key] is not None] == []


@ROWS
def test_without_any_data_its_stage_is_none(row: Metric) -> None:
    report = RAGEvaluator(k=K).evaluate()
    assert report.get(row.stage) is None
    assert (row.stage in report) == (not row.stage.optional)
    assert report["scorecard"]["overall"]["status"] == "Not Evaluated"


@ROWS
def test_it_is_documented(row: Metric) -> None:
    assert re.fullmatch(r"[A-Z0-9a-z].{2,}", row.title)
    assert row.formula.strip() == row.formula != ""
    assert row.advice.strip() == row.advice
    assert re.fullmatch(r"[A-Z0-9(].+[.]", row.advice, re.DOTALL), f"the advice of {row.name} must be sentences"


@ROWS
def test_its_row_is_well_formed(row: Metric) -> None:
    assert re.fullmatch(r"[a-z][a-z0-9_]*", row.key)
    assert row.per in ("query", "chunk", "vector", "span", "block", "boundary", "corpus", "value")
    assert row.kind.low < row.kind.high
    assert not (row.kind.targeted and row.kind.score)
    assert row.kind.score is None or all(0 <= row.kind.score(v) <= 1 for v in (row.kind.low, min(row.kind.high, 1e300)))


@ROWS
def test_it_is_weighted_or_explicitly_unscored(row: Metric) -> None:
    weighted = row.key in METRIC_WEIGHTS.get(row.stage, {})
    of_the_seeds = row.key in OF_THE_SEEDS.get(row.stage, ())
    assert weighted == (of_the_seeds and row.name not in UNSCORED), f"{row.name} needs a weight, or a place in UNSCORED"


def test_no_weight_and_no_exception_is_left_over() -> None:
    names = {row.name for row in CATALOGUE.values()}
    assert {f"{stage}.{key}" for stage, keys in METRIC_WEIGHTS.items() for key in keys} - names == set()
    assert UNSCORED.keys() - names == set()


def test_no_metric_of_the_seeds_was_forgotten() -> None:
    wanted = {(stage, key) for stage, keys in OF_THE_SEEDS.items() for key in keys}
    assert wanted - CATALOGUE.keys() == set()


@pytest.mark.skipif(not metrics_page().exists(), reason="the seed documents are not here")
def test_the_list_of_the_seeds_is_that_of_the_seeds() -> None:
    wanted = {(stage, key) for stage, keys in OF_THE_SEEDS.items() for key in keys}
    assert keys_in(metrics_page().read_text(encoding="utf-8")) == wanted


def test_the_report_names_the_metrics_in_the_order_of_the_catalogue() -> None:
    for stage, keys in OF_THE_SEEDS.items():
        rows = [key for place, key in CATALOGUE if place == stage]
        assert list(rich_report()[stage]["detail"]) == rows
        assert [key for key in rows if key in keys] == list(keys)


@pytest.mark.parametrize("names", [[], ["expected_chunk_ids", "relevance", "documents", "answer"]])
def test_the_report_survives_strict_json(names: list[str]) -> None:
    report = RAGEvaluator(k=K).evaluate(**without(rich_dataset(), names))
    assert json.loads(json.dumps(report, allow_nan=False)) == report


def test_the_report_holds_plain_python_values_only() -> None:
    def strange(node: Any, where: str) -> list[str]:
        if isinstance(node, dict):
            keys = [f"{where}: key {key!r}" for key in node if type(key) is not str]
            return keys + [text for key, value in node.items() for text in strange(value, f"{where}.{key}")]
        if type(node) is list:
            return [text for i, value in enumerate(node) for text in strange(value, f"{where}[{i}]")]
        fine = node is None or type(node) in (str, int, bool) or (type(node) is float and math.isfinite(node))
        return [] if fine else [f"{where}: {type(node).__name__} {node!r}"]

    assert strange(rich_report(), "report") == []
