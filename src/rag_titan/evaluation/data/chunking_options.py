"""What a user can say about the chunks beside the chunks themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rag_titan.evaluation.data.evidence import Items
from rag_titan.evaluation.data.records import Chunk

Vectors = Mapping[Any, Any]


@dataclass(frozen=True)
class ChunkingOptions:
    """What the user passed about the chunks, None where it was not passed; the names are those of `evaluate()`.

    size_limits         (least, most) words of a chunk, both allowed
    boundary_tolerance  characters by which two boundaries may differ
    chunk_vectors       {chunk id: vector}, or {"ids": ids, "vectors": matrix}
    """

    expected_chunks: Sequence[str | Chunk] | None = None
    structural_blocks: Items | None = None
    required_metadata: Sequence[str] | None = None
    expected_metadata: Mapping[Any, Mapping[str, Any]] | None = None
    size_limits: tuple[float, float] | None = None
    boundary_tolerance: int = 0
    sentence_vectors: Vectors | None = None
    chunk_vectors: Vectors | None = None
