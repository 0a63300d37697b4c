"""Tries, waits, time-outs and bounds of a call, against a server that misbehaves."""

from __future__ import annotations

import gzip
import json
import queue
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import repeat
from typing import Any

import pytest
from tests.evaluation.preparation.http_app import Answer, App, Asked
from tests.models.scripted import (
    QUICK,
    Naps,
    Ticks,
    base_url,
    chat_model,
    good,
    ollama_lines,
    openai_events,
    scripted,
    streamed,
    until_released,
    whole,
)  # fmt: skip

from rag_titan.errors import MissingExtraError, ServiceError, SettingsError
from rag_titan.models import transport
from rag_titan.models.chat import ChatModel
from rag_titan.models.options import Retries, Timeouts
from rag_titan.models.refusals import Unusable
from rag_titan.models.transport import Reply

APIS = pytest.mark.parametrize("api", ["openai", "ollama"])
SECRET = "s3cr3t-k3y"


def error_of(app: App, api: str = "openai", **more: Any) -> str:
    with chat_model(app, api, **more) as model, pytest.raises(ServiceError) as caught:
        model.chat("q?")
    return str(caught.value)


@APIS
def test_500_twice_and_then_the_answer(api: str) -> None:
    naps = Naps()
    with scripted(whole({"error": "busy"}, 500), whole(b"", 503), good(api)) as app:
        with chat_model(app, api, sleep=naps, retries=Retries(seed=3)) as model:
            answer = model.chat("q?")
        assert (answer.text, answer.attempts, len(app.requests)) == ("Grüße, 世界 👋", 3, 3)
    first, second = naps.seconds
    assert 0.25 < first <= 0.5 < second <= 1.0


def test_the_random_part_of_a_wait_is_seeded() -> None:
    def waits(seed: int | None) -> list[float]:
        naps = Naps()
        with scripted(whole(b"", 500)) as app:
            error_of(app, sleep=naps, retries=Retries(times=5, seed=seed))
        return naps.seconds

    assert waits(1) == waits(1)
    assert waits(1) != waits(2)
    assert waits(None) != waits(None)


@APIS
def test_429_waits_as_long_as_the_server_says(api: str) -> None:
    naps = Naps()
    with scripted(whole({"error": "slow down"}, 429, {"retry-after": "7"}), good(api)) as app:
        with chat_model(app, api, sleep=naps) as model:
            model.chat("q?")
        assert naps.seconds == [7.0]


def test_a_server_cannot_make_one_wait_for_ever() -> None:
    naps = Naps()
    with scripted(whole(b"", 429, {"retry-after": "86400"}), good("openai")) as app:
        with chat_model(app, sleep=naps, retries=Retries(longest_wait=2)) as model:
            model.chat("q?")
        assert naps.seconds == [2.0]


def test_no_try_is_begun_that_would_not_end_in_time() -> None:
    naps = Naps()
    with scripted(whole(b"", 429, {"retry-after": "30"})) as app:
        error = error_of(app, sleep=naps, timeouts=Timeouts(total=25))
        assert (len(app.requests), naps.seconds) == (1, [])
    assert "HTTP 429. Ask less often." in error


def test_the_last_refusal_is_said_with_the_number_of_tries() -> None:
    with scripted(whole({"error": {"message": "out of memory"}}, 500)) as app:
        url = base_url(app)
        error = error_of(app, retries=Retries(times=2))
        assert len(app.requests) == 3
    wanted = (
        "must answer with HTTP 200, got HTTP 500: out of memory in the last of 3 tries. Look into the server's log."
    )
    assert error == f"{url}/chat/completions: {wanted}"


@pytest.mark.parametrize("status", [400, 401, 404, 422, 301])
def test_what_will_not_get_better_is_asked_once(status: int) -> None:
    with scripted(whole({"error": "no"}, status, {"location": "http://127.0.0.1:1/"})) as app:
        assert f"HTTP {status}: no" in error_of(app)
        assert len(app.requests) == 1


def test_a_connection_that_is_refused_is_tried_again() -> None:
    with scripted(good("openai")) as app:
        url = base_url(app)
    naps = Naps()
    with ChatModel(url, "tiny", sleep=naps, retries=Retries(times=2)) as model, pytest.raises(ServiceError) as caught:
        model.chat("q?")
    assert str(caught.value).startswith(f"{url}/chat/completions: must be reachable, got no connection (")
    assert str(caught.value).endswith("in the last of 3 tries. Start the server or correct base_url.")
    assert len(naps.seconds) == 2


def hang_up(asked: Asked) -> None:
    """No answer at all."""
    asked.close_connection = True


@APIS
def test_a_cut_connection_and_a_cut_stream_are_tried_again(api: str) -> None:
    for bad in (hang_up, *cut_streams(api)):
        with scripted(bad, good(api)) as app, chat_model(app, api) as model:
            answer = model.chat("q?")
            assert answer.text == "Grüße, 世界 👋"
            assert answer.attempts >= 2  # that a kept connection is cut may be noticed by the next request on it


def cut_streams(api: str) -> list[Answer]:
    """Streams that stop in the middle: below HTTP, in the middle of a line, between two."""
    kind = "text/event-stream" if api == "openai" else "application/x-ndjson"
    pieces = (
        openai_events(["a", "b"], finish=None, done=False) if api == "openai" else ollama_lines(["a", "b"], done=False)
    )
    torn = [*pieces[:-1], pieces[-1][:-20]]
    return [streamed(pieces, kind, cut=True), streamed(torn, kind), streamed(pieces, kind), streamed([], kind)]


@APIS
def test_nothing_is_tried_again_once_a_token_was_handed_on(api: str) -> None:
    for bad in cut_streams(api)[:3]:
        seen: list[str] = []
        with scripted(bad) as app:
            with chat_model(app, api) as model, pytest.raises(ServiceError, match="must answer to the end"):
                model.chat("q?", on_text=seen.append)
            assert len(app.requests) == 1
        assert seen[0] == "a"


def test_a_cut_stream_is_told_from_wrong_json() -> None:
    torn = streamed([openai_events(["a"])[1][:-20]])
    with scripted(torn) as app:
        assert "got a stream that breaks off in the last of 4 tries" in error_of(app)


@APIS
def test_a_slow_first_byte_ends_in_time(api: str) -> None:
    with scripted(until_released(good(api))) as app:
        error = error_of(app, api, timeouts=Timeouts(first_byte=0.05, between_chunks=0.05))
        assert len(app.requests) == 1
    assert "must answer with a first byte within 0.05 s, got nothing. Raise the time-out" in error


@APIS
def test_headers_are_no_answer(api: str) -> None:
    def headers_only(asked: Asked) -> None:
        asked.wfile.write(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
        asked.wfile.flush()
        until_released(lambda asked: None)(asked)

    with scripted(headers_only) as app:
        error = error_of(app, api, timeouts=Timeouts(first_byte=0.05, between_chunks=0.05))
    assert "with a first byte within 0.05 s" in error


def stuck_after(pieces: list[bytes]) -> Answer:
    def answer(asked: Asked) -> None:
        streamed(pieces, cut=True)(asked)
        until_released(lambda asked: None)(asked)

    return answer


def test_a_stream_that_stops_for_too_long_ends_in_time() -> None:
    seen: list[str] = []
    with scripted(stuck_after(openai_events(["a"])[:2])) as app:
        late = pytest.raises(ServiceError, match=r"with a next piece within 0\.05 s, got nothing\.")
        with chat_model(app, timeouts=Timeouts(first_byte=20, between_chunks=0.05)) as model, late:
            model.chat("q?", on_text=seen.append)
    assert seen == ["a"]


def test_how_long_each_piece_is_waited_for() -> None:
    """The call begins at 0, its request is sent at 1; each further look at the clock takes a second."""

    class Late(queue.SimpleQueue[Any]):
        def get(self, block: bool = True, timeout: float | None = None) -> Any:
            waits.append(timeout)
            return super().get(block=False)

    waits: list[float | None] = []
    reply = Reply(Timeouts(first_byte=10, between_chunks=3, total=9), Ticks(), started=0.0, attempt=1)
    reply._events = Late()
    for piece in (b"a", b"b", b"c"):
        reply._events.put(piece)
    parts = reply.parts()
    assert [next(parts) for _ in range(3)] == [b"a", b"b", b"c"]
    with pytest.raises(Unusable, match="with a next piece within 3 s"):
        next(parts)
    assert waits == [9 - 2, 3, 3, 3]
    soon = Reply(Timeouts(first_byte=3, between_chunks=5, total=100), Ticks(), started=0.0, attempt=1)
    soon._events = Late()
    with pytest.raises(Unusable, match="with a first byte within 3 s"):
        soon.wait_for_head()
    assert waits[-1] == 1 + 3 - 2
    whole = Reply(Timeouts(first_byte=10, between_chunks=10, total=9), Ticks(), started=0.0, attempt=1)
    whole._events = Late()
    whole._events.put(b"a")
    parts = whole.parts()
    assert next(parts) == b"a"
    with pytest.raises(Unusable, match="wholly within 9 s") as ended:
        next(parts)
    assert "got only a part." in ended.value.sentence(1)


def test_a_stream_without_end_ends_in_time() -> None:
    """Every piece comes in time, and the whole would never be there."""
    ticks = Ticks()
    with scripted(streamed(repeat(openai_events(["a"])[1]))) as app:
        error = error_of(app, clock=ticks, timeouts=Timeouts(first_byte=1000, between_chunks=1000, total=50))
    assert "must answer wholly within 50 s, got only a part." in error


def test_no_more_than_the_bound_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "MOST_BYTES", 2**20)
    huge = gzip.compress(b"x" * 2**22)
    for answer in (whole(b"x" * (2**20 + 1)), whole(huge, 200, {"content-encoding": "gzip"}),
                   streamed(repeat(b": ping\n\n" * 1000))):  # fmt: skip
        with scripted(answer) as app:
            assert "must answer in at most 1 MiB, got more." in error_of(app)


def test_what_cannot_be_unpacked_is_no_answer() -> None:
    with scripted(whole(b"no gzip", 200, {"content-encoding": "gzip"})) as app:
        assert "must answer in HTTP, got DecodingError" in error_of(app)


def test_the_key_is_sent_and_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", f" {SECRET}\n")

    def blab(asked: Asked) -> None:
        whole({"error": f"bad key {asked.headers['authorization']}"}, 401)(asked)

    with scripted(blab) as app:
        with chat_model(app, api_key_env="MY_KEY") as model:
            assert SECRET not in repr(model) + repr(vars(model))
        error = error_of(app, api_key_env="MY_KEY")
        assert app.requests[0].headers["authorization"] == f"Bearer {SECRET}"
    assert "HTTP 401: bad key Bearer ***. Name the environment variable that holds the key with api_key_env." in error
    assert SECRET not in error


def test_secrets_of_the_address_are_sent_and_never_shown() -> None:
    def blab(asked: Asked) -> None:
        whole({"error": f"no: {asked.path}"}, 400)(asked)

    with scripted(blab) as app:
        url = f"http://me:{SECRET}@127.0.0.1:{app.server.server_port}/v1/?token={SECRET}#x"
        with ChatModel(url, "tiny") as model, pytest.raises(ServiceError) as caught:
            model.chat("q?")
        [asked] = app.requests
        assert asked.path == f"/v1/chat/completions?token={SECRET}"
        assert asked.headers["authorization"].startswith("Basic ")
    assert SECRET not in str(caught.value) + repr(model)
    assert str(caught.value).startswith(f"http://127.0.0.1:{app.server.server_port}/v1/chat/completions: must")


@pytest.mark.parametrize("value", [None, " ", "ключ", "a\x1bb"])
def test_a_key_that_cannot_be_is_refused(monkeypatch: pytest.MonkeyPatch, value: str | None) -> None:
    monkeypatch.delenv("MY_KEY", raising=False)
    if value is not None:
        monkeypatch.setenv("MY_KEY", value)
    with pytest.raises(SettingsError, match=r"^api_key_env: must name a variable"):
        ChatModel("http://127.0.0.1:1/v1", "tiny", api_key_env="MY_KEY")


@pytest.mark.parametrize("url", ["", "127.0.0.1:8080", "ftp://127.0.0.1/", "http://", "http://[::1/", "http://a:b/"])
def test_an_address_that_cannot_be_is_refused(url: str) -> None:
    with pytest.raises(SettingsError, match=r"^base_url: must be an address such as"):
        ChatModel(url, "tiny")


def test_a_proxy_of_the_environment_is_not_used_for_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    with scripted(good("openai")) as app, chat_model(app) as model:
        assert model.chat("q?").attempts == 1


def test_threads_share_a_client() -> None:
    def echo(asked: Asked) -> None:
        streamed(openai_events([asked.body["messages"][0]["content"]]))(asked)

    with scripted(echo) as app, chat_model(app) as model, ThreadPoolExecutor(8) as pool:
        texts = [f"text {i}" for i in range(40)]
        assert [answer.text for answer in pool.map(model.chat, texts)] == texts


def test_a_closed_client_says_so() -> None:
    with scripted(good("openai")) as app:
        model = chat_model(app)
        model.close()
        model.close()
        with pytest.raises(SettingsError, match=r"must be open, got a call after close\(\)"):
            model.chat("q?")


def test_close_leaves_the_connection_of_a_running_call_to_it() -> None:
    begun, go_on = threading.Event(), threading.Event()
    events = openai_events(["a", "b"])

    def slow(asked: Asked) -> None:
        streamed(events[:2], cut=True)(asked)
        go_on.wait()
        rest = b"".join(events[2:])
        asked.wfile.write(b"%x\r\n%s\r\n0\r\n\r\n" % (len(rest), rest))

    with scripted(slow) as app, ThreadPoolExecutor(1) as pool:
        model = chat_model(app)
        running = pool.submit(model.chat, "q?", on_text=lambda text: begun.set())
        assert begun.wait(20)
        model.close()
        go_on.set()
        assert running.result(20).text == "ab"


def test_what_json_cannot_hold_is_refused_before_anything_is_sent() -> None:
    with scripted(good("openai")) as app, chat_model(app, extra={"x": float("nan")}) as model:
        with pytest.raises(SettingsError, match=r"^request: must be something that JSON can hold"):
            model.chat("q?")
        assert app.requests == []


def test_a_lone_surrogate_in_a_question_is_sent_as_it_is() -> None:
    with scripted(good("openai")) as app, chat_model(app) as model:
        model.chat("a \ud83d b")
        assert app.requests[0].body["messages"][0]["content"] == "a \ud83d b"


def test_an_error_of_the_caller_passes_through() -> None:
    def stop(text: str) -> None:
        raise KeyboardInterrupt

    with scripted(good("openai")) as app, chat_model(app) as model:
        with pytest.raises(KeyboardInterrupt):
            model.chat("q?", on_text=stop)
        assert len(app.requests) == 1


def test_without_httpx_the_install_line_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httpx", None)
    with pytest.raises(MissingExtraError, match=r'pip install "rag-titan\[models\]"'):
        ChatModel("http://127.0.0.1:1/v1", "tiny")


def test_loading_and_making_neither_needs_httpx_nor_asks_anybody() -> None:
    code = """
import json, sys
import rag_titan.models.chat, rag_titan.models.embed
loaded = "httpx" in sys.modules
seen = []
sys.addaudithook(lambda name, args: seen.append(name) if name in ("socket.connect", "socket.getaddrinfo") else None)
rag_titan.models.chat.ChatModel("http://example.org/v1", "tiny")
print(json.dumps([loaded, seen]))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [False, []]


@pytest.mark.parametrize("bad", [0, -1, float("nan"), float("inf"), True, "1"])
def test_a_time_out_that_cannot_be_is_refused(bad: Any) -> None:
    for name in vars(QUICK):
        with pytest.raises(SettingsError, match=f"^timeouts.{name}: must be a finite number"):
            Timeouts(**{name: bad})
