"""Vectors made for measuring indexes: unit vectors in clusters, as those of texts are."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Singles = NDArray[np.float32]

_ROWS = 65_536
_MEMBERS = 100  # of a cluster, in the mean
_SPREAD = 1.0  # length of what a vector has of its own, its cluster's being 1


def clustered(n: int, d: int, queries: int, seed: int = 0) -> tuple[Singles, Singles]:
    """Unit vectors (n, d), and those of queries (m, d) of the same clusters; a smaller n is the beginning of a greater
    one of the same number of clusters only.

    >>> vectors, asked = clustered(1000, 8, 2)
    >>> vectors.shape, asked.shape, bool(abs((vectors[0] ** 2).sum() - 1) < 1e-6)
    ((1000, 8), (2, 8), True)
    """
    rng = np.random.default_rng(seed)
    centres = _unit(rng.standard_normal((max(1, n // _MEMBERS), d), dtype=np.float32))
    vectors = np.empty((n, d), dtype=np.float32)
    for start in range(0, n, _ROWS):
        part = vectors[start : start + _ROWS]
        part[:] = _around(centres, len(part), rng)
    return vectors, _around(centres, queries, rng)


def _around(centres: Singles, n: int, rng: np.random.Generator) -> Singles:
    own = rng.standard_normal((n, centres.shape[1]), dtype=np.float32)
    own *= np.float32(_SPREAD / np.sqrt(centres.shape[1]))
    return _unit(centres[rng.integers(len(centres), size=n)] + own)


def _unit(rows: Singles) -> Singles:
    units: Singles = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return units
