"""Indexes of faiss (extra `faiss`): HNSW over efSearch, IVF over nprobe, and the flat one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from rag_titan.errors import MissingExtraError
from rag_titan.lab.index_kind import Added, IndexKind, Search, Singles, pieces

_TRAINED = 64  # vectors a list that its centre is found with


def _library() -> Any:
    try:
        import faiss
    except ImportError:
        raise MissingExtraError("faiss-cpu", "faiss") from None
    return faiss


def _metric(metric: str) -> int:
    faiss = _library()
    return int(faiss.METRIC_L2 if metric == "l2" else faiss.METRIC_INNER_PRODUCT)


def _prepared(vectors: Singles, metric: str) -> Singles:
    """Unit vectors for cosines: faiss has dot products."""
    rows = np.ascontiguousarray(vectors, dtype=np.float32)
    if metric != "cosine":
        return rows
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.ascontiguousarray(rows / np.where(lengths > 0, lengths, 1), dtype=np.float32)


@contextmanager
def _threads(number: int) -> Iterator[None]:
    """So many threads; they are faiss's own for the whole process, which gets back what it had."""
    faiss = _library()
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(number)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)


def _hnsw(vectors: Singles, metric: str, options: Mapping[str, int], added: Added) -> Search:
    faiss = _library()
    index = faiss.IndexHNSWFlat(vectors.shape[1], options["M"], _metric(metric))
    index.hnsw.efConstruction = options["efConstruction"]
    with _threads(options["threads"]):
        for rows in pieces(len(vectors), added):
            index.add(_prepared(vectors[rows], metric))

    def search(queries: Singles, k: int, efSearch: int = 16) -> Any:  # faiss's own name
        index.hnsw.efSearch = efSearch
        return index.search(_prepared(queries, metric), k)[1]

    return search


def _ivf(vectors: Singles, metric: str, options: Mapping[str, int], added: Added) -> Search:
    faiss = _library()
    lists = options["nlist"] or max(1, int(np.sqrt(len(vectors))))
    coarse = faiss.IndexFlat(vectors.shape[1], _metric(metric))
    index = faiss.IndexIVFFlat(coarse, vectors.shape[1], lists, _metric(metric))
    index.cp.seed = 0
    index.cp.min_points_per_centroid = 1
    with _threads(options["threads"]):
        index.train(_prepared(vectors[_training(len(vectors), _TRAINED * lists)], metric))
        for rows in pieces(len(vectors), added):
            index.add(_prepared(vectors[rows], metric))

    def search(queries: Singles, k: int, nprobe: int = 1) -> Any:
        index.nprobe = nprobe
        return index.search(_prepared(queries, metric), k)[1]

    search.keeps = coarse  # type: ignore[attr-defined]  # the index refers to it without owning it
    return search


def _training(n: int, wanted: int) -> Any:
    """So many of n rows, of the whole file: the first ones of a file in some order are of few topics."""
    return slice(None) if n <= wanted else np.sort(np.random.default_rng(0).choice(n, wanted, replace=False))


def _flat(vectors: Singles, metric: str, options: Mapping[str, int], added: Added) -> Search:
    index = _library().IndexFlat(vectors.shape[1], _metric(metric))
    for rows in pieces(len(vectors), added):
        index.add(_prepared(vectors[rows], metric))
    return lambda queries, k: index.search(_prepared(queries, metric), k)[1]


KINDS = {
    kind.name: kind
    for kind in (
        IndexKind(
            "faiss-hnsw", "efSearch", (8, 16, 32, 64, 128, 256), _hnsw,
            {"M": (32, 2), "efConstruction": (80, 1), "threads": (1, 1)}, lambda options: 8 * options["M"] + 24,
            library=_library,
        ),
        IndexKind(
            "faiss-ivf", "nprobe", (1, 2, 4, 8, 16, 32, 64), _ivf, {"nlist": (0, 0), "threads": (1, 1)},
            lambda options: 8, library=_library,
        ),
        IndexKind("faiss-flat", "", (), _flat, library=_library),
    )
}  # fmt: skip
