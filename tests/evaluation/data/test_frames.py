"""Tables of three libraries: the same records as the lists of dicts that they were made of."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rag_titan.errors import DatasetError
from rag_titan.evaluation.data.dataset import dataset_from
from rag_titan.evaluation.data.frames import is_table, records_of
from rag_titan.evaluation.data.records import Chunk, Evidence, Query

RECORDS: list[dict[str, Any]] = [
    {
        "id": "q1", "retrieved_ids": ["c1", "c2"], "expected_chunk_ids": ["c1"], "latency_ms": 12.5, "answerable": True,
        "answer": "25 days", "tags": {"team": "hr"}, "relevance": {"c9": 2.0}, "expected_evidence": ["25 days"],
    },
    {"id": "q2", "retrieved_ids": [], "answer": "", "latency_ms": 3.0, "answerable": False},
    {"id": "q3", "expected_chunk_ids": ["c2"], "retrieved_ids": ["c2"]},
]  # fmt: skip


class Frame:
    """A table with the methods of a polars DataFrame."""

    def __init__(self, records: list[dict[str, Any]]) -> None:
        self.columns = list({key: None for record in records for key in record})
        self._records = records

    def __len__(self) -> int:
        return len(self._records)

    def slice(self, start: int, length: int) -> Frame:
        return Frame(self._records[start : start + length])

    def to_dicts(self) -> list[dict[str, Any]]:
        return [{column: record.get(column) for column in self.columns} for record in self._records]


def queries_of(value: Any) -> list[Query]:
    return [query for batch in dataset_from(queries=value).queries.batches(100) for query in batch]


def test_a_table_is_known_by_its_methods() -> None:
    assert is_table(Frame(RECORDS))
    for value in (RECORDS, {}, "x", None, np.zeros((2, 2)), Query(id="q")):
        assert not is_table(value)


def test_polars() -> None:
    assert queries_of(Frame(RECORDS)) == queries_of(RECORDS)
    assert len(queries_of(Frame([{"id": n} for n in range(1200)]))) == 1200


@pytest.mark.oracle
def test_pandas() -> None:
    pandas = pytest.importorskip("pandas")
    assert queries_of(pandas.DataFrame(RECORDS)) == queries_of(RECORDS)
    numbers = pandas.DataFrame({"id": [1, 2], "retrieved_ids": [np.array([3, 4]), None], "latency_ms": [1, pandas.NA]})
    assert queries_of(numbers) == [Query(id="1", retrieved_ids=["3", "4"], latency_ms=1.0), Query(id="2")]
    gold = pandas.DataFrame(
        {"id": [1, 2], "context_ids": [[5.0], [7.0]], "timestamp": pandas.to_datetime(["2026-01-02", None])}
    )
    first, second = queries_of(gold)
    assert (first.context_ids, first.timestamp, second.timestamp) == (["5"], "2026-01-02T00:00:00", None)


@pytest.mark.oracle
def test_pandas_chunks_and_documents() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"id": [1, 2], "text": ["a", "b"], "start": [0.0, None], "end": [1.0, None]})
    dataset = dataset_from(chunks=frame, documents=frame.rename(columns={"id": "source"}))
    assert dataset.chunks == (Chunk(id="1", text="a", start=0, end=1), Chunk(id="2", text="b"))
    assert dataset.documents == {"1": "a", "2": "b"}


@pytest.mark.parquet
def test_arrow() -> None:
    arrow = pytest.importorskip("pyarrow")
    table = arrow.Table.from_pylist(RECORDS)
    assert queries_of(table) == queries_of(RECORDS)
    assert queries_of(table.to_batches()[0]) == queries_of(RECORDS)
    assert queries_of(table.slice(1)) == queries_of(RECORDS[1:]), "a slice has offsets of its own"
    assert queries_of(arrow.concat_tables([table.slice(0, 1), table.slice(1)])) == queries_of(RECORDS)


@pytest.mark.parquet
def test_arrow_forms_of_mappings() -> None:
    arrow = pytest.importorskip("pyarrow")
    text, number = arrow.string(), arrow.float64()
    relevance = {
        "map": ([[("c1", 2.0)], None, []], arrow.map_(text, number)),
        "structs": (
            [[{"chunk_id": "c1", "grade": 2.0}], None, []],
            arrow.list_(arrow.struct([("chunk_id", text), ("grade", number)])),
        ),
        "json": (['{"c1": 2}', None, "{}"], text),
        "struct": ([{"c1": 2.0, "c2": None}, None, {}], arrow.struct([("c1", number), ("c2", number)])),
    }
    for name, (values, kind) in relevance.items():
        table = arrow.table({"id": [1, 2, 3], "relevance": arrow.array(values, kind)})
        assert [query.relevance for query in queries_of(table)] == [{"c1": 2.0}, None, {}], name


@pytest.mark.parquet
def test_arrow_lists_of_other_kinds() -> None:
    arrow = pytest.importorskip("pyarrow")
    table = arrow.table(
        {
            "id": [1, 2],
            "retrieved_ids": arrow.array([[1, 2], None], arrow.list_(arrow.int32())),
            "context_ids": arrow.array([["a"], None], arrow.large_list(arrow.large_string())),
            "expected_evidence": arrow.array([[{"start": 1, "end": 2, "quote": None}], []]),
            "citations": ['["x"]', None],
        }
    )
    first, second = queries_of(table)
    assert (first.retrieved_ids, first.context_ids, first.citations) == (["1", "2"], ["a"], ["x"])
    assert first.expected_evidence == [Evidence(start=1, end=2)]
    assert (second.retrieved_ids, second.expected_evidence) == (None, [])


@pytest.mark.parquet
def test_a_null_among_ids_has_its_place() -> None:
    arrow = pytest.importorskip("pyarrow")
    table = arrow.table({"id": [1, 2], "retrieved_ids": [["a"], ["a", None]]})
    with pytest.raises(DatasetError, match=r"queries\[1\]\.retrieved_ids\[1\]: must be an id .* got null"):
        queries_of(table)


def test_two_columns_of_one_name() -> None:
    frame = Frame(RECORDS)
    frame.columns.append("id")
    with pytest.raises(
        DatasetError, match=r"^queries: must have every column once, got 'id' twice\. Rename one of them\.$"
    ):
        queries_of(frame)


@pytest.mark.parametrize("cell", ["[not json", "{1}", "[" * 100_000])
def test_a_cell_that_only_begins_like_json_stays_text(cell: str) -> None:
    assert records_of(Query, [{"relevance": cell, "answer": "[x]"}]) == [{"relevance": cell, "answer": "[x]"}]
    with pytest.raises(DatasetError, match=r"queries\[0\]\.retrieved_ids: must be a list, got the text"):
        queries_of(Frame([{"id": 1, "retrieved_ids": cell}]))


@pytest.mark.parametrize("cell", [[{"id": {}, "text": 1}], [([], 1)], [{"key": ["a"], "value": 3}]])
def test_pairs_with_a_key_that_is_no_id_are_refused(cell: Any) -> None:
    assert records_of(Query, [{"relevance": cell}]) == [{"relevance": cell}]
    with pytest.raises(DatasetError, match=r"queries\[0\]\.relevance: must be an object, got a list"):
        queries_of(Frame([{"id": 1, "relevance": cell}]))
