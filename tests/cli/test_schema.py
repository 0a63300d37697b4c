"""rag-titan schema: both schemas hold for what is read and written, and refuse what is not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Run

from rag_titan.evaluation import RAGEvaluator

SAMPLE = Path(__file__).parents[2] / "examples" / "rag_evaluation_sample.json"
TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
    "null": (type(None),),
}


def faults(value: Any, schema: dict[str, Any], root: dict[str, Any], where: str = "$") -> list[str]:
    """What breaks the schema, by the part of JSON Schema that ours use."""
    if "$ref" in schema:
        return faults(value, root["$defs"][schema["$ref"].rpartition("/")[2]], root, where)
    if "anyOf" in schema:
        tried = [faults(value, option, root, where) for option in schema["anyOf"]]
        return [] if [] in tried else min(tried, key=len)
    if "enum" in schema:
        return [] if value in schema["enum"] else [f"{where}: {value!r} is none of {schema['enum']}"]
    types = schema.get("type", [])
    allowed = [kind for name in ([types] if isinstance(types, str) else types) for kind in TYPES[name]]
    if allowed and (not isinstance(value, tuple(allowed)) or (isinstance(value, bool) and bool not in allowed)):
        return [f"{where}: {value!r} is no {types}"]
    found = []
    if isinstance(value, int | float):
        low, high = schema.get("minimum", value), schema.get("maximum", value)
        found += [] if low - 1e-9 <= value <= high + 1e-9 else [f"{where}: {value!r} is not in {low}..{high}"]
    if isinstance(value, dict):
        known, others = schema.get("properties", {}), schema.get("additionalProperties", {})
        found += [f"{where}: {key!r} is missing" for key in schema.get("required", []) if key not in value]
        for key, item in value.items():
            rule = known.get(key, others)
            inner = [f"{where}: {key!r} is unknown"] if rule is False else faults(item, rule, root, f"{where}.{key}")
            found += inner
    if isinstance(value, list) and isinstance(schema.get("items"), dict):
        found += [f for i, item in enumerate(value) for f in faults(item, schema["items"], root, f"{where}[{i}]")]
    return found


@pytest.fixture
def dataset_schema(run: Run) -> dict[str, Any]:
    schema: dict[str, Any] = json.loads(run("schema", "dataset").out)
    return schema


@pytest.fixture
def report_schema(run: Run) -> dict[str, Any]:
    schema: dict[str, Any] = json.loads(run("schema", "report").out)
    return schema


def test_the_sample_keeps_the_schema_of_a_dataset(dataset_schema: dict[str, Any]) -> None:
    assert faults(json.loads(SAMPLE.read_text()), dataset_schema, dataset_schema) == []


@pytest.mark.parametrize(
    "query",
    [
        {"question": "no id"},
        {"id": 1.5},
        {"id": "q", "retrieved_ids": "c1"},
        {"id": "q", "expected_evidence": [{"quote": "x", "ocurrence": 1}]},
        {"id": "q", "verified_claims": [{"text": "no verdict"}]},
    ],
)
def test_a_wrong_question_breaks_it(dataset_schema: dict[str, Any], query: dict[str, Any]) -> None:
    assert faults({"queries": [query]}, dataset_schema, dataset_schema) != []


@pytest.mark.parametrize(
    "query", [{"id": 7, "retrieved_ids": [1, "c2"], "relevance": {"c1": 2}}, {"id": "q", "mine": {"any": "thing"}}]
)
def test_numbers_as_ids_and_keys_of_your_own_keep_it(dataset_schema: dict[str, Any], query: dict[str, Any]) -> None:
    assert faults({"queries": [query]}, dataset_schema, dataset_schema) == []


def test_the_report_on_the_sample_keeps_the_schema_of_a_report(report_schema: dict[str, Any]) -> None:
    report = RAGEvaluator(k=5, also_at=[1]).evaluate_path(SAMPLE)
    assert faults(report, report_schema, report_schema) == []


@pytest.mark.parametrize("dataset", [{"queries": []}, {"queries": [{"id": "q", "answer": "x"}]}, {"chunks": ["a b"]}])
def test_reports_on_little_data_keep_it_too(report_schema: dict[str, Any], dataset: dict[str, Any]) -> None:
    for per_query in ("report", None):
        report = RAGEvaluator().evaluate(**dataset, per_query=per_query)
        assert faults(report, report_schema, report_schema) == []


def test_a_report_with_slices_keeps_it_too(report_schema: dict[str, Any]) -> None:
    rows = [{"id": str(i), "retrieved_ids": ["a"], "relevance": {"a": 1}, "tags": {"t": i // 10}} for i in range(24)]
    report = RAGEvaluator(by=["t"]).evaluate(queries=rows)
    assert [len(report["slices"][part]) for part in ("slices", "pooled", "small")] == [2, 1, 1]
    assert faults(report, report_schema, report_schema) == []


def test_a_value_outside_its_range_breaks_it(report_schema: dict[str, Any]) -> None:
    report = RAGEvaluator().evaluate_path(SAMPLE)
    report["retrieval"]["summary"]["recall_at_k"] = 1.5
    assert faults(report, report_schema, report_schema) == [
        "$.retrieval.summary.recall_at_k: 1.5 is not in 0..1"
    ]  # fmt: skip
