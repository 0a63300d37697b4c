"""Both stores: the same chunks, and the same neighbours."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.pipeline.small import axes, chunk, embedder, ids

from rag_titan.errors import DatasetError, SettingsError
from rag_titan.pipeline.parts import Found, Store, Vectors
from rag_titan.pipeline.settings import Settings
from rag_titan.pipeline.stores.memory import MemoryStore
from rag_titan.pipeline.stores.sqlite import SqliteStore
from rag_titan.pipeline.stores.stores import store_of

MADE: dict[str, Callable[[Path], Store]] = {
    "memory": lambda folder: MemoryStore(),
    "sqlite": lambda folder: SqliteStore(folder / "store.db", "counts"),
}


@pytest.fixture(params=MADE)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    return MADE[request.param](tmp_path)


def unit(rows: Vectors) -> Vectors:
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return (rows / np.where(norms > 0, norms, 1)).astype(np.float32)


def test_an_empty_store_finds_nothing(store: Store) -> None:
    assert (list(store.chunks()), store.nearest(axes([1, 0])[0], 3), store.matching("leave", 3)) == ([], [], [])


def test_chunks_come_in_the_order_of_documents_and_places_with_all_they_had(store: Store) -> None:
    late, early, second = chunk("x", "Zürich 世界 \0", "b", 7), chunk("y", "a", "a"), chunk("a", "b", "a", 3)
    store.replace("b", [late], axes([1, 0]))
    store.replace("a", [early, second], axes([0, 1], [1, 0]))
    assert list(store.chunks()) == [early, second, late]


def test_a_document_again_takes_the_place_of_all_it_had(store: Store) -> None:
    store.replace("a", [chunk("1", "old leave", "a"), chunk("2", "old", "a")], axes([1, 0], [0, 1]))
    store.replace("b", [chunk("3", "leave", "b")], axes([0, 1]))
    store.replace("a", [chunk("1", "new", "a")], axes([0, 1]))
    assert [(one.id, one.text) for one in store.chunks()] == [("1", "new"), ("3", "leave")]
    assert ids(store.nearest(axes([1, 0])[0], 5)) == ["1", "3"]
    assert ids(store.matching("old leave", 5)) == ["3"]
    store.replace("a", [], axes().reshape(0, 2))
    assert ids(store.nearest(axes([0, 1])[0], 5)) == ["3"]


def test_vectors_are_ranked_by_dot_product_and_ties_by_the_order_of_the_chunks(store: Store) -> None:
    rows = axes([0.6, 0.8], [1, 0], [0.6, 0.8], [0, 1], [0, -1])
    store.replace("b", [chunk(f"b{place}", "", "b") for place in range(5)], rows)
    store.replace("a", [chunk("a", "", "a")], axes([0.6, 0.8]))
    found = store.nearest(axes([0, 1])[0], 9)
    assert [(one.chunk.id, round(one.score, 3)) for one in found] == [
        ("b3", 1.0), ("a", 0.8), ("b0", 0.8), ("b2", 0.8), ("b1", 0.0), ("b4", -1.0),
    ]  # fmt: skip
    assert store.nearest(axes([0, 1])[0], 3) == found[:3]


def test_nothing_is_near_a_zero_vector_and_a_zero_vector_is_near_nothing(store: Store) -> None:
    store.replace("d", [chunk("zero"), chunk("one")], axes([0, 0], [-1, 0]))
    assert ids(store.nearest(axes([1, 0])[0], 2)) == ["one"]
    assert store.nearest(axes([0, 0])[0], 2) == []


def test_words_are_found_by_their_stems_and_common_ones_find_nothing(store: Store) -> None:
    texts = ["Unused days expire.", "What is it?", "年休は二十日", "A day, a DAY and the days."]
    store.replace("d", [chunk(str(place), text) for place, text in enumerate(texts)], axes(*[[1, 0]] * 4))
    assert ids(store.matching("What about the day?", 9)) == ["3", "0"]
    assert ids(store.matching("what is it", 9)) == []
    assert ids(store.matching("休", 9)) == ["2"]
    assert ids(store.matching("day", 1)) == ["3"]
    assert [one.chunk.id for one in store.matching('days" OR * NEAR( AND NOT -x: ^', 9)] == ["3", "0"]


def test_equal_texts_match_equally_and_come_in_order(store: Store) -> None:
    store.replace("d", [chunk("b", "leave"), chunk("c", "hotel"), chunk("a", "leave")], axes(*[[1, 0]] * 3))
    found = store.matching("leave", 3)
    assert ids(found) == ["b", "a"]
    assert found[0].score == found[1].score > 0


def test_a_question_of_very_many_words_is_searched(store: Store) -> None:
    store.replace("d", [chunk("a", "leave"), chunk("b", "hotel")], axes([1, 0], [1, 0]))
    assert ids(store.matching("leave " + " ".join(f"w{number}" for number in range(5000)), 3)) == ["a"]


def test_an_id_stands_once(store: Store) -> None:
    store.replace("a", [chunk("1", "x", "a")], axes([1, 0]))
    with pytest.raises(DatasetError, match=r"chunk 1: must have an id of its own, got one that is in 'a' as well\."):
        store.replace("b", [chunk("0", "y", "b"), chunk("1", "y", "b")], axes([1, 0], [1, 0]))
    with pytest.raises(DatasetError, match="chunk 2: must have an id of its own"):
        store.replace("b", [chunk("2", "y", "b"), chunk("2", "z", "b")], axes([1, 0], [1, 0]))
    with pytest.raises(DatasetError, match="chunk 2: must be of the document 'b', got 'a'"):
        store.replace("b", [chunk("2", "y", "a")], axes([1, 0]))
    assert [one.id for one in store.chunks()] == ["1"]


@pytest.mark.parametrize(
    ("vectors", "said"),
    [
        (axes([1, 0]), r"one vector for each of 2 chunks, got \(1, 2\)"),
        (axes([1, 0], [2, 0]), "must give unit vectors"),
        (axes([1, 0], [np.nan, 0]), "must give unit vectors"),
        (
            axes([1, 0, 0], [1, 0, 0]),
            "must hold the vectors of one model, got vectors of 3 dimensions beside those of 2",
        ),
    ],
)
def test_vectors_that_do_not_fit_are_refused_and_change_nothing(store: Store, vectors: Vectors, said: str) -> None:
    store.replace("a", [chunk("1", "leave", "a")], axes([1, 0]))
    with pytest.raises(SettingsError, match=said):
        store.replace("b", [chunk("2", "x", "b"), chunk("3", "y", "b")], vectors)
    assert [one.id for one in store.chunks()] == ["1"]
    assert ids(store.matching("leave", 2)) == ["1"]


def test_a_question_of_another_length_is_refused(store: Store) -> None:
    store.replace("a", [chunk("1", "leave", "a")], axes([1, 0]))
    with pytest.raises(SettingsError, match="3 dimensions beside those of 2"):
        store.nearest(axes([1, 0, 0])[0], 2)


def test_a_store_without_chunks_takes_vectors_of_any_length(store: Store) -> None:
    store.replace("a", [chunk("1", "leave", "a")], axes([1, 0]))
    store.replace("a", [], axes().reshape(0, 2))
    store.replace("a", [chunk("1", "leave", "a")], axes([1, 0, 0]))
    assert ids(store.nearest(axes([1, 0, 0])[0], 2)) == ["1"]


@settings(max_examples=25)
@given(
    rows=st.lists(st.lists(st.sampled_from([-1.0, 0.0, 0.5, 1.0]), min_size=3, max_size=3), min_size=1, max_size=40),
    question=st.lists(st.floats(-1, 1, width=16), min_size=3, max_size=3),
    k=st.integers(1, 50),
)
def test_neighbours_are_those_of_a_plain_loop(rows: list[list[float]], question: list[float], k: int) -> None:
    vectors, asked = unit(axes(*rows)), axes(question)[0]
    chunks = [chunk(str(place)) for place in range(len(rows))]
    scores = {place: round(sum(float(a) * float(b) for a, b in zip(row, asked, strict=True)), 6)
              for place, row in enumerate(vectors) if row.any()}  # fmt: skip
    wanted = sorted(scores, key=lambda place: (-scores[place], place))[:k] if asked.any() else []
    with TemporaryDirectory() as folder:
        for make in MADE.values():
            store = make(Path(folder))
            store.replace("d", chunks, vectors)
            assert store.nearest(asked, k) == [Found(chunks[place], scores[place]) for place in wanted]


def test_many_equal_vectors_are_cut_in_their_order(store: Store) -> None:
    store.replace("d", [chunk(str(place)) for place in range(300)], axes(*[[1, 0]] * 300))
    assert ids(store.nearest(axes([1, 0])[0], 7)) == [str(place) for place in range(7)]


def test_the_settings_name_the_store(tmp_path: Path) -> None:
    assert isinstance(store_of(Settings(), embedder()), MemoryStore)
    assert isinstance(store_of(Settings(store=str(tmp_path / "a.db")), embedder()), SqliteStore)
