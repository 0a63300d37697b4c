"""A clock of its own for asyncio: what waits waits no time, and a second lasts as long as what happens in it."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Mapping, Sequence
from typing import Any

from rag_titan.loadtest.driver import Outcome
from rag_titan.loadtest.plan import Plan
from rag_titan.loadtest.result import LoadResult
from rag_titan.loadtest.run import load_test


class _Jumping(selectors.DefaultSelector):  # type: ignore[misc, valid-type]  # which one it is depends on the system
    """Never waits: the clock goes on by the time for which it was to wait."""

    now = 0.0

    def select(self, timeout: float | None = None) -> Any:
        """What is ready now."""
        ready = super().select(0)
        if not ready and timeout is None:
            raise RuntimeError("nothing is left that could happen: the run hangs")
        if not ready:
            self.now += timeout or 0.0
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop on that clock."""

    def __init__(self) -> None:
        self._jumping = _Jumping()
        super().__init__(self._jumping)

    def time(self) -> float:
        """Seconds since the loop was made."""
        return self._jumping.now

    def block(self, seconds: float) -> None:
        """Hold the loop up, as code that computes does."""
        self._jumping.now += seconds


class ScriptedTarget:
    """A target that does what a test says; it remembers when it was asked, and what."""

    def __init__(self) -> None:
        self.asked: list[tuple[float, str]] = []
        self.closed = False

    async def aopen(self) -> None:
        """Nothing to make."""

    async def ask(self, question: str) -> Outcome:
        """Note it and answer."""
        self.asked.append((asyncio.get_running_loop().time(), question))
        return await self.answer(question)

    async def answer(self, question: str) -> Outcome:
        """An answer at once; a test has its own."""
        return Outcome()

    async def aclose(self) -> None:
        """Note it."""
        self.closed = True


class OneWorker(ScriptedTarget):
    """Serves one request after the other, each for the same time: with Poisson arrivals an M/D/1 queue."""

    def __init__(self, seconds: float, parts: bool = True) -> None:
        super().__init__()
        self.seconds = seconds
        self.parts = parts
        self.free = 0.0

    async def answer(self, question: str) -> Outcome:
        """When it is done with all that came before."""
        now = asyncio.get_running_loop().time()
        begin = max(now, self.free)
        self.free = begin + self.seconds
        await asyncio.sleep(self.free - now)
        parts: Mapping[str, float] = {"queue": (begin - now) * 1000, "generation": self.seconds * 1000}
        return Outcome(parts=parts if self.parts else None)


def virtual_test(target: Any, plan: Plan, questions: Sequence[str] = ("a", "b", "c"), **more: Any) -> LoadResult:
    """A load test on that clock."""
    return load_test(target, questions, plan, loop_factory=VirtualLoop, **more)
