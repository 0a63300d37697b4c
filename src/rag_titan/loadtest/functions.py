"""A target that is a Python function of a question."""

from __future__ import annotations

import inspect
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from typing import TYPE_CHECKING, Any

from rag_titan.loadtest.target import Outcome, parts_of

if TYPE_CHECKING:
    import asyncio

MOST_LEFT_BEHIND = 256  # threads that hang
_FAREWELL = 2.0  # seconds for the event loop of the functions to end


class FunctionTarget:
    """A function in this process.

    A plain function runs in a thread of its own for each request; a coroutine function in an event loop in another
    thread, so that one that blocks its loop is slow and does not make the generator late. An iterator that comes back
    is a stream: its first item is the first token. Parts come from the keys of a dict that end with _ms.

    The function shares the interpreter with the generator: one that computes in Python takes its time from it. Load it
    over HTTP for a figure that counts.
    """

    def __init__(self, function: Callable[[str], Any]) -> None:
        self._function = function
        self._is_coroutine = _awaits(function)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._late: list[threading.Thread] = []

    @property
    def name(self) -> str:
        """As it is called in its module."""
        function = self._function
        return f"{getattr(function, '__module__', '')}:{getattr(function, '__qualname__', type(function).__name__)}"

    async def aopen(self) -> None:
        """Start the event loop for coroutine functions."""
        import asyncio

        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=_serve, args=(self._loop,), daemon=True, name="rag-titan-target")
        self._thread.start()

    async def ask(self, question: str) -> Outcome:
        """Call it and take all that comes back."""
        import asyncio

        here = asyncio.get_running_loop()
        if self._is_coroutine and self._loop is not None:
            return await asyncio.wrap_future(
                asyncio.run_coroutine_threadsafe(self._awaited(question, here.time), self._loop)
            )
        self._late = [thread for thread in self._late if thread.is_alive()]
        if len(self._late) >= MOST_LEFT_BEHIND:
            return Outcome(f"not called: {MOST_LEFT_BEHIND} calls hang")
        done: asyncio.Future[Outcome] = here.create_future()
        thread = threading.Thread(target=self._called, args=(question, here, done), daemon=True)
        thread.start()
        try:
            return await done
        except asyncio.CancelledError:
            self._late.append(thread)
            raise

    async def aclose(self) -> None:
        """End the event loop. What hangs is left behind."""
        loop, thread = self._loop, self._thread
        self._loop = self._thread = None
        if loop is not None and thread is not None:
            loop.call_soon_threadsafe(loop.stop)
            thread.join(_FAREWELL)

    async def _awaited(self, question: str, clock: Callable[[], float]) -> Outcome:
        try:
            value = self._function(question)
            if inspect.isawaitable(value):
                value = await value
            if isinstance(value, AsyncIterator):
                first = None
                async for _ in value:
                    first = clock() if first is None else first
                return Outcome(first=first)
            return _whole(value, clock)
        except (Exception, SystemExit, KeyboardInterrupt) as error:  # whatever somebody else's function raises
            return Outcome(type(error).__name__)

    def _called(self, question: str, here: asyncio.AbstractEventLoop, done: asyncio.Future[Outcome]) -> None:
        try:
            outcome = _whole(self._function(question), here.time)
        except BaseException as error:  # also SystemExit: it ends this thread, never the run
            outcome = Outcome(type(error).__name__)
        if not here.is_closed():
            here.call_soon_threadsafe(_settle, done, outcome)


def _whole(value: Any, clock: Callable[[], float]) -> Outcome:
    if isinstance(value, Iterator):
        first = None
        for _ in value:
            first = clock() if first is None else first
        return Outcome(first=first)
    if isinstance(value, dict) and value.get("error"):
        return Outcome("an error in the answer", parts=parts_of(value))
    return Outcome(parts=parts_of(value))


def _settle(done: asyncio.Future[Outcome], outcome: Outcome) -> None:
    if not done.done():
        done.set_result(outcome)


def _awaits(function: Any) -> bool:
    called = getattr(function, "__call__", None)  # noqa: B004  # asked what it is, not whether it is there
    return any(inspect.iscoroutinefunction(one) or inspect.isasyncgenfunction(one) for one in (function, called))


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    import asyncio

    asyncio.set_event_loop(loop)
    loop.run_forever()
    tasks = asyncio.all_tasks(loop)
    for task in tasks:
        task.cancel()
    loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
    loop.close()
