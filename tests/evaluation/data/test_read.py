"""One dataset in every form that a path can have."""

from __future__ import annotations

import gzip
import io
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rag_titan.errors import DatasetError
from rag_titan.evaluation.data.dataset import Dataset, dataset_from
from rag_titan.evaluation.data.decoding import extras
from rag_titan.evaluation.data.read import open_dataset, read_dataset
from rag_titan.evaluation.data.records import Query

QUERIES: list[dict[str, Any]] = [
    {"id": "q1", "expected_chunk_ids": ["c1"], "retrieved_ids": ["c2", "c1"], "agent": {"v": 1}},
    {"id": 2, "relevance": {"c1": 2}, "retrieved_ids": [], "latency_ms": 3},
    {"id": "q3", "expected_evidence": ["25 days", {"start": 0, "end": 5}], "answer": "25 days"},
]
CHUNKS: list[Any] = [
    {"id": "c1", "text": "Leave is 25 days."},
    "Sick pay is full.",
    {"id": 3, "text": "Travel.", "lang": "en"},
]
DOCUMENTS = {"hr": "Leave is 25 days. Sick pay is full.", "it": "Travel."}
OPTIONS: dict[str, Any] = {"size_limits": [1, 9], "required_metadata": ["page"]}
WHOLE = {"chunks": CHUNKS, "queries": QUERIES, "documents": DOCUMENTS, **OPTIONS}


def lines(records: list[Any]) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def queries_of(dataset: Dataset) -> list[Query]:
    return [query for batch in dataset.queries.batches(2) for query in batch]


def same(one: Dataset, two: Dataset) -> None:
    assert [(q.id, q.retrieved_ids, q.relevance, q.answer, extras(q)) for q in queries_of(one)] == [
        (q.id, q.retrieved_ids, q.relevance, q.answer, extras(q)) for q in queries_of(two)
    ]
    assert [(c.id, c.text) for c in one.chunks or ()] == [(c.id, c.text) for c in two.chunks or ()]
    assert (one.documents, one.options) == (two.documents, two.options)


def folder(path: Path, form: str) -> Path:
    path.mkdir()
    write: Any = {
        "jsonl": lambda name, records: (path / f"{name}.jsonl").write_text(lines(records)),
        "ndjson.gz": lambda name, records: (path / f"{name}.ndjson.gz").write_bytes(
            gzip.compress(lines(records).encode())
        ),
        "json": lambda name, records: (path / f"{name}.json").write_text(json.dumps(records, indent=2)),
    }[form]
    write("queries", QUERIES)
    write("chunks", CHUNKS)
    write("documents", [{"id": name, "text": text} for name, text in DOCUMENTS.items()])
    (path / "dataset.json").write_text(json.dumps(OPTIONS))
    return path


@pytest.mark.parametrize("form", ["jsonl", "ndjson.gz", "json"])
def test_a_folder(form: str, tmp_path: Path) -> None:
    same(open_dataset(folder(tmp_path / "run", form)), dataset_from(**WHOLE))


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("packed", [False, True])
def test_a_json_file(indent: int | None, packed: bool, tmp_path: Path) -> None:
    text = json.dumps({"$schema": "x", **WHOLE, "embeddings": None}, indent=indent).encode()
    path = tmp_path / ("data.json.gz" if packed else "data.json")
    path.write_bytes(gzip.compress(text) if packed else text)
    same(read_dataset(path), dataset_from(**WHOLE))


def test_a_json_file_with_what_only_python_writes(tmp_path: Path) -> None:
    whole = {**WHOLE, "queries": [*QUERIES, {"id": "n", "latency_ms": float("nan"), "answer": "\ud800"}]}
    path = tmp_path / "data.json"
    path.write_text(json.dumps(whole))
    same(read_dataset(path), dataset_from(**whole))
    assert any("lone surrogate" in text for text in read_dataset(path).notices.texts())


def test_queries_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    alone = dataset_from(queries=QUERIES)
    for name, text in (("log.jsonl", lines(QUERIES)), ("log.json", json.dumps(QUERIES)), ("log", lines(QUERIES))):
        (tmp_path / name).write_text(text)
        same(open_dataset(tmp_path / name), alone)
        same(open_dataset(str(tmp_path / name)), alone)
    for text, expected in (
        (lines(QUERIES), alone),
        (json.dumps(WHOLE), dataset_from(**WHOLE)),
        (json.dumps(QUERIES, indent=1), alone),
    ):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        same(open_dataset("-"), expected)


def test_explicit_files_stand_in_for_those_of_the_path(tmp_path: Path) -> None:
    run = folder(tmp_path / "run", "jsonl")
    (tmp_path / "other.jsonl").write_text('{"id": "x", "text": "y"}\n')
    (tmp_path / "texts.json").write_text('{"a": "b"}')
    dataset = open_dataset(run, chunks=tmp_path / "other.jsonl", documents=tmp_path / "texts.json")
    assert [chunk.id for chunk in dataset.chunks or ()] == ["x"]
    assert dataset.documents == {"a": "b"}
    (tmp_path / "data.json").write_text('{"document_text": "z", "queries": []}')
    assert open_dataset(tmp_path / "data.json", documents=tmp_path / "texts.json").documents == {"a": "b"}


def test_vectors_of_a_folder_stay_arrays(tmp_path: Path) -> None:
    np.savez(tmp_path / "embeddings.npz", ids=np.array(["a", "b"]), vectors=np.eye(2))
    dataset = open_dataset(tmp_path)
    assert dataset.embeddings["vectors"].tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert not dataset.queries.given


def test_everything_is_in_memory_after_read_dataset_and_unpacks_into_evaluate(tmp_path: Path) -> None:
    path = tmp_path / "data.json"
    path.write_text(json.dumps({**WHOLE, "queries": [*QUERIES, {"id": "n", "answers": "x"}]}))
    dataset = read_dataset(path)
    notices = dataset.notices.texts()
    path.unlink()
    assert len(queries_of(dataset)) == 4
    assert dataset.notices.texts() == notices
    assert len(notices) == 1
    assert set(dict(**dataset)) == set(WHOLE)


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        (
            "log.jsonl",
            '{"id": 1}\n{"id": 2, "retrieved_ids": "c1"}\n',
            'log.jsonl line 2: retrieved_ids: must be a list, got the text "c1"; write ["c1"].',
        ),
        (
            "data.json",
            '{"queries": [{"id": 1},\n {"id": 2, "answer": 3}]}',
            'queries[1].answer: must be text, got the number 3. Write "3".',
        ),
        (
            "data.json",
            '{"queries": [{"id": 1, "x": "\\ud800"}, 3]}',
            "queries[1]: must be an object (a query), got the number 3.",
        ),
        ("data.json", '{"querys": []}', "querys: must be the name of an input; the nearest is 'queries'."),
        ("data.json", '{"queries": {"id": 1}}', "queries: must be a list, got an object; write [{...}]."),
        ("data.json", "3", 'data.json: must hold an object of inputs, as {"queries": [...]}, got the number 3.'),
        (
            "data.json",
            '{"id": 1}',
            'data.json: must hold an object of inputs, as {"queries": [...]}, got a single query. '
            "Write [{...}], or name it .jsonl.",
        ),
        (
            "data.json",
            '{"chunks": ["a", {"id": "chunk_1"}]}',
            'chunks[1].id: duplicate id "chunk_1": chunks[0] gets it by default. Give it an id.',
        ),
        (
            "data.yaml",
            "id: 1",
            "data.yaml: must be one of .json, .jsonl, .ndjson, .parquet, .csv, .tsv, .tab, .xlsx, .xlsm (or .gz of "
            'them), got ".yaml". Convert it first.',
        ),
    ],
)
def test_errors_of_single_files(name: str, text: str, told: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(DatasetError) as caught:
        read_dataset(tmp_path / name)
    assert str(caught.value) == told


def test_parts_that_are_broken_inside_a_json_file(tmp_path: Path) -> None:
    path = tmp_path / "data.json"
    for part in (b'"required_metadata": ["\xff"]', b'"queries": [{"id": "\xff"}]', b'"documents": {"a": "\xff"}'):
        path.write_bytes(b"{" + part + b"}")
        with pytest.raises(DatasetError, match="must be UTF-8, got the byte 0xff"):
            read_dataset(path)
    path.write_bytes(b'{"max_context_tokens": 1e999}')
    with pytest.raises(DatasetError, match="max_context_tokens: must be a number from 0"):
        read_dataset(path)
    path.write_bytes(b'{"expected_metadata": ' + b"[" * 500 + b"]" * 500 + b"}")
    with pytest.raises(DatasetError, match="expected_metadata: must "):
        read_dataset(path)


def test_errors_inside_a_folder_name_the_file(tmp_path: Path) -> None:
    run = folder(tmp_path / "run", "jsonl")
    for name, line, told in (
        ("queries", {"id": "x", "answer": []}, "queries.jsonl line 4: answer: must be text, got a list."),
        (
            "chunks",
            {"id": "c1"},
            'chunks.jsonl line 4: id: duplicate id "c1", as in chunks.jsonl line 1. Chunk ids must be unique.',
        ),
        (
            "documents",
            {"id": "hr", "text": ""},
            'documents.jsonl line 3: id: duplicate id "hr", as in documents.jsonl line 1. Document ids must be unique.',
        ),
    ):
        path = run / f"{name}.jsonl"
        whole = path.read_text()
        path.write_text(whole + json.dumps(line) + "\n")
        with pytest.raises(DatasetError) as caught:
            read_dataset(run)
        assert str(caught.value) == told
        path.write_text(whole)


def test_folders_that_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"must be a folder with queries\.jsonl, .*; got none of them\."):
        open_dataset(tmp_path)
    (tmp_path / "queries.jsonl").write_text('{"id": 1}\n')
    (tmp_path / "queries.json").write_text("[]")
    with pytest.raises(DatasetError, match=r"queries: must be there once, got queries\.json and queries\.jsonl"):
        open_dataset(tmp_path)
    (tmp_path / "queries.json").unlink()
    (tmp_path / "dataset.json").write_text('{"queries": []}')
    with pytest.raises(
        DatasetError, match=r"queries: must be given once, got it in dataset\.json and in queries\.jsonl"
    ):
        open_dataset(tmp_path)
    (tmp_path / "dataset.json").unlink()
    (tmp_path / "chunks.json").write_text('{"a": "b"}')
    with pytest.raises(DatasetError, match=r"chunks\.json: must hold a list of chunks, got an object\."):
        open_dataset(tmp_path)


def test_bad_records_are_left_out_counted_and_listed(tmp_path: Path) -> None:
    run = folder(tmp_path / "run", "jsonl")
    (run / "queries.jsonl").write_text(lines([*QUERIES, {"id": None}, {"id": "q1"}]) + "\n{broken\n")
    (run / "chunks.jsonl").write_text(lines([*CHUNKS, 3]))
    dataset = read_dataset(run, skip_bad_records=True)
    assert len(queries_of(dataset)) == 3
    assert dataset.skipped.count == 5
    assert [text.partition(":")[0] for text in dataset.skipped.first] == [
        "chunks.jsonl line 4",
        "queries.jsonl line 4",
        "queries.jsonl line 6",
        "queries.jsonl line 7",
        "queries.jsonl line 5",
    ]


def test_the_log_is_read_again_only_to_name_a_repeated_id(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text(lines([{"id": f"q{n % 2999}"} for n in range(3000)]))
    with pytest.raises(
        DatasetError,
        match=r'^log\.jsonl line 3000: id: duplicate id "q0", as in log\.jsonl line 1\. Query ids must be unique\.$',
    ):
        read_dataset(path)


def test_files_of_a_folder_under_other_names_are_told(tmp_path: Path) -> None:
    run = folder(tmp_path / "run", "jsonl")
    assert open_dataset(run).notices.texts() == []
    for name in ("old.jsonl.gz", "q.parquet", "v.npz", "report.json", "notes.txt"):
        (run / name).write_bytes(b"")
    told = (
        "these files of the folder were not read: old.jsonl.gz, q.parquet, v.npz; what is read is queries.jsonl, "
        "chunks.jsonl, documents.jsonl (or .json, .parquet), embeddings.npz, dataset.json."
    )
    assert told in open_dataset(run).notices.texts()
    assert told in read_dataset(run).notices.texts()


def test_chunks_beside_queries_under_another_name_are_not_scored_alone(tmp_path: Path) -> None:
    (tmp_path / "chunks.jsonl").write_text(lines(CHUNKS))
    assert open_dataset(tmp_path).chunks is not None
    (tmp_path / "q.jsonl").write_text(lines(QUERIES))
    for _ in range(2):
        with pytest.raises(
            DatasetError, match=r": must hold the queries as queries\.jsonl .*, got q\.jsonl\. Rename it"
        ):
            open_dataset(tmp_path)
        (tmp_path / "chunks.jsonl").unlink(missing_ok=True)
    (tmp_path / "dataset.json").write_text('{"queries": []}')
    assert open_dataset(tmp_path).queries.given
    (tmp_path / "dataset.json").unlink()
    (tmp_path / "chunks.jsonl").write_text(lines(CHUNKS))
    assert open_dataset(tmp_path, chunks=tmp_path / "q.jsonl").chunks is not None
