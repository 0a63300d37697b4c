"""Vectors as records {"id", "vector"}: JSON Lines, Parquet and CSV, and what is refused."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from rag_titan.errors import DatasetError
from rag_titan.lab import read_vectors
from rag_titan.lab.vector_rows import vector_rows

ROWS = [("a", [0.5, 0.25]), ("b", [1, -2e-3]), ("c", [0.1, 3])]
MATRIX = np.array([[0.5, 0.25], [1, -0.002], [0.1, 3]])


def lines(key: str = "vector", *more: object) -> str:
    records = [{"id": name, key: vector, "text": "x"} for name, vector in ROWS]
    return "".join(json.dumps(record) + "\n" for record in (*records, *more))


def written(folder: Path, text: str, name: str = "v.jsonl") -> Path:
    (folder / name).write_text(text)
    return folder / name


@pytest.mark.parametrize("key", ["vector", "embedding", "values"])
def test_json_lines_under_the_names_of_usual_stores(tmp_path: Path, key: str) -> None:
    stored = read_vectors(written(tmp_path, lines(key)))
    assert np.array_equal(stored.rows, MATRIX)
    assert stored.names(np.array([2, 0])) == ["c", "a"]
    assert np.array_equal(read_vectors(tmp_path / "v.jsonl", queries=True).rows, MATRIX)


def test_compressed_lines_and_rows_without_ids_which_have_their_numbers(tmp_path: Path) -> None:
    text = "".join(json.dumps({"vector": vector}) + "\n" for _, vector in ROWS)
    (tmp_path / "v.jsonl.gz").write_bytes(gzip.compress(text.encode()))
    stored = read_vectors(tmp_path / "v.jsonl.gz")
    assert np.array_equal(stored.rows, MATRIX)
    assert stored.names(np.array([1])) == [1]


def test_a_table_holds_vectors_as_texts(tmp_path: Path) -> None:
    text = "id,embedding\n" + "".join(f'{name},"{vector}"\n' for name, vector in ROWS)
    stored = read_vectors(written(tmp_path, text, "v.csv"))
    assert np.array_equal(stored.rows, MATRIX)
    assert stored.names(np.array([1])) == ["b"]


@pytest.mark.parquet
def test_parquet_gives_the_same(tmp_path: Path) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    table = pa.table({"id": [name for name, _ in ROWS], "vector": [vector for _, vector in ROWS]})
    pq.write_table(table, tmp_path / "v.parquet")
    stored = read_vectors(tmp_path / "v.parquet")
    assert np.array_equal(stored.rows, MATRIX)
    assert stored.names(np.array([0])) == ["a"]


@pytest.mark.parametrize(
    ("record", "said"),
    [
        ({"id": "d"}, "v.jsonl line 4: vector: must be a list of numbers"),
        ({"id": "d", "vector": None}, "v.jsonl line 4: vector: must be a list of numbers"),
        ({"id": "d", "vector": []}, "v.jsonl line 4: vector: must be a list of numbers"),
        ({"id": "d", "vector": [0.5, "x"]}, "v.jsonl line 4: vector: must be a list of numbers"),
        ({"id": "d", "vector": [0.5, True]}, "v.jsonl line 4: vector: must be a list of numbers"),
        ({"id": "d", "vector": "0.5"}, "v.jsonl line 4: vector: must be a list of numbers"),
        ({"id": "d", "vector": [1, 2, 3]}, "v.jsonl line 4: vector: must have 2 numbers as the first has, got 3."),
        ({"id": "d", "vector": [1, 10**400]}, "v.jsonl line 4: vector: must hold numbers of 64 bits"),
        ([1, 2], "v.jsonl: must be whole, got a file of which these records could not be read"),
    ],
)
def test_a_record_that_is_no_vector_is_named(tmp_path: Path, record: object, said: str) -> None:
    with pytest.raises(DatasetError) as caught:
        read_vectors(written(tmp_path, lines("vector", record)))
    assert str(caught.value).replace(f"{tmp_path}/", "").startswith(said)


def test_a_number_that_is_none_is_left_to_the_checks(tmp_path: Path) -> None:
    stored = read_vectors(written(tmp_path, lines("vector", {"id": "d", "vector": [float("nan"), 1]})))
    assert np.isnan(stored.rows[3, 0])


def test_questions_are_no_vectors(tmp_path: Path) -> None:
    path = written(tmp_path, '{"id": "q1", "question": "Why?"}\n')
    assert vector_rows(path) is None
    assert vector_rows(tmp_path) is None
    with pytest.raises(DatasetError, match="must hold embeddings with vectors"):
        read_vectors(path)
