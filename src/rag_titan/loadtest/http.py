"""A target that is asked over HTTP."""

from __future__ import annotations

import errno
import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from rag_titan.errors import MissingExtraError
from rag_titan.evaluation import HttpApp
from rag_titan.loadtest.streaming import Stream
from rag_titan.loadtest.target import Outcome, parts_of, server_timing

if TYPE_CHECKING:
    import httpx

MOST_BYTES = 16 * 2**20  # of a response
_ACCEPTED = "application/json, text/event-stream;q=0.9, */*;q=0.8"
_OURS = (errno.EMFILE, errno.ENFILE, errno.EADDRNOTAVAIL, errno.ENOBUFS, errno.ENOMEM)


class HttpTarget(HttpApp):
    """An app that answers questions over HTTP, put under load.

    The options, and what is refused, are those of `HttpApp`: another machine only with `allow_remote`, headers with
    variables of the environment, whose values are never shown. Redirects are not followed. Connections stay open for
    the next requests. An answer counts with status 200..299, whole, at most 16 MiB, as JSON where it says it is JSON,
    and without an `error` in it. Its parts come from its keys that end with _ms, or from a Server-Timing header.

    Raises SettingsError and MissingExtraError as `HttpApp` does.
    """

    def __init__(
        self,
        url: str,
        request: Any = None,
        *,
        method: str = "POST",
        headers: Sequence[str] = (),
        allow_remote: bool = False,
    ) -> None:
        _httpx()
        super().__init__(url, request, method=method, headers=headers, allow_remote=allow_remote)

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
            request.headers.setdefault("accept", _ACCEPTED)
            response = await client.send(request, stream=True)
            try:
                return await _outcome(response)
            finally:
                await response.aclose()
        except httpx.HTTPError as error:
            return _failure(httpx, error)


async def _outcome(response: httpx.Response) -> Outcome:
    import asyncio

    loop = asyncio.get_running_loop()
    stream, pieces, size, first = Stream(response.headers.get("content-type", "")), [], 0, None
    async for piece in response.aiter_bytes():
        size += len(piece)
        if size > MOST_BYTES:
            return Outcome(f"a response of more than {MOST_BYTES // 2**20} MiB")
        if stream.feed(piece) and stream.is_stream:
            first = loop.time()
        if not stream.is_stream:
            pieces.append(piece)
    stream.end()
    if not 200 <= response.status_code < 300:
        return Outcome(f"HTTP {response.status_code}")
    if stream.is_cut:
        return Outcome("a stream without its end", first)
    error, parts = (None, stream.parts) if stream.is_stream else _read(stream.kind, b"".join(pieces))
    timing = server_timing(response.headers.get("server-timing", ""))
    return Outcome(error, first, parts_of(parts) or timing)


def _read(kind: str, body: bytes) -> tuple[str | None, Any]:
    """(error, value) of a whole answer; what does not say it is JSON may be anything."""
    says_json = kind == "application/json" or kind.endswith("+json")
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return ("not JSON" if says_json else None), None
    if isinstance(value, dict) and value.get("error"):
        return "an error in the answer", value
    return None, value


def _failure(httpx: Any, error: Exception) -> Outcome:
    if any(getattr(one, "errno", None) in _OURS for one in _causes(error)):
        return Outcome("the generator ran out of files, ports or memory", generator=True)
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
