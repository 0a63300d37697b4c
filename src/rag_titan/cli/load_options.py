"""The options of `rag-titan load`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

WHAT, LOAD, RESULT = "What is asked", "The load", "Results"

To = Annotated[
    str | None, typer.Argument(metavar="[URL|MODULE:FUNCTION]", help="Where the app listens, or a Python function.")
]
Questions = Annotated[
    Path | None,
    typer.Option(metavar="FILE", readable=False, rich_help_panel=WHAT, help="Golden questions, or a dataset."),
]
Request = Annotated[
    str | None,
    typer.Option(metavar="JSON", rich_help_panel=WHAT, help='What is sent. Usually \'{"question": "{question}"}\'.'),
]
Headers = Annotated[
    list[str] | None,
    typer.Option(
        "--header", metavar="'NAME: VALUE'", rich_help_panel=WHAT, help="$NAME in a value is an environment variable."
    ),
]
Method = Annotated[str, typer.Option(metavar="METHOD", rich_help_panel=WHAT, help="POST, PUT or GET.")]
Remote = Annotated[
    bool, typer.Option("--allow-remote", rich_help_panel=WHAT, help="Load an app that is not on this machine.")
]
Rates = Annotated[
    str, typer.Option(metavar="A,B", rich_help_panel=LOAD, help="Requests a second, one after the other.")
]
Sla = Annotated[float, typer.Option("--sla-ms", metavar="MS", rich_help_panel=LOAD, help="What p99 must keep.")]
Duration = Annotated[float, typer.Option(metavar="SECONDS", rich_help_panel=LOAD, help="Of each rate.")]
WarmUp = Annotated[float, typer.Option(metavar="SECONDS", rich_help_panel=LOAD, help="Before each, not measured.")]
Arrivals = Annotated[str, typer.Option(metavar="KIND", rich_help_panel=LOAD, help="poisson or fixed.")]
Seed = Annotated[int, typer.Option(metavar="N", rich_help_panel=LOAD, help="Of the Poisson arrivals.")]
Trials = Annotated[int, typer.Option(metavar="N", rich_help_panel=LOAD, help="How often the knee is looked for.")]
Resolution = Annotated[
    float, typer.Option(metavar="SHARE", rich_help_panel=LOAD, help="How close the rates around the knee are.")
]
AllRates = Annotated[
    bool, typer.Option("--all-rates", rich_help_panel=LOAD, help="Go on beyond the first rate that is too much.")
]
Timeout = Annotated[
    float, typer.Option(metavar="SECONDS", rich_help_panel=LOAD, help="The longest wait for an answer.")
]
InFlight = Annotated[int | None, typer.Option(metavar="N", rich_help_panel=LOAD, help="Open requests, at most.")]
Lag = Annotated[
    float | None,
    typer.Option(
        "--max-lag-ms", metavar="MS", rich_help_panel=LOAD, help="How late the generator may be: 5 % of the SLA."
    ),
]
MinRate = Annotated[
    float | None,
    typer.Option(
        metavar="RATE", rich_help_panel=RESULT, help="Exit code 1 if this is not sustained; it is one of the rates."
    ),
]
Output = Annotated[
    Path | None, typer.Option(metavar="FILE", readable=False, rich_help_panel=RESULT, help="Write all figures as JSON.")
]
Markdown = Annotated[
    Path | None,
    typer.Option(metavar="FILE", readable=False, rich_help_panel=RESULT, help="Write the table as Markdown."),
]
Plot = Annotated[
    Path | None,
    typer.Option(metavar="FILE", readable=False, rich_help_panel=RESULT, help="Pictures: .html, .png or .svg."),
]
AsJson = Annotated[bool, typer.Option("--json", rich_help_panel=RESULT, help="Print all figures as JSON.")]
Merge = Annotated[
    list[Path] | None,
    typer.Option(
        "--merge", metavar="FILE", readable=False, rich_help_panel=RESULT,
        help="Instead of a target: what several generators wrote at the same time, as one.",
    ),
]  # fmt: skip
