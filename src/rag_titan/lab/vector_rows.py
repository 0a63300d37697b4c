"""Vectors as rows {"id", "vector"}, as stores export them: JSON Lines, Parquet, CSV."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag_titan.errors import DatasetError
from rag_titan.evaluation.data.files import File
from rag_titan.evaluation.data.notices import Notices
from rag_titan.evaluation.data.source import Source, form_of

KEYS = ("vector", "embedding", "values")  # of Qdrant and Weaviate, of Chroma and most tables, of Pinecone
FORMS = ("lines", "parquet", "sheet")

Floats = NDArray[np.float64]


def vector_rows(path: str | Path) -> tuple[Floats, list[str] | None] | None:
    """The vectors (n, d) of a file of records, and their ids where each record has an "id"; None where the first record
    has no vector, so that the file is something else.

    A vector is a list of numbers, or its text as CSV holds it: [0.5, 0.25].

    Raises DatasetError with the place of a record without one, or with one of another length.
    """
    if not Path(path).is_file() or form_of(File(path)) not in FORMS:
        return None
    notices = Notices()
    records = Source.of_file(File(path)).records(notices)
    first = next(records, None)
    key = None if first is None else next((name for name in KEYS if name in first[1]), None)
    if first is None or key is None:
        return None
    vectors, ids = [], []
    for where, record in _chained(first, records):
        vectors.append(_vector(where, key, record.get(key)))
        if vectors[-1].size != vectors[0].size:
            rule = f"must have {vectors[0].size} numbers as the first has, got {vectors[-1].size}."
            raise DatasetError(f"{where}: {key}", f"{rule} Embed all with one model.")
        ids.append(record.get("id"))
    for text in notices.texts():
        raise DatasetError(str(path), f"must be whole, got a file of which {text}")
    return np.stack(vectors), None if None in ids else [str(name) for name in ids]


def _chained(first: tuple[str, dict[str, Any]], rest: Iterable[tuple[str, dict[str, Any]]]) -> Iterable[Any]:
    yield first
    yield from rest


def _vector(where: str, key: str, value: Any) -> Floats:
    numbers = value
    if isinstance(value, str):
        try:
            numbers = json.loads(value)
        except (ValueError, RecursionError):
            numbers = None
    known = isinstance(numbers, list) and all(isinstance(one, int | float) for one in numbers)
    if not known or not numbers or any(isinstance(one, bool) for one in numbers):
        raise DatasetError(f"{where}: {key}", "must be a list of numbers, got something else. Write [0.5, 0.25].")
    try:
        return np.array(numbers, dtype=np.float64)
    except OverflowError:
        raise DatasetError(f"{where}: {key}", "must hold numbers of 64 bits, got a greater one.") from None
