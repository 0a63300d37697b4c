"""A small app on 127.0.0.1 that answers as a test says, and remembers what it was asked."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = Callable[["Asked"], None]


class Asked(BaseHTTPRequestHandler):
    """One request; an `Answer` writes what it gets."""

    body: Any = None

    def do_POST(self) -> None:
        """Note the request and answer it."""
        length = int(self.headers.get("content-length") or 0)
        data = self.rfile.read(length)
        self.body = json.loads(data) if data else None
        app: App = self.server.app  # type: ignore[attr-defined]  # set by App
        with app.lock:
            app.requests.append(self)
        with suppress(ConnectionError):  # the client may be gone
            app.answer(self)

    do_GET = do_PUT = do_POST

    def say(self, data: bytes, status: int = 200, headers: Mapping[str, str] | None = None) -> None:
        """A whole response."""
        self.send_response(status)
        for name, value in {"content-length": str(len(data)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def json(self, value: Any, status: int = 200) -> None:
        """A whole response in JSON."""
        self.say(json.dumps(value).encode(), status)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is logged."""


class App:
    """The app. `requests` are those that came, `released` is set at the end, for answers that wait."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.requests: list[Asked] = []
        self.lock = threading.Lock()
        self.released = threading.Event()
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Asked)
        self.server.daemon_threads = True
        self.server.app = self  # type: ignore[attr-defined]

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.server.server_port}/ask"

    @property
    def questions(self) -> list[str]:
        """What it was asked, in order."""
        with self.lock:
            return [request.body["question"] for request in self.requests]


@contextmanager
def serving(answer: Answer) -> Iterator[App]:
    """The app, while it runs."""
    app = App(answer)
    thread = threading.Thread(target=app.server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield app
    finally:
        app.released.set()
        app.server.shutdown()
        thread.join()
        app.server.server_close()


def echo(asked: Asked) -> None:
    """Answers with the question, two documents and a time."""
    question = asked.body["question"]
    asked.json({"output": {"text": f"re: {question}"}, "docs": [{"id": 1}, {"id": "c2"}], "seconds": 0.5})


def golden(n: int) -> list[dict[str, Any]]:
    """Questions g1, g2, ... with gold."""
    return [
        {"id": f"g{i}", "question": f"question {i}?", "expected_answer": f"re: question {i}?"} for i in range(1, n + 1)
    ]
