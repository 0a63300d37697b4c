"""Documents into a store: what is there already is left alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.pipeline.small import LEAVE, TRAVEL, counted

from rag_titan.pipeline.chunking.chunkers import PackingChunker
from rag_titan.pipeline.embedding.embedders import CallableEmbedder
from rag_titan.pipeline.indexing import Indexed, index_documents
from rag_titan.pipeline.parts import Document, Mark, Store
from rag_titan.pipeline.stores.memory import MemoryStore
from rag_titan.pipeline.stores.sqlite import SqliteStore

MARKS = (Mark("heading", 0, 26, "Leave", 1), Mark("page", 0, len(LEAVE), "1"))
DOCUMENTS = [Document("leave.md", LEAVE, MARKS), Document("travel.md", TRAVEL)]


class Counting(CallableEmbedder):
    """Remembers how many texts it embedded."""

    def __init__(self) -> None:
        super().__init__(self._counted, "counting")
        self.texts = 0

    def _counted(self, texts: Sequence[str]) -> list[list[float]]:
        self.texts += len(texts)
        return [[1.0, *some] for some in counted(texts)]


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    return MemoryStore() if request.param == "memory" else SqliteStore(tmp_path / "i.db", "counting")


def test_what_is_in_the_store_as_it_would_be_now_is_not_embedded_again(store: Store) -> None:
    embedder, chunker, seen = Counting(), PackingChunker("section", 20), list[int]()
    first = index_documents(DOCUMENTS, chunker, embedder, store, seen.append)
    assert (first.documents, first.unchanged, seen) == (2, 0, [1, 2])
    assert first.chunks == len(store.chunks()) == embedder.texts
    assert index_documents(DOCUMENTS, chunker, embedder, store) == Indexed(2, 2, first.chunks)
    assert embedder.texts == first.chunks


def test_a_document_that_changed_is_embedded_again_and_nothing_else(store: Store) -> None:
    embedder, chunker = Counting(), PackingChunker("section", 20)
    index_documents(DOCUMENTS, chunker, embedder, store)
    embedder.texts = 0
    changed = Document("travel.md", TRAVEL.replace("95 euros", "99 euros"))
    done = index_documents([DOCUMENTS[0], changed], chunker, embedder, store)
    assert done.unchanged == 1
    assert embedder.texts == len([chunk for chunk in store.chunks() if chunk.doc_id == "travel.md"])
    assert any("99 euros" in chunk.text for chunk in store.chunks())
    assert not any("95 euros" in chunk.text for chunk in store.chunks())


def test_another_chunker_or_other_marks_are_a_change(store: Store) -> None:
    embedder = Counting()
    index_documents(DOCUMENTS, PackingChunker("section", 20), embedder, store)
    assert index_documents(DOCUMENTS, PackingChunker("words", 20), embedder, store).unchanged == 0
    bare = [Document("leave.md", LEAVE), DOCUMENTS[1]]
    assert index_documents(bare, PackingChunker("words", 20), embedder, store).unchanged == 1


def test_a_document_that_became_empty_has_no_chunks_any_more(store: Store) -> None:
    embedder, chunker = Counting(), PackingChunker("section", 20)
    index_documents(DOCUMENTS, chunker, embedder, store)
    done = index_documents([Document("leave.md", " ")], chunker, embedder, store)
    assert done == Indexed(documents=1, unchanged=0, chunks=0)
    assert {chunk.doc_id for chunk in store.chunks()} == {"travel.md"}


def test_a_document_without_text_is_new_at_first_and_not_unchanged(store: Store) -> None:
    done = index_documents([Document("scan.pdf", ""), DOCUMENTS[1]], PackingChunker("section", 20), Counting(), store)
    assert (done.documents, done.unchanged) == (2, 0)
