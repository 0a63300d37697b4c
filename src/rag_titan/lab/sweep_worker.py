"""One cell of a chunk sweep: the documents cut in one way, and all golden questions asked; also in a process of its
own, the other end of `cell_processes`."""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Mapping, Sequence, Set
from contextlib import redirect_stdout
from dataclasses import dataclass
from queue import SimpleQueue
from threading import Thread
from typing import Any, BinaryIO

from msgspec import Struct, ValidationError, convert

from rag_titan.pipeline.comparing import Progress, compare_pipelines
from rag_titan.pipeline.comparison import Variant
from rag_titan.pipeline.parts import Document
from rag_titan.pipeline.settings import Settings

MEASURES = ("token_f1", "token_precision", "token_recall", "token_iou", "recall_in_words", "f1_at_k")


@dataclass(frozen=True)
class CellJob:
    """What one cell is to do."""

    documents: Sequence[Document]
    golden: Any
    settings: Settings
    k: int
    words: int


class _Cell(Struct, forbid_unknown_fields=True):
    """What `cell_of` says of a cell that was measured."""

    chunks: int
    mean_chunk_tokens: float | None
    questions: int
    failed: int
    first_failed: str | None
    per_query: dict[str, list[str | float | None]]
    warnings: list[str]


def is_whole(cell: Mapping[str, Any], ids: Set[str]) -> bool:
    """Whether a cell that was kept in a file is one that `cell_of` made of questions with these ids.

    >>> is_whole({"error": "no memory"}, {"q"})
    False
    """
    try:
        columns = convert(cell, _Cell).per_query
    except ValidationError:
        return False
    asked = columns.pop("id", [])
    shares = [value for column in columns.values() for value in column if value is not None]
    return (
        set(columns) == set(MEASURES)
        and all(len(column) == len(asked) for column in columns.values())
        and len(set(asked)) == len(asked)
        and set(asked) <= ids
        and all(isinstance(value, float) and 0 <= value <= 1 for value in shares)
    )


def cell_of(job: CellJob, progress: Progress | None = None) -> dict[str, Any]:
    """What was measured, as plain values: the questions' own values in the order of "id", or an "error"."""
    comparison = compare_pipelines(
        job.documents, job.golden, [Variant("simple", job.settings)], k=job.k, words=job.words, by="answered",
        progress=progress,
    )  # fmt: skip
    row = comparison.rows[0]
    if row.error is not None:
        return {"error": row.error}
    per_query = {key: [one[key] for one in row.per_query] for key in ("id", *MEASURES)}
    return {
        "chunks": row.chunks, "mean_chunk_tokens": row.mean_chunk_tokens, "questions": row.questions,
        "failed": row.errors, "first_failed": row.first_error, "per_query": per_query,
        "warnings": comparison.warnings,
    }  # fmt: skip


def work() -> None:
    """Read one CellJob after another from standard input, and write each cell to standard output, which nothing else
    may use. It never returns: once nobody holds the other end, the process ends, in the middle of a cell if need be."""
    out, jobs = sys.stdout.buffer, SimpleQueue[CellJob]()
    with redirect_stdout(sys.stderr):
        Thread(target=_read, args=(sys.stdin.buffer, jobs), daemon=True).start()
        while True:
            pickle.dump(cell_of(jobs.get()), out)
            out.flush()


def _read(given: BinaryIO, jobs: SimpleQueue[CellJob]) -> None:
    """Take up jobs until there is nobody left to give any: a caller that was killed leaves no process behind."""
    try:
        while True:
            jobs.put(pickle.load(given))
    finally:
        os._exit(0)
