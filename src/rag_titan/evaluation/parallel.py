"""One evaluation by several processes: each reads a part of the file, and what they make of it is added up."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import index
from pathlib import Path
from typing import Any

from rag_titan.errors import SettingsError
from rag_titan.evaluation.data.files import Part
from rag_titan.evaluation.data.queries import Passed, QuerySource
from rag_titan.evaluation.partial import Partial, Plan, partials

MOST = 4  # processes, unless somebody asks for more: each holds the chunks for itself
_ROOT = str(Path(__file__).parents[2])
_RUN = "import sys; sys.path.append(sys.argv[1]); from {module} import work; work()"

Outcome = tuple[Partial, Passed]


@dataclass(frozen=True)
class Job:
    """What another process is to do.

    options  how to make the evaluator
    where    how to open the dataset
    part     which part of the queries it takes
    """

    options: Mapping[str, Any]
    where: Mapping[str, Any]
    part: Part


class Worker:
    """A Python of its own that does one job.

    It is a fresh interpreter: a fork could take over locks that threads of the caller hold, and `multiprocessing` would
    run the caller's script once more.

    module  where the function `work` stands that reads a Job from standard input and writes an Outcome
    """

    def __init__(self, module: str, job: Job) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        command = [sys.executable, "-P", "-c", _RUN.format(module=module), _ROOT]
        try:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            )
            self._process.stdin.write(pickle.dumps(job))  # type: ignore[union-attr]  # it is a pipe
            self._process.stdin.close()  # type: ignore[union-attr]  # the same
        except OSError:
            self.stop()

    def result(self) -> Outcome | None:
        """What it found; None where it came to no end, be it for a bad record or because the system stopped it."""
        if self._process is None:
            return None
        said = self._process.stdout.read()  # type: ignore[union-attr]  # a pipe, too
        if self._process.wait() or not said:
            return None
        outcome: Outcome = pickle.loads(said)
        return outcome

    def stop(self) -> None:
        """Let go of the process, whatever it does."""
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()
        process.wait()


def shared(queries: QuerySource, plan: Plan, parts: Sequence[Part], workers: Sequence[Worker]) -> Iterator[Partial]:
    """What the parts contribute, in their order: the first is done here, the others by the workers.

    A part of which nothing came back is done here too, so that a bad record is told as if there were one process.
    """
    queries.passed = Passed()
    for part, worker in zip(parts, [None, *workers], strict=True):
        outcome = None if worker is None else worker.result()
        if outcome is None:
            own = queries.within(part)
            yield from partials(own, plan)
            queries.passed.add(own.passed)
        else:
            yield outcome[0]
            queries.passed.add(outcome[1])
    queries.check_ids()


def processors(wanted: int | None) -> int:
    """How many processes may share the work: those that were asked for, else what this machine gives us, at most four.

    >>> processors(3)
    3
    """
    if wanted is None:
        if not sys.executable or getattr(sys, "frozen", False):  # a Python inside another program cannot be started
            return 1
        free = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        return min(MOST, free)
    try:
        count = index(wanted)
    except TypeError:
        count = 0
    if count < 1 or isinstance(wanted, bool):
        raise SettingsError(f"processes: must be a whole number from 1, got {wanted!r}.")
    return count
