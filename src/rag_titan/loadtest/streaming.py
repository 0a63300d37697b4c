"""The body of a streamed answer, piece by piece, as events."""

from __future__ import annotations

import json
from typing import Any

from rag_titan.loadtest.events import CUT, Events

EVENTS = "text/event-stream"
LINES = (
    "application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonlines",
    "application/jsonlines", "application/json-lines", "application/json-seq", "application/stream+json",
)  # fmt: skip
PLAIN = ("text/plain", "")
NOT_JSON = "not JSON"
NOTHING = object()
_DONE = b"[DONE]"
_MARK = b"\xef\xbb\xbf"  # of UTF-8, which may stand before the first event
_RECORD = b"\x1e"  # before each line of application/json-seq (RFC 7464)


class Stream:
    r"""Reads server-sent events (WHATWG HTML, 9.2), JSON Lines, and plain text without a length.

    What has its length in front was whole before it was sent, and is no stream. A last event that no empty line ends
    counts, unless it is half a JSON object.

    >>> stream = Stream("text/event-stream; charset=utf-8")
    >>> stream.feed(b'data: {"choices": [{"delta": {"role": "assistant"}}]}\r\n\r', 1.0)
    >>> stream.feed(b'\n: a comment\r\n\r\ndata: {"choices": [{"delta": {"content": "Hi"}}]}\r\n\r\n', 2.0)
    >>> stream.end(3.0)
    >>> stream.first, stream.error
    (2.0, 'a stream without its end')
    """

    def __init__(self, content_type: str, *, has_length: bool = False) -> None:
        self.kind = content_type.partition(";")[0].strip().lower()
        self.events = Events()
        self._is_plain = self.kind in PLAIN and not has_length
        self._rest: list[bytes] = []
        self._data: list[bytes] = []
        self._name = b""
        self._after_return = False
        self._begun = False
        self._broken: str | None = None

    @property
    def is_framed(self) -> bool:
        """True where the type of the content says that events come."""
        return self.kind == EVENTS or self.kind in LINES

    @property
    def first(self) -> float | None:
        """When the first token came; None where nothing is streamed, or none came."""
        return self.events.first

    @property
    def error(self) -> str | None:
        """Why the whole stream is no answer; None where it is one."""
        return self._broken or self.events.error

    def feed(self, piece: bytes, at: float) -> None:
        """Take the next bytes."""
        if self._is_plain:
            self.events.take(piece, at)
        elif self.is_framed and piece:
            for line in self._lines(piece):
                self._line(line, at)

    def end(self, at: float) -> None:
        """Take what no line end, and no empty line, followed."""
        if not self.is_framed:
            return
        rest, self._rest = b"".join(self._rest), []
        if rest:
            self._line(rest, at, last=True)
        self._event(at, last=True)

    def _lines(self, piece: bytes) -> list[bytes]:
        """The lines that end with this piece, whether CR, LF or both end them; each byte is looked at once."""
        if self._after_return:
            piece = piece.removeprefix(b"\n")
        self._after_return = piece.endswith(b"\r")
        head, *more = piece.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        self._rest.append(head)
        if not more:
            return []
        lines = [b"".join(self._rest), *more[:-1]]
        self._rest = [more[-1]]
        return lines

    def _line(self, line: bytes, at: float, *, last: bool = False) -> None:
        if not self._begun:
            self._begun, line = True, line.removeprefix(_MARK)
        if self.kind != EVENTS:
            self._value(line.strip().strip(_RECORD), at, last=last)
            return
        if not line:
            self._event(at)
            return
        field, _, value = line.partition(b":")
        if field == b"data":
            self._data.append(value.removeprefix(b" "))
        elif field == b"event":
            self._name = value.strip()

    def _event(self, at: float, *, last: bool = False) -> None:
        data, name = b"\n".join(self._data).strip(), self._name
        self._data, self._name = [], b""
        self.events.failed = self.events.failed or name == b"error"
        self.events.over = self.events.over or data == _DONE
        if not data or data == _DONE:
            return
        value = decoded(data) if data[:1] in b'{["' else data
        if value is not NOTHING:
            self.events.take(value, at)
        elif last:
            self._broken = CUT
        else:
            self.events.take(data, at)  # a token of a text that happens to begin like JSON

    def _value(self, line: bytes, at: float, *, last: bool) -> None:
        if not line:
            return
        value = decoded(line)
        if value is NOTHING:
            self._broken = self._broken or (CUT if last else NOT_JSON)
        else:
            self.events.take(value, at)


def decoded(data: bytes) -> Any:
    """The value of a JSON text; NOTHING where it is none."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return NOTHING
