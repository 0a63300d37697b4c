"""What an embedder may give, brought to unit length."""

from __future__ import annotations

from typing import Any

import numpy as np

from rag_titan.errors import SettingsError
from rag_titan.pipeline.parts import Vectors


def unit(vectors: Any, n: int) -> Vectors:
    """(n, d) `vectors` of any length as unit vectors; zero vectors stay zero.

    Raises SettingsError for another number of vectors, for vectors of several lengths, and for what is not finite.

    >>> unit([[3.0, 4.0], [0.0, 0.0]], 2).tolist() == [[np.float32(0.6), np.float32(0.8)], [0.0, 0.0]]
    True
    """
    try:
        array = np.asarray(vectors, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise SettingsError(
            f"embedder: must give vectors of numbers, all of one length, got others ({error})."
        ) from None
    if n == 0 and array.size == 0:
        return np.empty((0, array.shape[1] if array.ndim == 2 else 0), dtype=np.float32)
    if array.ndim != 2 or len(array) != n:
        raise SettingsError(f"embedder: must give one vector for each of {n} texts, got the shape {array.shape}.")
    longest = np.abs(array).max(axis=1, keepdims=True, initial=0.0)  # before squaring: neither overflow nor underflow
    if not np.isfinite(longest).all():
        raise SettingsError("embedder: must give vectors of finite numbers, got NaN or infinity.")
    array = array / np.where(longest > 0, longest, 1.0)
    norms = np.linalg.norm(array, axis=1, keepdims=True)
    return (array / np.where(norms > 0, norms, 1.0)).astype(np.float32)


def well_formed(text: str) -> str:
    """The text without half characters and NUL, which no tokenizer takes."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").replace("\0", " ")
