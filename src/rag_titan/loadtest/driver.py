"""The open loop: each request is sent at its time, whether the earlier ones were answered or not.

A closed loop, whose clients wait for an answer before they ask again, sends less as soon as the target is slow, and so
never sees the queue (coordinated omission; Tene, "How NOT to measure latency"). Here every latency counts from the time
at which the request was to be sent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from rag_titan.loadtest.schedule import Floats
from rag_titan.loadtest.target import Outcome, Target

if TYPE_CHECKING:
    import asyncio

NOT_SENT = "not sent: too many in flight"
TIMED_OUT = "time-out"
UNFINISHED = "unfinished"
_LEAD = 0.02  # seconds between the start of the loop and the first request


@dataclass
class Drive:
    """One run at one rate: the times at which requests are due, and what became of each.

    times    when each is due, in seconds from the start, ascending, shape (n,)
    bound    requests in flight; one that is due while so many are open is not sent, and fails
    timeout  seconds for one request, from its sending

    `begun`, `first` and `ended` are in seconds from the start, shape (n,), NaN where that did not happen.
    """

    target: Target
    questions: Sequence[str]
    times: Floats
    bound: int
    timeout: float
    outcomes: list[Outcome | None] = field(init=False)
    begun: Floats = field(init=False)
    first: Floats = field(init=False)
    ended: Floats = field(init=False)
    most_in_flight: int = 0
    complete: bool = False
    ended_at: float | None = None

    def __post_init__(self) -> None:
        self.outcomes = [None] * len(self.times)
        self.begun, self.first, self.ended = (np.full(len(self.times), np.nan) for _ in range(3))
        self._open: set[asyncio.Task[None]] = set()
        self._zero = 0.0

    async def run(self) -> None:
        """Send all, and wait for the last answer. When it is cancelled, what is open is left unfinished."""
        import asyncio

        loop = asyncio.get_running_loop()
        self._zero = loop.time() + _LEAD
        try:
            for place, at in enumerate(self.times.tolist()):
                await asyncio.sleep(max(0.0, self._zero + at - loop.time()))  # 0 lets answers in, however late it is
                self._send(place)
            while self._open:
                await asyncio.wait(self._open)
            self.complete = True
        finally:
            self.ended_at = loop.time() - self._zero
            opened = list(self._open)
            for task in opened:
                task.cancel()
            await asyncio.gather(*opened, return_exceptions=True)

    @property
    def elapsed(self) -> float:
        """Seconds from the start to the end, or to the last thing that happened in a run that was broken off."""
        happened = np.concatenate([self.begun, self.ended])
        return float(np.nanmax(happened, initial=0.0)) if self.ended_at is None else self.ended_at

    def _send(self, place: int) -> None:
        import asyncio

        if len(self._open) >= self.bound:
            self.begun[place] = asyncio.get_running_loop().time() - self._zero
            self.outcomes[place] = Outcome(NOT_SENT)
            return
        task = asyncio.get_running_loop().create_task(self._asked(place))
        self._open.add(task)
        self.most_in_flight = max(self.most_in_flight, len(self._open))
        task.add_done_callback(self._closed)

    def _closed(self, task: asyncio.Task[None]) -> None:
        self._open.discard(task)
        if not task.cancelled():
            task.exception()  # an interrupt ends the run as it is; without this asyncio would print it, too

    async def _asked(self, place: int) -> None:
        import asyncio

        loop = asyncio.get_running_loop()
        self.begun[place] = loop.time() - self._zero
        outcome = await asked(self.target, self.questions[place % len(self.questions)], self.timeout)
        self.ended[place] = loop.time() - self._zero
        self.outcomes[place] = outcome
        if outcome.first is not None:
            self.first[place] = outcome.first - self._zero


async def asked(target: Target, question: str, timeout: float) -> Outcome:
    """What became of one request, whatever the target does; it has `timeout` seconds."""
    import asyncio

    try:
        async with asyncio.timeout(timeout):
            return await target.ask(question)
    except TimeoutError:
        return Outcome(TIMED_OUT)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # a fault in somebody else's target is the result of this request
        if is_cancelled(error):
            raise
        return Outcome(type(error).__name__)


def is_cancelled(error: BaseException) -> bool:
    """True where the running task is being cancelled; False for a CancelledError that the code in it raised."""
    import asyncio

    task = asyncio.current_task()
    return isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling() > 0
