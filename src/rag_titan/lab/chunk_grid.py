"""What a chunk sweep found: a grid of cells, the best of them, and which others cannot be told from it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rag_titan.evaluation.measures.resampling import ALPHA, holm, paired
from rag_titan.lab.estimates import Estimate, floats, mean_of
from rag_titan.lab.sweep_worker import MEASURES

BY = "token_f1"
CHUNK_IDS = (
    "Chunk F1 counts chunks, and chunks of another size are other things: compare cells by their token metrics, and "
    "read it inside one cell alone."
)


@dataclass(frozen=True)
class Cell:
    """The documents cut in one way.

    estimates  {measure: its mean over the questions}; "f1_at_k" is of chunk ids, the others of tokens,
               "recall_in_words" is the token recall of equally much text
    per_query  {measure: {question id: value}}
    error      why there is nothing
    """

    chunker: str
    chunk_size: int
    chunk_overlap: int
    chunks: int | None = None
    mean_chunk_tokens: float | None = None
    estimates: Mapping[str, Estimate] = field(default_factory=dict)
    per_query: Mapping[str, Mapping[str, float | None]] = field(default_factory=dict, repr=False)
    warnings: tuple[str, ...] = ()
    error: str | None = None

    @classmethod
    def of(cls, chunker: str, size: int, overlap: int, measured: Mapping[str, Any]) -> Cell:
        """From the plain values of `sweep_worker.cell_of`."""
        if "error" in measured:
            return cls(chunker, size, overlap, error=measured["error"])
        columns = measured["per_query"]
        ids = columns["id"]
        per_query = {key: dict(zip(ids, columns[key], strict=True)) for key in MEASURES}
        estimates = {key: mean_of(floats(values, ids)) for key, values in per_query.items()}
        warnings = list(measured["warnings"])
        if measured["failed"]:
            count = f"{measured['failed']} of {measured['questions']} questions failed"
            warnings.append(f"{count}, the first: {measured['first_failed']}")
        return cls(
            chunker, size, overlap, measured["chunks"], measured["mean_chunk_tokens"], estimates, per_query,
            tuple(warnings),
        )  # fmt: skip

    @property
    def name(self) -> str:
        """
        >>> Cell("sentence", 120, 20).name
        'sentence 120/20'
        """
        return f"{self.chunker} {self.chunk_size}/{self.chunk_overlap}"

    @property
    def value(self) -> float | None:
        """Its mean token F1, by which the best is chosen."""
        found = self.estimates.get(BY)
        return None if found is None else found.value

    def as_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "name": self.name, "chunker": self.chunker, "chunk_size": self.chunk_size,
            "chunk_overlap": self.chunk_overlap, "chunks": self.chunks, "mean_chunk_tokens": self.mean_chunk_tokens,
            "measures": {key: one.as_dict() for key, one in self.estimates.items()}, "error": self.error,
        }  # fmt: skip


@dataclass(frozen=True)
class Rival:
    """Another cell against the best, on the questions measured in both.

    difference  mean token F1 of the best minus that of this one, with its interval
    p           paired randomisation test, corrected for all rivals (Holm 1979)
    told_apart  whether the best is better by more than chance, at 5 %
    """

    cell: Cell
    difference: Estimate
    p: float | None

    @property
    def told_apart(self) -> bool:
        return self.p is not None and self.p <= ALPHA

    def as_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "name": self.cell.name, "difference": self.difference.as_dict(), "p": self.p,
            "told_apart": self.told_apart,
        }  # fmt: skip


@dataclass(frozen=True)
class ChunkSweep:
    """A grid of chunk sizes and overlaps, measured.

    cells     in the order of the grid
    k, words  how many chunks, and how many words of them, are looked at
    warnings  of the documents, the golden questions and the grid
    notices   what could not be read of an earlier run; the result is the same without
    """

    cells: list[Cell]
    k: int
    words: int
    questions: int
    documents: int
    own_warnings: list[str] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)

    @property
    def best(self) -> Cell | None:
        """The cell of the highest mean token F1; of equal ones that with the fewest chunks. None if none is measured.

        Its interval is that of its own mean: it does not know that this cell was chosen as the best of many.
        """
        measured = [cell for cell in self.cells if cell.value is not None]
        return max(measured, key=lambda cell: (round(cell.value or 0.0, 12), -(cell.chunks or 0)), default=None)

    def rivals(self) -> list[Rival]:
        """The other cells, the nearest to the best first."""
        best = self.best
        others = [cell for cell in self.cells if cell is not best and cell.value is not None]
        if best is None or not others:
            return []
        ids = list(best.per_query[BY])
        ours = floats(best.per_query[BY], ids)
        table = np.stack([ours - floats(cell.per_query[BY], ids) for cell in others], axis=1)
        found = paired(table)
        corrected = holm(found.p)
        rivals = [
            Rival(cell, Estimate(_known(found.mean[i]), int(found.n[i]), _ends(found.low[i], found.high[i])),
                  _known(corrected[i]))
            for i, cell in enumerate(others)
        ]  # fmt: skip
        return sorted(rivals, key=lambda rival: -(rival.cell.value or 0.0))

    def notes(self) -> Iterator[str]:
        """How the grid is to be read."""
        yield (
            f"The first {self.k} chunks are more text where chunks are large, which lifts recall and lowers precision, "
            f"F1 and IoU; recall in {self.words} words looks at equally much text for all."
        )
        yield CHUNK_IDS

    @property
    def warnings(self) -> list[str]:
        """What is to be known: first of all cells, then of single ones."""
        every = [cell.warnings for cell in self.cells if cell.error is None]
        shared = [text for text in every[0] if all(text in some for some in every)] if every else []
        return [*self.own_warnings, *shared, *self._own(shared)]

    def _own(self, shared: list[str]) -> Iterator[str]:
        for cell in self.cells:
            yield from (f"{cell.name}: {text}" for text in cell.warnings if text not in shared)
            if cell.error is not None:
                yield f"{cell.name} failed: {cell.error}"

    def as_dict(self) -> dict[str, Any]:
        """Plain values, the same in every run."""
        best = self.best
        return {
            "k": self.k, "words": self.words, "questions": self.questions, "documents": self.documents, "by": BY,
            "best": None if best is None else best.name, "rivals": [rival.as_dict() for rival in self.rivals()],
            "cells": [cell.as_dict() for cell in self.cells], "notes": list(self.notes()), "warnings": self.warnings,
        }  # fmt: skip

    def rows(self) -> list[dict[str, Any]]:
        """[{"chunker", "size", "overlap", measures}] of the cells that were measured, for a heat map."""
        return [
            {"chunker": cell.chunker, "size": cell.chunk_size, "overlap": cell.chunk_overlap,
             **{key: one.value for key, one in cell.estimates.items()}}
            for cell in self.cells if cell.error is None
        ]  # fmt: skip


def _known(value: Any) -> float | None:
    return None if np.isnan(value) else float(value)


def _ends(low: Any, high: Any) -> list[float] | None:
    return None if np.isnan(low) or np.isnan(high) else [float(low), float(high)]
