"""A JSON file of any size -> the records in it, one in memory at a time: lines, objects one after another, lists."""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator
from typing import IO, Any

from msgspec import DecodeError
from msgspec.json import decode

from rag_titan.evaluation.data.files import File, checked_start
from rag_titan.evaluation.data.notices import Notices

CONTAINERS = frozenset(
    (
        *("resourceSpans", "resource_spans", "scopeSpans", "scope_spans", "instrumentationLibrarySpans", "batches"),
        *("spans", "traces", "data"),
    )
)
"""The keys that hold a list of records, or of objects with such a list."""

_BLOCK = 1 << 18
_FIRST_LINE = 1 << 24  # a longer first line is taken for a single value
_DEEPEST = 40  # lists and containers inside each other
_DECODER = json.JSONDecoder(strict=False)

Found = Iterator[tuple[str, Any]]


def json_records(file: File, notices: Notices) -> Found:
    """The records of a file, each with its place in it ("line 3", "value 3"); objects are taken out of CONTAINERS.

    What cannot be read is left out, and the notices say so. Bytes that are no UTF-8 become U+FFFD.

    >>> from tempfile import NamedTemporaryFile
    >>> with NamedTemporaryFile() as draft:
    ...     _ = draft.write(b'{"spans": [{"a": 1}, {"a": 2}]}'), draft.flush()
    ...     list(json_records(File(draft.name), Notices()))
    [('line 1', {'a': 1}), ('line 1', {'a': 2})]
    """
    with file.open() as stream:
        checked_start(stream.read(1024), file.name)
        stream.seek(0)
        lines = _is_lines(stream)
        stream.seek(0)
        yield from _of_lines(stream, file.name, notices) if lines else _of_values(stream, file.name, notices)


def records_in(value: Any, depth: int = 0) -> Iterator[Any]:
    """The records of a value that is in memory: it itself, or those in its containers."""
    if isinstance(value, list):
        for item in value if depth < _DEEPEST else ():
            yield from records_in(item, depth + 1)
        return
    if isinstance(value, dict):
        if isinstance(value.get("trace"), dict) and CONTAINERS & value["trace"].keys():
            value = value["trace"]
        held = [part for key, part in value.items() if key in CONTAINERS and isinstance(part, list)]
        if held:
            yield from records_in(held, depth)
            return
    yield value


# --- one record a line ------------------------------------------------------------------------------------------------


def _is_lines(stream: IO[bytes]) -> bool:
    """True where one of the first lines alone is a record."""
    seen = 0
    while seen < 5 and (raw := stream.readline(_FIRST_LINE)):
        if len(raw) == _FIRST_LINE:
            return False
        line = _bare(raw)
        if not line or line == b"[":
            continue
        seen += 1
        try:
            value = decode(line)
        except (DecodeError, RecursionError):
            continue
        if value and isinstance(value, dict | list):
            return True
    return False


def _bare(line: bytes) -> bytes:
    """The line without what a list of records has around each."""
    return line.removeprefix(codecs.BOM_UTF8).strip().removesuffix(b",")


def _of_lines(stream: IO[bytes], name: str, notices: Notices) -> Found:
    broken, whole = "", True
    for number, raw in enumerate(stream, 1):
        line, place = _bare(raw), f"line {number}"
        whole = raw.endswith(b"\n")
        if not line or line in (b"[", b"]"):
            continue
        if broken:
            notices.add(f"{name}: lines that are no JSON were left out: {{ids}}.", [broken])
            broken = ""
        try:
            value = _line(line, place, name, notices)
        except (ValueError, RecursionError):
            broken = place
            continue
        for record in records_in(value):
            yield place, record
    if broken and whole:
        notices.add(f"{name}: lines that are no JSON were left out: {{ids}}.", [broken])
    elif broken:
        sentence = f"{name}: the last line is cut off and was left out, {{ids}}; the lines before it were read."
        notices.add(sentence, [broken])


def _line(line: bytes, place: str, name: str, notices: Notices) -> Any:
    try:
        return decode(line)
    except DecodeError:
        pass
    try:
        text = line.decode()
    except UnicodeDecodeError:
        text = line.decode("utf-8", "replace")
        value = _DECODER.decode(text)
        notices.add(f"{name}: bytes that are no UTF-8 became U+FFFD: {{ids}}. Save it as UTF-8.", [place])
        return value
    return _DECODER.decode(text)  # NaN, Infinity, control characters: what Python writes


# --- values over many lines -------------------------------------------------------------------------------------------


class _BrokenError(Exception):
    """Here is no JSON."""


class _Text:
    """A window over the text of a stream, and the place in it up to which it was read."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")
        self.text = ""
        self.at = 0

    def more(self, size: int = _BLOCK) -> bool:
        """Read on; False at the end."""
        data = self._stream.read(size)
        if data:
            self.text, self.at = self.text[self.at :] + self._decoder.decode(data), 0
        return bool(data)

    def peek(self) -> str:
        """The next character that is no white space; "" at the end."""
        while True:
            while self.at < len(self.text) and self.text[self.at] in " \t\r\n":
                self.at += 1
            if self.at < len(self.text):
                return self.text[self.at]
            if not self.more():
                return ""

    def value(self) -> Any:
        """The JSON value that begins here."""
        size = _BLOCK
        while True:
            try:
                value, end = _DECODER.raw_decode(self.text, self.at)
            except json.JSONDecodeError as error:
                open_end = error.pos >= len(self.text) - 16 or error.msg.startswith("Unterminated")
                if not open_end or not self.more(size):
                    raise _BrokenError from None
            except RecursionError:
                raise _BrokenError from None
            else:
                if end < len(self.text) or not self.more(size):
                    self.at = end
                    return value
            size *= 2  # so that a long value costs a few attempts, not one a block

    def next_start(self) -> bool:
        """Go to the next line that begins with an object or a list."""
        while True:
            places = [self.text.find(mark, self.at) for mark in ("\n{", "\n[")]
            found = [place for place in places if place >= 0]
            if found:
                self.at = min(found) + 1
                return True
            self.at = max(self.at, len(self.text) - 1)
            if not self.more():
                return False


def _of_values(stream: IO[bytes], name: str, notices: Notices) -> Found:
    text, number = _Text(stream), 0
    while text.peek():
        number += 1
        place = f"value {number}"
        try:
            if text.peek() not in "{[":
                raise _BrokenError
            for record in _walk(text, 0):
                yield place, record
        except _BrokenError:
            if text.next_start():
                sentence = f"{name}: text that is no JSON was left out; the JSON around it was read: before {{ids}}."
                notices.add(sentence, [f"value {number + 1}"])
            else:
                notices.add(
                    f"{name}: is cut off, or is no JSON, in the middle of {place}; what stands before was read."
                )
                return


def _walk(text: _Text, depth: int) -> Iterator[Any]:
    """The records in the object or list that begins here."""
    if depth > _DEEPEST:
        raise _BrokenError
    opening = text.peek()
    text.at += 1
    if opening == "{":
        yield from _object(text, depth)
        return
    while (mark := text.peek()) != "]":
        if mark == "":
            raise _BrokenError
        if mark == ",":
            text.at += 1
        elif mark in "{[":
            yield from _walk(text, depth + 1)
        else:
            text.value()
    text.at += 1


def _object(text: _Text, depth: int) -> Iterator[Any]:
    """The object itself, or the records of its containers; its values are decoded one by one."""
    record: dict[str, Any] = {}
    contains = False
    while (mark := text.peek()) != "}":
        if mark == ",":
            text.at += 1
            continue
        if mark != '"':
            raise _BrokenError
        key = text.value()
        if text.peek() != ":":
            raise _BrokenError
        text.at += 1
        if key in CONTAINERS and text.peek() == "[":
            contains = True
            yield from _walk(text, depth + 1)
        else:
            text.peek()
            record[key] = text.value()
    text.at += 1
    if not contains:
        yield from records_in(record, depth)
