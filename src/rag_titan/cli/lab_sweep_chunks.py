"""rag-titan lab sweep-chunks: which chunk size and overlap, judged by tokens."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from rag_titan.cli.lab_outputs import (
    AsJson,
    Plot,
    aligned,
    check_places,
    listed,
    numbers,
    show,
    with_interval,
)
from rag_titan.cli.outcome import FINE, UNMEASURED
from rag_titan.cli.pipeline_options import ConfigFile, Sets, settings_of
from rag_titan.cli.terminal import complain, counted, progress
from rag_titan.evaluation.reports.figures import value_text

SOME_FAILED = 1
WHAT, HOW = "What is compared", "How"
COLUMNS = {
    "token_f1": "Token F1, 95 %", "token_precision": "Precision", "token_recall": "Recall", "token_iou": "IoU",
    "recall_in_words": "Recall in words", "f1_at_k": "Chunk F1",
}  # fmt: skip

Documents = Annotated[
    list[Path],
    typer.Option(metavar="FILE|FOLDER", readable=False, help="The documents; once for each file or folder."),
]
Golden = Annotated[
    Path, typer.Option(metavar="FILE", readable=False, help="The golden questions, with quotes as expected_evidence.")
]
Sizes = Annotated[
    str, typer.Option(metavar="N,M", rich_help_panel=WHAT, help="Chunk sizes, in the unit of each chunker.")
]
Overlaps = Annotated[
    str, typer.Option(metavar="N,M", rich_help_panel=WHAT, help="How much of a chunk stands in the one before, too.")
]
Chunkers = Annotated[str, typer.Option(metavar="A,B", rich_help_panel=WHAT, help="As sentence,recursive.")]
CutOff = Annotated[
    int | None, typer.Option("--k", metavar="K", rich_help_panel=WHAT, help="How many chunks are looked at.")
]
Words = Annotated[
    int, typer.Option(metavar="N", min=1, rich_help_panel=WHAT, help="Words of retrieved text, the same for all sizes.")
]
Processes = Annotated[
    int | None,
    typer.Option(metavar="N", rich_help_panel=HOW, help="Cells at a time. Usually one a processor, at most 4."),
]
Fresh = Annotated[bool, typer.Option("--fresh", rich_help_panel=HOW, help="Forget what an earlier run has done.")]
Output = Annotated[
    Path,
    typer.Option(
        metavar="FILE", readable=False, rich_help_panel=HOW,
        help="For the JSON; FILE.journal beside it keeps what is done, so that a run that was killed goes on.",
    ),
]  # fmt: skip


def sweep_chunks(
    documents: Documents,
    golden: Golden,
    sizes: Sizes = "50,100,200,400",
    overlaps: Overlaps = "0,20",
    chunkers: Chunkers = "",
    k: CutOff = None,
    words: Words = 500,
    processes: Processes = None,
    fresh: Fresh = False,
    as_json: AsJson = False,
    output: Output = Path("chunk_sweep.json"),
    plot: Plot = None,
    sets: Sets = None,
    config: ConfigFile = None,
) -> None:
    """Cut the documents in every way, ask the golden questions, and print which way serves them best.

    Exit codes: 0 fine, 1 some failed, 2 bad input, 3 nothing was measured.
    """
    check_places(output, plot, [golden])
    settings = settings_of(sets or (), config, k=k)
    from rag_titan.lab.sweep_chunks import sweep_chunks as swept

    with progress("cells", at_once=True) as counter:
        sweep = swept(
            documents, golden, sizes=numbers("--sizes", sizes), overlaps=numbers("--overlaps", overlaps),
            chunkers=listed(chunkers), settings=settings, words=words, processes=processes,
            journal=output.with_name(f"{output.name}.journal"), fresh=fresh, progress=counter,
        )  # fmt: skip
    for notice in sweep.notices:
        complain(notice)
    result = sweep.as_dict()
    show(result, _lines(result), as_json, output)
    if plot is not None:
        _draw(sweep.rows(), result, plot)
    raise typer.Exit(_exit_code(result))


def _exit_code(result: Mapping[str, Any]) -> int:
    if result["best"] is None:
        complain("nothing was measured.")
        return UNMEASURED
    return SOME_FAILED if any(cell["error"] for cell in result["cells"]) else FINE


def _lines(result: Mapping[str, Any]) -> Iterator[str]:
    questions, documents = counted(result["questions"], "question"), counted(result["documents"], "document")
    yield f"{questions}, {documents}, the first {result['k']} chunks of each search."
    measured = [cell for cell in result["cells"] if cell["error"] is None]
    if measured:
        yield ""
        yield from aligned(
            ["Chunker", "Size", "Overlap", "Chunks", *COLUMNS.values(), "n"], [_cells(cell) for cell in measured]
        )
    yield ""
    yield from _verdict(result)
    yield from (f"Note: {text}" for text in (*result["notes"], *result["warnings"]))


def _cells(cell: Mapping[str, Any]) -> list[str]:
    found = cell["measures"]
    others = [value_text(None, key, found[key]["value"]) for key in COLUMNS if key != "token_f1"]
    place = [cell["chunker"], str(cell["chunk_size"]), str(cell["chunk_overlap"]), f"{cell['chunks']:,}"]
    return [*place, with_interval(found["token_f1"], "token_f1"), *others, str(found["token_f1"]["n"])]


def _verdict(result: Mapping[str, Any]) -> Iterator[str]:
    if result["best"] is None:
        return
    best = next(cell for cell in result["cells"] if cell["name"] == result["best"])
    yield f"Best by token F1: {result['best']}, {with_interval(best['measures']['token_f1'], 'token_f1')}."
    near = [rival["name"] for rival in result["rivals"] if not rival["told_apart"]]
    if near:
        yield f"Not told apart from it (paired test, 5 %, corrected for all cells): {', '.join(near)}."
    elif result["rivals"]:
        yield "All others are worse by more than chance (paired test, 5 %, corrected for all cells)."


def _draw(rows: list[dict[str, Any]], result: Mapping[str, Any], plot: Path) -> None:
    from rag_titan.plots import Axis, heat_map, save

    x, y, value = Axis("size", "Chunk size"), Axis("overlap", "Overlap"), Axis("token_f1", "Token F1")
    measured = [row["token_f1"] for row in rows if row["token_f1"] is not None]
    if not measured:
        return
    span = (min(measured), max(measured))
    best = [(one["chunker"], one["chunk_size"], one["chunk_overlap"]) for one in result["cells"]
            if one["name"] == result["best"]]  # fmt: skip
    rows = [row | {"best": (row["chunker"], row["size"], row["overlap"]) in best} for row in rows]
    pictures = [
        heat_map(
            [row for row in rows if row["chunker"] == chunker], x, y, value,
            title=f"Token F1, {chunker}", span=span, best="best",
        )
        for chunker in dict.fromkeys(row["chunker"] for row in rows)
    ]  # fmt: skip
    save(pictures, plot, title="Chunk sweep")
