"""Indexes of one's own, with a clock that goes on by what a search would take."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag_titan.lab import exact_search

NOW = [0]


def clock() -> int:
    """Nanoseconds."""
    return NOW[0]


def _costing(vectors: NDArray[np.float32], metric: str, cost: Callable[[int], float]) -> Any:
    def search(queries: NDArray[np.float32], k: int, probes: int = 1) -> NDArray[np.int64]:
        NOW[0] += int(1000 * cost(len(vectors)) * len(queries) * (1 + NOW[0] % 7 / 100))
        return exact_search(queries, vectors, k, metric)[0]

    return search


def scanning(vectors: NDArray[np.float32], metric: str) -> Any:
    """Every vector is looked at, whatever its name says."""
    return _costing(vectors, metric, lambda n: n)


def graph(vectors: NDArray[np.float32], metric: str) -> Any:
    """Steps as log N."""
    return _costing(vectors, metric, lambda n: 100 * math.log(n))


def between(vectors: NDArray[np.float32], metric: str) -> Any:
    """N to the 0.7."""
    return _costing(vectors, metric, lambda n: n**0.7)


def lossy(vectors: NDArray[np.float32], metric: str) -> Any:
    """Of the nearest only so many as are asked for by `probes`; the rest of the rows are invented."""

    def search(queries: NDArray[np.float32], k: int, probes: int = 1) -> NDArray[np.int64]:
        found = exact_search(queries, vectors, k, metric)[0]
        found[:, probes:] = -1
        return found

    return search


def repeating(vectors: NDArray[np.float32], metric: str) -> Any:
    """The nearest, k times."""
    return lambda queries, k: np.repeat(exact_search(queries, vectors, 1, metric)[0], k, axis=1)


def floating(vectors: NDArray[np.float32], metric: str) -> Any:
    """No rows at all."""
    return lambda queries, k: np.zeros((len(queries), k))


def nothing(vectors: NDArray[np.float32], metric: str) -> Any:
    """No search at all."""
