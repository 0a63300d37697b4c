"""How chunks are searched: by vectors, by words, or by both."""

from __future__ import annotations

import time
from collections.abc import Sequence

from rag_titan.pipeline.parts import Chunk, Embedder, Found, Retrieved, Retriever, Store
from rag_titan.pipeline.settings import Settings
from rag_titan.pipeline.stems import telling_words

DEPTH = (
    100  # how far down both rankings are read for a fusion, so that its first places do not hang on how many are asked
)
_MOST_WORDS = 100  # of a question that are looked up
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
    """Both, fused by their ranks.

    A model that was never shown an error code or a part number cannot place it, so where it ranks the chunk that holds
    one says nothing. Of a question with such a rare term the chunks that hold it are ranked by BM25 for that term
    alone, and stand in the ranking of the vectors there or where the vectors had them, whichever is higher.
    """

    def __init__(self, store: Store, embedder: Embedder, vector_weight: float) -> None:
        self._store = store
        self._vectors = VectorRetriever(store, embedder)
        self._words = WordRetriever(store)
        self._weights = vector_weight, 1 - vector_weight

    def retrieve(self, question: str, k: int) -> Retrieved:
        """At most k chunks, best first, with their fused score."""
        depth = max(k, DEPTH)
        near, matching = self._vectors.retrieve(question, depth), self._words.retrieve(question, depth)
        start = time.perf_counter()
        ranked = near.found
        if 0 < self._weights[0] < 1 and (rare := rare_words(question, self._store)):
            ranked = raised(ranked, self._store.matching(" ".join(rare), depth))
        found = fused([ranked, matching.found], self._weights)[:k]
        return Retrieved(found, near.search_ms + matching.search_ms + _ms(start), near.embedding_ms)


def rare_words(question: str, store: Store) -> list[str]:
    """The words of a question that at most one chunk in a hundred has, or, with a digit in it, a single one."""
    asked = telling_words(question)[:_MOST_WORDS]
    most = store.size() // 100
    return [
        word
        for word, count in zip(asked, store.frequencies(asked), strict=True)
        if 0 < count <= most or (count == 1 and any(map(str.isdigit, word)))
    ]


def raised(found: Sequence[Found], exact: Sequence[Found]) -> list[Found]:
    """The ranking with each of `exact` at its rank there, or where it is already if that is higher."""
    ranks = {one.chunk.id: (rank, 1) for rank, one in enumerate(found)}
    chunks = {one.chunk.id: one for one in (*exact, *found)}
    for rank, one in enumerate(exact):
        ranks[one.chunk.id] = min(ranks.get(one.chunk.id, (rank, 0)), (rank, 0))
    return [chunks[name] for name in sorted(chunks, key=lambda name: ranks[name])]


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
