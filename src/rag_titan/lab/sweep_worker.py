"""One cell of a chunk sweep: the documents cut in one way, and all golden questions asked; also in a process of its
own, the other end of `cell_processes`."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from io import BufferedReader
from typing import Any, cast

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


def cell_of(job: CellJob, progress: Progress | None = None) -> dict[str, Any]:
    """What was measured, as plain values: the questions' own values in the order of "id", or an "error"."""
    comparison = compare_pipelines(
        job.documents, job.golden, [Variant("simple", job.settings)], k=job.k, words=job.words, progress=progress
    )
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
    may use."""
    out, jobs = sys.stdout.buffer, cast(BufferedReader, sys.stdin.buffer)
    with redirect_stdout(sys.stderr):
        while jobs.peek(1):
            pickle.dump(cell_of(pickle.load(jobs)), out)
            out.flush()
