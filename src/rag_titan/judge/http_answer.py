"""The bytes of an HTTP/1.1 answer -> status, headers, body (RFC 9112). Only what answers as a whole need."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rag_titan.models.refusals import Unusable

MOST_BYTES = 16 * 2**20  # of a body
_LINE = 1 << 16  # bytes of a line of the head
_MOST_HEADERS = 200
_NO_BODY = frozenset((204, 304))


@dataclass(frozen=True)
class HttpAnswer:
    """An answer; names of headers are in lower case. `keep`: the server keeps the connection for another request."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    keep: bool


def read_answer(stream: io.BufferedReader[Any]) -> HttpAnswer:
    r"""The next answer. Raises OSError where it breaks off or is no HTTP, Unusable where it is too large.

    >>> data = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"
    >>> read_answer(io.BufferedReader(io.BytesIO(data))).body
    b'{}'
    """
    while True:
        version, status = _status(_line(stream))
        headers = _headers(stream)
        if status >= 200:
            break
    told = headers.get("connection", "").lower()
    keep = "close" not in told and (version == b"HTTP/1.1" or "keep-alive" in told)
    if status in _NO_BODY:
        return HttpAnswer(status, headers, b"", keep)
    if headers.get("transfer-encoding", "").lower().endswith("chunked"):
        return HttpAnswer(status, headers, _chunks(stream), keep)
    if "content-length" in headers:
        return HttpAnswer(status, headers, _exactly(stream, _size(headers["content-length"], 10)), keep)
    return HttpAnswer(status, headers, _bounded(stream.read(MOST_BYTES + 1)), keep=False)


def _line(stream: io.BufferedReader[Any]) -> bytes:
    line = stream.readline(_LINE)
    if not line.endswith(b"\n"):
        raise ConnectionError("closed before the answer" if not line else "a head that breaks off")
    return line.strip()


def _status(line: bytes) -> tuple[bytes, int]:
    version, _, rest = line.partition(b" ")
    if not version.startswith(b"HTTP/1.") or not rest[:3].isdigit():
        raise ConnectionError("no HTTP")
    return version, int(rest[:3])


def _headers(stream: io.BufferedReader[Any]) -> dict[str, str]:
    headers: dict[str, str] = {}
    for _ in range(_MOST_HEADERS):
        line = _line(stream)
        if not line:
            return headers
        name, _, value = line.decode("latin-1").partition(":")
        headers[name.lower()] = value.strip()
    raise ConnectionError(f"more than {_MOST_HEADERS} headers")


def _chunks(stream: io.BufferedReader[Any]) -> bytes:
    parts, total = [], 0
    while size := _size(_line(stream).partition(b";")[0].decode("latin-1"), 16):
        total += size
        if total > MOST_BYTES:
            raise _too_large()
        parts.append(_exactly(stream, size))
        _line(stream)
    _headers(stream)  # trailers
    return b"".join(parts)


def _size(text: str, base: int) -> int:
    try:
        size = int(text, base)
    except ValueError:
        size = -1
    if size < 0:
        raise ConnectionError("a length that is none")
    return size


def _exactly(stream: io.BufferedReader[Any], size: int) -> bytes:
    if size > MOST_BYTES:
        raise _too_large()
    data = stream.read(size)
    if len(data) < size:
        raise ConnectionError(f"{size - len(data)} bytes are missing")
    return data


def _bounded(data: bytes) -> bytes:
    if len(data) > MOST_BYTES:
        raise _too_large()
    return data


def _too_large() -> Unusable:
    return Unusable(f"answer in at most {MOST_BYTES // 2**20} MiB", "more")
