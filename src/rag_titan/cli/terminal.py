"""What the command line says, and how: results on standard output, trouble in one sentence on standard error."""

from __future__ import annotations

import errno
import os
import re
import shutil
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from textwrap import wrap
from typing import Any

from rag_titan.errors import RagTitanError

_STEERING = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")

RUNNERS = ("GITHUB_ACTIONS", "TF_BUILD")  # what the CI systems set that read commands in a program's output
_RUNNER_START = re.compile(r"^(\s*)::", re.MULTILINE)
_RUNNER_PREFIX = re.compile(r"##(?=\w*\[)")

PATIENCE = 1.0  # seconds without a progress bar


def say(lines: Iterable[str]) -> None:
    """Write lines. A reader who stopped reading (`| head`) is no error: the rest is not written.

    Raises OutputError where the system refuses to take them.
    """
    try:
        for line in lines:
            sys.stdout.write(f"{inert(line)}\n")
        sys.stdout.flush()
    except OSError as error:
        # Python flushes standard output once more at exit; that must not fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            raise OutputError(refused(error, "standard output")) from None


class OutputError(RagTitanError):
    """Standard output takes nothing."""


def refused(error: OSError, place: str = "the system") -> str:
    """What the system refused, in one sentence: where, why, and what to do.

    >>> refused(PermissionError(13, "Permission denied", "r.json"))
    'r.json: must be open to this user, got "Permission denied". Change its permissions, or choose another path.'
    """
    where, said = error.filename or place, error.strerror or str(error)
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f'{where}: must have room for what is written, got "{said}". Free some space, or choose another path.'
    if isinstance(error, PermissionError):
        return f'{where}: must be open to this user, got "{said}". Change its permissions, or choose another path.'
    return f'{where}: must be a file or a stream that works, got "{said}". Check it, or choose another path.'


def complain(sentence: str) -> None:
    """Write one sentence on standard error; what could steer the terminal is written as its escape."""
    sys.stderr.write(f"rag-titan: {inert(escaped(sentence))}\n")


def command(lines: Iterable[str]) -> None:
    """Write lines on standard error as they are: commands for a CI system."""
    for line in lines:
        sys.stderr.write(f"{line}\n")


def inert(text: str) -> str:
    """The text such that no CI system takes it for a command; where none runs this, it stays as it is.

    The runners of GitHub and Azure obey lines that begin with "::", and "##[" and "##vso[" anywhere in a line.
    """
    if not any(os.environ.get(name) for name in RUNNERS):
        return text
    return _RUNNER_START.sub(r"\1: :", _RUNNER_PREFIX.sub("# #", text))


def escaped(text: object) -> str:
    """The text on one line, with what could steer the terminal as its escape.

    >>> print(escaped("two\\nlines\\x1b[31m"))
    two\\nlines\\x1b[31m
    """
    return _STEERING.sub(_escape, str(text))


def columns() -> int | None:
    """How wide the terminal is that standard output goes to; None where it goes elsewhere."""
    return max(shutil.get_terminal_size().columns, 40) if sys.stdout.isatty() else None


def wrapped(text: str, width: int | None, indent: str = "") -> list[str]:
    """The text in lines of a terminal, those after the first set in by two more; whole where there is no terminal.

    >>> wrapped("Against base.json: 3 metrics worse", 20)
    ['Against base.json: 3', '  metrics worse']
    >>> wrapped("Against base.json: 3 metrics worse", None)
    ['Against base.json: 3 metrics worse']
    """
    own = text[: len(text) - len(text.lstrip(" "))] + indent
    if width is None or len(text) + len(indent) <= width:
        return [f"{indent}{text}"]
    return wrap(text.strip(), width, initial_indent=own, subsequent_indent=f"{own}  ", break_on_hyphens=False)


def counted(number: int, noun: str) -> str:
    """A number of things, as it is said.

    >>> counted(1, "question"), counted(1200, "question")
    ('1 question', '1,200 questions')
    """
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _escape(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode("ascii")


def open_streams() -> None:
    """Standard streams that the caller closed (`>&-`) read and write nothing, in place of being None."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115  # open until the end


def watched() -> bool:
    """True where a person looks at standard error: a terminal, and no CI job."""
    return sys.stderr.isatty() and not os.environ.get("CI")


@contextmanager
def progress(noun: str = "questions", at_once: bool = False) -> Iterator[Counter | None]:
    """A callback that counts on the terminal once the work takes longer than a second; None where nobody looks.

    at_once  it is shown from the first count on, as of work whose steps may take long
    """
    if not watched():
        yield None
        return
    counter = Counter(noun, 0.0 if at_once else PATIENCE)
    try:
        yield counter
    finally:
        counter.stop()


class Counter:
    """Counts what is done; rich is loaded only for work that takes long."""

    def __init__(self, noun: str, patience: float) -> None:
        self._noun = noun
        self._patience = patience
        self._begin = time.monotonic()
        self._bar: Any = None

    def __call__(self, done: int, of: int | None = None, doing: str = "") -> None:
        if self._bar is None and time.monotonic() - self._begin >= self._patience:
            self._bar = self._shown()
        if self._bar is not None:
            alone = counted(done, self._noun.removesuffix("s"))
            said = alone if of is None else f"{done:,} of {of:,} {self._noun}  {doing}"
            self._bar.update(self._bar.task_ids[0], description=escaped(said))

    def stop(self) -> None:
        """Take the bar off the screen."""
        if self._bar is not None:
            self._bar.stop()

    @staticmethod
    def _shown() -> Any:
        from rich.console import Console
        from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        counted = TextColumn("{task.description}", markup=False)
        bar = Progress(SpinnerColumn(), counted, TimeElapsedColumn(), console=Console(stderr=True), transient=True)
        bar.add_task("", total=None)
        bar.start()
        return bar
