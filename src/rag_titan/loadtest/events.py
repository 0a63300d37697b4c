"""What the events of a streamed answer say: where its text begins, whether it failed, whether it came to its end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

EMPTY, FAILED, CUT = "an empty answer", "an error in the answer", "a stream without its end"
_TEXTS = frozenset(
    ("content", "text", "token", "delta", "response", "answer", "output", "output_text", "completion", "chunk", "reply")
)
_AROUND = frozenset(("choices", "candidates", "parts", "content_block", "message", "data"))  # of texts, never one
_LISTS = _AROUND - {"data"}  # a list of data is usually what was found, not what is said
_ENDS = {"message_start": ("message_stop",), "response.created": ("response.completed", "response.incomplete")}
_DEEPEST = 8


class Events:
    """The events so far.

    The first token is the first event that holds text: in one of the places that model servers and the usual libraries
    write it to (OpenAI's two interfaces, Anthropic, Ollama, Gemini, LangChain, Vercel), or as a text of its own. Where
    no event has such a place, the first event stands for it.

    >>> events = Events()
    >>> events.take({"choices": [{"delta": {"role": "assistant"}}]}, 1.0)
    >>> events.take({"choices": [{"delta": {"content": "Hi"}}]}, 2.0)
    >>> events.first, events.error
    (2.0, 'a stream without its end')
    >>> events.take({"choices": [{"delta": {}, "finish_reason": "stop"}]}, 3.0)
    >>> events.error is None
    True
    """

    def __init__(self) -> None:
        self.parts: dict[str, Any] = {}
        self.failed = False
        self.over = False
        self._count = 0
        self._text: float | None = None
        self._other: float | None = None
        self._has_places = False
        self._ends: tuple[str, ...] | None = None

    @property
    def first(self) -> float | None:
        """When the first token came; None before that."""
        return self._text if self._text is not None or self._has_places else self._other

    @property
    def error(self) -> str | None:
        """Why the stream, should it be over now, is no answer; None where it is one."""
        if self.failed:
            return FAILED
        if self._ends is not None and not self.over:
            return CUT
        return None if self._count else EMPTY

    def take(self, event: Any, at: float) -> None:
        """The next event, which came `at`: text, or a value as JSON holds it."""
        if event is None:
            return
        self._count += 1
        if isinstance(event, Mapping):
            self._look(event)
        if self._text is not None:
            return
        found = _text_in(event)
        if found:
            self._text = at
        elif found is None and self._other is None:
            self._other = at
        self._has_places = self._has_places or found is False

    def _look(self, event: Mapping[str, Any]) -> None:
        self.failed = self.failed or bool(event.get("error"))
        self.parts.update({key: value for key, value in event.items() if isinstance(key, str) and key.endswith("_ms")})
        kind, done, choices = event.get("type"), event.get("done"), event.get("choices")
        if isinstance(choices, list):
            self._ends = self._ends or ()
            self.over = self.over or any(isinstance(one, dict) and one.get("finish_reason") for one in choices)
        elif isinstance(done, bool) and ("message" in event or "response" in event):
            self._ends = self._ends or ()
            self.over = done
        elif isinstance(kind, str):
            self._ends = _ENDS.get(kind, self._ends)
            self.over = self.over or kind in (self._ends or ())


def _text_in(value: Any, depth: int = 0) -> bool | None:
    """Whether a value holds text; None where it has no place for one."""
    if isinstance(value, str | bytes):
        return bool(value.strip())
    if depth >= _DEEPEST:
        return None
    if isinstance(value, Mapping):
        places = [inner for key, inner in value.items() if _may_hold(key, inner)]
        return any(_text_in(inner, depth + 1) for inner in places) if places else None
    if isinstance(value, list | tuple):
        found = [_text_in(inner, depth + 1) for inner in value]
        return any(found) if any(one is not None for one in found) else None
    return None


def _may_hold(key: Any, inner: Any) -> bool:
    if not isinstance(key, str):
        return False
    return (
        key in _TEXTS or (key in _AROUND and isinstance(inner, Mapping)) or (key in _LISTS and isinstance(inner, list))
    )
