"""What the commands of the lab that look for faults share: options, where a result goes, and the exit code."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from rag_titan.cli.lab_outputs import SHOWN, check_places, show

FOUND = 1

Result = Mapping[str, Any]


class Metric(StrEnum):
    """How the index compares."""

    COSINE = "cosine"
    DOT = "dot"
    L2 = "l2"


GIVEN = "What is tested"

IndexMetric = Annotated[Metric, typer.Option("--metric", rich_help_panel=GIVEN, help="How the index compares.")]
K = Annotated[int, typer.Option("--k", metavar="K", min=1, rich_help_panel=GIVEN, help="How many neighbours.")]
Seed = Annotated[int, typer.Option(metavar="N", min=0, rich_help_panel=GIVEN, help="The same seed draws the same.")]
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
        check_places(self.output, self.plot, [path for path in inputs if path is not None])

    def show(
        self, result: Result, lines: Callable[[Result], Iterable[str]], draw: Callable[[Result, Path], None]
    ) -> None:
        """Write and print it, and end with its exit code."""
        if self.plot is not None:
            draw(result, self.plot)
        show(result, lines(result), self.as_json, self.output)
        raise typer.Exit(FOUND if self.fail and result["findings"] else 0)
