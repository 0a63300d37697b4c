"""A store in memory: exact search, by numpy for vectors and by bm25s for words."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from rag_titan.pipeline.parts import Chunk, Found, Vectors
from rag_titan.pipeline.stores.bm25 import Bm25Index
from rag_titan.pipeline.stores.checks import SLACK, checked, dot_products, id_taken, same_length, searchable


class MemoryStore:
    """Keeps everything in memory; threads may share it. The indexes are built when first searched after a change."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._documents: dict[str, tuple[tuple[Chunk, ...], Vectors]] = {}
        self._owners: dict[str, str] = {}
        self._index: _Index | None = None

    def replace(self, doc_id: str, chunks: Sequence[Chunk], vectors: Vectors) -> None:
        """Put these chunks in the place of all that the document had; without chunks it is taken out.

        Raises SettingsError for vectors that do not fit the others, DatasetError for an id that is taken.
        """
        array = checked(doc_id, chunks, vectors)
        with self._lock:
            rest = [kept for name, (_, kept) in self._documents.items() if name != doc_id]
            same_length(array, rest[0].shape[1] if rest else None)
            for chunk in chunks:
                if self._owners.get(chunk.id, doc_id) != doc_id:
                    raise id_taken(chunk.id, self._owners[chunk.id])
            self._owners = {name: owner for name, owner in self._owners.items() if owner != doc_id}
            self._owners |= dict.fromkeys((chunk.id for chunk in chunks), doc_id)
            self._documents.pop(doc_id, None)
            if chunks:
                self._documents[doc_id] = tuple(chunks), array
            self._index = None

    def chunks(self) -> Sequence[Chunk]:
        """All chunks, in the order of document ids and places."""
        return self._built().chunks

    def nearest(self, vector: Vectors, k: int) -> list[Found]:
        """The k chunks with the greatest dot product, best first; ties by their order.

        Chunks with a zero vector are never near, and to a zero vector nothing is.
        """
        return self._built().nearest(vector, k)

    def matching(self, question: str, k: int) -> list[Found]:
        """At most k chunks that share words with the question, by BM25, best first; ties by their order."""
        index = self._built()
        return [Found(index.chunks[place], score) for place, score in index.words.best(question, k)]

    def frequencies(self, words: Sequence[str]) -> list[int]:
        """(n,) how many chunks have each word, as `matching` compares words; 0 for those that no question is."""
        return self._built().words.frequencies(words)

    def size(self) -> int:
        """How many chunks there are."""
        return len(self._built().chunks)

    def _built(self) -> _Index:
        with self._lock:
            if self._index is None:
                self._index = _Index([self._documents[name] for name in sorted(self._documents)])
            return self._index


class _Index:
    """The chunks of all documents in order; what a search needs is made when it is needed."""

    def __init__(self, documents: Sequence[tuple[tuple[Chunk, ...], Vectors]]) -> None:
        self.chunks = [chunk for chunks, _ in documents for chunk in chunks]
        blocks = [vectors for _, vectors in documents]
        every = np.concatenate(blocks) if blocks else np.empty((0, 0), dtype=np.float32)
        self._places = np.flatnonzero(every.any(axis=1))
        self._vectors = every[self._places]
        self._lock = threading.Lock()

    @cached_property
    def _words(self) -> Bm25Index:
        return Bm25Index([chunk.text for chunk in self.chunks])

    @property
    def words(self) -> Bm25Index:
        with self._lock:
            return self._words

    def nearest(self, vector: Vectors, k: int) -> list[Found]:
        if not searchable(vector, self._vectors.shape[1] if len(self._vectors) else None):
            return []
        rough = self._vectors @ vector.astype(np.float32)
        rows = np.arange(len(rough))
        if len(rough) > k:
            rows = np.flatnonzero(rough >= np.partition(rough, -k)[-k] - SLACK)
        exact = dot_products(self._vectors[rows], vector)
        order = np.argsort(-exact, kind="stable")[:k]
        return [Found(self.chunks[self._places[rows[row]]], float(exact[row])) for row in order]
