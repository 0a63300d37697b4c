"""What a comparison of pipelines found: a table, best first, as plain values and as Markdown."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import Any

from rag_titan.errors import SettingsError, nearest
from rag_titan.evaluation.reports.cells import line, table
from rag_titan.evaluation.reports.figures import count_text, value_text
from rag_titan.evaluation.writing import PathLike, write
from rag_titan.pipeline.settings import Settings

TITLES: Mapping[str, str] = {
    "recall_in_words": "Recall in {words} words",
    "recall_at_k": "Recall@{k}",
    "mrr_at_k": "MRR@{k}",
    "ndcg_at_k": "nDCG@{k}",
    "token_recall": "Token recall",
    "token_precision": "Token precision",
    "token_f1": "Token F1",
    "token_iou": "Token IoU",
    "context_recall": "Context recall",
    "answered": "Answered",
    "answer_f1": "Answer F1",
    "p95_latency_ms": "p95",
}
"""The columns in the order of the table; all are better when higher but the last."""

PARTS: Mapping[str, str] = {
    "rag_type": "Type", "chunker": "Chunker", "chunk_size": "Size", "chunk_overlap": "Overlap",
    "retriever": "Retriever", "reranker": "Reranker",
}  # fmt: skip
QUESTIONS = "Questions"
_TIES = ("recall_in_words", "recall_at_k", "mrr_at_k", "ndcg_at_k", "token_f1", "context_recall", "answer_f1")
JSON_FILE, MARKDOWN_FILE = "comparison.json", "comparison.md"


@dataclass(frozen=True)
class Variant:
    """One combination: the type of RAG and its settings."""

    rag_type: str
    settings: Settings

    @property
    def parts(self) -> dict[str, Any]:
        """What combinations differ in."""
        own = self.settings.as_dict()
        return {name: self.rag_type if name == "rag_type" else own[name] for name in PARTS}

    @property
    def name(self) -> str:
        """
        >>> Variant("simple", Settings()).name
        'sentence 120/20, hybrid, reranker sentence, simple'
        """
        own = self.settings
        size = f"{own.chunker} {own.chunk_size}/{own.chunk_overlap}"
        return f"{size}, {own.retriever}, reranker {own.reranker}, {self.rag_type}"


@dataclass
class Row:
    """What was measured of a combination.

    values       {column: value}, None where nothing was given to measure it
    n            {column: how many questions it stands on}
    errors       how many of the questions failed; first_error is why the first of them did
    chunks       how many there are, and their mean length in tokens
    error        why there are no values
    warnings     what is to be known about them
    per_query    [{"id", "token_recall", "token_precision", "token_iou", "token_f1", "f1_at_k", "recall_in_words"}] of
                 each question that was asked, to compare combinations question by question; not in `as_dict`
    """

    variant: Variant
    values: dict[str, float | None] = field(default_factory=dict)
    n: dict[str, int] = field(default_factory=dict)
    questions: int = 0
    errors: int = 0
    first_error: str | None = None
    chunks: int | None = None
    mean_chunk_tokens: float | None = None
    error: str | None = None
    warnings: list[str] = field(default_factory=list)
    per_query: list[dict[str, Any]] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "name": self.variant.name, **self.variant.parts, "questions": self.questions, "errors": self.errors,
            "first_error": self.first_error, "chunks": self.chunks, "mean_chunk_tokens": self.mean_chunk_tokens,
            "values": self.values, "n": self.n, "error": self.error, "warnings": self.warnings,
        }  # fmt: skip


@dataclass
class Comparison:
    """Combinations, best first, those that failed at the end.

    k, words  how many chunks, and how many words of them, are looked at
    by        the column of the order
    warnings  of the files and the golden questions, and what is to be known of every combination
    """

    rows: list[Row]
    k: int
    words: int
    by: str = "recall_in_words"
    questions: int = 0
    documents: int = 0
    warnings: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        check_order(self.by)
        self._share_warnings()
        measured = [name for name in (self.by, *_TIES, *TITLES) if any(row.n.get(name) for row in self.measured)]
        if measured and measured[0] != self.by:
            self.warnings.append(
                f"{self.title(self.by)} is measured of none; the order is by {self.title(measured[0])}."
            )
            self.by = measured[0]
        self.rows = sorted(self.rows, key=lambda row: [_place(row, name) for name in self.ordered_by])

    def _share_warnings(self) -> None:
        """What is to be known of all combinations is said once."""
        every = [row.warnings for row in self.measured]
        shared = [text for text in every[0] if all(text in some for some in every)] if every else []
        self.warnings = [*self.warnings, *shared]
        for row in self.measured:
            row.warnings = [text for text in row.warnings if text not in shared]

    @property
    def measured(self) -> list[Row]:
        """The rows that did not fail."""
        return [row for row in self.rows if row.error is None]

    @property
    def failed(self) -> list[Row]:
        """The rows that did."""
        return [row for row in self.rows if row.error is not None]

    @property
    def is_empty(self) -> bool:
        """True where nothing at all was measured but times."""
        return not any(
            n for row in self.measured for name, n in row.n.items() if name not in ("answered", "p95_latency_ms")
        )

    @property
    def ordered_by(self) -> list[str]:
        """The columns of the order: `by`, and what decides between combinations that are equal in those before."""
        return [self.by, *(name for name in _TIES if name != self.by)]

    def _order(self) -> str:
        """What the order is by, which is not `by` where that is the same for all."""
        names = [name for name in self.ordered_by if any(row.values.get(name) is not None for row in self.measured)]
        equal = [*takewhile(lambda name: len({_place(row, name) for row in self.measured}) == 1, names)]
        if len(self.measured) < 2 or not equal:
            return f"Best first by {self.title(self.by)}"
        value = value_text(None, equal[0], self.measured[0].values.get(equal[0]))
        said = f"{self.title(equal[0])} is {value} for all"
        rest = [self.title(name) for name in names[len(equal) :]]
        if not rest:
            return f"{said}, and all else that could order them is equal too: none is better"
        return f"{said}; best first by {', then '.join(rest)}"

    def title(self, column: str) -> str:
        """The name of a column."""
        return TITLES[column].format(k=self.k, words=self.words)

    def same(self) -> dict[str, Any]:
        """What all combinations have in common."""
        return {
            PARTS[name]: self.rows[0].variant.parts[name]
            for name in PARTS
            if self.rows and len({str(row.variant.parts[name]) for row in self.rows}) == 1
        }

    def varied(self) -> list[str]:
        """What combinations differ in; each has a column of the table."""
        return [name for name in PARTS if PARTS[name] not in self.same()]

    def cells(self) -> tuple[list[str], list[list[str]]]:
        """The header and the rows as text; what is the same in all, or measured in none, has no column."""
        parts = self.varied()
        columns = [name for name in TITLES if any(row.values.get(name) is not None for row in self.measured)]
        header = ["#", *(PARTS[name] for name in parts), *map(self.title, columns), QUESTIONS]
        rows = [
            [str(place), *(str(row.variant.parts[name]) for name in parts),
             *(value_text(None, name, row.values.get(name)) for name in columns), str(row.n.get(self.by, 0))]
            for place, row in enumerate(self.measured, 1)
        ]  # fmt: skip
        return header, rows

    def notes(self) -> Iterator[str]:
        """How the table is to be read."""
        size = f"{count_text(self.questions, 'question')}, {count_text(self.documents, 'document')}"
        yield f"{self._order()}; {size}."
        yield (
            "Chunk ids change with the chunker, so evidence is compared as quotes and tokens of the documents. Ranks "
            f"(Recall@{self.k}, MRR, nDCG) are of chunks that hold a quote whole; a question whose quotes no chunk "
            "holds whole counts as missed."
        )
        yield (
            f"The first {self.k} chunks are more text where chunks are large, which lifts recall and lowers precision, "
            f"F1 and IoU whatever the chunker is worth. {self.title('recall_in_words')} looks at equally much "
            f"retrieved text for all: the ranking is cut after {self.words} words, inside a chunk if need be."
        )
        yield f"The column {QUESTIONS} says on how many questions {self.title(self.by)} stands."
        same = self.same()
        if same:
            yield f"The same in all: {', '.join(f'{name} {value}' for name, value in same.items())}."

    def question_errors(self) -> Iterator[str]:
        """Of each combination whose questions failed: how many, and why the first did."""
        for row in self.measured:
            if row.errors:
                count = f"{row.errors:,} of {count_text(row.questions, 'question')} with {row.variant.name}"
                yield f"{count}, the first: {row.first_error}"

    def as_dict(self) -> dict[str, Any]:
        """Plain values: all but the times are the same in every run."""
        return {
            "k": self.k, "words": self.words, "by": self.by, "questions": self.questions, "documents": self.documents,
            "notes": list(self.notes()), "warnings": self.warnings, "rows": [row.as_dict() for row in self.rows],
        }  # fmt: skip

    def markdown(self) -> str:
        """The table, how to read it, and what failed."""
        header, rows = self.cells()
        texts = 1 + sum(name in PARTS.values() for name in header)
        lines = ["# Comparison of pipelines", "", *(f"{line(note)}\n" for note in self.notes())]
        lines += table(header, rows, right=range(texts, len(header)))
        if self.failed:
            lines += ["", "## Failed", ""]
            lines += [f"- {line(f'{row.variant.name}: {row.error}')}" for row in self.failed]
        if errors := [*self.question_errors()]:
            lines += ["", "## Questions that failed", "", *(f"- {line(text)}" for text in errors)]
        if self.warnings:
            lines += ["", "## What to know", "", *(f"- {line(text)}" for text in self.warnings)]
        return "\n".join(lines) + "\n"

    def save(self, folder: PathLike) -> list[Path]:
        """Write comparison.json and comparison.md into a folder, each whole or not at all; returns them."""
        files = [Path(folder) / JSON_FILE, Path(folder) / MARKDOWN_FILE]
        write(files[0], json.dumps(self.as_dict(), indent=2, ensure_ascii=False, allow_nan=False) + "\n")
        write(files[1], self.markdown())
        return files


def check_order(by: str) -> None:
    """Raises SettingsError for a column that there is not."""
    if by not in TITLES:
        raise SettingsError(f"by: must be a column of the table, got {by!r}{nearest(by, TITLES)}.")


def _place(row: Row, name: str) -> tuple[bool, bool, float]:
    """Where the value of a row stands in the order of a column: the best first, then none, then what failed."""
    value, sign = row.values.get(name), 1.0 if name.endswith("_ms") else -1.0
    return row.error is not None, value is None, 0.0 if value is None else sign * round(value, 12)
