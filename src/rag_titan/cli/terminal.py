"""What the command line says, and how: results on standard output, trouble in one sentence on standard error."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

PATIENCE = 1.0  # seconds without a progress bar


def say(lines: Iterable[str]) -> None:
    """Write lines. A reader who stopped reading (`| head`) is no error: the rest is not written."""
    try:
        for line in lines:
            sys.stdout.write(f"{line}\n")
        sys.stdout.flush()
    except OSError as error:
        # Python flushes standard output once more at exit; that must not fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            raise


def complain(sentence: str) -> None:
    """Write one sentence on standard error."""
    sys.stderr.write(f"rag-titan: {sentence}\n")


def watched() -> bool:
    """True where a person looks at standard error: a terminal, and no CI job."""
    return sys.stderr.isatty() and not os.environ.get("CI")


@contextmanager
def progress() -> Iterator[Callable[[int], None] | None]:
    """A callback that counts questions on the terminal once the work takes longer than a second; None where nobody
    looks."""
    if not watched():
        yield None
        return
    counter = _Counter()
    try:
        yield counter
    finally:
        counter.stop()


class _Counter:
    """Counts the questions that are done; rich is loaded only for work that takes long."""

    def __init__(self) -> None:
        self._begin = time.monotonic()
        self._bar: Any = None

    def __call__(self, done: int) -> None:
        if self._bar is None and time.monotonic() - self._begin > PATIENCE:
            self._bar = self._shown()
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], completed=done)

    def stop(self) -> None:
        """Take the bar off the screen."""
        if self._bar is not None:
            self._bar.stop()

    @staticmethod
    def _shown() -> Any:
        from rich.console import Console
        from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        counted = TextColumn("{task.completed:,} questions")
        bar = Progress(SpinnerColumn(), counted, TimeElapsedColumn(), console=Console(stderr=True), transient=True)
        bar.add_task("questions", total=None)
        bar.start()
        return bar
