"""Judges for tests: a model that does what the instructions say, and models that do not, behind a server or alone."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from tests.evaluation.preparation.http_app import App, Asked, serving

from rag_titan.judge import Call

Body = Mapping[str, Any]
Says = Callable[[str, str], str]  # claim, text -> verdict
USAGE = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
_CONTROL = re.compile(r"The control word of this text is (\w+)\.")
_LISTED = re.compile(r"^(\d+)\. (.*)$", re.MULTILINE)
_BETWEEN = re.compile(r"<<<([A-Z]+)(?: \d+)?>>>\n(.*?)\n<<<END>>>", re.DOTALL)


def by_words(claim: str, text: str) -> str:
    """Supported where the text has the words of the claim, in a row."""
    return "supported" if claim.rstrip(".").lower() in text.lower() else "not_supported"


def obedient(body: Body, says: Says = by_words) -> str:
    """What a model says that follows the instructions: sentences are claims, and `says` has the verdict on each."""
    system, user = (message["content"] for message in body["messages"])
    parts = [(mark, text) for mark, text in _BETWEEN.findall(user)]
    texts = [text for mark, text in parts if mark in ("TEXT", "PASSAGE")]
    if system.startswith("You cut"):
        return json.dumps({"claims": [part for part in re.split(r"(?<=\.)\s+|\n", texts[0]) if part.strip()]})
    if system.startswith("You check"):
        return _verdicts(texts[0], dict(parts)["CLAIMS"], says)
    if system.startswith("You read"):
        [n] = re.findall(r"Write (\d+) different", system)
        [word] = re.findall(r"The control word is (\w+)\.", user)
        return json.dumps({"control": word, "questions": [f"{texts[0]}?"] * int(n), "noncommittal": False})
    wanted = dict(parts).get("ANSWER", dict(parts)["QUESTION"])
    helps = [by_words(wanted, text) == "supported" for text in texts]
    key, values = ("useful", helps) if "useful" in system else ("grade", [2 * flag for flag in helps])
    return json.dumps({"passages": [{"passage": n, key: value} for n, value in enumerate(values, 1)]})


def _verdicts(text: str, claims: str, says: Says) -> str:
    verdicts = []
    for number, claim in _LISTED.findall(claims):
        verdict = by_words(claim, text) if _CONTROL.search(claim) else says(claim, text)
        evidence = "" if verdict == "not_supported" else re.split(r"\. |\n", text)[0]
        verdicts.append({"claim": int(number), "evidence": evidence, "verdict": verdict})
    return json.dumps({"verdicts": verdicts})


def scripted_by(model: Callable[[Body], str]) -> Callable[[Call], str]:
    """A model as `Judge.scripted` takes it."""
    return lambda call: model({"messages": call.messages()})


def completion(text: str, finish: str = "stop", usage: Mapping[str, int] | None = USAGE) -> dict[str, Any]:
    """A chat completion that came as a whole."""
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": finish}
    return {"model": "tiny", "choices": [choice]} | ({} if usage is None else {"usage": usage})


def answering(model: Callable[[Body], str] = obedient) -> Callable[[Asked], None]:
    """An answer of a server behind which the model is."""
    return lambda asked: asked.json(completion(model(asked.body)))


@contextmanager
def model_server(answer: Callable[[Asked], None] | None = None) -> Iterator[App]:
    """A server on 127.0.0.1 that keeps connections open; `url_of` says where."""
    with serving(answer or answering()) as app:
        app.server.RequestHandlerClass.protocol_version = "HTTP/1.1"  # type: ignore[attr-defined]
        try:
            yield app
        finally:
            app.server.RequestHandlerClass.protocol_version = "HTTP/1.0"  # type: ignore[attr-defined]


def url_of(app: App) -> str:
    """What a judge is told."""
    return f"http://127.0.0.1:{app.server.server_port}/v1"


def dataset(n: int = 1, **more: Any) -> dict[str, Any]:
    """Questions whose answer has two claims, of which the context supports one."""
    chunks = [{"id": f"c{k}", "text": f"Leave is {20 + k} days in office {k}. It lapses in spring."} for k in range(n)]
    queries = [
        {"id": f"q{k}", "question": "How long is leave?", "context_ids": [f"c{k}"],
         "answer": f"Leave is {20 + k} days. It never ends.", "expected_answer": f"Leave is {20 + k} days."} | more
        for k in range(n)
    ]  # fmt: skip
    return {"chunks": chunks, "queries": queries}
