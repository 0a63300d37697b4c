"""The load test: a ramp of rates, the knee, and again with other arrivals."""

from __future__ import annotations

import random
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from rag_titan.errors import SettingsError
from rag_titan.loadtest.driver import TIMED_OUT, Drive, asked
from rag_titan.loadtest.plan import Plan
from rag_titan.loadtest.ramp import Bracket, ramp, refined
from rag_titan.loadtest.result import LoadResult, few_note, growing_note
from rag_titan.loadtest.schedule import arrivals
from rag_titan.loadtest.step import Step, step_of
from rag_titan.loadtest.target import Target

if TYPE_CHECKING:
    import asyncio

TRIES = 2  # of a step in which the generator was late: another load on its machine may have been the cause
_RECOVERY = 3  # times the time-out that a target gets to recover after a step with time-outs
_PAUSE = 0.1  # of the time-out, between two requests of these

Progress = Callable[[str], None]


class _InvalidError(Exception):
    """A rate cannot be judged: the generator was too late, again, or chance sent nothing. The text says which."""


def load_test(
    target: Target,
    questions: Sequence[str],
    plan: Plan | None = None,
    *,
    name: str = "",
    progress: Progress | None = None,
    loop_factory: Callable[[], asyncio.AbstractEventLoop] | None = None,
) -> LoadResult:
    """Put a target under load, step by step, until its knee is found in every trial.

    questions     asked in an order that the plan's seed shuffles, and from the start again when there are no more
    name          what the result calls the target
    progress      is told what runs now
    loop_factory  makes the event loop, as for a test on a clock of its own

    Ctrl-C ends it with what was measured so far (`stopped`). A step in which the generator itself was late is run
    again once; if it is late again, the whole is invalid and has no knee.

    Where a loop already runs, as in a notebook, all of it runs in a thread, and this waits for it. Where the first
    rates got no answer at all, it ends behind them.

    Raises SettingsError without questions.
    """
    import asyncio

    if isinstance(questions, str) or not all(isinstance(text, str) for text in questions) or not len(questions):
        raise SettingsError("questions: must be a list of at least one text, got something else. Give some.")
    test = _Test(target, questions, plan or Plan(), progress or (lambda text: None))
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        test.run(loop_factory)
    else:
        with ThreadPoolExecutor(1) as pool:
            pool.submit(test.run, loop_factory).result()
    return LoadResult(
        name, test.plan, tuple(test.steps), tuple(test.brackets), test.stopped, test.invalid, tuple(test.notes())
    )


class _Test:
    """The steps so far."""

    def __init__(self, target: Target, questions: Sequence[str], plan: Plan, progress: Progress) -> None:
        self.plan = plan
        self.steps: list[Step] = []
        self.brackets: list[Bracket] = []
        self.stopped = False
        self.invalid: str | None = None
        self._target = target
        self._questions = random.Random(plan.seed).sample(list(questions), len(questions))
        self._progress = progress
        self._repeated = 0
        self._unrecovered: list[float] = []

    def run(self, loop_factory: Callable[[], asyncio.AbstractEventLoop] | None) -> None:
        """All of it, in a loop of its own."""
        import asyncio

        with asyncio.Runner(loop_factory=loop_factory) as runner:
            try:
                runner.run(self._target.aopen())
                self.search(runner.run)
            except KeyboardInterrupt:
                self.stopped = True
            except _InvalidError as error:
                self.invalid = str(error)
            finally:
                runner.run(self._target.aclose())

    def search(self, run: Callable[[Coroutine[Any, Any, None]], None]) -> None:
        """Every trial; each begins at the rate that the one before sustained."""
        rates, start = self.plan.rates, 0
        for trial in range(1, self.plan.trials + 1):

            def sustained(rate: float, trial: int = trial) -> bool:
                return self._sustained(run, rate, trial)

            found = ramp(rates, sustained, start)
            self.brackets.append(refined(found, sustained, self.plan.resolution))
            if not any(step.latency.answered for step in self.steps):
                return
            start = rates.index(found.sustained) if found.sustained is not None else 0
            if trial == 1 and self.plan.all_rates and found.breached is not None:
                for rate in rates[rates.index(found.breached) + 1 :]:
                    sustained(rate)

    def _sustained(self, run: Callable[[Coroutine[Any, Any, None]], None], rate: float, trial: int) -> bool:
        for attempt in range(1, TRIES + 1):
            again = ", again: the generator was late" if attempt > 1 else ""
            self._progress(f"trial {trial} of {self.plan.trials}: {rate:g} requests a second{again}")
            step = self._measured(run, rate, trial)
            reason = step.invalid(self.plan)
            if reason is None:
                break
            self._repeated += 1
            if attempt == TRIES:
                raise _InvalidError(f"At {rate:g} requests a second {reason}.")
        if step.errors.get(TIMED_OUT):
            run(self._recover(rate))
        kept = step.sustained(self.plan)
        if kept is None:
            raise _InvalidError(
                f"At {rate:g} requests a second none was due in {self.plan.duration:g} s. Raise the duration."
            )
        return kept

    def _measured(self, run: Callable[[Coroutine[Any, Any, None]], None], rate: float, trial: int) -> Step:
        plan = self.plan
        times = arrivals(rate, plan.warm_up + plan.duration, plan.arrivals, plan.seed + trial - 1)
        drive = Drive(self._target, self._questions, times, plan.bound(rate), plan.timeout)
        try:
            run(drive.run())
        finally:
            self.steps.append(step_of(drive, plan, rate, trial))
        return self.steps[-1]

    async def _recover(self, rate: float) -> None:
        """Wait until the target, which may still work on what was given up, answers a single request within the SLA.

        Else the next step would measure what this one left behind.
        """
        import asyncio

        self._progress("waiting for the target to recover")
        loop = asyncio.get_running_loop()
        deadline = loop.time() + _RECOVERY * self.plan.timeout
        while (begin := loop.time()) < deadline:
            outcome = await asked(self._target, self._questions[0], self.plan.timeout)
            if outcome.error is None and (loop.time() - begin) * 1000 <= self.plan.sla_ms:
                return
            await asyncio.sleep(_PAUSE * self.plan.timeout)
        self._unrecovered.append(rate)

    def notes(self) -> list[str]:
        """What is odd about the run."""
        notes = few_note(self.steps) + growing_note(self.steps, self.plan)
        distinct = len(set(self._questions))
        most = max((step.sent for step in self.steps), default=0)
        if most > distinct:
            word = "question" if distinct == 1 else "different questions"
            notes.append(f"{most:,} requests of a step asked {distinct:,} {word}: a cache may have helped.")
        if self._repeated and self.invalid is None:
            notes.append(f"The generator was late in {self._repeated} of the steps; they were run again.")
        if self._unrecovered:
            notes.append(f"After {self._unrecovered[0]:g} requests a second the target did not recover.")
        return notes
