"""rag-titan export: what others read: TREC's files from a dataset, a table of the questions from a report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rag_titan.cli.terminal import escaped, say
from rag_titan.errors import SettingsError

app = typer.Typer(
    name="export", add_completion=False, no_args_is_help=True,
    help="Write what other tools read: TREC files, a table of the questions.",
)  # fmt: skip

Input = Annotated[str, typer.Option(metavar="FILE|FOLDER|-", help="A dataset, as for rag-titan evaluate.")]
Folder = Annotated[Path, typer.Option("--output", metavar="DIR", readable=False, help="For qrels.txt and run.txt.")]
ReportFile = Annotated[Path, typer.Option(metavar="FILE", readable=False, help="The JSON report of an evaluation.")]
Table = Annotated[
    Path, typer.Option("--output", metavar="FILE", readable=False, help="The table: .csv, or .parquet (extra parquet).")
]
SkipBad = Annotated[
    bool, typer.Option("--skip-bad-records", help="Leave out records that break a rule, and list them.")
]


@app.command()
def trec(input: Input, output: Folder, skip_bad_records: SkipBad = False) -> None:
    """Write the gold labels of a dataset as qrels.txt and its rankings as run.txt.

    Exit codes: 0 fine, 2 bad input, 3 the dataset has neither.
    """
    from rag_titan.evaluation import export_trec, read_dataset

    if output.exists() and not output.is_dir():
        raise SettingsError(f"--output: must be a folder, got the file {output}. Choose another name.")
    dataset = read_dataset(input, skip_bad_records=skip_bad_records)
    exported = export_trec(dataset, output)
    topics = exported.topics
    lines = [f"Topics: {topics['qrels']:,} with gold labels, {topics['run']:,} with a ranking"]
    skipped = dataset.skipped
    lines += [f"Left out: {skipped.count} bad records, the first: {escaped(skipped.first[0])}"] if skipped.count else []
    texts = exported.notices.texts()
    lines += ["What to know:"] if texts else []
    lines += [f"  - {escaped(text)}" for text in texts]
    lines += [
        f"Written: {', '.join(escaped(file) for file in exported.files)}" if exported.files else "Nothing to write."
    ]
    say(lines)
    raise typer.Exit(0 if exported.files else 3)


@app.command("per-query")
def per_query(report: ReportFile, output: Table) -> None:
    """Write the values of each question in a report as one table: a row a question, a column a metric."""
    from rag_titan.evaluation import ReportManager, write_per_query

    if output.exists() and report.exists() and output.samefile(report):
        raise SettingsError(f"--output: must not be the report, got {output} as both. Choose another name.")
    say([f"Written: {escaped(write_per_query(ReportManager().load_json(report), output))}"])
