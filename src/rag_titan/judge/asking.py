"""A call of a judge, from the cache or from the server, and what came of it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from rag_titan.errors import ServiceError
from rag_titan.judge.budget import Budget, SpentError
from rag_titan.judge.cache import AnswerCache, CacheError
from rag_titan.judge.calls import BadVerdictError, Call
from rag_titan.judge.running import Stop
from rag_titan.judge.server import FatalError, Heard, NotAskedError, Server

AskCall = Callable[[Call], Any]
_CUT = "the answer was cut off at its most tokens; raise --answer-tokens"
_NO_TEXT = "an answer without text"


class NoVerdictError(Exception):
    """There is no verdict.

    Its text is the reason, without a word of the data; `said` is what the judge or the server said, if anything.

    failed  it was asked for, and what came is of no use; else nobody was asked
    """

    def __init__(self, reason: str, said: str = "", *, failed: bool = True) -> None:
        super().__init__(reason)
        self.said, self.failed = said, failed


class Asking:
    """Asks each call of a run once. Threads share it.

    cached  calls that were answered from the cache
    """

    def __init__(
        self, server: Server, cache: AnswerCache, budget: Budget, stop: Stop, *, retry_errors: bool = False
    ) -> None:
        self._server, self._cache, self._budget, self._stop = server, cache, budget, stop
        self._retry_errors = retry_errors
        self._lock = threading.Lock()
        self.cached = 0
        self.repeat = 0

    def __call__(self, call: Call) -> Any:
        """The verdict. Raises NoVerdictError, and FatalError where no call can be answered."""
        request = self._server.request(call, self.repeat)
        heard = self._found(request)
        if heard is not None and (value := self._kept(call, heard)) is not None:
            return value
        if self._stop.is_set():
            raise NoVerdictError(f"not asked: {self._stop.why}", failed=False)
        try:
            heard = self._server.ask(call, request, self._budget, self._stop)
        except NotAskedError:
            raise NoVerdictError(f"not asked: {self._stop.why}", failed=False) from None
        except SpentError as error:
            why = self._stop.why if self._stop.is_set() else error
            raise NoVerdictError(f"not asked: {why}", failed=False) from None
        except FatalError:
            raise
        except ServiceError as error:
            raise NoVerdictError("failed: no answer from the server", str(error)) from None
        self._keep(request, heard)  # before anything is counted: what was answered is never asked again
        return _read(call, heard)

    def once(self, name: bytes, make: Callable[[], str]) -> str:
        """What is in the cache under that name, else what is made. Raises NoVerdictError where the run is stopped."""
        if (heard := self._found(name)) is not None:
            return heard.text
        if self._stop.is_set():
            raise NoVerdictError(f"not asked: {self._stop.why}", failed=False)
        text = make()
        self._keep(name, Heard(text))
        return text

    def _keep(self, request: bytes, heard: Heard) -> None:
        try:
            self._cache.put(request, heard)
        except CacheError as error:
            self._stop.because(str(error))  # what is answered from here on would be asked again

    def _found(self, request: bytes) -> Heard | None:
        """What the cache holds; one that cannot be read ends the run."""
        try:
            return self._cache.get(request)
        except CacheError as error:
            self._stop.because(str(error))
            return None

    def _kept(self, call: Call, heard: Heard) -> Any:
        """The verdict in the cache; None where it is none and is to be asked for again."""
        with self._lock:
            self.cached += 1
        try:
            return _read(call, heard)
        except NoVerdictError:
            if not self._retry_errors:
                raise
            with self._lock:
                self.cached -= 1
            return None


def _read(call: Call, heard: Heard) -> Any:
    if not heard.text.strip():
        said = heard.refused or f"finish reason {heard.ended}"
        raise NoVerdictError(f"failed: {_CUT if heard.ended == 'length' else _NO_TEXT}", said)
    try:
        return call.read(heard.text)
    except BadVerdictError as error:
        reason = _CUT if heard.ended == "length" else str(error)
        raise NoVerdictError(f"failed: {reason}", error.said) from None
