"""What the commands of the lab have in common: where a result goes, and how it is shown."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from rag_titan.cli.outputs import check_file
from rag_titan.cli.terminal import escaped, say
from rag_titan.errors import SettingsError
from rag_titan.evaluation import Metric
from rag_titan.evaluation.reports.figures import NOTHING, value_text

SHOWN = "What is shown"

AsJson = Annotated[bool, typer.Option("--json", rich_help_panel=SHOWN, help="Print the whole result as JSON.")]
Output = Annotated[
    Path | None, typer.Option(metavar="FILE", readable=False, rich_help_panel=SHOWN, help="Write the JSON there, too.")
]
Plot = Annotated[
    Path | None,
    typer.Option(metavar="FILE", readable=False, rich_help_panel=SHOWN, help="A picture: .html, .png or .svg."),
]


def check_places(output: Path | None, plot: Path | None, read: Sequence[Path]) -> None:
    """Refuse what cannot be written before the work is done.

    Raises SettingsError.
    """
    for option, file in (("--output", output), ("--plot", plot)):
        if file is not None:
            check_file(option, file, read)
    if plot is not None:
        from rag_titan.plots import check_kind

        check_kind(plot)


def show(result: Mapping[str, Any], lines: Iterable[str], as_json: bool, output: Path | None) -> None:
    """Print the lines, or the result as JSON, and write the JSON."""
    text = json.dumps(result, indent=2, ensure_ascii=False, allow_nan=False)
    if output is not None:
        from rag_titan.evaluation.writing import write

        write(output, text + "\n")
    say([text] if as_json else map(escaped, lines))


def with_interval(found: Mapping[str, Any], key: str, row: Metric | None = None) -> str:
    """A value and its interval of 95 %; without a row it is a rate."""
    value, ends = value_text(row, key, found["value"]), found["ci95"]
    if ends is None or found["value"] is None:
        return value
    return f"{value} [{value_text(row, key, ends[0])}, {value_text(row, key, ends[1])}]"


def aligned(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A table; numbers stand to the right."""
    columns = []
    for column in zip(header, *rows, strict=True):
        width = max(map(len, column))
        right = all(cell[:1].isdigit() or cell[:1] in (*"-<>", NOTHING) for cell in column[1:])
        columns.append([cell.rjust(width) if right else cell.ljust(width) for cell in column])
    return ["  ".join(cells).rstrip() for cells in zip(*columns, strict=True)]


def listed(text: str) -> list[str]:
    """The parts of "a,b"."""
    return [part.strip() for part in text.split(",") if part.strip()]


def numbers(option: str, text: str) -> list[int]:
    """The whole numbers of "3,5".

    Raises SettingsError.
    """
    try:
        return [int(part) for part in listed(text)]
    except ValueError:
        raise SettingsError(f"{option}: must be whole numbers, got {text!r}. Write them as 3,5.") from None
