"""Queries in batches: ids once, labels that agree, notices of one pass."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_titan.errors import DatasetError
from rag_titan.evaluation.data import queries as module
from rag_titan.evaluation.data.decoding import QUERIES
from rag_titan.evaluation.data.queries import QuerySource, ReadyRows
from rag_titan.evaluation.data.records import Query
from rag_titan.evaluation.data.rows import ValueRows


def source(records: list[Any], **options: Any) -> QuerySource:
    return QuerySource(ValueRows.of_list(QUERIES, records, "queries"), **options)


def ids(batches: Iterator[list[Query]]) -> list[list[str]]:
    return [[query.id for query in batch] for batch in batches]


def flat(batches: list[list[str]]) -> list[str]:
    return [name for batch in batches for name in batch]


@given(st.lists(st.integers(0, 40), unique=True, max_size=30), st.integers(1, 12))
def test_batches_have_the_size_asked_for_and_lose_nothing(numbers: list[int], size: int) -> None:
    batches = ids(source([{"id": n} for n in numbers]).batches(size))
    assert flat(batches) == list(map(str, numbers))
    assert all(len(batch) == size for batch in batches[:-1])
    assert all(0 < len(batch) <= size for batch in batches)


def test_more_than_one_block_of_rows() -> None:
    records = [{"id": n} for n in range(1300)]
    assert [len(batch) for batch in ids(source(records).batches(500))] == [500, 500, 300]


def test_a_source_can_be_read_again_and_says_the_same() -> None:
    queries = source([{"id": 1, "answers": "x"}, {"id": 2, "expected_chunk_ids": ["c"]}])
    for size in (1, 2):
        assert flat(ids(queries.batches(size))) == ["1", "2"]
        assert queries.passed.count == 2
        assert len(queries.passed.notices.texts()) == 1
        assert "It stands in 1." in queries.passed.notices.texts()[0]


def test_the_share_of_a_pass() -> None:
    queries = source([{"id": n} for n in range(1024)])
    shares = [queries.share or 0.0 for _ in queries.batches(512)]
    assert shares == sorted(shares)
    assert queries.share == 1.0


@pytest.mark.parametrize(("first", "second"), [(0, 1), (0, 5), (3, 4), (1, 5)])
@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_two_queries_with_one_id_are_an_error_that_names_both(first: int, second: int, size: int) -> None:
    records: list[dict[str, Any]] = [{"id": f"q{n}"} for n in range(6)]
    records[first]["id"], records[second]["id"] = "7", 7
    text = rf'^queries\[{second}\]\.id: duplicate id "7", as in queries\[{first}\]\. Query ids must be unique\.$'
    with pytest.raises(DatasetError, match=text):
        ids(source(records).batches(size))


def test_hashes_that_collide_are_no_duplicates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "text_hashes", lambda texts: np.zeros(len(texts), dtype=np.uint64))
    assert flat(ids(source([{"id": n} for n in range(5)]).batches(2))) == ["0", "1", "2", "3", "4"]


def test_of_queries_with_one_id_the_first_is_kept_where_bad_records_are_left_out() -> None:
    queries = source([{"id": "a"}, {"id": "b"}, {"id": "a"}, {"id": 3}, {"id": "b"}, {}], skip_bad_records=True)
    for size in (1, 2, 6):
        assert flat(ids(queries.batches(size))) == ["a", "b", "3"]
        assert queries.passed.skipped.count == 3
        assert sorted(text.partition(":")[0] for text in queries.passed.skipped.first) == [
            "queries[2].id",
            "queries[4].id",
            "queries[5].id",
        ]


@pytest.mark.parametrize("grade", [0, -1])
def test_labels_that_contradict_each_other(grade: float) -> None:
    records = [
        {"id": "a", "relevance": {"c1": 1, "c2": 0}, "expected_chunk_ids": ["c1", "c3"]},
        {"id": "b", "relevance": {"c1": 1, "c2": grade}, "expected_chunk_ids": ["c1", "c2"]},
        {"id": "c", "relevance": {"c1": 0}},
    ]
    text = rf'queries\[1\]\.relevance\["c2"\]: must be above 0, got {grade} although expected_chunk_ids has the id'
    with pytest.raises(DatasetError, match=text):
        ids(source(records).batches(10))
    queries = source(records, skip_bad_records=True)
    assert ids(queries.batches(10)) == [["a", "c"]]
    assert queries.passed.skipped.count == 1


def test_the_garbage_collector_is_left_as_it_was() -> None:
    records = [{"id": n} for n in range(600)]
    assert gc.isenabled()
    for _ in source(records).batches(100):
        assert gc.isenabled()
    for _ in source(records).batches(100):
        break
    assert gc.isenabled()
    with pytest.raises(DatasetError):
        ids(source([*records, {}]).batches(1000))
    assert gc.isenabled()
    gc.disable()
    try:
        for _ in source(records).batches(100):
            assert not gc.isenabled()
    finally:
        gc.enable()


def test_clean_queries_are_passed_through_as_they_are() -> None:
    queries = [Query(id=str(n)) for n in range(1200)]
    read = [query for batch in QuerySource(ReadyRows(queries)).batches(1000) for query in batch]
    assert all(a is b for a, b in zip(queries, read, strict=True))
