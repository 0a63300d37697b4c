"""The fast decoder and the explaining path: the same records, and nothing but DatasetError."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import hostile_records, query_records

from rag_titan.errors import DatasetError
from rag_titan.evaluation.data.decoding import CHUNKS, MOST_EXTRAS, QUERIES, Intake, RecordDecoder, RecordKind, extras
from rag_titan.evaluation.data.plain import Place
from rag_titan.evaluation.data.records import Chunk, Query


def decoder(intake: Intake, kind: RecordKind[Any] = QUERIES) -> RecordDecoder[Any]:
    return RecordDecoder(kind, lambda number: Place(f"line {number}", ": ", intake.notices), intake)


def as_lines(records: list[Any]) -> bytes:
    return "".join(json.dumps(record) + "\n" for record in records).encode()


def values_of(query: Query) -> dict[str, Any]:
    return {name: getattr(query, name) for name in Query.__struct_fields__} | {"extras": extras(query)}


def read(records: list[Any], *, skip: bool = False, kind: RecordKind[Any] = QUERIES) -> tuple[list[Any], Intake]:
    intake = Intake(skip=skip)
    return list(decoder(intake, kind).lines(as_lines(records), 1)[1]), intake


@given(st.lists(query_records(), min_size=1, max_size=4))
def test_fast_and_slow_path_read_valid_records_alike(records: list[dict[str, Any]]) -> None:
    fast, slow = Intake(), Intake()
    block = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records).encode()
    numbers, queries = decoder(fast).lines(block, 1)
    cleaned_numbers, cleaned = decoder(slow).values([json.loads(json.dumps(record)) for record in records], 1)
    assert list(map(repr, map(values_of, queries))) == list(map(repr, map(values_of, cleaned))), "3 is not 3.0 here"
    assert list(numbers) == cleaned_numbers
    assert fast.notices == slow.notices


@given(st.lists(hostile_records(), min_size=1, max_size=3))
def test_hostile_records_are_read_alike_from_values_and_from_lines_or_refused_alike(records: list[Any]) -> None:
    told: list[Any] = []
    for values in (None, [json.loads(json.dumps(record)) for record in records]):
        intake = Intake(skip=True)
        reading = decoder(intake)
        block = as_lines(records)
        _, queries = reading.lines(block, 1) if values is None else reading.values(values, 1)
        for query in queries:
            json.dumps(values_of(query)["extras"], allow_nan=False, ensure_ascii=False).encode()
        told.append((repr([values_of(q)["relevance"] for q in queries]), intake.skipped.count, intake.skipped.first))
    assert told[0] == told[1]


def test_unknown_keys_are_kept_and_decoded_when_asked_for() -> None:
    queries, intake = read(
        [{"id": 1, "agent": {"n": [1, 2.5, None]}}, {"id": "2", "answer": "x"}, {"id": "3", "agent": None}]
    )
    assert [extras(query) for query in queries] == [{"agent": {"n": [1, 2.5, None]}}, {}, {"agent": None}]
    assert [query.id for query in queries] == ["1", "2", "3"]
    assert all(isinstance(query, Query) for query in queries)
    assert intake.notices.texts() == []


def test_a_key_near_a_known_one_is_noticed_once_with_the_queries_that_have_it() -> None:
    records = [{"id": f"q{i}", "expected_chunk_id": ["c"], "model": "m"} for i in range(30)]
    _, intake = read([*records, {"id": 7, "Retrieved_ids": []}])
    first, second = intake.notices.texts()
    assert (
        first == "the key 'Retrieved_ids' is not known and was not read; did you mean 'retrieved_ids'? It stands in 7."
    )
    assert second.startswith(
        "the key 'expected_chunk_id' is not known and was not read; did you mean 'expected_chunk_ids'?"
    )
    assert second.endswith(", q25, q26 and 10 more.")


def test_chunks_may_be_texts_and_let_go_of_unknown_keys() -> None:
    chunks, intake = read(["a text", {"id": 3, "lang": "en"}, {"txt": "x"}], kind=CHUNKS)
    assert chunks[0] == Chunk(text="a text")
    assert chunks[1].id == "3"
    assert "UNSET" in repr(chunks[1]), "what is not kept does not hold on to the block it was read from"
    assert intake.notices.texts() == [
        "the key 'txt' is not known and was not read; did you mean 'text'? It stands in None."
    ]


def test_too_many_unknown_keys_are_no_longer_kept() -> None:
    records = [{"id": str(i), f"key{i}": i, "answer": "x"} for i in range(MOST_EXTRAS + 5)]
    queries, intake = read(records)
    assert [extras(query) for query in queries[:MOST_EXTRAS]] == [{f"key{i}": i} for i in range(MOST_EXTRAS)]
    assert [extras(query) for query in queries[MOST_EXTRAS:]] == [{}] * 5
    assert all(query.answer == "x" for query in queries)
    assert any("different unknown keys" in text for text in intake.notices.texts())


def test_a_key_that_no_field_can_have_is_passed_over() -> None:
    queries, _ = read([{"id": "a", 'x"y': 1, "z": 2}, {"id": "b", "z": 3}])
    assert [query.id for query in queries] == ["a", "b"]


def test_extras_that_were_passed_over_unread_may_be_broken() -> None:
    reading = decoder(Intake())
    block = (
        b'{"id": "a", "x": 1}\n{"id": "b", "x": "\xff"}\n{"id": "c", "x": [1e999, -1e999]}\n{"id": "d", "x": '
        + b"9" * 5000
        + b"}\n"
    )
    _, queries = reading.lines(block, 1)
    assert [extras(query)["x"] for query in queries] == [1, "\ufffd", [None, None], None]


def test_nan_and_infinity_are_read_as_python_writes_them() -> None:
    queries, _ = read([{"id": "a", "latency_ms": math.nan, "cost_usd": math.inf, "n": math.nan}, {"id": "b"}])
    assert math.isnan(queries[0].latency_ms)
    assert queries[0].cost_usd == math.inf
    assert extras(queries[0]) == {"n": None}


def test_a_bad_record_stops_at_its_line_or_is_left_out_with_it() -> None:
    records = [{"id": 1}, {"id": True}, {"answer": "x"}, {"id": 4}]
    with pytest.raises(DatasetError, match=r"^line 2: id: must be an id \(text or whole number\), got true\.$"):
        read(records)
    queries, intake = read(records, skip=True)
    assert [query.id for query in queries] == ["1", "4"]
    assert intake.skipped.count == 2
    assert [text.partition(": ")[0] for text in intake.skipped.first] == ["line 2", "line 3"]


def test_of_many_bad_records_the_first_twenty_are_listed() -> None:
    _, intake = read([{"id": None}] * 30, skip=True)
    assert (intake.skipped.count, len(intake.skipped.first)) == (30, 20)


@pytest.mark.parametrize("value", ["[" * 100_000, '{"a":' * 100_000, '[{"any_of":' * 5_000])
def test_nesting_that_python_cannot_follow_is_an_error_with_a_place(value: str) -> None:
    for key in ("expected_evidence", "note"):
        with pytest.raises(DatasetError, match=r"^line 1: must not be nested so deep"):
            decoder(Intake()).lines(f'{{"id": "a", "{key}": {value}'.encode(), 1)


def test_nested_python_values_too() -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(DatasetError, match="must not be nested so deep"):
        decoder(Intake()).values([{"id": "a", "note": deep}], 1)


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (b"", "must hold a query, got an empty line. Remove it."),
        (b"[1]", "must be an object (a query), got a list."),
        (b'"q1"', 'must be an object (a query), got the text "q1".'),
        (b'{"id": 1},', "must be JSON, got a comma after it. Remove the comma."),
        (b'{"id": "\xff"}', "must be UTF-8, got the byte 0xff as byte 9. Save the file as UTF-8."),
        (b"{}", 'id: must be given; the object has no keys. Add "id".'),
    ],
)
def test_lines_that_are_no_records(line: bytes, text: str) -> None:
    with pytest.raises(DatasetError) as caught:
        decoder(Intake()).lines(b'{"id": 1}\n' + line + b"\n" + b'{"id": 2}\n', 7)
    assert str(caught.value) == f"line 8: {text}"
