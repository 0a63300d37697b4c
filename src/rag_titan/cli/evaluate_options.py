"""The options of `rag-titan evaluate`, by the panels of its help page."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

# readable=False in the options below: what cannot be read is said in a sentence of ours, not of the parser.
DATA, WHAT, RESULT, CI, FAIL = "Data", "What is computed", "Results", "For CI", "When to fail (exit code 1)"


class Form(StrEnum):
    """How the result is printed."""

    TEXT = "text"
    JSON = "json"


Input = Annotated[
    str,
    typer.Option(
        metavar="FILE|FOLDER|-", rich_help_panel=DATA,
        help="A dataset in JSON, questions in JSON Lines, Parquet or CSV, a folder, .gz of any, - for stdin.",
    ),
]  # fmt: skip
Chunks = Annotated[
    Path | None, typer.Option(metavar="FILE", readable=False, rich_help_panel=DATA, help="The chunks of your index.")
]
Documents = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE|FOLDER",
        readable=False,
        rich_help_panel=DATA,
        help="The source documents: a file of a dataset, a document, or a folder of them.",
    ),
]
SkipBad = Annotated[
    bool,
    typer.Option(
        "--skip-bad-records", rich_help_panel=DATA, help="Leave out records that break a rule, and list them."
    ),
]
Cutoffs = Annotated[
    str | None, typer.Option(metavar="K[,K...]", rich_help_panel=WHAT, help="K, and further cut-offs. Usually 5.")
]
Stages = Annotated[
    str | None, typer.Option(metavar="A,B", rich_help_panel=WHAT, help="Only these stages. Usually all seven.")
]
By = Annotated[
    str | None,
    typer.Option(metavar="TAG,TAG", rich_help_panel=WHAT, help="Tags of the questions that the results are sliced by."),
]
Preset = Annotated[
    str | None,
    typer.Option(
        metavar="PRESET", rich_help_panel=WHAT, help="seed (the default), trec_eval or squad: how metrics are defined."
    ),
]
ConfigFile = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        readable=False,
        rich_help_panel=WHAT,
        help="Usually rag-titan.toml, or the table tool.rag-titan of pyproject.toml.",
    ),
]
Output = Annotated[
    Path,
    typer.Option(
        metavar="FILE",
        readable=False,
        rich_help_panel=RESULT,
        help="The JSON report; a Markdown report is written beside it.",
    ),
]
PerQuery = Annotated[
    str,
    typer.Option(
        metavar="report|none|FILE",
        rich_help_panel=RESULT,
        help="Where the values of each question go; FILE is Parquet.",
    ),
]
Html = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        readable=False,
        rich_help_panel=RESULT,
        help="The report as one HTML page, with every question to look into.",
    ),
]
Redact = Annotated[
    bool,
    typer.Option(
        "--redact", rich_help_panel=RESULT, help="Show texts of the data as their length and a hash, in every output."
    ),
]
Junit = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", readable=False, rich_help_panel=CI, help="What failed as JUnit XML, one case a gate and a rule."
    ),
]
JunitPerQuery = Annotated[
    bool, typer.Option("--junit-per-query", rich_help_panel=CI, help="One case more for each question that failed.")
]
GitHub = Annotated[
    bool,
    typer.Option(
        "--github", rich_help_panel=CI, help="A summary of the job, and annotations for what failed, in GitHub Actions."
    ),
]
Printed = Annotated[Form, typer.Option("--format", rich_help_panel=RESULT, help="How the result is printed.")]
Baseline = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", readable=False, rich_help_panel=RESULT, help="An earlier JSON report to compare with."
    ),
]
OnRegression = Annotated[
    bool, typer.Option("--fail-on-regression", rich_help_panel=FAIL, help="If a metric got worse than the baseline.")
]
NeedsBaseline = Annotated[
    bool,
    typer.Option(
        "--require-baseline",
        rich_help_panel=FAIL,
        help="If the file of --baseline is not there (exit code 2), instead of taking this for a first run.",
    ),
]
Significant = Annotated[
    bool,
    typer.Option(
        "--require-significant",
        rich_help_panel=FAIL,
        help="As --fail-on-regression, but only if the change is more than noise. A gate that fails the run then does "
        "so only if its whole 95% interval breaks the limit.",
    ),
]
Tolerance = Annotated[
    float | None,
    typer.Option(
        metavar="X",
        rich_help_panel=FAIL,
        help="From which change on a metric counts as worse: usually 0.02, 2 points of a score or 2% of a latency.",
    ),
]
OnGate = Annotated[bool, typer.Option("--fail-on-gate", rich_help_panel=FAIL, help="If any quality gate fails.")]
Require = Annotated[
    list[str] | None, typer.Option(metavar="METRIC", rich_help_panel=FAIL, help="If this metric is not measured.")
]
MaxErrors = Annotated[
    float | None,
    typer.Option(metavar="SHARE", rich_help_panel=FAIL, help="If more of the questions ended in an error."),
]
Processes = Annotated[
    int | None,
    typer.Option(
        min=1, rich_help_panel=WHAT,
        help="How many processes share large JSON Lines, with --per-query none. Usually one a processor, up to 4.",
    ),
]  # fmt: skip
