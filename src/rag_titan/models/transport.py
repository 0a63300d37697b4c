"""Asking a model server over HTTP: time-outs, tries, bounds, and what an answer of no use is called."""

from __future__ import annotations

import json
import os
import queue
import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar
from weakref import finalize

from rag_titan.errors import MissingExtraError, ServiceError, SettingsError
from rag_titan.evaluation.preparation.collect_http import address, is_loopback
from rag_titan.models.options import Retries, Timeouts
from rag_titan.models.refusals import Unusable, excerpt, refusal

if TYPE_CHECKING:
    import httpx

MOST_BYTES = 64 * 2**20  # of a response

T = TypeVar("T")
Clock = Callable[[], float]
Sleep = Callable[[float], None]


class ModelServer:
    """One address of a model server. Safe for threads; every call waits for its own answer only.

    No redirect is followed, no more than 64 MiB of an answer are read, and the proxies of the environment are not used
    for this machine. The key stands in an environment variable and is never shown, nor is anything else of the address
    than scheme, host, port and path.

    Raises SettingsError for an address or a key that cannot be, and MissingExtraError without httpx.
    """

    def __init__(
        self,
        base_url: str,
        path: str,
        *,
        api_key_env: str | None = None,
        timeouts: Timeouts | None = None,
        retries: Retries | None = None,
        clock: Clock = time.perf_counter,
        sleep: Sleep = time.sleep,
    ) -> None:
        library = _httpx()
        url = address(library, base_url, "base_url", "http://127.0.0.1:8080/v1")
        key = None if api_key_env is None else api_key(api_key_env)
        self._url = url.copy_with(path=url.path.rstrip("/") + path, fragment=None)
        self.where = f"{url.scheme}://{url.netloc.decode('ascii')}{self._url.path}"
        self._secrets = [text for text in (key, url.password, *url.params.values()) if text]
        self._timeouts = timeouts or Timeouts()
        self._retries = retries or Retries()
        self._clock, self._sleep = clock, sleep
        self._random = random.Random(self._retries.seed)
        self._lock = threading.Lock()
        self._open, self._running = True, 0
        times = self._timeouts
        self._client = library.Client(
            timeout=library.Timeout(
                connect=times.connect,
                read=max(times.first_byte, times.between_chunks),  # exactly kept by who waits, see Reply
                write=times.first_byte,
                pool=times.connect,
            ),
            trust_env=not is_loopback(url.host),
            follow_redirects=False,
            limits=library.Limits(max_connections=None, max_keepalive_connections=8),
            headers={"content-type": "application/json", "accept-encoding": "identity", "user-agent": "rag-titan"}
            | ({} if key is None else {"authorization": f"Bearer {key}"}),
        )
        finalize(self, self._client.close)  # whoever forgets to close leaves no open connection behind

    def ask(self, body: Mapping[str, Any], read: Callable[[Reply], T]) -> T:
        """What `read` makes of the answer to this JSON object, after as many tries as are allowed.

        `read` raises Unusable; it sets `reply.handed_on` as soon as somebody else has seen a part of the answer, since
        that cannot be taken back: nothing is tried again then. Raises ServiceError.
        """
        content = _encoded(body)
        started, attempt = self._clock(), 0
        while True:
            attempt += 1
            reply = self._sent(content, started, attempt)
            try:
                reply.wait_for_head()
                return read(reply)
            except Unusable as problem:
                wait = self._retries.wait(attempt, self._random.random(), problem.wait)
                spent = self._clock() - started + wait >= self._timeouts.total
                if spent or attempt > self._retries.times or not problem.again or reply.handed_on:
                    raise ServiceError(self._clean(f"{self.where}: {problem.sentence(attempt)}")) from None
            finally:
                reply.abandon()
            self._sleep(wait)

    def close(self) -> None:
        """Close the connections; those of calls that still run are closed by the last of them."""
        with self._lock:
            self._open = False
            idle = self._running == 0
        if idle:
            self._client.close()

    def _sent(self, content: bytes, started: float, attempt: int) -> Reply:
        with self._lock:
            if not self._open:
                raise SettingsError(f"{self.where}: must be open, got a call after close(). Make a new one.")
            self._running += 1
        request = self._client.build_request("POST", self._url, content=content)
        reply = Reply(self._timeouts, self._clock, started, attempt)

        def run() -> None:
            reply.receive(self._client, request)
            with self._lock:
                self._running -= 1
                last = self._running == 0 and not self._open
            if last:
                self._client.close()

        threading.Thread(target=run, name="rag-titan answer", daemon=True).start()
        return reply

    def _clean(self, text: str) -> str:
        """The text without the secrets, should the server have sent them back."""
        for secret in self._secrets:
            text = text.replace(secret, "***") if len(secret) >= 4 else text
        return text


class Client:
    """What asks a server: a context manager that closes the connections at its end."""

    _server: ModelServer

    def close(self) -> None:
        """Close the connections."""
        self._server.close()

    def __enter__(self) -> Self:
        """Itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the connections."""
        self.close()


class Reply:
    """An answer while it comes in.

    content_type  as the server says, "" if it does not
    ended         the whole body was read
    handed_on     somebody else has seen a part of it
    attempt       which try it answers, from 1

    A thread of its own reads it, so that every wait for it can end in time: an HTTP library bounds single reads, and a
    server that sends a byte now and then would never be late. An answer that nobody waits for any more ends with the
    next byte or with the time-out of the read.
    """

    def __init__(self, timeouts: Timeouts, clock: Clock, started: float, attempt: int) -> None:
        self.handed_on = False
        self.attempt = attempt
        self.content_type = ""
        self.ended = False
        self._timeouts, self._clock = timeouts, clock
        self._started, self._sent = started, clock()
        self._begun = self._abandoned = False
        self._events: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def elapsed_ms(self) -> float:
        """Milliseconds since the call began, earlier tries and waits included."""
        return (self._clock() - self._started) * 1000

    def wait_for_head(self) -> None:
        """Raises Unusable for anything but HTTP 2xx."""
        status, headers = self._next()
        self.content_type = headers.get("content-type", "")
        if not 200 <= status < 300:
            raise refusal(status, headers, self.whole())

    def parts(self) -> Iterator[bytes]:
        """The body, piece by piece. Raises Unusable when the next one is late or the connection breaks."""
        while (part := self._next()) is not None:
            self._begun = True
            yield part
        self.ended = True

    def whole(self) -> bytes:
        """The whole body."""
        return b"".join(self.parts())

    def abandon(self) -> None:
        """Nobody waits any more."""
        self._abandoned = True

    def receive(self, client: httpx.Client, request: httpx.Request) -> None:
        """Fetches it; runs in the thread."""
        size = 0
        try:
            response = client.send(request, stream=True)
            try:
                self._events.put((response.status_code, dict(response.headers)))
                for part in response.iter_bytes():
                    size += len(part)
                    if self._abandoned:
                        return
                    if size > MOST_BYTES:
                        raise Unusable(f"answer in at most {MOST_BYTES // 2**20} MiB", "more")
                    self._events.put(part)
            finally:
                response.close()
            self._events.put(None)
        except BaseException as error:
            self._events.put(error)  # raised where somebody waits

    def _next(self) -> Any:
        now = self._clock()
        late, limit, got = self._limit(now)
        too_late = Unusable(f"answer {limit}", got, "Raise the time-out or look at the server's load.")
        if self._begun and now > late:
            raise too_late
        try:
            event = self._events.get(timeout=max(0.0, late - now))
        except queue.Empty:
            event = too_late
        if isinstance(event, BaseException):
            raise event if isinstance(event, Unusable) else _broken(event, limit)
        return event

    def _limit(self, now: float) -> tuple[float, str, str]:
        """When the next event must be there, that limit in words, and what came if it is not."""
        times = self._timeouts
        whole = self._started + times.total
        soon = now + times.between_chunks if self._begun else self._sent + times.first_byte
        if soon >= whole:
            return whole, f"wholly within {times.total:g} s", "only a part" if self._begun else "nothing"
        if self._begun:
            return soon, f"with a next piece within {times.between_chunks:g} s", "nothing"
        return soon, f"with a first byte within {times.first_byte:g} s", "nothing"


def _httpx() -> Any:
    try:
        import httpx
    except ImportError:
        raise MissingExtraError("httpx", "models") from None
    return httpx


def api_key(variable: str) -> str:
    """The key in an environment variable. Raises SettingsError where there is none."""
    key = os.environ.get(variable, "").strip()
    if not key:
        raise SettingsError(f"api_key_env: must name a variable of the environment, got {variable}. Export it first.")
    if not key.isascii() or not key.isprintable():
        raise SettingsError(f"api_key_env: must name a variable that holds printable ASCII, got {variable}.")
    return key


def _encoded(body: Mapping[str, Any]) -> bytes:
    try:
        return json.dumps(body, allow_nan=False).encode("ascii")
    except (TypeError, ValueError, RecursionError) as error:
        raise SettingsError(f"request: must be something that JSON can hold, got something else ({error}).") from None


def _broken(error: BaseException, limit: str) -> BaseException:
    """What went wrong below HTTP, in words; nothing of the request is in it. Bugs of ours stay what they are."""
    httpx = _httpx()
    said = excerpt(str(error)) or type(error).__name__
    if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
        return Unusable("be reachable", f"no connection ({said})", "Start the server or correct base_url.", again=True)
    if isinstance(error, httpx.TimeoutException):
        return Unusable(f"answer {limit}", "nothing", "Raise the time-out or look at the server's load.")
    if isinstance(error, httpx.NetworkError | httpx.RemoteProtocolError):
        return Unusable("answer to the end", f"a broken connection ({said})", "Look into the server's log.", again=True)
    if isinstance(error, httpx.HTTPError):
        return Unusable("answer in HTTP", f"{type(error).__name__} ({said})")
    return error
