"""The chunks of an index from a file, which is easily mistaken for the file of the questions."""

from __future__ import annotations

from pathlib import Path

from rag_titan.errors import DatasetError, RagTitanError
from rag_titan.evaluation.data.notices import Notices
from rag_titan.evaluation.data.records import Chunk
from rag_titan.evaluation.preparation.document_files import read_table
from rag_titan.evaluation.preparation.golden_files import read_golden


def read_chunks(path: str | Path, notices: Notices | None = None) -> tuple[Chunk, ...] | None:
    """The chunks that `read_table` finds there.

    Raises DatasetError where there are none, and for golden questions: each has an id, as a chunk has, and nothing more
    is asked of a chunk.
    """
    chunks = read_table("chunks", path, notices).chunks
    if chunks and not any(map(_is_placed, chunks)) and _are_questions(path):
        rule = "must hold the chunks of the index, got golden questions. Give the file of the chunks."
        raise DatasetError.without_data(str(path), rule)
    return chunks


def _is_placed(chunk: Chunk) -> bool:
    return chunk.text is not None or (chunk.start is not None and chunk.end is not None)


def _are_questions(path: str | Path) -> bool:
    try:
        return any(query.question for query in read_golden(path))
    except RagTitanError:
        return False
