"""What an HTTP status says, and how long a server wants one to wait."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rag_titan.models.refusals import Unusable, excerpt, refusal


def body(value: Any) -> bytes:
    return json.dumps(value).encode()


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504, 529])
def test_these_are_tried_again(status: int) -> None:
    assert refusal(status, {}, b"").again


@pytest.mark.parametrize("status", [301, 307, 400, 401, 403, 404, 409, 413, 422])
def test_these_are_not(status: int) -> None:
    assert not refusal(status, {}, b"").again


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"error": {"message": "no such thing", "code": 7}}, "no such thing"),
        ({"error": "no such thing"}, "no such thing"),
        ({"detail": "no such thing"}, "no such thing"),
        ({"detail": [{"loc": ["body"], "msg": "x"}]}, '[{"loc": ["body"], "msg": "x"}]'),
        ({"error": {"message": {"error": "deep"}}}, "deep"),
        ({}, ""),
        (None, ""),
        (["a\x1b[2J"], '["a\\u001b[2J"]'),
    ],
)
def test_the_words_of_an_error_are_found(value: Any, words: str) -> None:
    assert refusal(400, {}, body(value)).got == f"HTTP 400{': ' + words if words else ''}"


def test_words_that_are_no_json_are_shortened_and_harmless() -> None:
    assert refusal(502, {}, b"<h1>bad\r\n\x1b[2J gateway</h1>").got == "HTTP 502: <h1>bad [2J gateway</h1>"
    assert len(refusal(500, {}, b"x" * 10_000).got) < 250
    assert refusal(500, {}, b"[" * 100_000).got.startswith("HTTP 500: [[[")
    assert excerpt("a\x00b\u202ec") == "a b c"


@pytest.mark.parametrize(
    ("status", "value"),
    [
        (404, {"error": "model 'x' not found"}),
        (404, {"error": {"message": "The model `x` does not exist", "code": "model_not_found"}}),
        (400, {"error": {"message": "x?", "code": "model_not_found"}}),
    ],
)
def test_an_unknown_model_is_said_to_be_one(status: int, value: Any) -> None:
    assert refusal(status, {}, body(value)).must == "know the model"


def test_a_missing_page_is_not_called_a_missing_model() -> None:
    assert "base_url" in refusal(404, {}, b"404 page not found").sentence()


def test_a_redirect_does_not_show_where_it_leads() -> None:
    sentence = refusal(307, {"location": "http://10.0.0.1/?token=s3cr3t"}, b"").sentence()
    assert "a redirect" in sentence
    assert "s3cr3t" not in sentence


DATE = "Wed, 21 Oct 2015 07:28:00 GMT"


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": " 0.25 "}, 0.25),
        ({"retry-after": "-1"}, 0.0),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:30 GMT", "date": DATE}, 30.0),
        ({"retry-after": "Wed, 21 Oct 2015 07:27:30 GMT", "date": DATE}, 0.0),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:30 GMT", "date": "yesterday"}, None),
        ({"retry-after": DATE}, 0.0),  # long past by any clock
        ({"retry-after": "9" * 400}, None),
    ],
)
def test_retry_after_is_read_in_both_forms(headers: dict[str, str], wait: float | None) -> None:
    assert refusal(429, headers, b"").wait == wait


def test_a_sentence_says_the_number_of_tries_only_when_there_were_several() -> None:
    problem = Unusable("answer", "nothing")
    assert (problem.sentence(), problem.sentence(3)) == (
        "must answer, got nothing.",
        "must answer, got nothing in the last of 3 tries.",
    )
