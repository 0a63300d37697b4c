"""Indexes of faiss (extra `faiss`): HNSW over efSearch, IVF over nprobe, and the flat one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rag_titan.errors import MissingExtraError
from rag_titan.lab.index_kind import IndexKind, Search, Singles


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


def _hnsw(vectors: Singles, metric: str, options: Mapping[str, int]) -> Search:
    faiss = _library()
    index = faiss.IndexHNSWFlat(vectors.shape[1], options["M"], _metric(metric))
    index.hnsw.efConstruction = options["efConstruction"]
    index.add(_prepared(vectors, metric))

    def search(queries: Singles, k: int, efSearch: int = 16) -> Any:  # faiss's own name
        index.hnsw.efSearch = efSearch
        return index.search(_prepared(queries, metric), k)[1]

    return search


def _ivf(vectors: Singles, metric: str, options: Mapping[str, int]) -> Search:
    faiss = _library()
    lists = options["nlist"] or max(1, int(np.sqrt(len(vectors))))
    coarse = faiss.IndexFlat(vectors.shape[1], _metric(metric))
    index = faiss.IndexIVFFlat(coarse, vectors.shape[1], lists, _metric(metric))
    rows = _prepared(vectors, metric)
    index.cp.seed = 0
    index.cp.min_points_per_centroid = 1
    index.train(rows[: 64 * lists])
    index.add(rows)

    def search(queries: Singles, k: int, nprobe: int = 1) -> Any:
        index.nprobe = nprobe
        return index.search(_prepared(queries, metric), k)[1]

    search.keeps = coarse  # type: ignore[attr-defined]  # the index refers to it without owning it
    return search


def _flat(vectors: Singles, metric: str, options: Mapping[str, int]) -> Search:
    index = _library().IndexFlat(vectors.shape[1], _metric(metric))
    index.add(_prepared(vectors, metric))
    return lambda queries, k: index.search(_prepared(queries, metric), k)[1]


KINDS = {
    kind.name: kind
    for kind in (
        IndexKind("faiss-hnsw", "efSearch", (8, 16, 32, 64, 128, 256), _hnsw, {"M": 32, "efConstruction": 80}),
        IndexKind("faiss-ivf", "nprobe", (1, 2, 4, 8, 16, 32, 64), _ivf, {"nlist": 0}),
        IndexKind("faiss-flat", "", (), _flat),
    )
}
