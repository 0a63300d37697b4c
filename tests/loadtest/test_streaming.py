"""Streams of every format: where the first token is, what failed, and what was cut."""

from __future__ import annotations

import json
import zlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_titan.loadtest.events import CUT, EMPTY, FAILED
from rag_titan.loadtest.streaming import NOT_JSON, Stream
from rag_titan.loadtest.unpacking import Unpacker, UnpackingError

SSE, LINES = "text/event-stream", "application/x-ndjson"


def read(kind: str, *pieces: bytes, **more: Any) -> Stream:
    """The stream of these pieces, of which the n-th came at n, from 1."""
    stream = Stream(kind, **more)
    for place, piece in enumerate(pieces, 1):
        stream.feed(piece, float(place))
    stream.end(float(len(pieces)))
    return stream


def events(*values: object) -> list[bytes]:
    """A piece for each event."""
    return [
        b"data: " + (value if isinstance(value, bytes) else json.dumps(value).encode()) + b"\n\n" for value in values
    ]


def lines(*values: object) -> list[bytes]:
    """A piece for each line of JSON."""
    return [json.dumps(value).encode() + b"\n" for value in values]


OPENAI = [
    {"choices": [{"delta": {"role": "assistant", "content": ""}}]},
    {"choices": [{"delta": {"content": "Hi"}}]},
    {"choices": [{"delta": {}, "finish_reason": "stop"}]},
]
RESPONSES = [
    {"type": "response.created", "response": {"output": [], "status": "in_progress"}},
    {"type": "response.output_text.delta", "delta": "Hi"},
    {"type": "response.completed", "response": {"output": [{"content": [{"text": "Hi"}]}]}},
]
ANTHROPIC = [
    {"type": "message_start", "message": {"role": "assistant", "content": []}},
    {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "Hi"}},
    {"type": "message_stop"},
]
CHAT = [
    {"message": {"role": "assistant", "content": ""}, "done": False},
    {"message": {"role": "assistant", "content": "Hi"}, "done": False},
    {"message": {"role": "assistant", "content": ""}, "done": True},
]
GENERATE = [{"response": "", "done": False}, {"response": "Hi", "done": False}, {"response": "", "done": True}]
LANGCHAIN = [
    {"event": "on_chat_model_start", "data": {"chunk": {"content": ""}}},
    {"data": {"chunk": {"content": "Hi"}}},
]
GEMINI = [{"candidates": [{"content": {"parts": []}}]}, {"candidates": [{"content": {"parts": [{"text": "Hi"}]}}]}]
OWN = [{"sources": ["a", "b"]}, {"token": "Hi"}, {"search_ms": 12}]


@pytest.mark.parametrize("said", [OPENAI, RESPONSES, ANTHROPIC, CHAT, GENERATE, LANGCHAIN, GEMINI, OWN])
@pytest.mark.parametrize("kind", [SSE, LINES])
def test_the_first_token_is_the_first_text(kind: str, said: list[object]) -> None:
    """The second event of each holds the first text; the first one says who speaks, or what was found."""
    stream = read(kind, *(events(*said) if kind == SSE else lines(*said)))
    assert (stream.first, stream.error) == (2.0, None)


@pytest.mark.parametrize("said", [OPENAI, RESPONSES, ANTHROPIC, CHAT, GENERATE])
def test_a_stream_of_a_known_interface_has_an_end(said: list[object]) -> None:
    assert read(SSE, *events(*said[:2])).error == CUT


def test_events_that_nobody_knows_begin_with_the_first() -> None:
    assert read(SSE, *events({"x": "Hi"}, {"x": "there"})).first == 1.0
    assert read(SSE, *events(b"Hi", b"there")).first == 1.0
    assert read(SSE, *events(b"{", b"}")).first == 1.0  # a text that happens to begin like JSON
    assert read(SSE, *events({"choices": [{"delta": {"role": "assistant"}}]}, {"x": 1})).first is None


@pytest.mark.parametrize(
    ("kind", "body", "error"),
    [
        (SSE, b"", EMPTY),
        (SSE, b": ping\n\n: ping\n\n", EMPTY),
        (SSE, b"data: [DONE]\n\n", EMPTY),
        (SSE, b'data: {"error": {"message": "busy"}}\n\ndata: [DONE]\n\n', FAILED),
        (SSE, b"event: error\ndata: busy\n\n", FAILED),
        (SSE, b"event: error\n\n", FAILED),
        (SSE, b'data: {"error": null, "text": "Hi"}\n\n', None),
        (SSE, b'data: {"text": "Hi"}\n\ndata: {"te', CUT),
        (SSE, b"data: Hi", None),
        (SSE, b'\xef\xbb\xbfdata: {"text": "Hi"}\r\rdata: [DONE]\r\r', None),
        (SSE, b'data: {"choices":\ndata: [{"delta": {"content": "Hi"}, "finish_reason": "stop"}]}\n\n', None),
        (SSE, b'data: {"choices":\r\ndata: [{"delta": {"role": "assistant"}}]}\r\n\r\n', CUT),
        (LINES, b"", EMPTY),
        (LINES, b'{"error": "busy"}\n', FAILED),
        (LINES, b'{"text": "Hi"}\n{"te', CUT),
        (LINES, b'{"text": "Hi"}\n<html>\n{"text": "!"}\n', NOT_JSON),
        (LINES, b'{"text": "Hi"}', None),
        ("application/json-seq", b'\x1e{"text": "Hi"}\n', None),
    ],
)
def test_what_is_an_answer(kind: str, body: bytes, error: str | None) -> None:
    assert read(kind, body).error == error
    assert read(kind, *(body[at : at + 1] for at in range(len(body)))).error == error


def test_plain_text_streams_when_its_length_is_not_said() -> None:
    for kind in ("text/plain; charset=utf-8", ""):
        assert read(kind, b" \n", b"Hi", b" there").first == 2.0
        assert read(kind, b"Hi", has_length=True).first is None
    assert read("application/json", b"{}").first is None


def test_parts_come_from_any_event() -> None:
    stream = read(SSE, *events({"search_ms": 3, "text": "Hi"}, {"generation_ms": 40}))
    assert stream.events.parts == {"search_ms": 3, "generation_ms": 40}


@given(
    st.lists(st.sampled_from(["", "role", "Hi", "plain", ": ping", "id: 1"]), max_size=6),
    st.sampled_from([b"\n", b"\r\n", b"\r"]),
    st.lists(st.integers(0, 400), max_size=8),
)
def test_how_the_bytes_are_cut_changes_nothing(said: list[str], newline: bytes, cuts: list[int]) -> None:
    """The first token comes with the piece that holds the byte with which it is complete."""
    shapes = {
        "": b"", "role": b'data: {"choices": [{"delta": {"role": "x"}}]}', "plain": b"data: one\ndata: two",
        "Hi": b'data: {"choices": [{"delta": {"content": "Hi"}, "finish_reason": "stop"}]}',
    }  # fmt: skip
    body = b"".join(shapes.get(one, one.encode()).replace(b"\n", newline) + newline + newline for one in said)
    ends = sorted({min(cut, len(body)) for cut in cuts} | {len(body)})
    pieces = [body[begin:end] for begin, end in zip([0, *ends], ends, strict=False)]
    bytewise, piecewise = read(SSE, *(body[at : at + 1] for at in range(len(body)))), read(SSE, *pieces)
    assert piecewise.error == bytewise.error
    if bytewise.first is None:
        assert piecewise.first is None
    else:
        assert piecewise.first == next(place for place, end in enumerate(ends, 1) if end >= bytewise.first)


@pytest.mark.parametrize("form", [31, 15])
def test_a_body_is_unpacked_in_pieces_of_bounded_size(form: int) -> None:
    packer = zlib.compressobj(wbits=form)  # 31 is gzip, 15 zlib
    packed = packer.compress(b"ab" * 5_000_000) + packer.flush()
    unpacker = Unpacker("GZIP" if form == 31 else "deflate")
    pieces = [piece for at in range(0, len(packed), 5000) for piece in unpacker.pieces(packed[at : at + 5000])]
    unpacker.end()
    assert b"".join(pieces) == b"ab" * 5_000_000
    assert max(map(len, pieces)) <= 2**20


def test_what_cannot_be_unpacked() -> None:
    with pytest.raises(UnpackingError, match="cannot be unpacked"):
        list(Unpacker("gzip").pieces(b"no gzip at all"))
    half = Unpacker("deflate")
    list(half.pieces(zlib.compress(b"Hi" * 100)[:8]))
    with pytest.raises(UnpackingError, match="cannot be unpacked"):
        half.end()
    with pytest.raises(UnpackingError, match="not asked for"):
        Unpacker("br, gzip")
