"""The command line as a whole."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib import import_module
from keyword import iskeyword
from pathlib import Path

import pytest
import typer
from tests.cli.conftest import Run

from rag_titan import __version__
from rag_titan.cli import terminal
from rag_titan.cli.main import COMMANDS, Subcommands
from rag_titan.cli.terminal import progress


def test_it_says_its_version(run: Run) -> None:
    done = run("--version")
    assert (done.code, done.out) == (0, f"rag-titan {__version__}\n")


def test_without_a_command_it_shows_help(run: Run) -> None:
    said = run("--help").out
    assert [name for name in COMMANDS if name not in said] == []


def test_it_is_a_module_too() -> None:
    done = subprocess.run([sys.executable, "-m", "rag_titan", "--version"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, f"rag-titan {__version__}\n")


def test_every_command_and_option_has_a_help_text() -> None:
    found = {name: Subcommands().get_command(None, name) for name in COMMANDS}
    for name, group in list(found.items()):
        found |= {f"{name} {inner}": command for inner, command in getattr(group, "commands", {}).items()}
    for name, command in found.items():
        assert command.help, name
        assert [param.name for param in command.params if not param.help] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_help_shows_every_word_in_brackets(run: Run, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The words are those of the source text, which rich would take for styles."""
    monkeypatch.setenv("COLUMNS", "250")
    module = import_module(f"rag_titan.cli.{name}_" if iskeyword(name) else f"rag_titan.cli.{name}")
    group = getattr(module, "app", None)
    if group is None:
        group = typer.Typer()
        group.command(name)(getattr(module, f"{name}_" if iskeyword(name) else name))
    command = typer.main.get_command(group)
    inner = getattr(command, "commands", {})
    for path, one in [((name,), command), *(((name, part), inner[part]) for part in inner)]:
        texts = [one.help or "", *(getattr(param, "help", None) or "" for param in one.params)]
        words = {word for text in texts for word in re.findall(r"\S*\[\S*\]", text)}
        said = run(*path, "--help").out
        assert {word for word in words if word not in said} == set()
        assert "\\[" not in said


def test_nobody_sees_a_progress_bar_where_standard_error_is_no_terminal() -> None:
    with progress() as counter:
        assert counter is None


def test_a_progress_bar_counts_work_that_takes_long(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setattr(terminal, "PATIENCE", -1.0)
    with progress() as counter:
        assert counter is not None
        counter(2048)
    assert "2,048 questions" in capsys.readouterr().err
    monkeypatch.setenv("CI", "true")
    with progress() as counter:
        assert counter is None


@pytest.mark.parametrize(
    ("command", "module"),
    [("metrics", "metrics"), ("index docs --store i.db", "index"), ("baseline show r.json", "baseline"),
     ("compare --files docs --golden g.json", "compare"), ("init new", "init")],
)  # fmt: skip
def test_ctrl_c_in_any_command_is_one_word_and_code_130(
    run: Run, monkeypatch: pytest.MonkeyPatch, command: str, module: str
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("typer.core.TyperCommand.invoke", interrupted)
    done = run(*command.split())
    assert (done.code, done.out, done.err) == (130, "", "rag-titan: stopped.\n")


def test_ctrl_c_inside_an_exec_is_the_same_code(tmp_path: Path) -> None:
    """Dataclasses are made by exec; `python -m` ends by the signal where the last exec was interrupted."""
    code = """
import sys
from rag_titan.cli import main

def interrupted(*_):
    exec("raise KeyboardInterrupt")

main.TyperGroup.invoke = interrupted
sys.argv = ["rag-titan", "metrics"]
main.main()
"""
    (tmp_path / "interrupted_run.py").write_text(code)
    command = [sys.executable, "-m", "interrupted_run"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (130, "rag-titan: stopped.\n")
