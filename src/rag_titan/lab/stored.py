"""Vectors as they are stored: a matrix in a file that stays there, an .npz, or the embeddings of a dataset."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag_titan.errors import DatasetError
from rag_titan.evaluation import read_dataset
from rag_titan.evaluation.data.vectors import load_npz
from rag_titan.lab.vector_rows import vector_rows

BLOCK = 4096  # rows that are read at a time
_SAVED = "Name a matrix .npy, or an .npz as np.savez('vectors.npz', ids=ids, vectors=vectors) writes it."
_NUMBERS = "fiu"  # numpy's kinds of floats and whole numbers


@dataclass(frozen=True)
class StoredVectors:
    """n vectors of d numbers, and how they are stored. They may hold NaN, infinity and zeros: that is to be found.

    where    the file or the argument, for errors
    rows     (n, d) an array, or one that stays in its file
    ids      n ids; None: the row numbers
    queries  the vectors of queries beside them
    """

    where: str
    rows: NDArray[Any]
    ids: Sequence[Any] | None = None
    queries: StoredVectors | None = None

    def __post_init__(self) -> None:
        _check(self.where, self.rows)
        if self.ids is not None and not isinstance(self.ids, Sequence | np.ndarray):
            raise DatasetError(
                self.where, f"must have a list of ids, got {type(self.ids).__name__}. Write one id a row."
            )
        if self.ids is not None and len(self.ids) != len(self.rows):
            rule = f"must have as many ids as vectors, got {len(self.ids)} and {len(self.rows)}. Write one id a row."
            raise DatasetError(self.where, rule)
        if self.ids is not None and len(set(map(str, self.ids))) < len(self.ids):
            twice = next(name for name, count in Counter(map(str, self.ids)).items() if count > 1)
            raise DatasetError(
                self.where, f"must have ids that differ, got {twice[:80]!r} more than once. Rename them."
            )

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def width(self) -> int:
        """d"""
        return int(self.rows.shape[1])

    def names(self, rows: NDArray[np.int64]) -> list[Any]:
        """The ids of some rows."""
        return rows.tolist() if self.ids is None else [self.ids[row] for row in rows.tolist()]


def read_vectors(path: str | Path, *, queries: bool = False) -> StoredVectors:
    """The vectors of a file; of an .npz or a dataset with those of the queries beside them.

    path     a matrix .npy, which stays in its file; an .npz of `vectors` and, where it has them, `ids`,
             `query_vectors` and `query_ids`; records {"id", "vector"} as JSON Lines, Parquet or CSV; or a dataset
             with embeddings
    queries  the vectors of the queries are wanted: those of the .npz or the dataset, or the matrix

    Raises DatasetError for a file that holds no matrix of numbers.
    """
    kind = Path(path).suffix.lower()
    if kind == ".npy":
        return StoredVectors(str(path), _mapped(Path(path)))
    if kind != ".npz" and (rows := vector_rows(path)) is not None:
        return StoredVectors(str(path), *rows)
    found = load_npz(path) if kind == ".npz" else read_dataset(path).embeddings
    stored = _of_embeddings(str(path), found)
    if not queries:
        return stored
    return stored.queries or stored


def stored_vectors(where: str, given: Any, ids: Sequence[Any] | None = None) -> StoredVectors:
    """From an array, a list of lists or {id: vector}.

    >>> stored_vectors("vectors", {"a": [1, 0], "b": [0, 1]}).rows.shape
    (2, 2)
    >>> stored_vectors("vectors", [[1, 0], [0]])
    Traceback (most recent call last):
    rag_titan.errors.DatasetError: vectors: must have vectors of one length, got 2 (as in 0) and 1 (as in 1). Embed \
all with one model.
    """
    if isinstance(given, StoredVectors):
        return given
    if isinstance(given, Mapping) and set(given) == {"ids", "vectors"}:
        given, ids = given["vectors"], _texts(given["ids"])
    elif isinstance(given, Mapping):
        given, ids = list(given.values()), [str(name) for name in given]
    names = None if ids is None or not isinstance(ids, Iterable) else list(ids)
    if ids is not None and names is None:
        raise DatasetError(where, f"must have a list of ids, got {type(ids).__name__}. Write one id a row.")
    if isinstance(given, np.ma.MaskedArray):
        raise DatasetError(
            where, "must be a plain array, got a masked one. Fill it, with NaN where there is no number."
        )
    return StoredVectors(where, given if isinstance(given, np.ndarray) else _matrix(where, given, names), names)


def check_width(stored: StoredVectors, other: StoredVectors | None) -> None:
    """Raises DatasetError for other vectors of another width than those stored."""
    if other is not None and other.width != stored.width:
        rule = f"must have {stored.width} numbers a vector as {stored.where} has, got {other.width}."
        raise DatasetError(other.where, rule + " Embed both with the same model.")


def _mapped(path: Path) -> NDArray[Any]:
    try:
        matrix: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError, OverflowError) as error:
        reason = (
            f"must be a matrix of numbers as numpy.save writes it, got a file that is none ({error}). Save it anew."
        )
        raise DatasetError(str(path), reason.replace("\n", " ")) from error
    return matrix


def _of_embeddings(where: str, found: Any) -> StoredVectors:
    """The vectors and queries in the keys of an `embeddings` input."""
    if not isinstance(found, Mapping) or found.get("vectors") is None:
        raise DatasetError(where, f"must hold embeddings with vectors, got none. {_SAVED}")
    queries = found.get("query_vectors")
    beside = None
    if queries is not None and len(queries):
        beside = stored_vectors(f"{where}: query_vectors", queries, _texts(found.get("query_ids")))
    stored = stored_vectors(f"{where}: vectors", found["vectors"], _texts(found.get("ids")))
    return StoredVectors(stored.where, stored.rows, stored.ids, beside)


def _texts(ids: Any) -> list[str] | None:
    return [str(name) for name in ids] if isinstance(ids, Iterable) else ids


def _matrix(where: str, given: Any, names: Sequence[Any] | None) -> NDArray[Any]:
    """Lists of numbers as a matrix."""
    if not isinstance(given, list | tuple):
        raise DatasetError(where, f"must be a list of vectors, got {type(given).__name__}. Pass a matrix.")
    other = next((row for row in given if not isinstance(row, list | tuple | np.ndarray)), None)
    if other is not None or any(row is None for row in given):
        rule = f"must be a list of lists of numbers, got {type(other).__name__} in it. Pass a matrix."
        raise DatasetError(where, rule)
    lengths = [len(row) for row in given]
    if len(set(lengths)) > 1:
        usual = Counter(lengths).most_common(1)[0][0]
        like, other = lengths.index(usual), next(i for i, length in enumerate(lengths) if length != usual)
        at = (like, other) if names is None else (names[like], names[other])
        rule = f"must have vectors of one length, got {usual} (as in {at[0]}) and {lengths[other]} (as in {at[1]})."
        raise DatasetError(where, rule + " Embed all with one model.")
    try:
        plain = (row for row in given if isinstance(row, list | tuple))
        if any(isinstance(number, str | bytes | bool) for row in plain for number in row):
            raise TypeError("texts or true and false")
        return np.array(given, dtype=None if given and isinstance(given[0], np.ndarray) else np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise DatasetError(where, f"must hold numbers only, got others ({error}). Write numbers.") from error


def _check(where: str, rows: NDArray[Any]) -> None:
    if rows.ndim != 2:
        raise DatasetError(where, f"must be a matrix (n, d), got the shape {rows.shape}. Write one vector a row.")
    if rows.dtype.kind not in _NUMBERS:
        rule = f"must hold floats or whole numbers, got the type {rows.dtype}. Convert it to float32."
        raise DatasetError(where, rule)
    if not rows.shape[0] or not rows.shape[1]:
        raise DatasetError(where, f"must hold at least one vector, got the shape {rows.shape}. Name another file.")
