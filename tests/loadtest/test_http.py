"""A real server on 127.0.0.1 that does what servers do: nothing hangs, and every request is counted."""

from __future__ import annotations

import asyncio
import gzip
import json
import socket
import sys
from typing import Any

import pytest
from tests.evaluation.preparation.http_app import Answer, Asked, serving
from tests.models.scripted import openai_events, streamed

from rag_titan.errors import MissingExtraError, SettingsError
from rag_titan.loadtest.driver import TIMED_OUT, asked
from rag_titan.loadtest.target import Outcome

pytestmark = pytest.mark.load
pytest.importorskip("httpx")
PATIENCE = 30.0  # seconds, which no test waits for


def outcome(url: str, timeout: float = PATIENCE, **options: Any) -> tuple[Outcome, float]:
    """What becomes of one request, and the clock before it."""
    from rag_titan.loadtest.http import HttpTarget

    async def once() -> tuple[Outcome, float]:
        target = HttpTarget(url, **options)
        await target.aopen()
        begin = asyncio.get_running_loop().time()
        try:
            return await asked(target, "How long?", timeout), begin
        finally:
            await target.aclose()

    return asyncio.run(once())


def error_of(answer: Answer, timeout: float = PATIENCE) -> str | None:
    """The kind of error that an answer counts as."""
    with serving(answer) as app:
        return outcome(app.url, timeout)[0].error


def raw(data: bytes) -> Answer:
    """Bytes as they are, and the connection closed behind them."""

    def answer(request: Asked) -> None:
        request.wfile.write(data)
        request.wfile.flush()
        request.close_connection = True

    return answer


def test_a_refused_connection() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        assert outcome(f"http://127.0.0.1:{free.getsockname()[1]}/ask")[0].error == "no connection"


@pytest.mark.parametrize("status", [302, 400, 429, 500, 503])
def test_a_status_that_is_no_success(status: int) -> None:
    def answer(request: Asked) -> None:
        request.say(b"<h1>secret</h1>", status, {"location": "http://example.org/"} if status == 302 else None)

    assert error_of(answer) == f"HTTP {status}"


def test_a_server_that_never_answers() -> None:
    def answer(request: Asked) -> None:
        request.server.app.released.wait()  # type: ignore[attr-defined]

    assert error_of(answer, timeout=0.3) == TIMED_OUT


def test_headers_that_come_byte_by_byte_and_never_end() -> None:
    def answer(request: Asked) -> None:
        request.wfile.write(b"HTTP/1.1 200 OK\r\nx: ")
        released = request.server.app.released  # type: ignore[attr-defined]
        while not released.wait(0.02):
            request.wfile.write(b"x")
            request.wfile.flush()

    assert error_of(answer, timeout=0.3) == TIMED_OUT


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"", "connection cut, or no HTTP"),
        (b"garbage\r\n\r\n", "connection cut, or no HTTP"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nshort", "connection cut, or no HTTP"),
        (b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 3\r\n\r\n{a}", "not JSON"),
        (b'HTTP/1.1 200 OK\r\ncontent-length: 16\r\n\r\n{"error": "down"}'[:-1] + b"}", "an error in the answer"),
        (b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 5\r\n\r\nhello", None),
        (b"HTTP/1.1 204 No Content\r\n\r\n", "an empty answer"),
        (b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 0\r\n\r\n", "an empty answer"),
        (b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n: ping\n\n", "an empty answer"),
        (b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\n\r\nno gzip", "cannot be unpacked"),
        (b"HTTP/1.1 200 OK\r\ncontent-encoding: br\r\n\r\nx", "compressed in a way that was not asked for"),
    ],
)
def test_bytes_that_are_no_answer(data: bytes, error: str | None) -> None:
    if b"down" in data:
        data = data.replace(b"16", str(len(data.partition(b"\r\n\r\n")[2])).encode())
    assert error_of(raw(data)) == error


def test_a_body_without_end() -> None:
    def answer(request: Asked) -> None:
        request.wfile.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n")
        for _ in range(40):
            request.wfile.write(b" " * 2**20)

    assert error_of(answer) == "a response of more than 16 MiB"


def test_a_little_that_unpacks_to_much_is_not_taken() -> None:
    packed = gzip.compress(bytes(64 * 2**20))
    head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-encoding: gzip\r\n\r\n"
    assert len(packed) < 2**17
    assert error_of(raw(head + packed)) == "a response of more than 16 MiB"


def test_an_error_in_a_stream_is_a_failure() -> None:
    assert error_of(streamed([b'data: {"error": "busy"}\n\n', b"data: [DONE]\n\n"])) == "an error in the answer"
    assert error_of(streamed([b'{"error": "busy"}\n'], "application/x-ndjson")) == "an error in the answer"


def test_chunks_without_a_type_are_a_stream_unless_they_are_json() -> None:
    with serving(streamed([b"Twenty", b" days"], "text/plain")) as app:
        assert outcome(app.url)[0].first is not None
    with serving(streamed([b'{"answer": "x",', b' "search_ms": 3}'], "text/plain")) as app:
        found = outcome(app.url)[0]
    assert (found.error, found.first, found.parts) == (None, None, {"search": 3.0})


def test_a_stream_has_a_first_token_apart_from_its_end() -> None:
    events = openai_events(["Twenty", " days"])
    with serving(streamed(events)) as app:
        found, begin = outcome(app.url)
    assert found.error is None
    assert found.first is not None
    assert found.first > begin


def test_a_stream_that_is_cut() -> None:
    events = openai_events(["Twenty", " days"], done=False, finish=None)
    assert error_of(streamed(events)) == "a stream without its end"
    assert error_of(streamed(openai_events(["Twenty"]), cut=True)) == "connection cut, or no HTTP"


def test_parts_come_from_the_answer_or_the_header() -> None:
    body = json.dumps(
        {"answer": "x", "search_latency_ms": 12.5, "generation_latency_ms": 30, "latency_ms": 43}
    ).encode()
    timing = {"server-timing": "db;dur=5.5, cache;desc=hit", "content-type": "application/json"}
    with serving(lambda request: request.say(body)) as app:
        assert outcome(app.url)[0].parts == {"generation": 30.0, "search": 12.5}
    with serving(lambda request: request.say(b"{}", 200, timing)) as app:
        assert outcome(app.url)[0].parts == {"db": 5.5}


def test_what_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("APP_KEY", "very-secret")
    with serving(lambda request: request.json({"answer": "x"})) as app:
        outcome(app.url, request={"q": "{question}", "k": 5}, headers=["x-key: $APP_KEY"])
        [request] = app.requests
    assert request.body == {"q": "How long?", "k": 5}
    assert request.headers["x-key"] == "very-secret"
    assert "text/event-stream" in request.headers["accept"]
    with serving(lambda request: request.json({"answer": "x"})) as app:
        outcome(app.url, headers=["Accept: text/plain"])
        assert app.requests[0].headers["accept"] == "text/plain"


def test_names_of_parts_are_fit_for_a_file_and_a_terminal() -> None:
    body = b'{"answer": "x", "\\ud800\\u001b[31m_ms": 5, "_ms": 1, "_latency_ms": 2}'
    with serving(lambda request: request.say(body)) as app:
        assert outcome(app.url)[0].parts == {"??[31m": 5.0}
    long = {"server-timing": f"{'x' * 100};dur=3, {'a,' * 20_000}"}
    with serving(lambda request: request.say(b"{}", 200, long)) as app:
        assert outcome(app.url)[0].parts == {"x" * 60: 3.0}


def test_proxies_of_the_environment_get_nothing_that_stays_on_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://192.0.2.1:9")
    with serving(lambda request: request.json({"answer": "x"})) as app:
        assert outcome(app.url)[0].error is None


def test_without_httpx_the_extra_of_the_load_test_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from rag_titan.loadtest.http import HttpTarget

    monkeypatch.setitem(sys.modules, "httpx", None)
    with pytest.raises(MissingExtraError, match=r"rag-titan\[load\]"):
        HttpTarget("http://127.0.0.1/ask")


def test_the_name_has_no_secrets() -> None:
    from rag_titan.loadtest.http import HttpTarget

    assert HttpTarget("http://user:pass@127.0.0.1:80/ask?key=secret").name == "http://127.0.0.1/ask"


def test_another_machine_must_be_allowed() -> None:
    from rag_titan.loadtest.http import HttpTarget

    with pytest.raises(SettingsError, match=r"must be on this machine, got example\.org"):
        HttpTarget("http://example.org/ask")
    assert HttpTarget("http://example.org/ask", allow_remote=True).name == "http://example.org/ask"
