"""From a passage that was found back to the chunk that it is."""

from __future__ import annotations

from rag_titan.pipeline.adapters.chunk_table import ChunkTable
from rag_titan.pipeline.adapters.passages import Passage
from rag_titan.pipeline.adapters.sources import Sources


def test_the_records_have_what_the_chunks_have() -> None:
    sources = Sources.of({"a": "One two."}, None)
    chunks = [Passage("two.", "c", metadata={"source": "a"}, start=4), Passage("One"), Passage(None, "picture")]
    assert ChunkTable(chunks, sources).records == [
        {"id": "c", "text": "two.", "metadata": {"source": "a"}, "doc_id": "a", "start": 4, "end": 8},
        {"id": "chunk_2", "text": "One"},
        {"id": "picture"},
    ]


def test_of_chunks_with_the_same_words_file_and_place_tell_which_one_it_is() -> None:
    a, b = {"source": "a"}, {"source": "b"}
    chunks = [
        Passage("x", "1", metadata=a, start=0),
        Passage("x", "2", metadata=a, start=9),
        Passage("x", "3", metadata=b),
    ]
    table = ChunkTable(chunks, Sources([]))
    asked = [
        Passage("x", "uuid", metadata=a, start=9),
        Passage("x", metadata=a, start=77),
        Passage(" x", metadata=b, start=3),
        Passage("x"),
        Passage("x", "2"),
    ]
    assert [table.id_of(passage) for passage in asked] == ["2", "1", "3", "1", "2"]


def test_what_is_no_chunk_is_none_of_them() -> None:
    table = ChunkTable([Passage("x", "1"), Passage(None, "2")], Sources([]))
    assert [table.id_of(passage) for passage in (Passage("y", "9"), Passage(None), Passage(None, "3"))] == [None] * 3
