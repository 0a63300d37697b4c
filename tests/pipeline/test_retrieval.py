"""Vectors, words, and both fused."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.pipeline.small import chunk, embedder, ids

from rag_titan.pipeline.parts import Found
from rag_titan.pipeline.retrieval import fused, raised, rare_words, retriever_of
from rag_titan.pipeline.settings import Settings
from rag_titan.pipeline.stores.memory import MemoryStore
from rag_titan.pipeline.stores.sqlite import SqliteStore

TEXTS = {"a": "leave days leave", "b": "hotel euros", "c": "days", "e": "a stolen laptop", "f": "Zebra crossing"}


@pytest.fixture
def store() -> MemoryStore:
    store = MemoryStore()
    store.replace("d", [chunk(name, text) for name, text in TEXTS.items()], embedder().embed(list(TEXTS.values())))
    return store


def found(store: MemoryStore, question: str, k: int = 10, **settings: object) -> list[str]:
    return ids(retriever_of(Settings.of(settings, environ={}), store, embedder()).retrieve(question, k).found)


def test_each_retriever_searches_in_its_way(store: MemoryStore) -> None:
    assert found(store, "days", retriever="vectors") == ["c", "a", "b", "e"]
    assert found(store, "days", retriever="bm25") == ["c", "a"]
    assert found(store, "zebras", retriever="bm25") == ["f"]
    assert found(store, "zebras", retriever="vectors") == []
    assert found(store, "zebras", retriever="hybrid") == ["f"]
    assert found(store, "days", 1, retriever="vectors") == ["c"]


def test_times_are_there_and_none_for_a_question_that_is_not_embedded(store: MemoryStore) -> None:
    for name, embedded in (("vectors", True), ("bm25", False), ("hybrid", True)):
        retrieved = retriever_of(Settings(retriever=name), store, embedder()).retrieve("days", 3)
        assert retrieved.search_ms >= 0
        assert (retrieved.embedding_ms is not None) == embedded


def test_the_weight_of_the_vectors_goes_from_none_to_all(store: MemoryStore) -> None:
    words, vectors = found(store, "days", retriever="bm25"), found(store, "days", retriever="vectors")
    assert found(store, "days", vector_weight=0.0) == words
    assert found(store, "days", vector_weight=1.0) == vectors


def test_how_many_are_asked_for_does_not_change_the_first(store: MemoryStore) -> None:
    every = found(store, "leave days of a zebra")
    assert [found(store, "leave days of a zebra", k) for k in range(1, 6)] == [every[:k] for k in range(1, 6)]


def test_fusion_adds_the_weighted_reciprocal_ranks() -> None:
    a, b, c = (Found(chunk(name), 1.0) for name in "abc")
    scores = {one.chunk.id: one.score for one in fused([[a, b], [b, c]], (0.7, 0.3))}
    assert scores == pytest.approx({"a": 0.7 / 61, "b": 0.7 / 62 + 0.3 / 61, "c": 0.3 / 62})


def test_ties_come_by_id_whichever_ranking_they_are_in() -> None:
    a, b = (Found(chunk(name), 1.0) for name in "ab")
    assert ids(fused([[b], [a]], (0.5, 0.5))) == ids(fused([[a], [b]], (0.5, 0.5))) == ["a", "b"]


@given(st.lists(st.permutations("abcdef"), min_size=2, max_size=2), st.floats(0.1, 0.9))
def test_fusion_is_that_of_a_plain_loop(orders: list[list[str]], weight: float) -> None:
    rankings = [[Found(chunk(name), 1.0) for name in order] for order in orders]
    scores = {name: weight / (61 + orders[0].index(name)) + (1 - weight) / (61 + orders[1].index(name))
              for name in "abcdef"}  # fmt: skip
    assert ids(fused(rankings, (weight, 1 - weight))) == sorted("abcdef", key=lambda name: (-scores[name], name))


# --- rare terms -----------------------------------------------------------------------------------

MANUAL = [f"The laptop of room {place} has days of leave and euros for the hotel." for place in range(250)]
MANUAL[199] = "Error E4711 quibbling: change the fuse."  # near no question for the vectors of these tests
MANUAL[3] = MANUAL[4] = "The quibbling of the stolen laptop in the hotel."


@pytest.fixture(params=["memory", "sqlite"])
def manual(request: pytest.FixtureRequest, tmp_path: Path) -> MemoryStore | SqliteStore:
    store = MemoryStore() if request.param == "memory" else SqliteStore(tmp_path / "i.db", embedder().name)
    store.replace("d", [chunk(f"c{n}", text) for n, text in enumerate(MANUAL)], embedder().embed(MANUAL))
    return store


def test_an_error_code_of_the_question_comes_up(manual: MemoryStore | SqliteStore) -> None:
    question = "What do I do about error E4711 of the laptop in the hotel where leave days are in euros?"
    best = retriever_of(Settings(), manual, embedder()).retrieve(question, 20).found
    assert ids(best)[0] == "c199"
    assert best[0].score == pytest.approx(1 / 61)
    assert "c199" not in ids(
        retriever_of(Settings(retriever="vectors"), manual, embedder()).retrieve(question, 20).found
    )


def test_rare_is_one_chunk_in_a_hundred_and_with_a_digit_a_single_one(manual: MemoryStore | SqliteStore) -> None:
    manual.replace("e", [chunk("x", "rarely E1", "e"), chunk("y", "E2 seldom", "e"), chunk("z", "E2", "e")],
                   embedder().embed(["", "", ""]))  # fmt: skip
    assert manual.size() == 253
    assert rare_words("the fuse E4711 of E2 quibbling days, rarely how zebra", manual) == [
        "fuse", "e4711", "e2", "rarely",
    ]  # fmt: skip
    manual.replace("d", [], embedder().embed([]))
    assert rare_words("rarely E1 E2 seldom", manual) == ["e1"]
    manual.replace("e", [], embedder().embed([]))
    assert (manual.size(), manual.frequencies(["e1", "the", ""])) == (0, [0, 0, 0])


def test_frequencies_count_chunks_as_words_are_searched(manual: MemoryStore | SqliteStore) -> None:
    words = ["laptops", "LAPTOP", "the", "", "zebra", "E4711", '"', "quibbling laptop"]
    assert manual.frequencies(words) == [249, 249, 0, 0, 0, 1, 0, 3]


def test_what_is_exact_keeps_its_rank_among_the_vectors_if_that_is_higher() -> None:
    a, b, c, e = (Found(chunk(name), 1.0) for name in "abce")
    assert ids(raised([a, b, c], [c, a, e])) == ["c", "a", "b", "e"]
    assert ids(raised([a, b], [])) == ["a", "b"]
    assert ids(raised([], [e])) == ["e"]
