"""Asking an app over HTTP: one JSON request a question, to this machine alone unless told otherwise."""

from __future__ import annotations

import ipaddress
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from html import unescape
from typing import TYPE_CHECKING, Any, ClassVar

from rag_titan.errors import DatasetError, MissingExtraError, SettingsError
from rag_titan.evaluation.data.decoding import from_json
from rag_titan.evaluation.data.malformed import utf8
from rag_titan.evaluation.data.plain import Place, quoted, shown
from rag_titan.evaluation.preparation.asking import AppError

if TYPE_CHECKING:
    import httpx

QUESTION = "{question}"
MOST_BYTES = 16 * 2**20  # of a response
_MOST_REDIRECTS = 5
_EXCERPT = 120  # characters of a failed response
_LOOKED_AT = 1 << 14  # characters of a page among which the excerpt is looked for
_UNSEEN = re.compile(r"<!--.*?-->|<(script|style)\b.*?</\1\s*>", re.DOTALL | re.IGNORECASE)
_TAG = re.compile(r"<[!/a-z][^<>]*>", re.IGNORECASE)
_METHODS = ("GET", "POST", "PUT")
_AGAIN = frozenset((408, 425, 429, 500, 502, 503, 504))
_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VARIABLE = re.compile(r"\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)\})", re.ASCII)


class HttpApp:
    """An app that answers questions over HTTP: `collect_answers(golden, HttpApp(url))`.

    url           where it listens; on this machine (127.0.0.0/8, ::1, localhost) unless `allow_remote`
    request       what is sent as JSON; {question} in any text of it becomes the question. With GET the members of the
                  object are the parameters of the address
    headers       "Name: value" each; $NAME and ${NAME} in a value are environment variables. No value is ever shown
    allow_remote  ask another machine too

    Nothing is sent while it is made. Redirects are followed within the same scheme, host and port only; the proxies of
    the environment are not used on this machine; a response of more than 16 MiB is not read.

    Raises SettingsError for an address, a request or a header that cannot be, and MissingExtraError without httpx.

    >>> HttpApp("http://example.org/ask")
    Traceback (most recent call last):
    rag_titan.errors.SettingsError: url: must be on this machine, got example.org. Add --allow-remote to ask that.
    """

    extra: ClassVar[str] = "collect"

    def __init__(
        self,
        url: str,
        request: Any = None,
        *,
        method: str = "POST",
        headers: Sequence[str] = (),
        allow_remote: bool = False,
    ) -> None:
        library = _httpx(self.extra)
        self._request = {"question": QUESTION} if request is None else request
        self._method = _checked_method(method, self._request)
        self._headers = dict(_header(line) for line in headers)
        self._url = address(library, url)
        self._local = is_loopback(self._url.host)
        if not self._local and not allow_remote:
            rule = f"must be on this machine, got {self._url.host}. Add --allow-remote to ask that."
            raise SettingsError(f"url: {rule}")
        self._client: httpx.AsyncClient | None = None

    @property
    def identity(self) -> dict[str, str]:
        """What a run must keep to be the same run."""
        request = json.dumps(self._request, sort_keys=True)
        return {"url": str(self._url), "request": request, "method": self._method}

    async def __call__(self, question: str) -> Any:
        """The JSON value that the app answers; AppError says why there is none."""
        httpx = _httpx()
        client = self._opened()
        try:
            status, body = await self._answer(client, self._built(client, question))
        except httpx.HTTPError as error:
            raise AppError(self._clean(_failure(error)), again=True) from None
        except (httpx.InvalidURL, ValueError) as error:  # of a redirect
            raise AppError(f"an answer that is no HTTP ({type(error).__name__})") from None
        text = body.decode("utf-8", "replace")
        if not 200 <= status < 300:
            raise AppError(self._clean(f"HTTP {status}{_excerpt(self._clean(text))}"), again=status in _AGAIN)
        return self._value(body)

    async def aopen(self) -> None:
        """Make the client and load what it needs, which takes longer than many an answer and is none of its time."""
        import anyio  # comes with httpx, which would load this part of it with the first request

        await anyio.sleep(0)
        self._opened()

    def _opened(self) -> httpx.AsyncClient:
        if self._client is None:
            library = _httpx()
            self._client = library.AsyncClient(
                timeout=None,  # the whole call has one, kept by who calls
                trust_env=not self._local,
                follow_redirects=False,
                limits=library.Limits(max_connections=None, max_keepalive_connections=None),
                headers={"accept": "application/json", "accept-encoding": "identity", "user-agent": "rag-titan"},
            )
        return self._client

    async def aclose(self) -> None:
        """Close the connections."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    def _built(self, client: httpx.AsyncClient, question: str) -> httpx.Request:
        filled = _filled(self._request, question)
        if self._method == "GET":
            url = self._url.copy_merge_params(filled)
            return client.build_request("GET", url, headers=self._headers)
        return client.build_request(self._method, self._url, json=filled, headers=self._headers)

    async def _answer(self, client: httpx.AsyncClient, request: httpx.Request) -> tuple[int, bytes]:
        """Status and body, after the redirects that stay with the app."""
        for _ in range(_MOST_REDIRECTS + 1):
            response = await client.send(request, stream=True)
            try:
                following = response.next_request
                if following is None:
                    return response.status_code, await _body(response)
            finally:
                await response.aclose()
            if _origin(following.url) != _origin(self._url):
                other = following.url.host
                raise AppError(f"HTTP {response.status_code}: a redirect to another place ({other}) is not followed")
            request = following
        raise AppError(f"more than {_MOST_REDIRECTS} redirects")

    def _value(self, body: bytes) -> Any:
        try:
            return from_json(utf8(body, "the response"), Place("the response"))
        except RecursionError:
            raise AppError("the response is nested so deep that Python cannot follow") from None
        except DatasetError:
            text = self._clean(body.decode("utf-8", "replace"))
            raise AppError(self._clean(f"not JSON{_excerpt(text) or ': nothing'}")) from None

    def _clean(self, text: str) -> str:
        """The text without the values of the headers, should the app have sent them back."""
        for value in self._headers.values():
            for part in sorted({value, *value.split()}, key=len, reverse=True):
                text = text.replace(part, "***") if len(part) >= 4 else text
        return text


def is_loopback(host: str) -> bool:
    """True for an address of this machine that nobody else can reach: 127.0.0.0/8, ::1, localhost.

    Of names only localhost is looked up, since that alone asks nobody else; it must lead to such addresses only.

    >>> is_loopback("127.8.0.1"), is_loopback("10.0.0.1"), is_loopback("127.0.0.1.example.org")
    (True, False, False)
    """
    if host.rstrip(".").lower() == "localhost":
        return all(ipaddress.ip_address(found).is_loopback for found in _looked_up("localhost"))
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _looked_up(name: str) -> Iterator[str]:
    import socket

    try:
        found = socket.getaddrinfo(name, None)
    except OSError as error:
        raise SettingsError(f"url: must have a host that is known, got {name} ({error.strerror}).") from None
    return (str(address[0]).partition("%")[0] for *_, address in found)


def _httpx(extra: str = "collect") -> Any:
    try:
        import httpx
    except ImportError:
        raise MissingExtraError("httpx", extra) from None
    return httpx


def address(library: Any, url: str, name: str = "url", example: str = "http://127.0.0.1:8000/ask") -> httpx.URL:
    """The parts of an address; `name` is what an error calls it. Raises SettingsError for anything but HTTP."""
    rule = f"{name}: must be an address such as {example}"
    try:
        parsed: httpx.URL = library.URL(url)
    except (library.InvalidURL, TypeError, ValueError):
        raise SettingsError(f"{rule}, got something else.") from None
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise SettingsError(f"{rule}, got one without http:// and a host.")
    if parsed.port is not None and not 0 < parsed.port < 2**16:
        raise SettingsError(f"{rule}, with a port from 1 to 65535, got {parsed.port}.")
    return parsed


def _checked_method(method: str, request: Any) -> str:
    name = method.upper()
    if name not in _METHODS:
        raise SettingsError(f"method: must be one of {', '.join(_METHODS)}, got {quoted(method)}.")
    try:
        empty = json.dumps(_filled(request, ""), allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        raise SettingsError(f"request: must be something that JSON can hold, got {shown(request)}.") from None
    if empty == json.dumps(request):
        raise SettingsError(f"request: must have {QUESTION} where the question goes, got none.")
    if name == "GET" and not (
        isinstance(request, Mapping) and all(isinstance(value, str | int | float) for value in request.values())
    ):
        raise SettingsError(f"request: must be an object of texts and numbers with GET, got {shown(request)}.")
    return name


def _filled(template: Any, question: str) -> Any:
    """The template with the question in its texts; a question cannot change the form of the request."""
    if isinstance(template, str):
        return template.replace(QUESTION, question)
    if isinstance(template, Mapping):
        return {key: _filled(value, question) for key, value in template.items()}
    if isinstance(template, list | tuple):
        return [_filled(value, question) for value in template]
    return template


def _header(line: str) -> tuple[str, str]:
    name, colon, template = line.partition(":")
    if not colon or not _HEADER.fullmatch(name.strip()):
        raise SettingsError("header: must be written as 'Name: value', got something else.")
    where = f"header {name.strip()}"

    def variable(found: re.Match[str]) -> str:
        wanted = found[1] or found[2]
        if wanted not in os.environ:
            rule = f"must name variables of the environment, got ${wanted}. Export it first."
            raise SettingsError(f"{where}: {rule}")
        return os.environ[wanted]

    value = _VARIABLE.sub(variable, template.strip())
    if not value.isascii() or not value.isprintable():
        raise SettingsError(f"{where}: must be printable ASCII once its variables are filled in, got something else.")
    return name.strip(), value


async def _body(response: httpx.Response) -> bytes:
    parts, size = [], 0
    async for part in response.aiter_bytes():
        size += len(part)
        if size > MOST_BYTES:
            raise AppError(f"a response of more than {MOST_BYTES // 2**20} MiB is not read")
        parts.append(part)
    return b"".join(parts)


def _origin(url: httpx.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port


def _excerpt(text: str) -> str:
    """The start of what a response says; of a page its words alone."""
    text = text[:_LOOKED_AT]
    if text.lstrip()[:1] == "<":
        text = unescape(_TAG.sub(" ", _UNSEEN.sub(" ", text))).strip() or "a page without words"
    text = " ".join(text.split())
    return f": {text[:_EXCERPT]}{'…' if len(text) > _EXCERPT else ''}" if text else ""


def _failure(error: Exception) -> str:
    """What went wrong below HTTP; nothing of the request is in it."""
    httpx = _httpx()
    if isinstance(error, httpx.ConnectError):
        return f"no connection ({error})"
    if isinstance(error, httpx.NetworkError | httpx.RemoteProtocolError):
        return f"the app cut the connection, or sent no HTTP ({str(error) or type(error).__name__})"
    if isinstance(error, httpx.DecodingError):
        return f"a response that cannot be unpacked ({error})"
    return type(error).__name__
