"""The first token of a stream, and whether the stream came to its end."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

STREAMS = ("text/event-stream", "application/x-ndjson", "application/jsonl", "text/plain")
_DONE = b"[DONE]"


class Stream:
    r"""Reads the body of an answer piece by piece.

    The first token is the first event that holds text: of OpenAI's chunks one whose delta has content, of other events
    the first with data; of plain text and of JSON Lines the first byte.

    >>> stream = Stream("text/event-stream; charset=utf-8")
    >>> stream.feed(b'data: {"choices": [{"delta": {"role": "assistant"}}]}\n\nda')
    False
    >>> stream.feed(b'ta: {"choices": [{"delta": {"content": "Hi"}}]}\n\n')
    True
    >>> stream.is_cut
    True
    """

    def __init__(self, content_type: str) -> None:
        self.kind = content_type.partition(";")[0].strip().lower()
        self.has_token = False
        self.parts: Mapping[str, Any] | None = None
        self._rest = b""
        self._of_openai = False
        self._over = False

    @property
    def is_stream(self) -> bool:
        """True where the type of the content is one that is streamed."""
        return self.kind in STREAMS

    @property
    def is_cut(self) -> bool:
        """True where the chunks of OpenAI's interface ended without their end: no finish_reason and no [DONE]."""
        return self._of_openai and not self._over

    def feed(self, piece: bytes) -> bool:
        """Take the next bytes; True where they bring the first token."""
        before = self.has_token
        if self.kind == "text/event-stream":
            *lines, self._rest = (self._rest + piece).split(b"\n")
            for line in lines:
                self._line(line.removesuffix(b"\r"))
        elif piece.strip():
            self.has_token = True
        return self.has_token and not before

    def end(self) -> None:
        """Take what no line end followed."""
        if self._rest:
            self._line(self._rest)
            self._rest = b""

    def _line(self, line: bytes) -> None:
        if not line.startswith(b"data:"):
            return
        data = line[5:].strip()
        if data == _DONE:
            self._over = True
            return
        event = _object(data)
        choices = event.get("choices") if event is not None else None
        if isinstance(choices, list):
            self._of_openai = True
            for choice in choices:
                self._choice(choice)
        else:
            self.has_token = self.has_token or bool(data)
        if event is not None and any(key.endswith("_ms") for key in event):
            self.parts = {**(self.parts or {}), **event}

    def _choice(self, choice: Any) -> None:
        if not isinstance(choice, dict):
            return
        delta = choice.get("delta")
        text = delta.get("content") if isinstance(delta, dict) else choice.get("text")
        self.has_token = self.has_token or bool(text)
        self._over = self._over or bool(choice.get("finish_reason"))


def _object(data: bytes) -> dict[str, Any] | None:
    if not data.startswith(b"{"):
        return None
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
