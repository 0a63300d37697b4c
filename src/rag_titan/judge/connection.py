"""Connections to one model server over HTTP/1.1, from many threads, where every exchange ends by its deadline.

Sockets of Python's own, since an answer that comes as a whole needs no more: the client that streams answers
(`models.transport`) costs several times the CPU a call, and http.client has no time-out for a whole answer. Each wait
for the socket gets only the time that is left.
"""

from __future__ import annotations

import io
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rag_titan.errors import SettingsError
from rag_titan.evaluation.preparation.collect_http import is_loopback
from rag_titan.judge.http_answer import read_answer
from rag_titan.models.refusals import Unusable, excerpt

if TYPE_CHECKING:
    import socket

REACHABLE = "be reachable"
_EXAMPLE = "http://127.0.0.1:8080/v1"
_PIECE = 1 << 16  # bytes that are sent at a time
_IN_PATH = "/%?&=:@!$'()*+,;~[]"  # what stays as it is written; all else becomes %XX

Clock = Callable[[], float]


@dataclass(frozen=True)
class Address:
    """Where a server listens.

    path     with the query, as it is sent; `shown` is without it and without a password
    secrets  values of the query, which may be keys
    """

    secure: bool
    host: str
    port: int
    path: str
    shown: str
    secrets: tuple[str, ...] = ()

    @classmethod
    def of(cls, base_url: str, path: str, *, allow_remote: bool) -> Address:
        """From the base URL of a server. Raises SettingsError for what is none, and for another machine.

        >>> Address.of("http://127.0.0.1:8080/v1/", "/chat/completions", allow_remote=False).shown
        'http://127.0.0.1:8080/v1/chat/completions'
        >>> Address.of("http://example.org/v1", "/x", allow_remote=False)
        Traceback (most recent call last):
        rag_titan.errors.SettingsError: base_url: must be on this machine, got example.org. Add --allow-remote.
        """
        from urllib.parse import quote, unquote, urlsplit

        try:
            parts = urlsplit(base_url)
            host, port = parts.hostname, parts.port
        except (ValueError, AttributeError, TypeError):
            raise SettingsError(f"base_url: must be an address such as {_EXAMPLE}, got something else.") from None
        if parts.scheme not in ("http", "https") or not host or not base_url.isprintable() or " " in base_url:
            raise SettingsError(f"base_url: must be an address such as {_EXAMPLE}, got one without http:// and a host.")
        if not host.isascii() or port == 0:
            raise SettingsError("base_url: must have a host in ASCII letters and a port from 1, got others.")
        if parts.username or parts.password:
            raise SettingsError("base_url: must hold no user name and no password, got one. Use api_key_env.")
        if not allow_remote and not is_loopback(host):
            raise SettingsError(f"base_url: must be on this machine, got {host}. Add --allow-remote.")
        secure = parts.scheme == "https"
        whole = parts.path.rstrip("/") + path
        named = f"[{host}]" if ":" in host else host
        shown = f"{parts.scheme}://{named}{'' if port is None else f':{port}'}{whole}"
        sent = quote(whole + (f"?{parts.query}" if parts.query else ""), safe=_IN_PATH)
        raw = [pair.partition("=")[2] for pair in parts.query.split("&")]
        secrets = dict.fromkeys(said for value in raw for said in (value, unquote(value), quote(value, safe=_IN_PATH)))
        return cls(secure, host, port or (443 if secure else 80), sent, shown, tuple(secrets))


class Connections:
    """Open connections to an address; each serves one thread at a time and is kept for the next.

    Proxies and redirects are not followed. Safe for threads.
    """

    def __init__(self, address: Address, connect_timeout: float, clock: Clock = time.monotonic) -> None:
        self._address, self._connect_timeout, self._clock = address, connect_timeout, clock
        self._lock = threading.Lock()
        self._idle: list[_Line] = []
        self._busy: set[_Line] = set()
        self._open = True

    def post(self, body: bytes, headers: Mapping[str, str], seconds: float) -> tuple[int, Mapping[str, str], bytes]:
        """Status, headers (names in lower case) and body of the answer, which must be there within so many seconds.

        Raises Unusable. A connection that the server closed while it was idle is made anew, once.
        """
        deadline = self._clock() + seconds
        while True:
            line, kept = self._taken(deadline)
            try:
                answer = line.exchange(self._address.path, body, headers, deadline)
            except BaseException as error:
                gone = kept and line.silent and not line.was_cut and isinstance(error, ConnectionError)
                self._drop(line)
                if gone:
                    continue
                raise self._meant(error, seconds) from None
            self._keep(line)
            return answer

    def interrupt(self) -> None:
        """Close all of them: who waits for an answer waits no longer. Later calls open new ones."""
        with self._lock:
            idle, busy = [*self._idle], [*self._busy]
            self._idle.clear()
        for line in idle:
            line.close()
        for line in busy:
            line.cut()

    def close(self) -> None:
        """The same, for good."""
        with self._lock:
            self._open = False
        self.interrupt()

    def _taken(self, deadline: float) -> tuple[_Line, bool]:
        with self._lock:
            if not self._open:
                raise Unusable("be asked while its connections are open", "a call after close()")
            kept = bool(self._idle)
            line = self._idle.pop() if kept else _Line(self._address, self._clock)
            self._busy.add(line)
        if kept:
            return line, True
        try:
            line.connect(min(self._connect_timeout, max(deadline - self._clock(), 0.001)))
        except (OSError, UnicodeError) as error:
            self._drop(line)
            raise _unreachable(error) from None
        return line, False

    def _keep(self, line: _Line) -> None:
        with self._lock:
            self._busy.discard(line)
            if keep := self._open and line.reusable:
                self._idle.append(line)
        if not keep:
            line.close()

    def _drop(self, line: _Line) -> None:
        with self._lock:
            self._busy.discard(line)
        line.close()

    def _meant(self, error: BaseException, seconds: float) -> BaseException:
        """What went wrong below HTTP, in words; a fault of ours stays what it is."""
        if isinstance(error, TimeoutError):
            do = "Raise the time-out or look at the server's load."
            return Unusable(f"answer wholly within {seconds:g} s", "nothing, or only a part", do)
        if isinstance(error, OSError):
            said = excerpt(str(error)) or type(error).__name__
            do = "Look into the server's log."
            return Unusable("answer to the end", f"a broken connection ({said})", do, again=True)
        return error


def _unreachable(error: OSError | UnicodeError) -> Unusable:
    if untrusted := getattr(error, "verify_message", ""):  # of ssl.SSLCertVerificationError
        do = "Set SSL_CERT_FILE to the certificate of the authority that signed it."
        return Unusable(REACHABLE, f"a certificate that this machine does not trust ({excerpt(untrusted)})", do)
    said = excerpt(getattr(error, "strerror", None) or str(error)) or type(error).__name__
    do = "Start the server or correct base_url."
    return Unusable(REACHABLE, f"no connection ({said})", do, again=True)


def _head(path: str, host: str, headers: Mapping[str, str], size: int) -> bytes:
    lines = [f"POST {path} HTTP/1.1", f"Host: {host}", "Accept-Encoding: identity", f"Content-Length: {size}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


class _Line:
    """One connection.

    silent    nothing of the latest answer came
    reusable  the latest answer was read to its end and the server keeps the connection
    """

    def __init__(self, address: Address, clock: Clock) -> None:
        self._address, self._clock = address, clock
        self._host = f"[{address.host}]" if ":" in address.host else address.host
        if address.port != (443 if address.secure else 80):
            self._host += f":{address.port}"
        self._socket: _DeadlineSocket | None = None
        self._cut = False
        self.reusable = False

    @property
    def was_cut(self) -> bool:
        return self._cut

    @property
    def silent(self) -> bool:
        return self._socket is None or not self._socket.heard

    def connect(self, seconds: float) -> None:
        """Raises OSError."""
        import socket

        raw = socket.create_connection((self._address.host, self._address.port), timeout=seconds)
        try:
            raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._address.secure:
                import ssl

                raw = ssl.create_default_context().wrap_socket(raw, server_hostname=self._address.host)
        except BaseException:
            raw.close()
            raise
        self._socket = _DeadlineSocket(raw, self._clock, secure=self._address.secure)
        if self._cut:  # while it was made
            self.cut()

    def exchange(
        self, path: str, body: bytes, headers: Mapping[str, str], deadline: float
    ) -> tuple[int, Mapping[str, str], bytes]:
        """One request and its whole answer. Raises OSError or Unusable."""
        assert self._socket is not None
        self._socket.deadline, self._socket.heard, self.reusable = deadline, False, False
        if self._socket.holds_more():  # closed by now, or an answer to nothing
            raise ConnectionError("closed before the request")
        self._socket.sendall(_head(path, self._host, headers, len(body)) + body)
        answer = read_answer(self._socket.stream)
        self.reusable = answer.keep and not self._socket.left_over()
        return answer.status, answer.headers, answer.body

    def cut(self) -> None:
        """Wake whoever waits for it in another thread, who closes it then."""
        self._cut = True
        if self._socket is not None:
            self._socket.cut()

    def close(self) -> None:
        if self._socket is not None:
            self._socket.raw.close()


class _DeadlineSocket:
    """A socket of which each wait beyond the deadline is a TimeoutError; `stream` is what comes in."""

    def __init__(self, raw: socket.socket, clock: Clock, *, secure: bool = False) -> None:
        self.raw, self._clock, self._secure = raw, clock, secure
        self.deadline = 0.0
        self.heard = self.paused = False
        self.stream = io.BufferedReader(_Incoming(self), 1 << 14)

    def give_time(self) -> None:
        left = self.deadline - self._clock()
        if left <= 0:
            raise TimeoutError
        self.raw.settimeout(left)

    def sendall(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:  # with TLS, sendall would give each piece the whole time
            self.give_time()
            rest = rest[self.raw.send(rest[:_PIECE]) :]

    def left_over(self) -> bool:
        """True where bytes stand behind the answer that was read: the next answer would begin with them."""
        self.paused = True
        try:
            return bool(self.stream.peek(1))
        finally:
            self.paused = False

    def holds_more(self) -> bool:
        """True where something came, or the end, while nobody asked. With TLS that may be no more than a ticket."""
        import socket

        if self._secure:
            return False
        self.raw.settimeout(0)
        try:
            self.raw.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return False
        return True

    def cut(self) -> None:
        import socket

        with suppress(OSError):  # the server may have been first
            self.raw.shutdown(socket.SHUT_RDWR)


class _Incoming(io.RawIOBase):
    """The bytes that come in."""

    def __init__(self, of: _DeadlineSocket) -> None:
        self._of = of

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        if self._of.paused:
            return None
        self._of.give_time()
        n = self._of.raw.recv_into(buffer)
        self._of.heard |= n > 0
        return n
