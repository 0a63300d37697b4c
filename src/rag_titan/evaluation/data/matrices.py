"""Lists of numbers -> one float matrix, or what is wrong with the first list that does not fit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from numbers import Real
from struct import Struct
from struct import error as StructError
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag_titan.errors import DatasetError

Matrix = NDArray[np.floating[Any]]
Rows = Sequence[Any] | NDArray[Any]

LIMIT = 1e150  # the square of a length stays inside float64
_NUMBERS = "fiu"  # numpy's kinds of floats and whole numbers
_NAMED = 20


def matrix_of(where: str, place: Callable[[int], str], rows: Rows) -> Matrix:
    """(n, d) finite numbers, d >= 1: float32 where all were given so, else float64; (0, 0) of no rows.

    rows   n lists of numbers or arrays, or one (n, d) array
    place  number of a row -> the end of its place, such as '["c2"]'

    DatasetError says which row is no list of finite numbers within -1e150..1e150, or has another length than most.

    >>> matrix_of("chunk_vectors", lambda i: f"[{i}]", [[1, 2], [3, float("inf")]])
    Traceback (most recent call last):
    rag_titan.errors.DatasetError: chunk_vectors[1]: must hold finite numbers up to 1e150, got inf at position 1.
    """
    if not len(rows):
        return np.empty((0, 0))
    matrix = _matrix(rows)
    if matrix is not None:
        lowest, highest = float(matrix.min()), float(matrix.max())  # both are NaN where a number is
        if lowest >= -LIMIT and highest <= LIMIT:
            return matrix
    raise _fault(where, place, rows)


def _matrix(rows: Rows) -> Matrix | None:
    """The matrix; None where the rows are no numbers or have different lengths."""
    if not isinstance(rows, np.ndarray) and all(isinstance(row, np.ndarray) for row in rows):
        if len({row.shape for row in rows}) > 1:
            return None
        rows = np.array(rows)
    if not isinstance(rows, np.ndarray) or rows.dtype.kind == "O":
        return _packed([row.tolist() if isinstance(row, np.ndarray) else row for row in rows])
    if rows.ndim != 2 or not rows.shape[1] or rows.dtype.kind not in _NUMBERS:
        return None
    return np.ascontiguousarray(rows, dtype=np.float32 if rows.dtype == np.float32 else np.float64)


def _packed(rows: Sequence[Any]) -> Matrix | None:
    """Lists of Python numbers as float64: packed row by row, in less than half of the time that `np.array` takes."""
    if not all(isinstance(row, list | tuple) for row in rows) or not rows[0]:
        return None
    d = len(rows[0])
    matrix = np.empty((len(rows), d))
    pack_into, target = Struct(f"{d}d").pack_into, matrix.data.cast("B")
    try:
        for i, row in enumerate(rows):
            pack_into(target, i * d * 8, *row)
    except StructError:
        return None
    return matrix


def _fault(where: str, place: Callable[[int], str], rows: Rows) -> DatasetError:
    """The error about the first row that breaks a rule by itself, else about those of an unusual length."""
    for i, row in enumerate(rows):
        rule = _broken_rule(row)
        if rule:
            return DatasetError(where + place(i), rule)
    lengths = [len(row) for row in rows]
    usual = Counter(lengths).most_common(1)[0][0]
    like = place(lengths.index(usual))
    first, *more = [i for i, length in enumerate(lengths) if length != usual]
    also = ", ".join(place(i) for i in more[:_NAMED]) + (
        f" and {len(more) - _NAMED} more" if len(more) > _NAMED else ""
    )
    rule = f"must have {usual} numbers as the others (such as {like}), got {lengths[first]}."
    return DatasetError(where + place(first), rule + (f" Another length is also at {also}." if more else ""))


def _broken_rule(row: Any) -> str | None:
    """What is wrong with a row by itself."""
    if isinstance(row, np.ndarray):
        row = row.tolist()
    if not isinstance(row, list | tuple):
        return f"must be a list of numbers, got {type(row).__name__}."
    if not row:
        return "must have at least one number, got an empty list. Leave the id out."
    for at, number in enumerate(row):
        if isinstance(number, bool) or not isinstance(number, Real):
            return f"must hold numbers only, got {number!r} at position {at}."
        if not _within(number):
            return f"must hold finite numbers up to 1e150, got {number!r} at position {at}."
    return None


def _within(number: Real) -> bool:
    try:
        return abs(float(number)) <= LIMIT
    except OverflowError:  # a whole number beyond float64
        return False
