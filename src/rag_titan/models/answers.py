"""What a chat model says, piece by piece or as a whole, as one answer."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from rag_titan.models.refusals import Unusable, error_words, excerpt
from rag_titan.models.streams import events, first_byte, json_object, lines, well_formed
from rag_titan.models.transport import Reply

OnText = Callable[[str], None]
_EVENT = (b"d", b":", b"e", b"i", b"r")  # what "data:", a comment, "event:", "id:" and "retry:" begin with


@dataclass(frozen=True)
class ChatAnswer:
    """What a model answered.

    text                   all of it, without the thoughts that some models send apart
    value                  with a schema: the JSON value that the text holds
    finish_reason          the server's word for why it ended: "stop", "length", ...
    model                  the name that the server gives its model
    prompt_tokens and so on   None where the server does not say
    cost_usd               None without a price for the model or without both counts
    time_to_first_token_ms    from the call to the first piece of the text; None when it came as a whole
    latency_ms             of the whole call, further tries and waits included
    attempts               1 when the first try was answered
    """

    text: str
    value: Any = None
    finish_reason: str | None = None
    model: str | None = None
    prompt_tokens: int | None = None
    output_tokens: int | None = None
    total_tokens: int | None = None
    cost_usd: float | None = None
    time_to_first_token_ms: float | None = None
    latency_ms: float = 0.0
    attempts: int = 1


@dataclass
class Said:
    """What was said so far."""

    reply: Reply
    on_text: OnText | None
    pieces: list[str] = field(default_factory=list)
    first_ms: float | None = None
    thought: bool = False
    refused: str = ""
    finish_reason: str | None = None
    model: str | None = None
    tokens: tuple[int | None, int | None, int | None] = (None, None, None)
    ended: bool = False

    def add(self, piece: Any, *, streamed: bool = True) -> None:
        """A further piece of the text, which may be null or empty."""
        if piece is None or piece == "":
            return
        if not isinstance(piece, str):
            raise Unusable("answer with text", excerpt(json.dumps(piece)))
        if streamed and self.first_ms is None:
            self.first_ms = self.reply.elapsed_ms()
        self.pieces.append(piece)
        if self.on_text is not None:
            self.reply.handed_on = True
            self.on_text(well_formed(piece))

    def answer(self, price: Mapping[str, float] | None, in_json: bool) -> ChatAnswer:
        """All of it; Unusable when it was cut or is nothing."""
        ended = self.finish_reason
        if not self.ended:
            raise broken_off()
        text = well_formed("".join(self.pieces))
        if not text.strip():
            got = f"a refusal ({excerpt(self.refused)})" if self.refused else "an empty answer"
            got += f", finish reason {excerpt(ended)!r}" if ended else ""
            raise Unusable("answer with text", got, "Raise max_tokens: thinking used them up." if self.thought else "")
        prompt, output, total = self.tokens
        return ChatAnswer(
            text,
            value=_json_value(text, ended) if in_json else None,
            finish_reason=ended,
            model=self.model,
            prompt_tokens=prompt,
            output_tokens=output,
            total_tokens=total if total is not None else _sum(prompt, output),
            cost_usd=_cost(price, prompt, output),
            time_to_first_token_ms=self.first_ms,
            latency_ms=self.reply.elapsed_ms(),
            attempts=self.reply.attempt,
        )


def read_openai(reply: Reply, said: Said) -> None:
    """Server-sent events that end with [DONE], or one object from a server that does not stream."""
    parts = reply.parts()
    first, begun = first_byte(parts)
    parts = chain(begun, parts)
    stream = first in _EVENT or ("event-stream" in reply.content_type and not first)
    if not stream:
        _take(json_object(b"".join(parts), reply.content_type), said, "message")
        said.ended = True
        return
    data = None
    for data in events(parts):
        if data.strip() == b"[DONE]":
            said.ended = True
            return
        _take(_chunk(data, reply), said, "delta")
    if first and data is None:
        raise Unusable("answer with a stream of events", repr(excerpt(b"".join(begun).decode("utf-8", "replace"))))
    said.ended = said.finish_reason is not None  # some servers leave [DONE] out


def read_ollama(reply: Reply, said: Said) -> None:
    """One JSON object a line; the last has "done" and the counts."""
    streamed: bool | None = None
    for line in lines(reply.parts()):
        if not line.strip():
            continue
        chunk = _chunk(line, reply)
        _check_error(chunk)
        said.ended = chunk.get("done") is True
        if streamed is None:
            streamed = not said.ended  # an answer in one object is no stream
        message = chunk.get("message")
        if not isinstance(message, dict):
            raise Unusable("answer with a message", excerpt(json.dumps(chunk)), "Correct base_url: is this Ollama?")
        said.thought |= bool(message.get("thinking"))
        said.model = _text(chunk.get("model")) or said.model
        said.add(message.get("content"), streamed=streamed)
        if said.ended:
            said.finish_reason = _text(chunk.get("done_reason"))
            said.tokens = _count(chunk.get("prompt_eval_count")), _count(chunk.get("eval_count")), None
            return


READERS: Mapping[str, Callable[[Reply, Said], None]] = {"openai": read_openai, "ollama": read_ollama}


def _take(chunk: Mapping[str, Any], said: Said, member: str) -> None:
    """One object of a stream (member "delta") or the whole answer ("message")."""
    _check_error(chunk)
    if isinstance(usage := chunk.get("usage"), dict):
        prompt, output, total = (_count(usage.get(f"{kind}_tokens")) for kind in ("prompt", "completion", "total"))
        said.tokens = prompt, output, total
    said.model = _text(chunk.get("model")) or said.model
    choices = chunk.get("choices") or []
    if not choices and member == "delta":
        return
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get(member) if isinstance(choice, dict) else None
    if not isinstance(message, dict | None) or not isinstance(choice, dict) or (member == "message" and not message):
        raise Unusable("answer with choices", excerpt(json.dumps(chunk)), "Correct base_url: is this a chat model?")
    message = message or {}
    said.thought |= bool(message.get("reasoning_content") or message.get("reasoning"))
    said.refused += _text(message.get("refusal")) or ""
    said.add(message.get("content"), streamed=member == "delta")
    said.finish_reason = _text(choice.get("finish_reason")) or said.finish_reason


def _chunk(data: bytes, reply: Reply) -> dict[str, Any]:
    """The object of an event or a line; what the end of the answer cuts in two is a broken stream, not wrong JSON."""
    try:
        return json_object(data, reply.content_type)
    except Unusable:
        if reply.ended and data.lstrip().startswith(b"{"):
            raise broken_off() from None
        raise


def broken_off() -> Unusable:
    """A stream that ends before it says so."""
    return Unusable("answer to the end", "a stream that breaks off", "Look into the server's log.", again=True)


def _check_error(chunk: Mapping[str, Any]) -> None:
    if error := chunk.get("error"):
        raise Unusable("answer", f"an error ({error_words(error)})", "Look into the server's log.")


def _cost(price: Mapping[str, float] | None, prompt: int | None, output: int | None) -> float | None:
    if price is None or prompt is None or output is None:
        return None
    return (price["input"] * prompt + price["output"] * output) / 1e6


def _sum(prompt: int | None, output: int | None) -> int | None:
    return None if prompt is None or output is None else prompt + output


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _json_value(text: str, finish_reason: str | None) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        cut = finish_reason == "length"
        do = "Raise max_tokens." if cut else "Look whether the server supports JSON schemas."
        raise Unusable("answer in JSON by the schema", f"{excerpt(text)!r}", do) from None
