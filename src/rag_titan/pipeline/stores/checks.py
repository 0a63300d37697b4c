"""What a store takes, and the order in which it gives what is near a question."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rag_titan.errors import DatasetError, SettingsError
from rag_titan.pipeline.parts import Chunk, Vectors

SLACK = 1e-5  # of a dot product in single precision
_DIGITS = 6  # below these, what differs is the order of the additions


def checked(doc_id: str, chunks: Sequence[Chunk], vectors: Vectors) -> Vectors:
    """(n, d) the vectors of the chunks of a document.

    Raises SettingsError where they are not unit vectors (or zero), one for each chunk; DatasetError for an id that
    stands twice, and for a chunk of another document.
    """
    array = np.ascontiguousarray(vectors, dtype=np.float32)
    if len(array) != len(chunks) or array.ndim != 2:
        raise SettingsError(f"embedder: must give one vector for each of {len(chunks)} chunks, got {array.shape}.")
    norms = np.linalg.norm(array.astype(np.float64), axis=1)
    if not ((np.abs(norms - 1) < 1e-3) | (norms == 0)).all():
        raise SettingsError("embedder: must give unit vectors (or zero ones for blank texts), got others.")
    seen: set[str] = set()
    for chunk in chunks:
        if chunk.doc_id != doc_id:
            raise DatasetError(f"chunk {chunk.id}", f"must be of the document {doc_id!r}, got {chunk.doc_id!r}.")
        if chunk.id in seen:
            raise id_taken(chunk.id, doc_id)
        seen.add(chunk.id)
    return array


def id_taken(chunk_id: str, doc_id: str) -> DatasetError:
    """An id that another chunk has."""
    return DatasetError(f"chunk {chunk_id}", f"must have an id of its own, got one that is in {doc_id!r} as well.")


def same_length(vectors: Vectors, dimensions: int | None) -> None:
    """Raises SettingsError for vectors of another length than those that are there."""
    if dimensions is not None and len(vectors) and vectors.shape[1] != dimensions:
        got = f"got vectors of {vectors.shape[1]} dimensions beside those of {dimensions}"
        raise SettingsError(f"store: must hold the vectors of one model, {got}. Index the files into another store.")


def dot_products(vectors: Vectors, vector: Vectors) -> NDArray[np.float64]:
    """(n,) the dot product of each vector with (d,) `vector`, the same whatever stands beside it.

    Rounded to 6 digits, so that the same texts in different places tie.
    """
    found: NDArray[np.float64] = np.round(vectors.astype(np.float64) @ vector.astype(np.float64), _DIGITS)
    return found


def searchable(vector: Vectors, dimensions: int | None) -> bool:
    """Whether anything can be near (d,) `vector`; nothing is near a zero vector, the one of a blank question.

    Raises SettingsError for one of another length than the vectors that are there.
    """
    if dimensions is None or not vector.any():
        return False
    same_length(vector[None], dimensions)
    return True
