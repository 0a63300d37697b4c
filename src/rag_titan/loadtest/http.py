"""A target that is asked over HTTP."""

from __future__ import annotations

import errno
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Any

from rag_titan.errors import MissingExtraError
from rag_titan.evaluation import HttpApp
from rag_titan.loadtest.events import EMPTY, FAILED
from rag_titan.loadtest.streaming import NOT_JSON, NOTHING, Stream, decoded
from rag_titan.loadtest.target import NO_ROOM, Outcome, parts_of, server_timing
from rag_titan.loadtest.unpacking import Unpacker, UnpackingError

if TYPE_CHECKING:
    import httpx

MOST_BYTES = 16 * 2**20  # of a response
_AT_ONCE = 100  # chunks; a server can put thousands into one packet, and other requests are due meanwhile
_ACCEPTED = "application/json, text/event-stream;q=0.9, */*;q=0.8"
_OURS = (errno.EMFILE, errno.ENFILE, errno.EADDRNOTAVAIL, errno.ENOBUFS, errno.ENOMEM)


class HttpTarget(HttpApp):
    """An app that answers questions over HTTP, put under load.

    The options, and what is refused, are those of `HttpApp`: another machine only with `allow_remote`, headers with
    variables of the environment, whose values are never shown. Redirects are not followed. Connections stay open for
    the next requests. An answer counts with status 200..299, whole, not empty, at most 16 MiB, as JSON where it says it
    is JSON, and without an `error` in it or in an event of its stream. Its parts come from its keys that end with _ms,
    or from a Server-Timing header.

    Raises SettingsError and MissingExtraError as `HttpApp` does.
    """

    extra = "load"

    @property
    def name(self) -> str:
        """The address without what may be secret in it."""
        return f"{self._url.scheme}://{self._url.netloc.decode('ascii')}{self._url.path}"

    async def ask(self, question: str) -> Outcome:
        """Send one request and take all of its answer."""
        httpx = _httpx()
        client = self._opened()
        try:
            request = self._built(client, question)
            if not any(name.lower() == "accept" for name in self._headers):
                request.headers["accept"] = _ACCEPTED
            response = await client.send(request, stream=True)
            try:
                return await _outcome(response)
            finally:
                await response.aclose()
        except httpx.HTTPError as error:
            return _failure(httpx, error)
        except UnpackingError as error:
            return Outcome(str(error))


async def _outcome(response: httpx.Response) -> Outcome:
    import asyncio

    loop, headers = asyncio.get_running_loop(), response.headers
    stream = Stream(headers.get("content-type", ""), has_length="content-length" in headers)
    pieces, size = [], 0
    async for piece in _unpacked(response):
        size += len(piece)
        if size > MOST_BYTES:
            return Outcome(f"a response of more than {MOST_BYTES // 2**20} MiB")
        stream.feed(piece, loop.time())
        if not stream.is_framed:
            pieces.append(piece)
    stream.end(loop.time())
    if not 200 <= response.status_code < 300:
        return Outcome(f"HTTP {response.status_code}")
    timing = server_timing(headers.get("server-timing", ""))
    if stream.is_framed:
        return Outcome(stream.error, stream.first, parts_of(stream.events.parts) or timing)
    error, value = _read(stream.kind, b"".join(pieces))
    first = None if isinstance(value, dict) else stream.first
    return Outcome(error, first, parts_of(value) or timing)


async def _unpacked(response: httpx.Response) -> AsyncIterator[bytes]:
    import asyncio

    unpacker, chunks = Unpacker(response.headers.get("content-encoding", "")), 0
    async for data in response.aiter_raw():
        chunks += 1
        if chunks % _AT_ONCE == 0:
            await asyncio.sleep(0)
        for piece in unpacker.pieces(data):
            yield piece
    unpacker.end()


def _read(kind: str, body: bytes) -> tuple[str | None, Any]:
    """(error, value) of a whole answer; what does not say it is JSON may be anything."""
    if not body.strip():
        return EMPTY, None
    value = decoded(body)
    if value is NOTHING:
        return (NOT_JSON if kind == "application/json" or kind.endswith("+json") else None), None
    if isinstance(value, dict) and value.get("error"):
        return FAILED, value
    return None, value


def _failure(httpx: Any, error: Exception) -> Outcome:
    if any(getattr(one, "errno", None) in _OURS for one in _causes(error)):
        return Outcome(NO_ROOM, generator=True)
    if isinstance(error, httpx.ConnectError):
        return Outcome("no connection")
    if isinstance(error, httpx.NetworkError | httpx.RemoteProtocolError):
        return Outcome("connection cut, or no HTTP")
    return Outcome(type(error).__name__)


def _causes(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        one = waiting.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        waiting += [one.__cause__, one.__context__, *(one.exceptions if isinstance(one, BaseExceptionGroup) else ())]


def _httpx() -> Any:
    try:
        import httpx
    except ImportError:
        raise MissingExtraError("httpx", "load") from None
    return httpx
