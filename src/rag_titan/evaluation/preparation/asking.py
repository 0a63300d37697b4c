"""Many questions at a time to something that may be slow, may fail and may never come back.

One thread watches: it starts calls, takes replies and gives up on what is late, so that no hanging call stops the run.
What is called runs elsewhere: each call of a plain function in a thread of its own, which can be left behind;
coroutines in one event loop in a thread, so that clients shared between them work and a late one is cancelled.
"""

from __future__ import annotations

import inspect
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from rag_titan.errors import SettingsError

if TYPE_CHECKING:
    import asyncio
    from concurrent.futures import Future

Ask = Callable[[str], Any]

MOST_AT_ONCE = 256
MOST_RETRIES = 20
LONGEST = 86_400.0  # seconds
MOST_LEFT_BEHIND = 256  # threads that hang; each holds memory, and perhaps a connection
_LONGEST_PAUSE = 30.0
_FAREWELL = 2.0  # seconds for what is still open to close


class AppError(Exception):
    """What an app answered is of no use; the text says why. `again`: another try may end better.

    For code that asks an app; every other exception counts as one that may end better.
    """

    def __init__(self, text: str, *, again: bool = False) -> None:
        self.again = again
        super().__init__(text)


@dataclass(frozen=True)
class Pace:
    """How fast, and how patiently, questions are asked.

    concurrency  questions at a time, 1..256
    timeout      seconds that one try may take; None waits as long as it takes
    retries      further tries of a question that failed, 0..20
    pause        seconds before the first further try, doubled for each next one up to 30

    Raises SettingsError for what is out of its range.

    >>> Pace(concurrency=0)
    Traceback (most recent call last):
    rag_titan.errors.SettingsError: concurrency: must be a whole number from 1 to 256, got 0.
    """

    concurrency: int = 4
    timeout: float | None = 30.0
    retries: int = 0
    pause: float = 1.0

    def __post_init__(self) -> None:
        _check_whole("concurrency", self.concurrency, 1, MOST_AT_ONCE)
        _check_whole("retries", self.retries, 0, MOST_RETRIES)
        if self.timeout is not None and not 0 < self.timeout <= LONGEST:
            raise SettingsError(f"timeout: must be above 0 and at most {LONGEST:.0f} seconds, got {self.timeout:g}.")

    def before_try(self, number: int) -> float:
        """Seconds before the further try of that number, from 1."""
        return min(_LONGEST_PAUSE, self.pause * float(1 << (number - 1)))


def _check_whole(name: str, value: int, least: int, most: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise SettingsError(f"{name}: must be a whole number from {least} to {most}, got {value!r}.")


class Reply(Struct, frozen=True):
    """What one question got.

    place       its place among the questions, from 0
    value       what came back; None beside an error
    error       why nothing came back
    latency_ms  from the call to the whole of the answer, in milliseconds; None beside an error
    asked       False where it was not asked at all, since too many calls hang
    """

    place: int
    value: Any = None
    error: str | None = None
    latency_ms: float | None = None
    asked: bool = True


class _Try(Struct):
    """A question that waits for its turn (`ready`) or runs (until `deadline`); times of the monotonic clock."""

    place: int
    number: int = 0
    ready: float = 0.0
    deadline: float | None = None


class _Run:
    """The questions that wait and those that run."""

    def __init__(self, count: int) -> None:
        self.waiting = deque(_Try(place) for place in range(count))
        self.again: list[_Try] = []
        self.running: dict[Future[tuple[Any, float]], _Try] = {}

    def next_ready(self, now: float) -> _Try | None:
        """A question to ask now: one whose pause is over, else the next."""
        due = [item for item in self.again if item.ready <= now]
        if due:
            first = min(due, key=lambda item: item.ready)
            self.again.remove(first)
            return first
        return self.waiting.popleft() if self.waiting else None

    def late(self, now: float) -> set[Future[tuple[Any, float]]]:
        """The calls that had their time."""
        return {future for future, item in self.running.items() if item.deadline is not None and item.deadline <= now}

    def patience(self, now: float, free: bool) -> float | None:
        """Seconds until something has to be done even if no reply comes; None for never. `free`: there is a slot."""
        times = [item.deadline for item in self.running.values() if item.deadline is not None]
        times += [item.ready for item in self.again] if free else []
        return max(0.0, min(times) - now) if times else None


def replies(questions: Sequence[str], ask: Ask, pace: Pace) -> Iterator[Reply]:
    """Every question once, those that fail again as often as `pace` says; each reply as soon as it is there.

    `ask` takes a question and returns anything; it may be a coroutine function, or return something to await. An object
    may have `aopen`, awaited before the first call and in the time of none, and `aclose`, awaited at the end. Whoever
    stops iterating stops the run; what then still runs is cancelled or left behind. No new question is asked before the
    reply at hand was taken.

    >>> sorted((reply.place, reply.value) for reply in replies(["a", "b"], str.upper, Pace()))
    [(0, 'A'), (1, 'B')]
    """
    calls = _Calls(ask)
    run = _Run(len(questions))
    try:
        calls.open()
        while run.waiting or run.again or run.running:
            if calls.left_behind() >= MOST_LEFT_BEHIND:
                yield from _given_up(run)
            _start(run, calls, questions, pace)
            yield from _taken(run, calls, pace)
    finally:
        calls.close()


def _start(run: _Run, calls: _Calls, questions: Sequence[str], pace: Pace) -> None:
    """Fill the free slots."""
    while len(run.running) < pace.concurrency:
        now = time.monotonic()
        item = run.next_ready(now)
        if item is None:
            return
        item.deadline = None if pace.timeout is None else now + pace.timeout
        run.running[calls.start(questions[item.place])] = item


def _taken(run: _Run, calls: _Calls, pace: Pace) -> Iterator[Reply]:
    """Wait for the next reply or deadline; the replies that came, and the failures after their last try."""
    from concurrent.futures import FIRST_COMPLETED, wait

    patience = run.patience(time.monotonic(), free=len(run.running) < pace.concurrency)
    if run.running:
        done, _ = wait(run.running, patience, FIRST_COMPLETED)
    else:
        done = set()
        time.sleep(patience or 0.0)
    now = time.monotonic()
    late = {
        f for f, item in run.running.items() if f not in done and item.deadline is not None and item.deadline <= now
    }
    for future in sorted(done | late, key=lambda f: run.running[f].place):
        item = run.running.pop(future)
        if future in late:
            calls.leave_behind(future)
            reply, again = Reply(item.place, error=f"time-out after {pace.timeout:g} s"), True
        else:
            reply, again = _reply(item.place, future)
        if reply.error is not None and again and item.number < pace.retries:
            number = item.number + 1
            run.again.append(_Try(item.place, number, time.monotonic() + pace.before_try(number)))
        else:
            yield reply


def _reply(place: int, future: Future[tuple[Any, float]]) -> tuple[Reply, bool]:
    """The reply, and whether another try may end better."""
    from concurrent.futures import CancelledError

    try:
        value, seconds = future.result()
    except AppError as error:
        return Reply(place, error=str(error)), error.again
    except CancelledError:
        return Reply(place, error="the call was cancelled by the app"), True
    except Exception as error:  # whatever somebody else's code raises is the result of this question
        text = str(error)
        return Reply(place, error=f"{type(error).__name__}: {text}" if text else type(error).__name__), True
    return Reply(place, value, latency_ms=seconds * 1000.0), False


def _given_up(run: _Run) -> Iterator[Reply]:
    """What waits is not asked any more."""
    left = sorted([*run.waiting, *run.again], key=lambda item: item.place)
    run.waiting.clear()
    run.again.clear()
    text = f"not asked: {MOST_LEFT_BEHIND} calls hang"
    yield from (Reply(item.place, error=text, asked=False) for item in left)


class _Calls:
    """Starts calls of `ask`, each of which becomes a future of (what came back, seconds)."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._is_coroutine = inspect.iscoroutinefunction(ask) or inspect.iscoroutinefunction(
            getattr(ask, "__call__", None)  # noqa: B004  # asked whether it is a coroutine function, not whether it is there
        )
        self._loop: asyncio.AbstractEventLoop | None = None
        self._loop_thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._threads: dict[Future[tuple[Any, float]], threading.Thread] = {}
        self._late: list[threading.Thread] = []

    def open(self) -> None:
        """Make it ready."""
        aopen = getattr(self._ask, "aopen", None)
        if aopen is not None:
            self._awaited(aopen()).result()

    def start(self, question: str) -> Future[tuple[Any, float]]:
        """Call it."""
        from concurrent.futures import Future

        if self._is_coroutine:
            return self._awaited(_timed(self._ask, question))
        future: Future[tuple[Any, float]] = Future()
        thread = threading.Thread(target=self._in_thread, args=(question, future), daemon=True, name="rag-titan-ask")
        self._threads[future] = thread
        future.add_done_callback(lambda done: self._threads.pop(done, None))
        thread.start()
        return future

    def leave_behind(self, future: Future[tuple[Any, float]]) -> None:
        """Cancel what can be cancelled; a thread goes on, and what it returns is not looked at."""
        thread = self._threads.pop(future, None)
        if thread is not None:
            self._late.append(thread)
        future.cancel()

    def left_behind(self) -> int:
        """Threads that were left behind and still run."""
        self._late = [thread for thread in self._late if thread.is_alive()]
        return len(self._late)

    def close(self) -> None:
        """Stop the event loop, in which everything that still runs is cancelled. Does not wait for what hangs."""
        if self._loop is None or self._loop_thread is None:
            return
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._loop_thread.join(_FAREWELL)

    def _in_thread(self, question: str, future: Future[tuple[Any, float]]) -> None:
        begin = time.perf_counter()
        try:
            value = self._ask(question)
            if inspect.isawaitable(value):
                inner = self._awaited(_guarded(value))
                future.add_done_callback(lambda done: inner.cancel() if done.cancelled() else None)
                value = inner.result()
            result = (value, time.perf_counter() - begin)
        except BaseException as error:  # also SystemExit: somebody else's code ends its thread, never the run
            _settle(future, error=error)
        else:
            _settle(future, result)

    def _awaited(self, coroutine: Any) -> Future[Any]:
        import asyncio

        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._loop_thread = threading.Thread(target=self._serve, args=(self._loop,), daemon=True)
                self._loop_thread.start()
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    def _serve(self, loop: asyncio.AbstractEventLoop) -> None:
        """Run the loop until it is stopped, then tidy up in it."""
        import asyncio

        asyncio.set_event_loop(loop)
        loop.run_forever()
        tasks = asyncio.all_tasks(loop)
        for task in tasks:
            task.cancel()
        loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        aclose = getattr(self._ask, "aclose", None)
        if aclose is not None:
            loop.run_until_complete(aclose())
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()


async def _timed(ask: Ask, question: str) -> tuple[Any, float]:
    begin = time.perf_counter()
    value = await _guarded(ask(question))
    return value, time.perf_counter() - begin


async def _guarded(awaitable: Awaitable[Any]) -> Any:
    """The same; what would end the event loop becomes an error of this question."""
    try:
        return await awaitable
    except (SystemExit, KeyboardInterrupt) as end:
        raise _ended(end) from None


def _ended(end: BaseException) -> Exception:
    return AppError(f"the app ended itself ({type(end).__name__})", again=True)


def _settle(
    future: Future[tuple[Any, float]], result: tuple[Any, float] | None = None, error: BaseException | None = None
) -> None:
    """Set the result, unless the run has given up on it."""
    if not future.set_running_or_notify_cancel():
        return
    if result is not None:
        future.set_result(result)
    elif error is not None:
        future.set_exception(error if isinstance(error, Exception) else _ended(error))
