"""The table of the questions: the same values as the report, in every form."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from rag_titan.errors import SettingsError
from rag_titan.evaluation import RAGEvaluator, per_query_frame, per_query_rows, per_query_table, write_per_query

QUERIES = [
    {"id": "q1", "expected_chunk_ids": ["a"], "retrieved_ids": ["b", "a"], "tags": {"kind": "é"}},
    {"id": "q2", "expected_chunk_ids": ["a"], "retrieved_ids": []},
    {"id": "q3", "answer": "no labels", "latency_ms": 20},
]


@pytest.fixture
def report() -> dict[str, Any]:
    return RAGEvaluator(k=2).evaluate(queries=QUERIES)


def test_a_row_a_question_and_a_column_a_metric(report: dict[str, Any]) -> None:
    rows = per_query_rows(report)
    assert [row["id"] for row in rows] == ["q1", "q2", "q3"]
    assert [row["retrieval.mrr_at_k"] for row in rows] == [0.5, 0.0, None]
    assert [row["end_to_end.latency_ms"] for row in rows] == [None, None, 20.0]
    assert (rows[0]["tags"], rows[1]["lost_at"]) == ({"kind": "é"}, "retrieval")
    assert len({tuple(row) for row in rows}) == 1


def test_csv_holds_the_same(report: dict[str, Any], tmp_path: Path) -> None:
    path = write_per_query(report, tmp_path / "table.csv")
    with path.open(encoding="utf-8", newline="") as text:
        read = list(csv.DictReader(text))
    for row, cells in zip(per_query_rows(report), read, strict=True):
        numbers = {name: value for name, value in row.items() if "." in name}
        assert {name: float(cells[name]) if cells[name] else None for name in numbers} == numbers
        assert json.loads(cells["why"]) == row["why"]
    assert json.loads(read[0]["tags"]) == {"kind": "é"}
    assert [cells["lost_at"] for cells in read] == ["", "retrieval", ""]


JUDGED = [
    {**QUERIES[0], "answer": "x", "task_success": True, "verdicts": {"answer_claims": [{"context": "not_supported"}],
     "reference_claims": [{"context": "supported"}], "useful_chunks": {"b": True, "a": True},
     "question_similarities": [1.0]}},
    QUERIES[1],
]  # fmt: skip
SAID = [("hallucination", False), (None, None)]


def test_what_a_judge_finds_stands_in_the_table(tmp_path: Path) -> None:
    report = RAGEvaluator(k=2).evaluate(queries=JUDGED)
    rows = per_query_rows(report)
    assert [(row["judge_diagnosis"], row["judge_agrees_with_funnel"]) for row in rows] == SAID
    with write_per_query(report, tmp_path / "table.csv").open(encoding="utf-8", newline="") as text:
        cells = [(row["judge_diagnosis"], row["judge_agrees_with_funnel"]) for row in csv.DictReader(text)]
    assert cells == [("hallucination", "false"), ("", "")]


@pytest.mark.parquet
def test_what_a_judge_finds_is_in_parquet_too(tmp_path: Path) -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    report = RAGEvaluator(k=2).evaluate(queries=JUDGED)
    RAGEvaluator(k=2).evaluate(queries=JUDGED, per_query=tmp_path / "run.parquet")
    for path in (write_per_query(report, tmp_path / "table.parquet"), tmp_path / "run.parquet"):
        table = pq.read_table(path).to_pydict()
        assert list(zip(table["judge_diagnosis"], table["judge_agrees_with_funnel"], strict=True)) == SAID


@pytest.mark.parquet
def test_arrow_and_parquet_hold_the_same(report: dict[str, Any], tmp_path: Path) -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    table = per_query_table(report)
    assert pq.read_table(write_per_query(report, tmp_path / "table.parquet")).equals(table)
    rows = [{**row, "tags": None if row["tags"] is None else json.dumps(row["tags"], ensure_ascii=False)}
            for row in per_query_rows(report)]  # fmt: skip
    assert table.to_pylist() == rows
    assert str(table.schema.field("retrieval.mrr_at_k").type) == "double"


@pytest.mark.oracle
def test_a_data_frame_holds_the_same(report: dict[str, Any]) -> None:
    pytest.importorskip("pandas")
    frame = per_query_frame(report)
    assert frame["retrieval.mrr_at_k"].dropna().to_dict() == {"q1": 0.5, "q2": 0.0}
    assert str(frame["end_to_end.latency_ms"].dtype) == "float64"
    assert frame["retrieval.mrr_at_k"].mean() == report["retrieval"]["summary"]["mrr_at_k"]


@pytest.mark.parametrize("name", ["table.xlsx", "table"])
def test_another_ending_is_refused(report: dict[str, Any], tmp_path: Path, name: str) -> None:
    with pytest.raises(SettingsError, match=r"must end in \.csv or \.parquet"):
        write_per_query(report, tmp_path / name)


def test_a_report_without_the_values_says_how_to_get_them(tmp_path: Path) -> None:
    report = RAGEvaluator().evaluate(queries=QUERIES, per_query=None)
    with pytest.raises(SettingsError, match="must hold the values of each question"):
        write_per_query(report, tmp_path / "table.csv")


def test_a_question_that_a_stage_lacks_has_its_columns() -> None:
    verdicts, values = [{"id": "q1"}, {"id": "q2"}], [{"id": "q1", "mrr_at_k": 1.0}]
    rows = per_query_rows({"queries": verdicts, "retrieval": {"per_query": values}})
    assert [row["retrieval.mrr_at_k"] for row in rows] == [1.0, None]
