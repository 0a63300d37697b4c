"""Parquet files."""

from __future__ import annotations

import gzip
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from rag_titan.errors import DatasetError, MissingExtraError, SettingsError
from rag_titan.evaluation.data.files import File
from rag_titan.evaluation.data.parquet import QueryWriter, parquet_cells
from rag_titan.evaluation.data.read import open_dataset, read_dataset
from rag_titan.evaluation.data.records import Query

pytestmark = pytest.mark.parquet


def written(path: Path, columns: dict[str, Any]) -> Path:
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(arrow.table(columns), path)
    return path


def queries_of(path: Path, **options: Any) -> list[Query]:
    return [query for batch in open_dataset(path, **options).queries.batches(1000) for query in batch]


def test_many_rows_in_batches_and_twice(tmp_path: Path) -> None:
    n = 5000
    path = written(
        tmp_path / "log.parquet", {"id": list(range(n)), "retrieved_ids": [[f"c{i}", "c"] for i in range(n)]}
    )
    queries = queries_of(path)
    assert queries[4321] == Query(id="4321", retrieved_ids=["c4321", "c"])
    source = open_dataset(path).queries
    assert [sum(map(len, source.batches(999))) for _ in range(2)] == [n, n]
    assert source.share == 1.0


def test_rows_are_numbered_from_one(tmp_path: Path) -> None:
    path = written(tmp_path / "log.parquet", {"id": ["a", "b", "a"], "retrieved_ids": [["x"], [None], []]})
    with pytest.raises(DatasetError, match=r"^log\.parquet row 2: retrieved_ids\[0\]: must be an id"):
        queries_of(path)
    assert [query.id for query in queries_of(path, skip_bad_records=True)] == ["a"]
    path = written(tmp_path / "log.parquet", {"id": ["a", "b", "a"]})
    with pytest.raises(DatasetError, match=r'^log\.parquet row 3: id: duplicate id "a", as in log\.parquet row 1\.'):
        queries_of(path)


def test_gzip_around_it_and_a_folder(tmp_path: Path) -> None:
    path = written(tmp_path / "queries.parquet", {"id": [1]})
    (tmp_path / "queries.parquet.gz").write_bytes(gzip.compress(path.read_bytes()))
    path.unlink()
    written(tmp_path / "chunks.parquet", {"id": ["c"], "text": ["x"]})
    dataset = read_dataset(tmp_path)
    assert [query.id for batch in dataset.queries.batches(9) for query in batch] == ["1"]
    assert dataset.chunks is not None
    assert dataset.chunks[0].text == "x"


def test_what_is_no_parquet(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    path = tmp_path / "log.parquet"
    with pytest.raises(DatasetError, match=r"log\.parquet: must be a file"):
        open_dataset(path)
    path.write_text('{"id": 1}\n')
    with pytest.raises(DatasetError, match=r"^log\.parquet: must be a Parquet file \("):
        open_dataset(path)
    whole = written(tmp_path / "whole.parquet", {"id": [f"q{i}" for i in range(10_000)]}).read_bytes()
    path.write_bytes(whole[:100] + bytes(2000) + whole[2100:])
    with pytest.raises(DatasetError, match=r"^log\.parquet: must be a Parquet file \("):
        queries_of(path)


def test_without_pyarrow_the_error_is_the_install_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "log.parquet"
    path.write_bytes(b"PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(MissingExtraError, match=r'pip install "rag-titan\[parquet\]"'):
        open_dataset(path)


def verdict(name: str) -> dict[str, Any]:
    nothing = {"lost_at": None, "correct": None, "correct_by": None, "scenario": None}
    return {"id": name, **nothing, "why": [], "tags": None}


def test_two_runs_into_one_file_do_not_mix(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "q.parquet"
    first, second = QueryWriter(path, []), QueryWriter(path, [])
    first.write({}, [verdict("a")])
    second.write({}, [verdict("b")])
    second.close()
    assert parquet.read_table(path)["id"].to_pylist() == ["b"]
    first.close()
    assert parquet.read_table(path)["id"].to_pylist() == ["a"]
    assert [file.name for file in tmp_path.iterdir()] == ["q.parquet"]


def test_a_pipe_is_never_replaced(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    path = tmp_path / "q.parquet"
    writer = QueryWriter(path, [])
    os.mkfifo(path)
    with pytest.raises(SettingsError, match="must be an ordinary file, got a device, a pipe or a socket"):
        writer.close()
    writer.discard()
    assert path.is_fifo()
    with pytest.raises(SettingsError, match="must be an ordinary file"):
        QueryWriter(path, [])
    assert [file.name for file in tmp_path.iterdir()] == ["q.parquet"]


def test_the_cells_of_any_table(tmp_path: Path) -> None:
    path = written(
        tmp_path / "any.parquet", {"name": ["a", None], "lists": [[["x"], ["y", "z"]], []], "n": [1.5, None]}
    )
    assert list(parquet_cells(File(path))) == [
        {"name": "a", "lists": [["x"], ["y", "z"]], "n": 1.5},
        {"name": None, "lists": [], "n": None},
    ]


def test_the_cells_of_what_is_no_parquet(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    (tmp_path / "any.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(DatasetError, match=r"any\.parquet: must be a Parquet file"):
        list(parquet_cells(File(tmp_path / "any.parquet")))
