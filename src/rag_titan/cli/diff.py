"""rag-titan diff: reports side by side, the oldest first: what got worse, and is it more than noise."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from rag_titan.cli.outcome import FAILED, FINE, UNUSABLE
from rag_titan.cli.outputs import check_file, check_no_data
from rag_titan.cli.terminal import columns, complain, escaped, say
from rag_titan.errors import SettingsError

SHOWN, FAIL = "What is shown", "When to fail (exit code 1)"


class Form(StrEnum):
    """How the result is written."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"


Reports = Annotated[
    list[Path], typer.Argument(metavar="REPORT REPORT...", readable=False, help="JSON reports, the oldest first.")
]
Everything = Annotated[bool, typer.Option("--all", rich_help_panel=SHOWN, help="Also what did not change.")]
Printed = Annotated[Form, typer.Option("--format", rich_help_panel=SHOWN, help="How the result is written.")]
Output = Annotated[
    Path | None,
    typer.Option(metavar="FILE", readable=False, rich_help_panel=SHOWN, help="Write it there instead of printing it."),
]
Primary = Annotated[
    list[str] | None,
    typer.Option(
        metavar="METRIC", rich_help_panel=SHOWN,
        help="A metric that the comparison is about, as retrieval.recall_at_k. Usually those with a default gate.",
    ),
]  # fmt: skip
Tolerance = Annotated[
    float | None,
    typer.Option(metavar="X", rich_help_panel=SHOWN, help="A smaller change is none. Usually 0.02: 2 points, or 2 %."),
]
OnRegression = Annotated[
    bool, typer.Option("--fail-on-regression", rich_help_panel=FAIL, help="If a metric is worse in the last report.")
]
Significant = Annotated[
    bool, typer.Option("--require-significant", rich_help_panel=FAIL, help="If one is, and by more than noise.")
]


def diff(
    reports: Reports,
    everything: Everything = False,
    form: Printed = Form.TEXT,
    output: Output = None,
    primary: Primary = None,
    tolerance: Tolerance = None,
    fail_on_regression: OnRegression = False,
    require_significant: Significant = False,
) -> None:
    """Compare reports, the oldest first: the last against the first, metric by metric, with what came between.

    Worst first. Exit codes: 0 fine, 1 failed (see below), 2 bad input or not comparable.
    """
    if len(reports) < 2:
        raise SettingsError(f"diff: must have two reports or more, got {len(reports)}. Name the oldest first.")
    if output is not None:
        check_file("--output", output, reports)
        check_no_data("--output", output)
    from rag_titan.evaluation import ReportManager
    from rag_titan.evaluation.reports.comparability import too_few_shared

    manager = ReportManager()
    loaded = [manager.load_json(path) for path in reports]
    if output is not None:
        check_file("--output", output, [Path(named) for named in map(_values_file, loaded) if named])
    options: dict[str, Any] = {} if tolerance is None else {"tolerance": tolerance}
    found = manager.diff(loaded, names=[str(path) for path in reports], primary=primary or None, **options)
    _put(found, form, output, everything=everything)
    too_few = too_few_shared(found) if fail_on_regression or require_significant else None
    if found["comparable"] and too_few:
        complain(f"{reports[0]}, the {too_few}")
        raise typer.Exit(UNUSABLE)
    raise typer.Exit(_exit_code(found, fail_on_regression, require_significant))


def _values_file(report: Mapping[str, Any]) -> str | None:
    """The file with the values of the questions that a report names: it is read, too."""
    named = (report.get("meta") or {}).get("per_query")
    return named if named and "\0" not in named else None


def _put(found: Mapping[str, Any], form: Form, output: Path | None, *, everything: bool) -> None:
    from rag_titan.evaluation.writing import write

    lines = list(_lines(found, form, None if output is not None else columns(), everything=everything))
    if output is None:
        say(lines)
        return
    write(output, "\n".join(lines) + "\n")
    say([f"Written: {escaped(output)}"])


def _lines(found: Mapping[str, Any], form: Form, width: int | None, *, everything: bool) -> Iterator[str]:
    if form is Form.JSON:
        kept = [entry for entry in found["metrics"] if everything or entry["verdict"] != "same"]
        yield json.dumps({**found, "metrics": kept}, ensure_ascii=True, indent=2, allow_nan=False)
    elif form is Form.MARKDOWN:
        from rag_titan.evaluation.reports.diff_tables import markdown_of

        yield markdown_of(found, everything=everything).rstrip("\n")
    else:
        from rag_titan.cli.diff_wording import DiffWording

        yield from DiffWording(found, everything=everything, width=width).lines()


def _exit_code(found: Mapping[str, Any], on_regression: bool, significant: bool) -> int:
    if not found["comparable"]:
        return UNUSABLE
    worse = [entry for entry in found["metrics"] if entry["list"] == "regressions"]
    real = [entry for entry in worse if entry["significant"] is True]
    vanished = [entry for entry in found["metrics"] if entry["list"] == "vanished" and entry["weight"]]
    failed = (real if significant else worse) or vanished
    return FAILED if failed and (on_regression or significant) else FINE
