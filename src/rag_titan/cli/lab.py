"""rag-titan lab: vectors, indexes, K and chunk sizes put to the test before a user does it."""

from __future__ import annotations

import typer

from rag_titan.cli.lab_confusion import confusion
from rag_titan.cli.lab_index_curve import index_curve
from rag_titan.cli.lab_latency import latency
from rag_titan.cli.lab_sweep_chunks import sweep_chunks
from rag_titan.cli.lab_sweep_k import sweep_k
from rag_titan.cli.lab_vectors import vectors

app = typer.Typer(
    name="lab",
    no_args_is_help=True,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Find the silent faults of vectors and indexes, choose K and the chunk size.",
)


@app.callback()
def _group() -> None:
    """A group with one command alone would be that command."""


app.command()(vectors)
app.command()(confusion)
app.command()(sweep_k)
app.command()(sweep_chunks)
app.command()(index_curve)
app.command()(latency)
