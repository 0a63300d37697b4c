"""What every importer returns: records of the dataset format, and what of the source they do not hold."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from msgspec.json import Encoder

from rag_titan.evaluation.data.dataset import Dataset, dataset_from
from rag_titan.evaluation.data.notices import Notices
from rag_titan.evaluation.writing import write

Record = dict[str, Any]


@dataclass
class Imported:
    """The records of one source, each a dict as in the dataset format; None where the source has none of that kind.

    queries    one a question, ids unique; keys that the format does not know are kept
    chunks     the chunk table, ids unique
    documents  {doc_id: text}
    notices    what was dropped, merged or left open, and why

    >>> imported = Imported([{"id": "q1", "retrieved_ids": ["d3"]}])
    >>> list(imported.dataset().keys())
    ['queries']
    """

    queries: list[Record]
    chunks: list[Record] | None = None
    documents: dict[str, str] | None = None
    notices: Notices = field(default_factory=Notices)

    def dataset(self) -> Dataset:
        """The same as a checked dataset: `RAGEvaluator().evaluate_dataset(imported.dataset())`."""
        return dataset_from(queries=self.queries, chunks=self.chunks, documents=self.documents)

    def write(self, folder: str | Path) -> list[Path]:
        """Write queries.jsonl, chunks.jsonl and documents.jsonl into a folder, each whole or not at all.

        `rag-titan evaluate --input FOLDER` reads them. Returns what was written.
        """
        documents = None if self.documents is None else [{"id": i, "text": t} for i, t in self.documents.items()]
        parts: dict[str, Iterable[Record] | None] = {
            "queries": self.queries, "chunks": self.chunks, "documents": documents,
        }  # fmt: skip
        files = []
        for name, records in parts.items():
            if records is not None:
                files.append(Path(folder) / f"{name}.jsonl")
                write(files[-1], Encoder().encode_lines(records))
        return files
