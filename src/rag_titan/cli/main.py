"""rag-titan: the command line. One file a subcommand; each loads what is heavy only when it runs."""

from __future__ import annotations

import signal
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from rag_titan import __version__
from rag_titan.cli.demo import demo
from rag_titan.cli.evaluate import evaluate
from rag_titan.cli.metrics import metrics
from rag_titan.cli.schema import schema
from rag_titan.cli.terminal import complain, open_streams, refused, say
from rag_titan.errors import RagTitanError

FAULT = 70  # as sysexits.h has it
TERMINATED = 128 + signal.SIGTERM

app = typer.Typer(
    name="rag-titan",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (evaluate, demo, metrics, schema):
    app.command()(command)


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
    except KeyboardInterrupt:
        complain("stopped.")
        sys.exit(130)
    except OSError as error:
        complain(refused(error))
    except Exception:  # whatever is left is ours: shown whole, with an exit code that no result has
        traceback.print_exc()
        complain("this is a fault of rag-titan, not of your data; please report it with the lines above.")
        sys.exit(FAULT)
    sys.exit(2)
