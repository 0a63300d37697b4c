"""One span in the form of every tool that writes it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_titan.evaluation.importers.spans import Span, spans_of, structured, time_text

START, END = 1_700_000_000_000_000_000, 1_700_000_000_250_000_000  # 2023-11-14T22:13:20 UTC, and a quarter of a second
ATTRIBUTES = {
    "openinference.span.kind": "RETRIEVER",
    "retrieval.documents.0.document.id": "d1",
    "retrieval.documents.0.document.score": 0.5,
}
OTLP: dict[str, Any] = {
    "traceId": "a1", "spanId": "b2", "parentSpanId": "c3", "name": "find", "kind": 1,
    "startTimeUnixNano": str(START), "endTimeUnixNano": str(END),
    "attributes": [
        {"key": "openinference.span.kind", "value": {"stringValue": "RETRIEVER"}},
        {"key": "retrieval.documents.0.document.id", "value": {"stringValue": "d1"}},
        {"key": "retrieval.documents.0.document.score", "value": {"doubleValue": 0.5}},
    ],
    "status": {"code": 2, "message": "no index"},
}  # fmt: skip
PRINTED: dict[str, Any] = {
    "name": "find", "context": {"trace_id": "0xa1", "span_id": "0xb2", "trace_state": "[]"},
    "kind": "SpanKind.INTERNAL",
    "parent_id": "0xc3", "start_time": "2023-11-14T22:13:20.000000Z", "end_time": "2023-11-14T22:13:20.250000Z",
    "status": {"status_code": "ERROR", "description": "no index"}, "attributes": ATTRIBUTES, "events": [], "links": [],
}  # fmt: skip
PHOENIX_ROW: dict[str, Any] = {
    "context.trace_id": "a1", "context.span_id": "b2", "parent_id": "c3", "name": "find", "span_kind": "RETRIEVER",
    "start_time": 1_700_000_000_000, "end_time": 1_700_000_000_250, "events": [],
    "status_code": "ERROR", "status_message": "no index",
    "attributes.retrieval.documents": [{"document.id": "d1", "document.score": 0.5}],
}  # fmt: skip
PHOENIX_API: dict[str, Any] = {
    "name": "find", "context": {"trace_id": "a1", "span_id": "b2"}, "parent_id": "c3", "span_kind": "RETRIEVER",
    "start_time": "2023-11-14T22:13:20+00:00", "end_time": "2023-11-15T00:13:20.25+02:00", "status_code": "ERROR",
    "status_message": "no index",
    "attributes": {"retrieval": {"documents": [{"document": {"id": "d1", "score": 0.5}}]}},
}  # fmt: skip
PYTHON_ROW = {key: value if isinstance(value, str) else repr(value) for key, value in PHOENIX_ROW.items()}
JSON_ROW = {key: value if isinstance(value, str) else json.dumps(value) for key, value in PHOENIX_ROW.items()}


@pytest.mark.parametrize("record", [OTLP, PRINTED, PHOENIX_ROW, PHOENIX_API, PYTHON_ROW, JSON_ROW])
def test_every_form_gives_the_same_span(record: dict[str, Any]) -> None:
    assert spans_of(record) == [Span("a1", "b2", "c3", "find", START, END, "no index", ATTRIBUTES)]


@pytest.mark.parametrize("upper", [False, True])
def test_an_event_of_trulens(upper: bool) -> None:
    record: dict[str, Any] = {
        "record": {"name": "ask", "kind": 1, "parent_span_id": "", "status": "STATUS_CODE_UNSET"},
        "record_attributes": {"ai.observability.span_type": "record_root"},
        "record_type": "SPAN",
        "start_timestamp": "2023-11-14 22:13:20.000000",
        "timestamp": "2023-11-14 22:13:20.250000",
        "trace": {"trace_id": "17", "parent_id": "", "span_id": "23"},
    }
    record = {key.upper(): value for key, value in record.items()} if upper else record
    attributes = {"ai.observability.span_type": "record_root"}
    assert spans_of(record) == [Span("17", "23", None, "ask", START, END, None, attributes, zoned=False)]
    written = {key: value if isinstance(value, str) else repr(value) for key, value in record.items()}
    assert spans_of(written) == spans_of(record)


def test_a_record_of_trulens_and_its_row() -> None:
    call = {
        "stack": [{"method": {"name": "ask"}}, {"method": {"name": "retrieve"}}],
        "rets": ["Leave is 25 days."],
        "perf": {"start_time": "2023-11-14T22:13:20", "end_time": "2023-11-14T22:13:20.1"},
    }
    record = {
        "record_id": "r1", "main_input": "How long?", "main_output": "25 days.", "main_error": None, "calls": [call],
        "cost": {"n_requests": 1, "n_tokens": 9, "n_completion_tokens": 3, "cost": 0.25, "cost_currency": "USD"},
        "perf": {"start_time": "2023-11-14T22:13:20", "end_time": "2023-11-14T22:13:20.25"},
    }  # fmt: skip
    root, retrieval = spans_of(record)
    assert (root.trace, root.start, root.end, root.error) == ("r1", START, END, None)
    assert root.attributes["ai.observability.record_root.input"] == "How long?"
    assert root.attributes["ai.observability.cost.num_tokens"] == 9
    assert (retrieval.parent, retrieval.attributes["ai.observability.retrieval.retrieved_contexts"]) == (
        root.id,
        ["Leave is 25 days."],
    )
    row = {"record_id": "r1", "input": "How long?", "output": "25 days.", "record_json": json.dumps(record)}
    assert spans_of(row) == [root, retrieval]


def test_values_of_otlp_have_types() -> None:
    values: dict[str, Any] = {
        "text": {"stringValue": "x"}, "whole": {"intValue": "7"}, "flag": {"boolValue": False},
        "list": {"arrayValue": {"values": [{"stringValue": "a"}, {"stringValue": "b"}]}},
        "object": {"kvlistValue": {"values": [{"key": "k", "value": {"doubleValue": 1.5}}]}},
        "empty": {"arrayValue": {}},
    }  # fmt: skip
    record = {"trace_id": "a", "span_id": "b", "attributes": [{"key": k, "value": v} for k, v in values.items()]}
    [span] = spans_of(record)
    assert span.attributes == {
        "text": "x", "whole": 7, "flag": False, "list": ["a", "b"], "object.k": 1.5, "empty": []
    }  # fmt: skip


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("2023-11-14T22:13:20Z", START), ("2023-11-14 22:13:20 UTC", START), (1_700_000_000, START), (1.7e9, START),
        (1_700_000_000_000, START), (1_700_000_000_000_000, START), (START, START), ("1700000000", START),
        ("yesterday", None), (None, None), (True, None), (-1, None), (float("nan"), None), ("9" * 50, None), ([], None),
    ],
)  # fmt: skip
def test_times(value: Any, expected: int | None) -> None:
    [span] = spans_of({"trace_id": "a", "span_id": "b", "start_time": value})
    assert span.start == expected


def test_a_time_is_written_as_it_was_given() -> None:
    assert time_text(START, zoned=True) == "2023-11-14T22:13:20Z"
    assert time_text(START, zoned=False) == "2023-11-14T22:13:20"
    assert time_text(2**80, zoned=True) is None


@pytest.mark.parametrize(
    ("said", "error"),
    [
        ({"status": {"status_code": "OK"}}, None), ({"status": {}}, None), ({"status_code": "UNSET"}, None), ({}, None),
        ({"status": {"code": "STATUS_CODE_ERROR", "message": "m"}}, "m"),
        ({"status": "ERROR", "status_message": "m"}, "m"),
        ({"status": {"status_code": "StatusCode.ERROR"}, "attributes": {"error.type": "Timeout"}}, "Timeout"),
        (
            {"status": {"code": 2}, "events": [{"name": "exception", "attributes": {"exception.message": "cut"}}]},
            "cut",
        ),
        ({"status": {"code": 2}}, "the span has the status ERROR and says nothing more"),
    ],
)  # fmt: skip
def test_errors(said: dict[str, Any], error: str | None) -> None:
    [span] = spans_of({"trace_id": "a", "span_id": "b"} | said)
    assert span.error == error


@pytest.mark.parametrize("record", [None, 3, "x", [], {}, {"question": "?"}, {"trace_id": "a", "run_type": "llm"}])
def test_what_is_no_span(record: Any) -> None:
    assert spans_of(record) == []


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(), lambda v: st.lists(v) | st.dictionaries(st.text(), v)
    )
)
def test_no_value_of_any_type_stops_the_reader(value: Any) -> None:
    for name in ("attributes", "events", "status", "context", "trace", "record", "start_time", "parent_id", "name"):
        for record in ({"trace_id": "a", "span_id": "b", name: value}, {"record_id": "a", "calls": value, name: value}):
            assert all(isinstance(span, Span) for span in spans_of(record))


def test_vectors_are_not_kept() -> None:
    attributes = {
        "embedding.embeddings.0.embedding.vector": [0.1] * 4,
        "embedding.embeddings": [{"embedding.vector": [1.0]}],
    }
    [span] = spans_of({"trace_id": "a", "span_id": "b", "attributes": attributes})
    assert span.attributes == {}


@pytest.mark.parametrize("text", ["[1] Leave", "{x}", "['\\d']", "[" * 10_000, "{'a': f()}", "[1, 2"])
def test_text_that_only_looks_structured_stays_text(text: str) -> None:
    assert structured(text) == text
