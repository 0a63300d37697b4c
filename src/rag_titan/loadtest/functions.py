"""A target that is a Python function of a question."""

from __future__ import annotations

import inspect
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rag_titan.errors import SettingsError
from rag_titan.loadtest.driver import is_cancelled
from rag_titan.loadtest.events import EMPTY, FAILED, Events
from rag_titan.loadtest.target import NO_ROOM, Outcome, parts_of

if TYPE_CHECKING:
    import asyncio

NO_ANSWER = "no answer (None)"
MOST_LEFT_BEHIND = 256  # threads that hang
_FAREWELL = 2.0  # seconds for the event loop of the functions to end


@dataclass(frozen=True, slots=True)
class _Later:
    """What a plain function returned that only an event loop can finish."""

    value: Any


class FunctionTarget:
    """A function in this process.

    A plain function runs in a thread of its own for each request; a coroutine function in an event loop in another
    thread, so that one that blocks its loop is slow and does not make the generator late. What a plain function returns
    and must be awaited is awaited there. An iterator that comes back, of either kind, is a stream, whose first token is
    the first item that holds text. Parts come from the keys of a dict that end with _ms. None, an empty text and an
    empty stream are no answers.

    The function shares the interpreter with the generator: one that computes in Python takes its time from it. Load it
    over HTTP for a figure that counts.

    Raises SettingsError for a function that cannot be called with a question alone.

    >>> FunctionTarget(lambda q, k: None)
    Traceback (most recent call last):
    rag_titan.errors.SettingsError: target: must be a function of one question, got <lambda>(q, k). Wrap it in one.
    """

    def __init__(self, function: Callable[[str], Any]) -> None:
        _check_takes_one(function)
        self._function = function
        self._is_coroutine = _awaits(function)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._late: list[threading.Thread] = []

    @property
    def name(self) -> str:
        """As it is called in its module."""
        function = self._function
        return f"{getattr(function, '__module__', '')}:{_called(function)}"

    async def aopen(self) -> None:
        """Start the event loop for coroutine functions."""
        import asyncio

        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=_serve, args=(self._loop,), daemon=True, name="rag-titan-target")
        self._thread.start()

    async def ask(self, question: str) -> Outcome:
        """Call it and take all that comes back."""
        import asyncio

        clock = asyncio.get_running_loop().time
        if self._is_coroutine:
            return await self._in_loop(_outcome(lambda: self._function(question), clock))
        found = await self._in_thread(question)
        return await self._in_loop(_outcome(lambda: found.value, clock)) if isinstance(found, _Later) else found

    async def aclose(self) -> None:
        """End the event loop. What hangs is left behind."""
        loop, thread = self._loop, self._thread
        self._loop = self._thread = None
        if loop is not None and thread is not None:
            loop.call_soon_threadsafe(loop.stop)
            thread.join(_FAREWELL)

    async def _in_loop(self, coroutine: Coroutine[Any, Any, Outcome]) -> Outcome:
        import asyncio

        if self._loop is None:
            coroutine.close()
            raise RuntimeError("the target is not open")
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(coroutine, self._loop))

    async def _in_thread(self, question: str) -> Outcome | _Later:
        import asyncio

        here = asyncio.get_running_loop()
        self._late = [thread for thread in self._late if thread.is_alive()]
        if len(self._late) >= MOST_LEFT_BEHIND:
            return Outcome(f"not called: {MOST_LEFT_BEHIND} calls hang")
        done: asyncio.Future[Outcome | _Later] = here.create_future()
        thread = threading.Thread(target=self._call, args=(question, here, done), daemon=True)
        try:
            thread.start()
        except RuntimeError:  # the system gives no more
            return Outcome(NO_ROOM, generator=True)
        try:
            return await done
        except asyncio.CancelledError:
            self._late.append(thread)
            raise

    def _call(self, question: str, here: asyncio.AbstractEventLoop, done: asyncio.Future[Outcome | _Later]) -> None:
        found: Outcome | _Later
        try:
            value = self._function(question)
            is_later = inspect.isawaitable(value) or isinstance(value, AsyncIterator)
            found = _Later(value) if is_later else _whole(value, here.time)
        except BaseException as error:  # also SystemExit: it ends this thread, never the run
            found = Outcome(type(error).__name__)
        with suppress(RuntimeError):  # the run is over, and its loop closed
            here.call_soon_threadsafe(_settle, done, found)


async def _outcome(start: Callable[[], Any], clock: Callable[[], float]) -> Outcome:
    """What becomes of a call that an event loop must finish; a cancelled one is cancelled, all else is an outcome."""
    try:
        value = start()
        if inspect.isawaitable(value):
            value = await value
        if not isinstance(value, AsyncIterator):
            return _whole(value, clock)
        events = Events()
        async for item in value:
            events.take(item, clock())
        return _streamed(events)
    except BaseException as error:  # whatever somebody else's function raises, also SystemExit
        if is_cancelled(error):
            raise
        return Outcome(type(error).__name__)


def _whole(value: Any, clock: Callable[[], float]) -> Outcome:
    if value is None:
        return Outcome(NO_ANSWER)
    if isinstance(value, str | bytes) and not value.strip():
        return Outcome(EMPTY)
    if isinstance(value, Iterator):
        events = Events()
        for item in value:
            events.take(item, clock())
        return _streamed(events)
    failed = FAILED if isinstance(value, dict) and value.get("error") else None
    return Outcome(failed, parts=parts_of(value))


def _streamed(events: Events) -> Outcome:
    return Outcome(events.error, events.first, parts_of(events.parts))


def _settle(done: asyncio.Future[Outcome | _Later], found: Outcome | _Later) -> None:
    if not done.done():
        done.set_result(found)


def _awaits(function: Any) -> bool:
    called = None if isinstance(function, type) else getattr(function, "__call__", None)  # noqa: B004  # what it is
    return any(inspect.iscoroutinefunction(one) or inspect.isasyncgenfunction(one) for one in (function, called))


def _called(function: Any) -> str:
    return str(getattr(function, "__qualname__", type(function).__name__))


def _check_takes_one(function: Any) -> None:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # of some functions in C nobody knows
        return
    try:
        signature.bind("")
    except TypeError:
        got = f"{_called(function).rpartition('.')[2]}({', '.join(signature.parameters)})"
        raise SettingsError(f"target: must be a function of one question, got {got}. Wrap it in one.") from None


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    import asyncio

    asyncio.set_event_loop(loop)
    loop.run_forever()
    tasks = asyncio.all_tasks(loop)
    for task in tasks:
        task.cancel()
    loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
    loop.close()
