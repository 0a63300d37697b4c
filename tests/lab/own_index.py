"""Indexes of one's own, with a clock that goes on by what a search would take."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag_titan.lab import exact_search

NOW = [0]
ELSEWHERE = [0]  # what of it this process did not compute
CALLS = [0]


def clock() -> int:
    """Nanoseconds."""
    return NOW[0]


def of_cpu() -> int:
    """Nanoseconds."""
    return NOW[0] - ELSEWHERE[0]


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


def waiting(vectors: NDArray[np.float32], metric: str) -> Any:
    """A service elsewhere: it costs this process nothing, and is asked in the time of a scan."""
    search = scanning(vectors, metric)

    def asked(queries: NDArray[np.float32], k: int) -> Any:
        before = NOW[0]
        found = search(queries, k)
        ELSEWHERE[0] += NOW[0] - before
        return found

    return asked


def busy(vectors: NDArray[np.float32], metric: str) -> Any:
    """A graph on a machine that others use, too: two of three calls are interrupted, for as long as a scan takes."""
    search = graph(vectors, metric)

    def asked(queries: NDArray[np.float32], k: int) -> Any:
        CALLS[0] += 1
        found = search(queries, k)
        taken = 1000 * len(vectors) * 30 if CALLS[0] % 11 % 3 else 0
        NOW[0] += taken
        ELSEWHERE[0] += taken
        return found

    return asked


def swallowing(vectors: NDArray[np.float32], metric: str) -> Any:
    """Its parameter has another name, and whatever it is given is taken."""
    search = lossy(vectors, metric)
    return lambda queries, k, **params: search(queries, k, params.get("probe", 5))


def failing(vectors: NDArray[np.float32], metric: str) -> Any:
    """It finds nothing but an error."""

    def search(queries: NDArray[np.float32], k: int) -> Any:
        raise KeyError("no\nsuch shard")

    return search


def unbuildable(vectors: NDArray[np.float32], metric: str) -> Any:
    """It cannot be built."""
    raise RuntimeError("the server is full")


def interrupted(vectors: NDArray[np.float32], metric: str) -> Any:
    """Ctrl-C while a library builds, which makes an error of its own of it, as usearch does."""
    try:
        raise KeyboardInterrupt
    except KeyboardInterrupt:
        raise RuntimeError("Operation has been terminated")  # noqa: B904  # it does not say from what


def answering(answer: Any) -> Callable[[NDArray[np.float32], str], Any]:
    """What builds an index that answers every query alike."""
    return lambda vectors, metric: lambda queries, k: answer


nothing_found = answering(None)
distances_too = answering((np.zeros((1, 10)), np.zeros((1, 10), dtype=np.int64)))
ragged = answering([[1, 2], [3]])
flat_row = answering([1, 2, 3])
too_many_rows = answering([[1], [2]])
ids_beyond = answering([[0, 1, 100_000]])
truths = answering([[True, False]])
empty = answering([[]])
negative = answering([[-1, -7]])
lists = answering([[0, 1, 2, 0, 1]])
not_a_function = 3
