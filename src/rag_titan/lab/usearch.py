"""The HNSW index of usearch (extra `usearch`) over its expansion at search."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from rag_titan.errors import MissingExtraError
from rag_titan.lab.index_kind import Added, IndexKind, Search, Singles, pieces

_PIECE = 1024  # vectors that are added while signals wait
_TERMINATED = "Operation has been terminated"  # what usearch says when a signal comes
_METRICS = {"cosine": "cos", "dot": "ip", "l2": "l2sq"}


def _library() -> Any:
    try:
        import usearch.index
    except ImportError:
        raise MissingExtraError("usearch", "usearch") from None
    return usearch.index


def _hnsw(vectors: Singles, metric: str, options: Mapping[str, int], added: Added) -> Search:
    index = _library().Index(
        ndim=vectors.shape[1], metric=_METRICS[metric], dtype="f32",
        connectivity=options["connectivity"], expansion_add=options["expansion_add"],
    )  # fmt: skip
    for rows in pieces(len(vectors), added, _PIECE):
        part = np.ascontiguousarray(vectors[rows], dtype=np.float32)
        with _undisturbed():
            index.add(np.arange(rows.start, rows.stop), part, threads=options["threads"])

    def search(queries: Singles, k: int, expansion: int = 64) -> Any:
        index.expansion_search = expansion
        try:
            found = index.search(np.ascontiguousarray(queries, dtype=np.float32), k, threads=1)
        except RuntimeError as error:
            if _TERMINATED in str(error):
                raise KeyboardInterrupt from None
            raise
        return _rows(found, k)

    return search


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Signals wait for the end: usearch would make an error of its own of what their handlers raise."""
    if not hasattr(signal, "pthread_sigmask"):  # on Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _rows(found: Any, k: int) -> Any:
    """(m, k) rows, -1 where fewer were found."""
    if not hasattr(found, "counts"):  # the answer to one query
        keys = np.asarray(found.keys)
        return np.concatenate([keys.astype(np.int64), np.full(k - len(keys), -1)])[np.newaxis]
    rows = np.asarray(found.keys).astype(np.int64)
    rows[np.arange(rows.shape[1]) >= np.asarray(found.counts)[:, np.newaxis]] = -1
    return rows


KINDS = {
    "usearch-hnsw": IndexKind(
        "usearch-hnsw", "expansion", (16, 32, 64, 128, 256, 512), _hnsw,
        {"connectivity": (16, 2), "expansion_add": (128, 1), "threads": (1, 1)},
        lambda options: 12 * options["connectivity"] + 32, library=_library,
    )
}  # fmt: skip
