"""rag-titan lab confusion: TP, FP, FN and TN of the retrieval, for each question and for all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import typer

from rag_titan.cli.lab_input import Chunks, ConfigFile, Input, LoggedRun
from rag_titan.cli.lab_outputs import AsJson, Output, aligned, check_places, show, with_interval
from rag_titan.cli.terminal import counted
from rag_titan.evaluation.reports.figures import NOTHING, value_text

WORST = 10  # questions that are printed; the JSON has them all

WHAT = "What is counted"
K = Annotated[
    int,
    typer.Option("--k", metavar="K", rich_help_panel=WHAT, help="How many chunks of the ranking count as retrieved."),
]
CorpusSize = Annotated[
    int | None,
    typer.Option(
        metavar="N", rich_help_panel=WHAT, help="Chunks in the index. Usually the number of chunks in the dataset."
    ),
]


def confusion(
    input_: Input,
    chunks: Chunks = None,
    k: K = 5,
    corpus_size: CorpusSize = None,
    as_json: AsJson = False,
    output: Output = None,
    config: ConfigFile = None,
) -> None:
    """Count what was retrieved and relevant, and what was only one of the two.

    Exit codes: 0 fine, 2 bad input.
    """
    logged = LoggedRun(input_, chunks, config)
    check_places(output, None, logged.files())
    from rag_titan.lab.confusion import confusion_matrix

    result = confusion_matrix(logged.read(), k=k, corpus_size=corpus_size).as_dict()
    show(result, _lines(result), as_json, output)


def _lines(result: Mapping[str, Any]) -> Iterator[str]:
    pooled, size = result["pooled"], result["corpus_size"]
    chunks = "how many chunks there are is not known, so TN is not" if size is None else f"{size:,} chunks"
    yield f"Confusion matrix of {counted(result['questions'], 'question')}, the first {result['k']} chunks; {chunks}."
    if result["unmeasured"]:
        yield f"Not measured: {counted(result['unmeasured'], 'question')} without gold chunks or without a ranking."
    yield ""
    yield from aligned(
        ["", "Relevant", "Not relevant"],
        [["Retrieved", f"{pooled['tp']:,} TP", f"{pooled['fp']:,} FP"],
         ["Not retrieved", f"{pooled['fn']:,} FN", NOTHING if pooled["tn"] is None else f"{pooled['tn']:,} TN"]],
    )  # fmt: skip
    yield ""
    yield from aligned(
        ["", "Of all chunks together", "Mean of the questions, 95 %", "n"],
        [[name.capitalize(), value_text(None, name, pooled[name]), with_interval(mean, name), str(mean["n"])]
         for name, mean in result["means"].items()],
    )  # fmt: skip
    yield from _most_missed(result["per_query"])


def _most_missed(rows: list[dict[str, Any]]) -> Iterator[str]:
    missed = sorted((row for row in rows if row["fn"]), key=lambda row: -row["fn"])
    if not missed:
        return
    yield ""
    yield f"Relevant chunks were missed for {len(missed)} of {counted(len(rows), 'question')}; the most for:"
    cells = [[row["id"], *(str(row[key]) for key in ("tp", "fp", "fn"))] for row in missed[:WORST]]
    yield from aligned(["Question", "TP", "FP", "FN"], cells)
