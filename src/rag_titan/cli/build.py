"""rag-titan build: logs and golden questions become a dataset folder."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rag_titan.cli.config import read_config
from rag_titan.cli.dataset_folder import check_folder, check_strangers, what_to_know
from rag_titan.cli.outcome import UNMEASURED
from rag_titan.cli.settings import columns_of
from rag_titan.cli.terminal import complain, counted, escaped, say
from rag_titan.errors import NothingMatchedError

if TYPE_CHECKING:
    from rag_titan.evaluation import BuiltDataset

SHOWN = 20  # keys that were not understood

Logs = Annotated[
    Path,
    typer.Option(
        metavar="FILE|-", readable=False, help="What the system logged: JSON Lines, JSON, CSV, Parquet, a workbook."
    ),
]
Golden = Annotated[Path, typer.Option(metavar="FILE", readable=False, help="The golden questions, in any of these.")]
Chunks = Annotated[Path | None, typer.Option(metavar="FILE", readable=False, help="The chunks of your index.")]
Documents = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE|FOLDER",
        readable=False,
        help="The source documents: a folder, a document, a dataset's file.",
    ),
]
ConfigFile = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", readable=False, help="Has [columns], where the logs have other names. Usually rag-titan.toml."
    ),
]
Output = Annotated[
    Path, typer.Option(metavar="FOLDER", readable=False, help="Where queries.jsonl, chunks.jsonl and so on go.")
]


def build(
    logs: Logs,
    golden: Golden,
    output: Output,
    chunks: Chunks = None,
    documents: Documents = None,
    config: ConfigFile = None,
) -> None:
    """Join logs to golden questions: a dataset folder, and what did not match on either side.

    Exit codes: 0 fine, 2 bad input, 3 nothing matched.
    """
    from rag_titan.cli.source_documents import source_documents
    from rag_titan.evaluation import build_dataset

    inputs = {"--logs": logs, "--golden": golden, "--chunks": chunks, "--documents": documents, "--config": config}
    check_folder(output, inputs.items())
    columns = columns_of(read_config(config, Path()))
    try:
        texts, notes = source_documents(documents, golden)
        built = build_dataset(logs, golden, chunks, texts, columns)
    except NothingMatchedError as error:
        complain(str(error))
        raise typer.Exit(UNMEASURED) from None
    for note in notes:
        built.notices.add(note)
    check_strangers(output, built, beside=("embeddings.npz", "dataset.json"))  # which belong to any queries
    files = built.write(output)
    say([*_matches(built), *what_to_know(built.notices), *_written(output, files, built)])


def _matches(built: BuiltDataset) -> Iterator[str]:
    counts = built.counts
    yield (
        f"Golden questions: {counts['golden']:,}, of which {counts['by_id']:,} matched by id, "
        f"{counts['by_question']:,} by their words, {counts['absent']:,} absent from the logs"
    )
    used = counts["logs"] - counts["superseded"] - counts["strangers"]
    yield (
        f"Logged requests: {counts['logs']:,}, of which {used:,} used, {counts['superseded']:,} superseded by a later "
        f"one, {counts['strangers']:,} without a golden question"
    )
    have = "has" if counts["golden"] == 1 else "have"
    yield f"Gold chunks: {counts['with_gold_chunks']:,} of {counted(counts['golden'], 'question')} {have} them"


def _written(output: Path, files: list[Path], built: BuiltDataset) -> Iterator[str]:
    yield f"Written: {', '.join(escaped(file) for file in files)}"
    if built.strange:
        more = f" and {len(built.strange) - SHOWN} more" if len(built.strange) > SHOWN else ""
        keys = f"{', '.join(escaped(key) for key in built.strange[:SHOWN])}{more}"
        yield f"No log has retrieved_ids, retrieved_texts or answer; these of its keys were not understood: {keys}."
        yield "Say in [columns] of rag-titan.toml which key is which (docs/config.md), and build again."
    yield f"Next: rag-titan evaluate --input {escaped(shlex.quote(str(output)))}"
