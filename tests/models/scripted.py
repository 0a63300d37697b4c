"""Model servers that answer as a test says: what OpenAI and Ollama would send, and what they would rather not."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from tests.evaluation.preparation.http_app import Answer, App, Asked, serving

from rag_titan.models.chat import ChatModel
from rag_titan.models.options import Retries, Timeouts

QUICK = Timeouts(connect=5, first_byte=20, between_chunks=20, total=60)


class Naps:
    """Waits that take no time and are remembered."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


class Ticks:
    """A clock that goes on by a second whenever it is looked at."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


@contextmanager
def scripted(*answers: Answer) -> Iterator[App]:
    """A server that gives each answer once and the last one for ever."""
    left = list(answers)

    def answer(asked: Asked) -> None:
        with app.lock:
            now = left.pop(0) if len(left) > 1 else left[0]
        now(asked)

    with serving(answer) as app:
        yield app


def base_url(app: App, api: str = "openai") -> str:
    """What a client is told."""
    return f"http://127.0.0.1:{app.server.server_port}" + ("/v1" if api == "openai" else "")


def chat_model(app: App, api: str = "openai", **more: Any) -> ChatModel:
    """A client of it that never really waits."""
    more = {"timeouts": QUICK, "sleep": Naps(), "retries": Retries(seed=0)} | more
    return ChatModel(base_url(app, api), "tiny", api, **more)  # type: ignore[arg-type]  # a str is tested too


def whole(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Answer:
    """A whole body: JSON, or bytes as they are."""
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    kind = {} if isinstance(value, bytes) else {"content-type": "application/json"}
    return lambda asked: asked.say(data, status, kind | dict(headers or {}))


def streamed(pieces: Iterable[bytes], kind: str = "text/event-stream", *, cut: bool = False) -> Answer:
    """A chunked body; `cut` leaves the end of the chunks out."""

    def answer(asked: Asked) -> None:
        asked.wfile.write(f"HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ntransfer-encoding: chunked\r\n\r\n".encode())
        for piece in pieces:
            asked.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            asked.wfile.flush()
        if not cut:
            asked.wfile.write(b"0\r\n\r\n")

    return answer


def until_released(answer: Answer) -> Answer:
    """The answer, but only when the test is over."""

    def late(asked: Asked) -> None:
        asked.server.app.released.wait()  # type: ignore[attr-defined]
        answer(asked)

    return late


def openai_events(
    texts: Sequence[str], *, usage: Mapping[str, int] | None = None, done: bool = True, finish: str | None = "stop"
) -> list[bytes]:
    """The events of a streamed chat completion."""
    head: dict[str, Any] = {"id": "c1", "object": "chat.completion.chunk", "model": "tiny-1"}
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": None}, *({"content": text} for text in texts)]
    chunks = [head | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    if finish:
        chunks.append(head | {"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    if usage is not None:
        chunks.append(head | {"choices": [], "usage": usage})
    events = [f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n".encode() for chunk in chunks]
    return events + ([b"data: [DONE]\n\n"] if done else [])


def ollama_lines(texts: Sequence[str], *, counts: bool = True, done: bool = True) -> list[bytes]:
    """The lines of a streamed answer of /api/chat."""
    chunks: list[dict[str, Any]] = [
        {"model": "tiny", "message": {"role": "assistant", "content": text}, "done": False} for text in texts
    ]
    if done:
        end = {"model": "tiny", "message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "stop"}
        chunks.append(end | ({"prompt_eval_count": 7, "eval_count": 3} if counts else {}))
    return [json.dumps(chunk, ensure_ascii=False).encode() + b"\n" for chunk in chunks]


USAGE = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}


def good(api: str, texts: Sequence[str] = ("Grüße", ", ", "世界 👋"), *, counts: bool = True) -> Answer:
    """A streamed answer as it should be."""
    if api == "openai":
        return streamed(openai_events(texts, usage=USAGE if counts else None))
    return streamed(ollama_lines(texts, counts=counts), "application/x-ndjson")
