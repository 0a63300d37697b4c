"""What the commands of the lab that look for faults share: where a result goes, and the exit code."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from rag_titan.cli.outputs import check_file
from rag_titan.cli.terminal import say

FOUND = 1
SHOWN = "What is shown"

Result = Mapping[str, Any]


class Metric(StrEnum):
    """How the index compares."""

    COSINE = "cosine"
    DOT = "dot"
    L2 = "l2"


AsJson = Annotated[bool, typer.Option("--json", rich_help_panel=SHOWN, help="Print the whole result as JSON.")]
Output = Annotated[
    Path | None, typer.Option(metavar="FILE", readable=False, rich_help_panel=SHOWN, help="Write the JSON there, too.")
]
OnFinding = Annotated[bool, typer.Option("--fail-on-finding", rich_help_panel=SHOWN, help="Exit code 1 if any.")]


@dataclass(frozen=True)
class Places:
    """Where a result is shown."""

    as_json: bool
    output: Path | None
    plot: Path | None
    fail: bool

    def check(self, inputs: Iterable[Path | None]) -> None:
        """Raises SettingsError where a file cannot be written or would take the place of an input."""
        read = [path for path in inputs if path is not None]
        for option, file in (("--output", self.output), ("--plot", self.plot)):
            if file is not None:
                check_file(option, file, read)
        if self.plot is not None:
            from rag_titan.plots import check_kind

            check_kind(self.plot)

    def show(
        self, result: Result, lines: Callable[[Result], Iterable[str]], draw: Callable[[Result, Path], None]
    ) -> None:
        """Write and print it, and end with its exit code."""
        text = json.dumps(result, indent=2, ensure_ascii=False, allow_nan=False)
        if self.output is not None:
            from rag_titan.evaluation.writing import write

            write(self.output, text + "\n")
        if self.plot is not None:
            draw(result, self.plot)
        say([text] if self.as_json else lines(result))
        raise typer.Exit(FOUND if self.fail and result["findings"] else 0)
