"""One log with names of its own, in every form, is the dataset that it is with the names of the format."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from rag_titan.errors import DatasetError
from rag_titan.evaluation.data.dataset import Dataset
from rag_titan.evaluation.data.decoding import extras
from rag_titan.evaluation.data.read import open_dataset, read_dataset
from rag_titan.evaluation.data.records import Query

COLUMNS = {
    "id": "request.id",
    "retrieved_ids": "docs[].metadata.id",
    "retrieved_scores": "docs[].score",
    "answer": "output.text",
    "latency_ms": "timing.total_s * 1000",
}
LOG: list[dict[str, Any]] = [
    {
        "request": {"id": 1},
        "docs": [{"metadata": {"id": "c2"}, "score": 0.5}, {"metadata": {"id": 7}, "score": 0.25}],
        "output": {"text": "25 days"},
        "timing": {"total_s": 0.5},
        "agent": "v2",
    },
    {"request": {"id": "q2"}, "docs": [], "output": {"text": None}},
]


def queries(dataset: Dataset) -> list[Query]:
    return [query for batch in dataset.queries.batches(1) for query in batch]


def check(dataset: Dataset) -> None:
    first, second = queries(dataset)
    assert (first.id, first.retrieved_ids, first.retrieved_scores) == ("1", ["c2", "7"], [0.5, 0.25])
    assert (first.answer, first.latency_ms, extras(first)) == ("25 days", 500.0, {"agent": "v2"})
    assert (second.id, second.retrieved_ids, second.answer, second.latency_ms) == ("q2", [], None, None)


@pytest.mark.parametrize("form", ["log.jsonl", "log.json", "data.json", "log.ndjson.gz", "run/queries.jsonl", "log"])
def test_json_in_every_form(form: str, tmp_path: Path) -> None:
    path = tmp_path / form
    path.parent.mkdir(exist_ok=True)
    lines = "\ufeff" + "\n".join(map(json.dumps, LOG))
    whole = {"data.json": {"queries": LOG}, "log.json": LOG}
    text = json.dumps(whole[form]) if form in whole else lines
    path.write_bytes(gzip.compress(text.encode()) if form.endswith(".gz") else text.encode())
    check(open_dataset(path.parent if "run" in form else path, columns=COLUMNS))
    check(read_dataset(path.parent if "run" in form else path, columns=COLUMNS))


@pytest.mark.parquet
def test_parquet(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    rows = [{**row, "request": {"id": str(row["request"]["id"])}, "docs": json.dumps(row["docs"])} for row in LOG]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "log.parquet")
    first, second = queries(open_dataset(tmp_path / "log.parquet", columns=COLUMNS))
    assert (first.retrieved_ids, first.latency_ms, second.retrieved_ids) == (["c2", "7"], 500.0, [])


def test_csv_whose_cells_hold_json(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text(
        'Query ID,docs,Answer,seconds\n1,"[{""metadata"": {""id"": ""c2""}}]",25 days,0.5\nq2,[],,\n'
    )
    columns = {
        "id": "Query ID",
        "retrieved_ids": "docs[].metadata.id",
        "answer": "Answer",
        "latency_ms": "seconds * 1e3",
    }
    first, second = queries(open_dataset(tmp_path / "log.csv", columns=columns))
    assert (first.id, first.retrieved_ids, first.answer, first.latency_ms) == ("1", ["c2"], "25 days", 500.0)
    assert (second.id, second.retrieved_ids, second.answer) == ("q2", [], None)


def test_csv_with_the_names_of_the_format_needs_no_mapping(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("id,retrieved_ids,latency_ms,abstained\n1,\"['c1', 'c2']\",3,FALSE\n")
    (query,) = queries(open_dataset(tmp_path / "log.csv"))
    assert (query.retrieved_ids, query.latency_ms, query.abstained) == (["c1", "c2"], 3.0, False)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (
            {"request": {"id": 1}, "docs": [{"metadata": {"id": "a"}}, {"metadata": {}}]},
            "log.jsonl line 1: retrieved_ids (docs[].metadata.id)[1]: must be an id (text or whole number), got null. "
            "Remove it.",
        ),
        (
            {"request": {"id": 1}, "output": {"text": ["x"]}},
            "log.jsonl line 1: answer (output.text): must be text, got a list.",
        ),
        (
            {"request": {}},
            "log.jsonl line 1: id (request.id): must be given; the record has the key request. "
            "Correct its path in the column mapping.",
        ),
        (
            {"request": {"id": 1}, "question": 3},
            'log.jsonl line 1: question: must be text, got the number 3. Write "3".',
        ),
        ([1], "log.jsonl line 1: must be an object (a query), got a list."),
    ],
)
def test_an_error_names_the_path(line: Any, told: str, tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_text(json.dumps(line) + "\n")
    with pytest.raises(DatasetError) as caught:
        queries(open_dataset(tmp_path / "log.jsonl", columns=COLUMNS))
    assert str(caught.value) == told


def test_bad_records_may_be_left_out(tmp_path: Path) -> None:
    lines = [json.dumps(LOG[0]), '{"request": {"id"', "", json.dumps({"request": {}}), json.dumps(LOG[1])]
    (tmp_path / "log.jsonl").write_text("\n".join(lines))
    dataset = open_dataset(tmp_path / "log.jsonl", columns=COLUMNS, skip_bad_records=True)
    check(dataset)
    assert dataset.skipped.count == 2
    assert dataset.skipped.first[0].startswith("log.jsonl line 2: must be JSON")
    with pytest.raises(DatasetError, match=r"^log\.jsonl line 2: must be JSON"):
        queries(open_dataset(tmp_path / "log.jsonl", columns=COLUMNS))


def test_a_path_that_leads_nowhere_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_text("\n".join(map(json.dumps, LOG)))
    dataset = open_dataset(tmp_path / "log.jsonl", columns={**COLUMNS, "context_ids": "docs[].metadata.chunk"})
    queries(dataset)
    assert [text for text in dataset.notices.texts() if "context_ids" in text] == [
        'columns: context_ids was not given, as "docs[].metadata.chunk" is in no record; in the first, docs[].metadata '
        "has the key id."
    ]


def test_a_sheet_without_rows_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("id,answer\n")
    with pytest.raises(DatasetError, match=r"log\.csv: must have rows below the names of its columns, got none"):
        queries(open_dataset(tmp_path / "log.csv"))


NAMED = [{"id": "q1", "retrieved_ids": ["c2"], "answer": "25 days", "latency_ms": 5.0, "error": "cut"}, {"id": "q2"}]


@pytest.mark.parametrize("form", ["run.jsonl", "run.json"])
def test_records_with_the_names_of_the_format_are_not_mapped(form: str, tmp_path: Path) -> None:
    path = tmp_path / form
    path.write_text(json.dumps(NAMED) if form == "run.json" else "\n".join(map(json.dumps, NAMED)))
    dataset = read_dataset(path, columns={**COLUMNS, "latency_ms": "latency_ms * 1000", "error": False})
    first, _ = queries(dataset)
    assert (first.id, first.retrieved_ids, first.answer, first.latency_ms, first.error) == (
        "q1", ["c2"], "25 days", 5.0, "cut",
    )  # fmt: skip
    rule = "columns: the mapping was not used, as its paths are in no record, and keys of the format are:"
    assert dataset.notices.texts() == [f"{rule} answer, id, retrieved_ids."]


def test_a_key_whose_path_is_in_no_record_is_read_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text('{"rid": 1, "answer": "yes"}\n{"rid": 2, "answer": "no"}\n')
    dataset = read_dataset(path, columns={"id": "rid", "answer": "output.text"})
    assert [(query.id, query.answer) for query in queries(dataset)] == [("1", "yes"), ("2", "no")]
    rule = "columns: read as they are, as their paths are in no record and keys of these names are: answer."
    assert dataset.notices.texts() == [rule]


def test_one_record_with_the_path_is_enough_to_map_all(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    records: list[dict[str, Any]] = [{"rid": number, "answer": "other"} for number in range(3000)]
    lines = [json.dumps(record) for record in [*records, {"rid": 3000, "output": {"text": "yes"}}]]
    path.write_text("\n".join([*lines, "{"]) + "\n")
    dataset = open_dataset(path, columns={"id": "rid", "answer": "output.text"}, skip_bad_records=True)
    assert {query.answer for query in queries(dataset)} == {None, "yes"}


def test_a_missing_id_names_the_keys_that_the_record_has(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text('{"rid": 1, "answer": "yes"}\n{"request": "x", "answer": "no"}\n')
    with pytest.raises(DatasetError) as error:
        read_dataset(path, columns={"id": "rid", "answer": "output.text", "question": "request"})
    assert str(error.value) == (
        "log.jsonl line 2: id (rid): must be given; the record has the keys request, answer. "
        "Correct its path in the column mapping."
    )
