"""rag-titan demo: score the sample, and show on the terminal what a report tells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rag_titan.cli.outputs import Outputs
from rag_titan.cli.terminal import escaped, say

if TYPE_CHECKING:
    from rich.table import Table

SAMPLE = "rag_evaluation_sample.json"
BAR = 10  # characters for 100 points
PRIORITIES = 3
COLOURS = {"Excellent": "green", "Very Good": "green", "Good": "yellow", "Average": "yellow"}

Report = Mapping[str, Any]
Folder = Annotated[Path, typer.Option(metavar="FOLDER", help="Where report.json and report.md are written.")]


def demo(output: Folder = Path()) -> None:
    """Score the sample that comes with rag-titan: twelve questions, with a loss at every stage."""
    from rag_titan.evaluation import RAGEvaluator, ReportManager

    outputs = Outputs(output / "report.json")
    outputs.check([])
    report = RAGEvaluator(k=5).evaluate_path(sample_path())
    outputs.save(ReportManager(), report)
    _show(report)
    files = " and ".join(escaped(file) for file in outputs.files)
    say([f"Reports saved: {files}", "Your own logs: rag-titan evaluate --input data.json --output report.json"])


def sample_path() -> Path:
    """The sample beside this file (as installed), or in the checkout's examples."""
    installed = Path(__file__).with_name(SAMPLE)
    return installed if installed.is_file() else Path(__file__).parents[3] / "examples" / SAMPLE


def _show(report: Report) -> None:
    from rich.console import Console
    from rich.markup import escape

    from rag_titan.evaluation.reports.evidence import first_missed_text, fix_first
    from rag_titan.evaluation.reports.figures import count_text, score_text, share_text

    console = Console(highlight=False)
    counts, overall = report["meta"]["counts"], report["scorecard"]["overall"]
    console.print(
        f"\nA logged run of a small RAG system: {count_text(counts['queries'], 'question')}, "
        f"{count_text(counts['chunks'], 'chunk')}, {count_text(counts['documents'], 'document')}.\n"
    )
    console.print(_scorecard(report))
    console.print(
        f"Overall score: [bold]{score_text(overall['score'])}/100 ({overall['rating']})[/bold]\n"
        f"Status: [bold]{overall['status']}[/bold] | Measurement coverage: {share_text(overall['coverage'])}\n"
        f"First failing stage: {escape(first_missed_text(report))}\n"
    )
    if first := fix_first(report):
        console.print(f"{escape(str(first))}\n")
    console.print(_losses(report))
    console.print(_advice(report))


def _table(title: str, columns: Sequence[tuple[str, Any]]) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    for name, options in columns:
        table.add_column(name, **options)
    return table


def _scorecard(report: Report) -> Table:
    from rag_titan.evaluation.reports.evidence import asked_text
    from rag_titan.evaluation.reports.figures import score_text
    from rag_titan.evaluation.reports.ratings import IN_BRACKETS, rating_text

    right = {"justify": "right", "no_wrap": True}
    one_line = {"no_wrap": True}
    columns = [
        ("Pipeline stage", one_line),
        ("Score", right),
        ("", one_line),
        ("Rating", one_line),
        ("Questions", right),
    ]
    table = _table("Scorecard", columns)
    for name, stage in report["scorecard"]["stages"].items():
        colour = COLOURS.get(stage["rating"], "red")
        filled = round(BAR * (stage["score"] or 0) / 100)
        bar = f"[{colour}]{'█' * filled}[/]{'░' * (BAR - filled)}"
        rating = f"[{colour}]{rating_text(stage)}[/]"
        table.add_row(stage["label"], score_text(stage["score"]), bar, rating, asked_text(report, name) or "all")
        if rating_text(stage) != stage["rating"]:
            table.caption = IN_BRACKETS
    return table


def _losses(report: Report) -> Table:
    from rich.markup import escape

    from rag_titan.evaluation import ReportManager, Stage
    from rag_titan.evaluation.reports.figures import count_text

    labels = {str(stage): stage.label for stage in Stage}
    failed = ReportManager().failed_queries(report)
    title = f"Where {len(failed)} of {count_text(report['meta']['counts']['queries'], 'question')} failed, and why"
    table = _table(title, [("Lost at", {"no_wrap": True}), ("Question", {"no_wrap": True}), ("Why", {})])
    for row in sorted(failed, key=lambda row: list(report["scorecard"]["stages"]).index(row["stage"])):
        table.add_row(labels[row["stage"]], row["query_id"], escape(row["reason"]))
    return table


def _advice(report: Report) -> Table:
    from rag_titan.evaluation import Stage
    from rag_titan.evaluation.reports.figures import score_text
    from rag_titan.evaluation.reports.priorities import priorities

    labels = {str(stage): stage.label for stage in Stage}
    table = _table("Improve first", [("Stage", {"no_wrap": True}), ("Metric", {}), ("Would raise the score by", {})])
    for entry in priorities(report)[:PRIORITIES]:
        table.add_row(labels[entry["stage"]], entry["metric"], f"{score_text(entry['points'])} points")
    return table
