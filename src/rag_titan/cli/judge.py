"""rag-titan judge: ask a model for verdicts, and store them in the dataset."""

from __future__ import annotations

import typer

from rag_titan.cli.judge_agreement import agreement

app = typer.Typer(
    name="judge",
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Ask a model for verdicts on answers and contexts, and store them in the data; evaluate scores them.",
)


@app.callback(invoke_without_command=True)
def judge(context: typer.Context) -> None:
    """Ask a model for verdicts on answers and contexts, and store them in the data; evaluate scores them."""
    if context.invoked_subcommand is None:
        raise typer.Exit(2)


app.command()(agreement)
