"""rag-titan lab vectors: are the vectors of an index healthy?"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from rag_titan.cli.outputs import check_file
from rag_titan.cli.terminal import counted, escaped, say

FOUND = 1
GIVEN, SHOWN = "What is tested", "What is shown"


class Metric(StrEnum):
    """How the index compares."""

    COSINE = "cosine"
    DOT = "dot"
    L2 = "l2"


Vectors = Annotated[
    Path,
    typer.Option(
        metavar="FILE", readable=False, rich_help_panel=GIVEN,
        help="A matrix .npy (read a block at a time), an embeddings.npz, or a dataset that holds embeddings.",
    ),
]  # fmt: skip
Queries = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", readable=False, rich_help_panel=GIVEN,
        help="Vectors of queries, .npy or .npz. Usually those that the dataset has.",
    ),
]  # fmt: skip
Again = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", readable=False, rich_help_panel=GIVEN,
        help="The same texts embedded again as queries are, row by row, .npy: for the self-retrieval test.",
    ),
]  # fmt: skip
IndexMetric = Annotated[Metric, typer.Option("--metric", rich_help_panel=GIVEN, help="How the index compares.")]
K = Annotated[int, typer.Option("--k", metavar="K", min=1, rich_help_panel=GIVEN, help="How many neighbours.")]
Sample = Annotated[
    int, typer.Option(metavar="N", min=10, rich_help_panel=GIVEN, help="Rows that are drawn for the costly tests.")
]
Seed = Annotated[int, typer.Option(metavar="N", min=0, rich_help_panel=GIVEN, help="The same seed draws the same.")]
AsJson = Annotated[bool, typer.Option("--json", rich_help_panel=SHOWN, help="Print the whole result as JSON.")]
Output = Annotated[
    Path | None, typer.Option(metavar="FILE", readable=False, rich_help_panel=SHOWN, help="Write the JSON there, too.")
]
Plot = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", readable=False, rich_help_panel=SHOWN,
        help="The similarity gap over corpus sizes: .html, .png or .svg.",
    ),
]  # fmt: skip
OnFinding = Annotated[bool, typer.Option("--fail-on-finding", rich_help_panel=SHOWN, help="Exit code 1 if any.")]


def vectors(
    vectors: Vectors,
    queries: Queries = None,
    reembedded: Again = None,
    metric: IndexMetric = Metric.COSINE,
    k: K = 10,
    sample: Sample = 2000,
    seed: Seed = 0,
    as_json: AsJson = False,
    output: Output = None,
    plot: Plot = None,
    fail_on_finding: OnFinding = False,
) -> None:
    """Find the silent faults of vectors: lengths, metrics, duplicates, hubs, two models in one index.

    Exit codes: 0 fine, 1 findings (with --fail-on-finding), 2 bad input.
    """
    read = [path for path in (vectors, queries, reembedded) if path is not None]
    for option, file in (("--output", output), ("--plot", plot)):
        if file is not None:
            check_file(option, file, read)
    if plot is not None:
        from rag_titan.plots import check_kind

        check_kind(plot)
    from rag_titan.lab import VectorHealth, read_vectors

    stored = read_vectors(vectors)
    asked = stored.queries if queries is None else read_vectors(queries, queries=True)
    again = None if reembedded is None else read_vectors(reembedded)
    health = VectorHealth(metric=metric.value, k=k, sample=sample, seed=seed)
    result = health.check(stored, asked, reembedded=again)
    text = json.dumps(result, indent=2, ensure_ascii=False, allow_nan=False)
    if output is not None:
        from rag_titan.evaluation.writing import write

        write(output, text + "\n")
    say([text] if as_json else _lines(result))
    raise typer.Exit(FOUND if fail_on_finding and result["findings"] else 0)


def _lines(result: Mapping[str, Any]) -> Iterator[str]:
    for finding in result["findings"]:
        yield escaped(finding["text"])
    yield counted(len(result["findings"]), "finding")
