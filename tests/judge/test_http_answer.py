"""Answers in HTTP/1.1, compared with Python's own reader of them; and what is none."""

from __future__ import annotations

import http.client
import io
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_titan.judge.http_answer import MOST_BYTES, HttpAnswer, read_answer
from rag_titan.models.refusals import Unusable


class Wire:
    """A socket that has only what came in."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def makefile(self, *_: Any) -> io.BufferedReader:
        return io.BufferedReader(io.BytesIO(self.data))  # type: ignore[type-var]


def read(data: bytes) -> HttpAnswer:
    return read_answer(Wire(data).makefile())


def by_python(data: bytes) -> tuple[int, bytes, bool]:
    """The same by http.client."""
    response = http.client.HTTPResponse(Wire(data), method="POST")  # type: ignore[arg-type]
    response.begin()
    return response.status, response.read(), not response.will_close


HEAD = st.sampled_from([b"HTTP/1.1 200 OK", b"HTTP/1.0 200 OK", b"HTTP/1.1 429 Too Many", b"HTTP/1.1 204 No Content"])
HEADERS = st.lists(
    st.sampled_from(
        [b"Content-Type: application/json", b"Connection: close", b"CONNECTION: keep-alive", b"x-a:b:c", b"X: "]
    ),
    max_size=4,
    unique_by=lambda header: header.partition(b":")[0].lower(),
)
EARLY = st.sampled_from([b"", b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 100 Continue\r\nx: y\r\n\r\n"])


@given(
    EARLY, HEAD, HEADERS, st.binary(max_size=60), st.sampled_from(["length", "chunked", "close"]), st.integers(1, 20)
)
def test_it_reads_what_python_reads(
    early: bytes, head: bytes, headers: list[bytes], body: bytes, how: str, size: int
) -> None:
    if how == "length":
        framing, sent = [b"Content-Length: %d" % len(body)], body
    elif how == "chunked":
        pieces = [body[start : start + size] for start in range(0, len(body), size)]
        framing = [b"Transfer-Encoding: chunked"]
        sent = b"".join(b"%X;note=1\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\nx-sum: 1\r\n\r\n"
    else:
        framing, sent = [], body
    data = early + b"\r\n".join([head, *headers, *framing]) + b"\r\n\r\n" + sent
    answer = read(data)
    assert (answer.status, answer.body, answer.keep) == by_python(data)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"HTTP/1.1 200 OK\r\nContent-Le",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc",
        b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nabc",
        b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\nabc",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\nabc",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"HTTP/1.1 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * 500,
        b"HTTP/1.1 200 OK\r\n" + b"a" * 100_000,
    ],
)
def test_what_breaks_off_or_is_no_http_is_a_broken_connection(data: bytes) -> None:
    with pytest.raises(ConnectionError):
        read(data)


@pytest.mark.parametrize(
    "head", [b"Content-Length: %d" % (MOST_BYTES + 1), b"Transfer-Encoding: chunked", b"Connection: close"]
)
def test_no_more_is_read_than_may_be(head: bytes) -> None:
    data = b"HTTP/1.1 200 OK\r\n" + head + b"\r\n\r\n"
    piece = b"100000\r\n" + b"x" * 2**20 + b"\r\n"
    data += piece * 17 if b"chunked" in head else b"x" * (MOST_BYTES + 1)
    with pytest.raises(Unusable) as caught:
        read(data)
    assert caught.value.must == "answer in at most 16 MiB"
