"""Bytes of an answer -> JSON objects: a whole body, server-sent events, JSON lines."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from rag_titan.models.refusals import Unusable, excerpt

_CORRECT = "Correct base_url: this does not look like a model server."


def json_object(data: bytes, content_type: str = "") -> dict[str, Any]:
    """The object of a JSON text. Raises Unusable for anything else, such as an HTML page."""
    text = data.decode("utf-8", "replace").removeprefix("\ufeff")
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        raise Unusable("answer in JSON", _called(text, content_type), _CORRECT) from None
    if not isinstance(value, dict):
        raise Unusable("answer with a JSON object", _called(text, content_type), _CORRECT)
    return value


def lines(parts: Iterable[bytes]) -> Iterator[bytes]:
    r"""The lines of a stream without their ends, whatever the pieces it comes in.

    A line end byte is never a part of a UTF-8 character, so lines are cut before they are decoded.

    >>> list(lines([b"caf\xc3", b"\xa9\r", b"\n\nlast"]))
    [b'caf\xc3\xa9', b'', b'last']
    """
    begun: list[bytes] = []
    for part in parts:
        *ended, rest = part.split(b"\n")
        for line in ended:
            yield b"".join((*begun, line)).removesuffix(b"\r")
            begun.clear()
        if rest:
            begun.append(rest)
    if begun:
        yield b"".join(begun).removesuffix(b"\r")


def events(parts: Iterable[bytes]) -> Iterator[bytes]:
    r"""The data of server-sent events (WHATWG HTML, section 9.2.6); names, ids and comments are left out.

    An event that the stream ends in is given too: some servers leave out the last empty line.

    >>> list(events([b": ping\n\ndata: {}\n\nevent: x\ndata:[DO", b"NE]"]))
    [b'{}', b'[DONE]']
    """
    data: list[bytes] = []
    for line in lines(parts):
        if line.startswith(b"data:"):
            data.append(line[5:].removeprefix(b" "))
        elif not line and data:
            yield b"\n".join(data)
            data.clear()
    if data:
        yield b"\n".join(data)


def first_byte(parts: Iterator[bytes]) -> tuple[bytes, list[bytes]]:
    """The first byte that is no white space (nothing when there is none), and the pieces that were read to find it."""
    read: list[bytes] = []
    for part in parts:
        read.append(part)
        if text := part.removeprefix(b"\xef\xbb\xbf").lstrip():
            return text[:1], read
    return b"", read


def well_formed(text: str) -> str:
    """The text with its surrogates joined to characters, and single ones replaced: JSON can hold them, UTF-8 cannot.

    >>> well_formed("\\ud83d\\ude00 \\ud83d") == "\\U0001f600 \\ufffd"
    True
    """
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _called(text: str, content_type: str) -> str:
    kind = content_type.partition(";")[0].strip().lower()
    begun = text.lstrip()[:15].lower()
    if kind == "text/html" or begun.startswith(("<!doctype html", "<html")):
        return f"an HTML page ({excerpt(text)})"
    return f"{excerpt(text)!r}" if text.strip() else "nothing"
