"""rag-titan: the command line. One file a subcommand, loaded when it is asked for."""

from __future__ import annotations

import re
import signal
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from keyword import iskeyword
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from rag_titan import __version__
from rag_titan.cli.terminal import complain, inert, open_streams, refused, say
from rag_titan.errors import RagTitanError

FAULT = 70  # as sysexits.h has it
INTERRUPTED, TERMINATED = 128 + signal.SIGINT, 128 + signal.SIGTERM
WORD = "stopped."

# In the order of the help page. What a name stands for is the function of that name, or the group `app`, in
# cli/<name>.py; a name that is a word of Python's own has an underscore behind it there.
COMMANDS = (
    "init", "evaluate", "demo", "baseline", "diff", "golden", "collect", "build", "import", "export", "index", "ask",
    "judge", "compare", "lab", "load", "metrics", "schema",
)  # fmt: skip

_MARKUP = re.compile(r"\[(?=[a-z#/@])")  # how a tag of rich begins


class Subcommands(TyperGroup):
    """The subcommands, of which none is imported before somebody asks for it."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands: dict[str, Any] = dict.fromkeys(COMMANDS)  # the names serve the help page and "Did you mean"

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of that name; None where there is none."""
        if cmd_name not in COMMANDS:
            return None
        name = f"{cmd_name}_" if iskeyword(cmd_name) else cmd_name
        module = import_module(f"rag_titan.cli.{name}")
        group = getattr(module, "app", None)
        if group is None:
            group = typer.Typer(add_completion=False)
            group.command(cmd_name)(getattr(module, name))
        return _verbatim(typer.main.get_command(group))

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was asked for. Ctrl-C ends it with a word, where typer would end it without one."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            complain(WORD)
            raise typer.Exit(INTERRUPTED) from None
        finally:
            exec("")  # an interrupt in the exec of an import would else make `python -m` end by the signal


def _verbatim(command: Any) -> Any:
    """The command with help texts that the terminal shows as they are written: rich takes [columns] for a style."""
    for part in (command, *command.params):
        if getattr(part, "help", None):
            part.help = _MARKUP.sub(r"\\\g<0>", part.help)
    for inner in getattr(command, "commands", {}).values():
        _verbatim(inner)
    return command


app = typer.Typer(
    name="rag-titan",
    cls=Subcommands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        say([f"rag-titan {__version__}"])
        raise typer.Exit


@app.callback()
def _about(
    _: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Which stage of a RAG system fails, for which questions, by how much, and whether the last change was real.

    Begin with `rag-titan demo`.
    """


@contextmanager
def _stopped_by_signal() -> Iterator[None]:
    """SIGTERM ends the run like an exception (exit code 143), so that drafts of files are removed."""

    def stop(*_: object) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # a second one must not stop the tidying up
        raise SystemExit(TERMINATED)

    if threading.current_thread() is not threading.main_thread():
        yield  # only there can a signal be handled
        return
    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    except SystemExit as end:
        if end.code == TERMINATED:
            complain(WORD)
        raise
    finally:
        signal.signal(signal.SIGTERM, before)


def main() -> None:
    """Run the command line.

    What rag-titan and the system refuse is one sentence and exit code 2. A fault of rag-titan itself has a code of
    its own, so that no CI job takes it for a regression (1).
    """
    open_streams()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # a terminal of another encoding is no reason to stop
    try:
        with _stopped_by_signal():
            app()
    except RagTitanError as error:
        complain(str(error))
    except KeyboardInterrupt:  # before or after the command
        complain(WORD)
        sys.exit(INTERRUPTED)
    except OSError as error:
        complain(refused(error))
    except Exception:  # whatever is left is ours: shown whole, with an exit code that no result has
        sys.stderr.write(inert(traceback.format_exc()))
        complain("this is a fault of rag-titan, not of your data; please report it with the lines above.")
        sys.exit(FAULT)
    sys.exit(2)
