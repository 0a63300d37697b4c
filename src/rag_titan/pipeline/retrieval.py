"""How chunks are searched: by vectors, by words, or by both."""

from __future__ import annotations

import time
from collections.abc import Sequence

from rag_titan.pipeline.parts import Chunk, Embedder, Found, Retrieved, Retriever, Store
from rag_titan.pipeline.settings import Settings

DEPTH = (
    100  # how far down both rankings are read for a fusion, so that its first places do not hang on how many are asked
)
_K = 60  # of reciprocal rank fusion, as its authors have it


def retriever_of(settings: Settings, store: Store, embedder: Embedder) -> Retriever:
    """The retriever that the settings name."""
    if settings.retriever == "vectors":
        return VectorRetriever(store, embedder)
    if settings.retriever == "bm25":
        return WordRetriever(store)
    return HybridRetriever(store, embedder, settings.vector_weight)


class VectorRetriever:
    """The chunks whose vectors are nearest to the question's."""

    def __init__(self, store: Store, embedder: Embedder) -> None:
        self._store = store
        self._embedder = embedder

    def retrieve(self, question: str, k: int) -> Retrieved:
        """At most k chunks, best first, with their cosine."""
        start = time.perf_counter()
        vector = self._embedder.embed([question], query=True)[0]
        embedded = time.perf_counter()
        found = self._store.nearest(vector, k)
        return Retrieved(found, _ms(embedded), (embedded - start) * 1000)


class WordRetriever:
    """The chunks that share words with the question. The question is not embedded."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def retrieve(self, question: str, k: int) -> Retrieved:
        """At most k chunks, best first, with their BM25 score."""
        start = time.perf_counter()
        found = self._store.matching(question, k)
        return Retrieved(found, _ms(start))


class HybridRetriever:
    """Both, fused by their ranks."""

    def __init__(self, store: Store, embedder: Embedder, vector_weight: float) -> None:
        self._vectors = VectorRetriever(store, embedder)
        self._words = WordRetriever(store)
        self._weights = vector_weight, 1 - vector_weight

    def retrieve(self, question: str, k: int) -> Retrieved:
        """At most k chunks, best first, with their fused score."""
        depth = max(k, DEPTH)
        near, matching = self._vectors.retrieve(question, depth), self._words.retrieve(question, depth)
        start = time.perf_counter()
        found = fused([near.found, matching.found], self._weights)[:k]
        return Retrieved(found, near.search_ms + matching.search_ms + _ms(start), near.embedding_ms)


def fused(rankings: Sequence[Sequence[Found]], weights: Sequence[float]) -> list[Found]:
    """Weighted reciprocal rank fusion: the sum of weight / (60 + rank) over the rankings that have the chunk.

    A ranking of weight 0 adds nothing, not even its chunks; ties by chunk id. Cormack, Clarke and Büttcher 2009.

    >>> a, b = (Found(Chunk(name, "", 0, 0, "d"), 1.0) for name in "ab")
    >>> [(found.chunk.id, round(found.score * 61, 3)) for found in fused([[a, b], [b]], (0.5, 0.5))]
    [('b', 0.992), ('a', 0.5)]
    """
    scores: dict[str, float] = {}
    chunks: dict[str, Chunk] = {}
    for found, weight in zip(rankings, weights, strict=True):
        for rank, one in enumerate(found if weight > 0 else (), start=1):
            scores[one.chunk.id] = scores.get(one.chunk.id, 0.0) + weight / (_K + rank)
            chunks[one.chunk.id] = one.chunk
    order = sorted(scores, key=lambda name: (-scores[name], name))
    return [Found(chunks[name], scores[name]) for name in order]


def _ms(start: float) -> float:
    return (time.perf_counter() - start) * 1000
