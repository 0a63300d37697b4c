"""What an app answered -> keys of a query record."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.json import encode

from rag_titan.errors import SettingsError
from rag_titan.evaluation.preparation.responses import OUTPUTS, Responses, is_answered

RESPONSE = {
    "output": {"text": "25 days"},
    "docs": [{"id": 1, "meta": {"id": "a"}, "text": "T1"}, {"id": "c2", "meta": {"id": "b"}, "text": "T2"}],
    "empty": [],
    "nothing": None,
    "timing": {"seconds": 0.25},
}


def outputs(response: Any, **paths: str) -> dict[str, Any]:
    return Responses.of(paths).outputs(response)


def test_paths_lead_to_values_as_the_format_has_them() -> None:
    assert outputs(
        RESPONSE, answer="output.text", retrieved_ids="docs[].id", context_ids="docs[].meta.id",
        retrieved_texts="docs[].text", citations="empty", search_latency_ms="timing.seconds * 1000",
    ) == {
        "answer": "25 days", "retrieved_ids": ["1", "c2"], "context_ids": ["a", "b"], "retrieved_texts": ["T1", "T2"],
        "citations": [], "search_latency_ms": 250.0,
    }  # fmt: skip


@pytest.mark.parametrize("path", ["nothing", "nothing.text", "nothing[].id"])
def test_null_is_not_given_and_no_error(path: str) -> None:
    assert outputs(RESPONSE, answer="output.text", citations=path) == {"answer": "25 days"}


@pytest.mark.parametrize(
    ("path", "there"),
    [
        ("output.txt", "output has the key text"),
        ("documents[].id", "the response has the keys output, docs, empty, nothing, timing"),
        ("docs[].meta.name", "docs[].meta has the key id"),
        ("output.text.x", "output.text holds no object"),
        ("docs.id", "docs holds no object"),
    ],
)
def test_a_path_that_leads_nowhere_is_an_error_and_the_rest_is_kept(path: str, there: str) -> None:
    got = outputs(RESPONSE, answer="output.text", context_ids=path)
    assert got == {"answer": "25 days", "error": f"context_ids is absent: {path} leads nowhere, as {there}"}


def test_an_error_of_the_app_itself_is_mapped_where_it_is_there() -> None:
    assert outputs({"error": {"text": "index is down"}}, error="error.text") == {"error": "index is down"}
    assert outputs({"a": "yes"}, answer="a", error="error.text") == {"answer": "yes"}
    got = outputs({"error": {"text": "index is down"}}, answer="a", error="error.text")
    assert got["error"] == "index is down; answer is absent: a leads nowhere, as the response has the key error"


@pytest.mark.parametrize(
    ("value", "error"),
    [
        ([1, None], "retrieved_ids[1]: must be an id (text or whole number), got null. Remove it"),
        ("c1", 'retrieved_ids: must be a list, got the text "c1"; write ["c1"]'),
        ({"a": 1}, "retrieved_ids: must be a list, got an object; write [{...}]"),
    ],
)
def test_a_value_of_another_kind_is_an_error_and_the_rest_is_kept(value: Any, error: str) -> None:
    assert outputs({"a": "yes", "ids": value}, answer="a", retrieved_ids="ids") == {"answer": "yes", "error": error}


def test_without_paths_text_is_the_answer_and_an_object_has_the_keys_of_the_format() -> None:
    assert outputs("25 days") == {"answer": "25 days"}
    own = {"answer": "yes", "retrieved_ids": (7, 8), "citations": None, "confidence": float("nan"), "trace": {"n": 1}}
    assert outputs(own) == {"answer": "yes", "retrieved_ids": ["7", "8"], "confidence": None, "trace": {"n": 1}}


def test_gold_is_never_taken_from_the_app() -> None:
    own = {"answer": "yes", "id": "x", "question": "?", "expected_answer": "yes", "validated": True, "tags": {}}
    assert outputs(own) == {"answer": "yes"}
    for key in ("id", "question", "expected_answer", "relevance", "tags"):
        with pytest.raises(SettingsError, match=f"^map: must name keys that an app fills, got '{key}'"):
            Responses.of({key: "x"})
        assert key not in OUTPUTS


@pytest.mark.parametrize(
    ("response", "error"),
    [
        (None, "the response must be text or an object, got null"),
        (3, "the response must be text or an object, got the number 3"),
        ([1], "the response must be text or an object, got a list"),
        ({"text": "x"}, "the response must have keys of the dataset, such as answer, got the key text; map them"),
        ({}, "the response must have keys of the dataset, such as answer, got no keys; map them"),
    ],
)
def test_a_response_of_which_nothing_can_be_read_is_an_error(response: Any, error: str) -> None:
    assert outputs(response) == {"error": error}


@pytest.mark.parametrize("response", [None, "text", [{"a": 1}], 3])
def test_paths_need_an_object(response: Any) -> None:
    assert outputs(response, answer="a")["error"].startswith("the response must be an object, got ")


def test_what_cannot_be_written_as_json_is_made_writable() -> None:
    assert outputs({"a": "x\ud800"}, answer="a") == {"answer": "x\ufffd"}
    deep: Any = "end"
    for _ in range(100_000):
        deep = [deep]
    assert outputs({"answer": "yes", "trace": deep}) == {
        "answer": "yes", "error": "trace is nested so deep that Python cannot follow",
    }  # fmt: skip


@pytest.mark.parametrize("path", ["", "a..b", "docs[", "a.", "[]"])
def test_what_is_no_path_is_refused(path: str) -> None:
    with pytest.raises(SettingsError, match=r"^map\.answer: must be a path"):
        Responses.of({"answer": path})


def test_an_unknown_key_is_refused_with_the_nearest() -> None:
    with pytest.raises(SettingsError, match="the nearest is 'retrieved_ids'"):
        Responses.of({"retreived_ids": "docs"})


def test_answered_is_what_has_something_to_score() -> None:
    assert is_answered({"id": "g", "answer": ""})
    assert is_answered({"id": "g", "retrieved_ids": [], "error": "answer is absent"})
    assert not is_answered({"id": "g", "question": "?", "error": "time-out", "latency_ms": 3.0, "expected_answer": "x"})


def test_names_that_no_file_can_hold_are_made_writable() -> None:
    outputs = Responses.of(None).outputs({"answer": "25", "odd\ud800": 1, 7: 2})
    assert outputs == {"answer": "25", "odd\ufffd": 1}
    assert encode(outputs)
