"""The chunks of an app, and the way back from what a search returned to the chunk that it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rag_titan.pipeline.adapters.passages import Passage
from rag_titan.pipeline.adapters.sources import Sources


class ChunkTable:
    """The chunks as records of the dataset format.

    A store often gives its documents ids of its own, which the chunks that went into it do not have. So a passage is
    known by its id, else by its words: first by those of the same place and file, then of the same file, then alone.

    >>> chunks = [Passage("Leave: 25 days."), Passage("Sick pay.", id="s")]
    >>> table = ChunkTable(chunks, Sources([]))
    >>> [table.id_of(passage) for passage in (Passage("Leave:  25 days.", id="uuid"), Passage("?", id="s"))]
    ['chunk_1', 's']
    """

    def __init__(self, chunks: Sequence[Passage], sources: Sources) -> None:
        self.records: list[dict[str, Any]] = []
        self._by_words: dict[tuple[Any, ...], str] = {}
        for number, chunk in enumerate(chunks, 1):
            name = chunk.id or f"chunk_{number}"
            self.records.append({"id": name, **_given(chunk), **sources.place(chunk)})
            for key in _keys(chunk):
                self._by_words.setdefault(key, name)
        self._ids = {record["id"] for record in self.records}

    def id_of(self, passage: Passage) -> str | None:
        """The id of the chunk that a passage is; None where it is none of them."""
        if passage.id in self._ids:
            return passage.id
        return next((self._by_words[key] for key in _keys(passage) if key in self._by_words), None)


def _keys(passage: Passage) -> list[tuple[Any, ...]]:
    if passage.text is None:
        return []
    words, origin = " ".join(passage.text.split()), (passage.parent or passage.file, passage.page)
    return [(words, origin, passage.start), (words, origin), (words,)]


def _given(chunk: Passage) -> dict[str, Any]:
    text = {} if chunk.text is None else {"text": chunk.text}
    return {**text, **({"metadata": dict(chunk.metadata)} if chunk.metadata else {})}
