"""Runs the blocks of a page in order, in one folder.

    python -m tests.docs.running docs/getting-started.md    writes what was printed into the page

An output that matches already, "..." and all, is left as it is.
"""

from __future__ import annotations

import contextlib
import difflib
import io
import os
import shlex
import subprocess
import sys
import traceback
from collections.abc import Collection, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest import mock

from tests.docs.blocks import ROOT, Block, Step, is_run, matches, page, steps

from rag_titan.cli.main import main

SHELL = {"|", ">", ">>", "<", "&&", "||", ";"}  # words by which a command is one for bash
WIDTH = "80"  # of the terminal


class Session:
    """One folder, one Python namespace, the exit code of the last command."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.names: dict[str, Any] = {"__name__": "__main__"}
        self.code = 0

    def run(self, step: Step) -> list[str]:
        """The lines that it prints."""
        with contextlib.chdir(self.folder), _environment():
            return (self._python if step.kind == "python" else self._command)(step.source).splitlines()

    def _python(self, source: str) -> str:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(source, self.names)  # the page's own program
        return out.getvalue()

    def _command(self, source: str) -> str:
        if source == "echo $?":
            code, self.code = self.code, 0
            return f"{code}\n"
        if self.code:
            raise AssertionError(f"the command before {source!r} ended with exit code {self.code}; show it: $ echo $?")
        words = shlex.split(source.replace("\\\n", " "), comments=True)
        if words[0] == "cd":
            self.folder = (self.folder / words[1]).resolve()
            return ""
        if words[0] == "rag-titan" and not SHELL.intersection(words):
            return self._inside(words)
        return self._outside(source)

    def _inside(self, words: list[str]) -> str:
        out = io.StringIO()
        modules, path = set(sys.modules), list(sys.path)
        with (
            mock.patch.object(sys, "argv", words),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(out),
        ):
            try:
                main()
            except SystemExit as end:
                self.code = int(end.code or 0)
        sys.path[:] = path
        for name in set(sys.modules) - modules:  # the module of a page's app is not that of another page
            if str(self.folder) in str(getattr(sys.modules[name], "__file__", None)):
                del sys.modules[name]
        return out.getvalue()

    def _outside(self, source: str) -> str:
        done = subprocess.run(
            ["bash", "-c", source], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
        )
        self.code = done.returncode
        return done.stdout


@contextlib.contextmanager
def _environment() -> Iterator[None]:
    """As on a terminal of 80 columns that is not one of CI, with the commands of this Python."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    own = {"COLUMNS": WIDTH, "NO_COLOR": "1", "PATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
    dropped = ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY", "RAG_TITAN_CI", "PYTEST_ADDOPTS", "PYTEST_CURRENT_TEST")
    with mock.patch.dict(os.environ, own):
        for name in dropped:
            os.environ.pop(name, None)
        yield


def run_page(path: Path, folder: Path, extras: Collection[str] = (), rewrite: bool = False) -> list[str]:
    """Run a page in a folder that holds its data; blocks that need another extra than these are left out.

    Returns what is wrong, a text for each block. With `rewrite` the page gets the real outputs instead.
    """
    session, lines = Session(folder), list(page(path))
    wrong: list[str] = []
    new: list[tuple[int, int, list[str]]] = []
    for step in steps(tuple(lines)):
        if isinstance(step, Block):
            file = session.folder / str(step.title)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(step.text, encoding="utf-8")
            continue
        if not is_run(path, step) or (step.needs is not None and step.needs not in extras):
            continue
        try:
            printed = session.run(step)
        except Exception:  # whatever a block of a page raises is what is wrong with the page
            return [*wrong, f"{path.name}: {step.source}\n{traceback.format_exc(limit=-3)}"]
        expected = [] if step.begin is None else lines[step.begin : step.end]
        if matches(expected, printed):
            continue
        wrong.append(_difference(path, step, expected, printed))
        if step.begin is not None and step.end is not None:
            new.append((step.begin, step.end, printed))
    if session.code:
        wrong.append(f"{path.name}: the last command ended with exit code {session.code}")
    if rewrite:
        for begin, end, printed in reversed(new):
            lines[begin:end] = [line.rstrip() for line in printed]
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return wrong


def _difference(path: Path, step: Step, expected: list[str], printed: list[str]) -> str:
    where = f"{path.name}, line {step.begin}" if step.begin else path.name
    return "\n".join([f"{where}: {step.source}", *difflib.unified_diff(expected, printed, "page", "run", lineterm="")])


def rewrite(names: list[str]) -> int:
    """Write the outputs of these pages anew."""
    from tests.docs.test_pages import EXTRAS, prepare

    for name in names:
        with TemporaryDirectory() as folder:
            path = (ROOT / name).resolve()
            prepare(path, Path(folder))
            for text in run_page(path, Path(folder), EXTRAS, rewrite=True):
                sys.stdout.write(f"{text}\n")
    return 0


if __name__ == "__main__":
    sys.exit(rewrite(sys.argv[1:]))
