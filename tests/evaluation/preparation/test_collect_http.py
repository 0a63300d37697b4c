"""An app over HTTP: what is sent, what comes back, what is refused before anything is sent."""

from __future__ import annotations

import gzip
import json
import socket
import subprocess
import sys
from typing import Any

import pytest
from tests.evaluation.preparation.http_app import Asked, echo, serving

from rag_titan.errors import MissingExtraError, SettingsError
from rag_titan.evaluation.preparation import collect_http
from rag_titan.evaluation.preparation.asking import Pace, Reply, replies
from rag_titan.evaluation.preparation.collect_http import HttpApp, is_loopback

SECRET = "s3cr3t-t0ken"


def answer_of(url: str, question: str = "q?", *, timeout: float = 20.0, **more: Any) -> Reply:
    """What one question gets."""
    [reply] = replies([question], HttpApp(url, **more), Pace(timeout=timeout))
    return reply


def error_of(url: str, **more: Any) -> str:
    error = answer_of(url, **more).error
    assert error is not None
    return error


def test_a_question_is_posted_as_json_and_the_answer_read() -> None:
    with serving(echo) as app:
        reply = answer_of(app.url, "how “long”?")
        assert reply.value["output"]["text"] == "re: how “long”?"
        assert reply.latency_ms is not None
        assert [(r.command, r.path, r.body) for r in app.requests] == [("POST", "/ask", {"question": "how “long”?"})]
        assert app.requests[0].headers["content-type"] == "application/json"


def test_loading_the_client_is_in_the_time_of_no_question() -> None:
    code = """
import asyncio, sys
from rag_titan.evaluation import HttpApp
async def main():
    app = HttpApp({url!r})
    await app.aopen()
    before = set(sys.modules)
    await app("q?")
    await app.aclose()
    sys.stdout.write(" ".join(sorted(set(sys.modules) - before)))
asyncio.run(main())
"""
    with serving(echo) as app:
        command = [sys.executable, "-c", code.format(url=app.url)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.stderr, "anyio" in done.stdout, "httpcore" in done.stdout) == ("", False, False)


def test_a_question_cannot_change_the_form_of_the_request() -> None:
    nasty = '", "admin": true, "x": "{question}\n'
    template = {"input": {"messages": [{"role": "user", "content": "Q: {question}"}]}, "stream": False, "k": 5}
    with serving(lambda asked: asked.json({})) as app:
        answer_of(app.url, nasty, request=template)
        assert app.requests[0].body == {
            "input": {"messages": [{"role": "user", "content": f"Q: {nasty}"}]}, "stream": False, "k": 5,
        }  # fmt: skip


def test_with_get_the_members_are_parameters_of_the_address() -> None:
    with serving(lambda asked: asked.json({})) as app:
        answer_of(f"{app.url}?v=2", "a&b=c?", request={"q": "{question}", "k": 5}, method="get")
        assert [(r.command, r.path) for r in app.requests] == [("GET", "/ask?v=2&q=a%26b%3Dc%3F&k=5")]


def test_headers_hold_variables_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN", SECRET)
    with serving(echo) as app:
        answer_of(app.url, headers=["Authorization: Bearer $TOKEN", "x-both:${TOKEN}.$5"])
        sent = app.requests[0].headers
        assert (sent["authorization"], sent["x-both"]) == (f"Bearer {SECRET}", f"{SECRET}.$5")


def test_of_a_page_the_error_has_the_status_and_its_first_words() -> None:
    page = (
        "<!DOCTYPE html>\n<html><head><title>Error</title><style>p {color: red}</style></head><!-- <b>x</b> -->\n"
        "<body><script>var a = '<p>';</script><p class='x'>No &amp; none&lt;</p>\n" + "<i>so</i> " * 5000
    )
    with serving(lambda asked: asked.say(page.encode(), 500)) as app:
        error = error_of(app.url)
    assert error.startswith("HTTP 500: Error No & none< so so so")
    assert len(error) <= len("HTTP 500: ") + 120 + 1


def test_a_secret_that_the_excerpt_would_cut_is_not_shown_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN", SECRET)
    with serving(lambda asked: asked.say(b"x" * 116 + asked.headers["x-key"].encode(), 500)) as app:
        error = error_of(app.url, headers=["X-Key: $TOKEN"])
    assert SECRET[:4] not in error


def test_no_value_of_a_header_is_shown_even_if_the_app_sends_it_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN", SECRET)
    headers = ["Authorization: Bearer $TOKEN"]

    def blab(status: int) -> Any:
        return lambda asked: asked.say(f"no: {asked.headers['authorization']}".encode(), status)

    for status in (401, 200):
        with serving(blab(status)) as app:
            error = error_of(app.url, headers=headers)
            assert "***" in error
            assert SECRET not in error
            assert SECRET not in str(HttpApp(app.url, headers=headers).identity)


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("Authorization Bearer", "header: must be written as 'Name: value', got something else."),
        ("bad name: x", "header: must be written as 'Name: value', got something else."),
        ("X: $NOT_THERE", "header X: must name variables of the environment, got $NOT_THERE. Export it first."),
        ("X: $BROKEN", "header X: must be printable ASCII once its variables are filled in, got something else."),
    ],
)
def test_a_header_that_cannot_be_is_refused_without_its_value(
    line: str, rule: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BROKEN", f"{SECRET}\r\nInjected: 1")
    monkeypatch.delenv("NOT_THERE", raising=False)
    with pytest.raises(SettingsError) as refused:
        HttpApp("http://127.0.0.1/ask", headers=[line])
    assert str(refused.value) == rule


# --- failures -------------------------------------------------------------------------------------


def test_a_status_that_is_no_success_is_an_error_with_the_start_of_its_text() -> None:
    with serving(lambda asked: asked.json({"detail": "no\nindex " + "x" * 500}, 500)) as app:
        error = error_of(app.url)
        assert error.startswith('HTTP 500: {"detail": "no\\nindex xxx')
        assert len(error) < 230
    with serving(lambda asked: asked.say(b"", 404)) as app:
        assert error_of(app.url) == "HTTP 404"


@pytest.mark.parametrize(("status", "tries"), [(500, 3), (429, 3), (503, 3), (404, 1), (422, 1)])
def test_only_a_failure_that_may_pass_is_tried_again(status: int, tries: int) -> None:
    with serving(lambda asked: asked.say(b"", status)) as app:
        list(replies(["q"], HttpApp(app.url), Pace(retries=2, pause=0.0)))
        assert len(app.requests) == tries


@pytest.mark.parametrize(
    ("data", "start"),
    [
        (b"<html>\n  login</html>", "not JSON: login"),
        (b'{"answer": "cut', 'not JSON: {"answer": "cut'),
        (b"", "not JSON: nothing"),
        (b"\xff\xfe", "not JSON: \ufffd\ufffd"),
        (b"[" * 200_000, "the response is nested so deep"),
    ],
)
def test_an_answer_that_is_no_json_is_an_error(data: bytes, start: str) -> None:
    with serving(lambda asked: asked.say(data)) as app:
        assert error_of(app.url).startswith(start)


def test_nan_and_lone_surrogates_which_python_writes_are_read() -> None:
    with serving(lambda asked: asked.say(b'{"score": NaN, "answer": "\\ud800"}')) as app:
        assert answer_of(app.url).value["answer"] == "\ud800"


def cut_short(asked: Asked) -> None:
    asked.send_response(200)
    asked.send_header("content-length", "1000")
    asked.end_headers()
    asked.wfile.write(b'{"answer": ')


def cut_at_once(asked: Asked) -> None:
    asked.close_connection = True


@pytest.mark.parametrize("answer", [cut_short, cut_at_once])
def test_a_connection_that_is_cut_is_an_error(answer: Any) -> None:
    with serving(answer) as app:
        assert error_of(app.url).startswith("the app cut the connection")


def test_an_app_that_is_not_there_is_an_error() -> None:
    with socket.socket() as taken:  # bound but not listening: nobody else can take the port
        taken.bind(("127.0.0.1", 0))
        assert error_of(f"http://127.0.0.1:{taken.getsockname()[1]}").startswith("no connection")


def test_an_app_that_does_not_answer_or_stops_in_the_middle_is_given_up() -> None:
    def hang(asked: Asked) -> None:
        if asked.body["question"] == "middle":
            asked.send_response(200)
            asked.end_headers()
            asked.wfile.write(b'{"answer": ')
        asked.server.app.released.wait()  # type: ignore[attr-defined]  # set by App

    with serving(hang) as app:
        for question in ("start", "middle"):
            assert answer_of(app.url, question, timeout=0.5).error == "time-out after 0.5 s"


def test_a_response_is_read_up_to_a_bound_also_when_it_is_packed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collect_http, "MOST_BYTES", 2**20)
    rule = "a response of more than 1 MiB is not read"
    with serving(lambda asked: asked.say(b'"' + b"x" * 2**20 + b'"')) as app:
        assert error_of(app.url) == rule
    packed = gzip.compress(b'"' + b"x" * 2**24 + b'"')
    with serving(lambda asked: asked.say(packed, headers={"content-encoding": "gzip"})) as app:
        assert error_of(app.url) == rule
        assert app.requests[0].headers["accept-encoding"] == "identity"
    with serving(lambda asked: asked.say(b'"' + b"x" * (2**20 - 2) + b'"')) as app:
        assert answer_of(app.url).error is None
    with serving(lambda asked: asked.say(b"no gzip", headers={"content-encoding": "gzip"})) as app:
        assert error_of(app.url).startswith("a response that cannot be unpacked")


# --- where it may go ------------------------------------------------------------------------------


def redirect(where: Any, status: int = 307) -> Any:
    """An app that sends /ask elsewhere."""

    def answer(asked: Asked) -> None:
        if asked.path == "/ask":
            asked.say(b"", status, {"location": where(asked)})
        else:
            asked.json({"path": asked.path, "body": asked.body})

    return answer


def test_a_redirect_within_the_app_is_followed_with_the_request() -> None:
    with serving(redirect(lambda asked: "/ask/")) as app:
        assert answer_of(app.url).value == {"path": "/ask/", "body": {"question": "q?"}}


@pytest.mark.parametrize("allow_remote", [False, True])
def test_a_redirect_to_another_place_is_never_followed(allow_remote: bool) -> None:
    with serving(echo) as other, serving(redirect(lambda asked: other.url)) as app:
        error = error_of(app.url, headers=["X-Key: abcdef"], allow_remote=allow_remote)
        assert error == "HTTP 307: a redirect to another place (127.0.0.1) is not followed"
        assert (len(app.requests), other.requests) == (1, [])


@pytest.mark.parametrize(
    "where", ["//example.org/ask", "https://127.0.0.1:{port}/x", "http://127.0.0.1:1/x", "http://localhost:{port}/x"]
)
def test_a_redirect_to_another_host_scheme_or_port_is_not_followed(where: str) -> None:
    with serving(redirect(lambda asked: where.format(port=asked.server.server_port))) as app:
        assert "is not followed" in error_of(app.url)


def test_redirects_end() -> None:
    with serving(redirect(lambda asked: "/ask")) as app:
        assert error_of(app.url) == "more than 5 redirects"
        assert len(app.requests) == 6


def test_the_proxies_of_the_environment_are_not_used_on_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(echo) as proxy, serving(echo) as app:
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url)
        monkeypatch.delenv("no_proxy", raising=False)
        assert answer_of(app.url).error is None
        assert (len(proxy.requests), len(app.requests)) == (0, 1)


@pytest.mark.parametrize(
    "host",
    ["example.org", "10.0.0.1", "0.0.0.0", "[::]", "169.254.169.254", "127.0.0.1@example.org", "127.0.0.1.example.org",
     "localhost.example.org", "[::ffff:10.0.0.1]", "127.1", "2130706433", "0x7f000001"],
)  # fmt: skip
def test_another_machine_is_refused_before_anything_is_sent(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> Any:
        raise AssertionError("asked the network")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    with pytest.raises(SettingsError, match=r"^url: must be on this machine, got .+ Add --allow-remote to ask that\.$"):
        HttpApp(f"http://{host}:8000/ask")
    HttpApp(f"http://{host}:8000/ask", allow_remote=True)


def test_only_addresses_of_this_machine_are_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    fine = ("127.0.0.1", "127.255.255.254", "::1", "[::1]", "localhost", "LOCALHOST", "localhost.")
    assert [host for host in fine if not is_loopback(host)] == []
    stolen = [(socket.AF_INET, 1, 6, "", ("127.0.0.1", 0)), (socket.AF_INET, 1, 6, "", ("10.0.0.9", 0))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_: stolen)
    assert not is_loopback("localhost")


def test_a_host_that_is_not_known_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: Any) -> Any:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(SettingsError, match=r"^url: must have a host that is known, got localhost"):
        HttpApp("http://localhost/ask")


# --- options --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "url",
    [
        "",
        "127.0.0.1:8000",
        "ftp://127.0.0.1/",
        "http://",
        "file:///etc/passwd",
        "http://[::1",
        "http://127.0.0.1:99999/",
    ],
)
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(SettingsError, match=r"^url: must be an address such as http://127\.0\.0\.1:8000/ask"):
        HttpApp(url)


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ({"method": "DELETE"}, 'method: must be one of GET, POST, PUT, got "DELETE".'),
        ({"request": {"q": "?"}}, "request: must have {question} where the question goes, got none."),
        ({"request": {"{question}": 1}}, "request: must have {question} where the question goes, got none."),
        ({"request": ["{question}"], "method": "GET"}, "request: must be an object of texts and numbers with GET,"),
        ({"request": {"q": "{question}", "x": float("nan")}}, "request: must be something that JSON can hold"),
        ({"request": {"q": "{question}", "x": object()}}, "request: must be something that JSON can hold"),
    ],
)
def test_a_request_that_cannot_be_is_refused(options: dict[str, Any], rule: str) -> None:
    with pytest.raises(SettingsError) as refused:
        HttpApp("http://127.0.0.1/ask", **options)
    assert str(refused.value).startswith(rule)


def test_without_httpx_the_install_line_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httpx", None)
    with pytest.raises(MissingExtraError, match=r'pip install "rag-titan\[collect\]"$'):
        HttpApp("http://127.0.0.1/ask")


def test_what_must_stay_the_same_is_where_and_what_is_asked() -> None:
    app = HttpApp("http://127.0.0.1:9/ask", {"b": "{question}", "a": 1}, headers=[f"X: {SECRET}"])
    assert app.identity == {
        "url": "http://127.0.0.1:9/ask", "method": "POST", "request": json.dumps({"a": 1, "b": "{question}"}),
    }  # fmt: skip
