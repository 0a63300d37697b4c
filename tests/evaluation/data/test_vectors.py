"""The table of vectors: its forms, its order, its errors and its notices."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rag_titan.errors import DatasetError
from rag_titan.evaluation.data.notices import Notices
from rag_titan.evaluation.data.records import Embeddings
from rag_titan.evaluation.data.vectors import VectorTable, grouped_vectors, load_npz, sorted_vectors, vector_table

VECTORS = {"c2": [0.0, 1.0], "c10": [1.0, 0.0], "c1": [0.6, 0.8]}
QUERIES = {"q9": [1.0, 1.0], "q1": [1.0, 0.0]}
WHOLE = {
    "vectors": VECTORS,
    "query_vectors": QUERIES,
    "relevant_ids": {"q1": ["c2", "ghost", "c1", "c2"], "q9": []},
    "indexed_ids": ["c1", "ghost"],
    "index_results": {"q9": ["ghost", "c2", "c2", "other", "c1"]},
}


def same(a: VectorTable, b: VectorTable) -> None:
    for name in VectorTable.__dataclass_fields__:
        left, right = getattr(a, name), getattr(b, name)
        if name in ("gold", "results"):
            np.testing.assert_array_equal(left.offsets, right.offsets)
            left, right = left.values, right.values
        np.testing.assert_array_equal(left, right)


def test_the_rows_are_sorted_by_id_and_the_queries_stay_in_the_order_given() -> None:
    table = vector_table(WHOLE)
    assert table.ids == ("c1", "c10", "c2")
    assert table.vectors.tolist() == [[0.6, 0.8], [1.0, 0.0], [0.0, 1.0]]
    assert table.query_ids == ("q9", "q1")
    assert table.queries.tolist() == [[1.0, 1.0], [1.0, 0.0]]


def test_gold_is_distinct_rows_and_a_count_that_includes_what_has_no_vector() -> None:
    table = vector_table(WHOLE)
    assert table.gold.offsets.tolist() == [0, 0, 2]
    assert table.gold.values.tolist() == [0, 2]
    assert table.gold_sizes.tolist() == [0, 3]
    assert table.labelled.tolist() == [True, True]


def test_results_are_distinct_in_their_order_and_keep_a_place_for_the_unknown() -> None:
    table = vector_table(WHOLE)
    assert table.results.values.tolist() == [-1, 2, -1, 0]
    assert table.searched.tolist() == [True, False]
    assert table.indexed == {"c1", "ghost"}
    assert table.given == dict.fromkeys(["vectors"], 3) | {
        "query_vectors": 2,
        "relevant_ids": 2,
        "indexed_ids": 1,
        "index_results": 1,
    }


def test_vectors_alone_are_enough() -> None:
    table = vector_table({"vectors": VECTORS, "query_vectors": None})
    assert (table.query_ids, table.indexed, len(table.gold)) == ((), None, 0)
    assert table.queries.shape == (0, 2)


def test_every_form_makes_the_same_table(tmp_path: Path) -> None:
    want = vector_table(WHOLE)
    rest = {key: WHOLE[key] for key in ("relevant_ids", "indexed_ids", "index_results")}
    ids, rows = list(VECTORS), np.array(list(VECTORS.values()))
    query_ids, query_rows = list(QUERIES), np.array(list(QUERIES.values()))
    np.savez(tmp_path / "e.npz", ids=ids, vectors=rows, query_ids=query_ids, query_vectors=query_rows)
    of_objects = np.empty(3, dtype=object)
    of_objects[:] = list(VECTORS.values())
    for form in (
        {
            "vectors": {k: np.array(v) for k, v in VECTORS.items()},
            "query_vectors": {k: tuple(v) for k, v in QUERIES.items()},
        },
        {"vectors": {"ids": ids, "vectors": rows}, "query_vectors": {"ids": query_ids, "vectors": query_rows.tolist()}},
        {"vectors": {"ids": np.array(ids), "vectors": of_objects}, "query_vectors": QUERIES},
        {"ids": np.array(ids), "vectors": rows, "query_ids": query_ids, "query_vectors": query_rows},
        load_npz(tmp_path / "e.npz"),
    ):
        same(vector_table({**form, **rest}), want)
    same(vector_table(Embeddings(**WHOLE)), want)
    same(vector_table({**WHOLE, "vectors": dict(reversed(VECTORS.items()))}), want)


def test_chunks_named_ids_and_vectors_are_chunks() -> None:
    assert vector_table({"vectors": {"ids": [1, 2], "vectors": [3, 4]}}).ids == ("ids", "vectors")


def test_whole_numbers_and_text_are_the_same_id() -> None:
    table = vector_table(
        {
            "vectors": {1: [1, 0], "2": [0, 1], np.int64(3): [1, 1]},
            "query_vectors": {"7": [1, 0]},
            "relevant_ids": {7: [1, "3"]},
            "index_results": {7: np.array([2, 1])},
            "indexed_ids": {3},
        }
    )
    assert table.ids == ("1", "2", "3")
    assert table.gold.values.tolist() == [0, 2]
    assert table.results.values.tolist() == [1, 0]
    assert table.indexed == {"3"}


def test_the_gold_of_the_queries_is_used_unless_relevant_ids_is_given() -> None:
    gold = {"q1": {"c1": 1.0, "c10": 3.0}, "q9": ["ghost"], "q5": ["c2"]}
    notices = Notices()
    table = vector_table({"vectors": VECTORS, "query_vectors": QUERIES}).with_gold(gold, notices)
    assert table.gold.values.tolist() == [0, 1]
    assert table.gold_sizes.tolist() == [1, 2]
    assert notices.texts() == ["gold chunks have no vector in embeddings.vectors and count as not found: ghost."]
    own = vector_table(WHOLE)
    assert own.with_gold(gold) is own


def test_notices_name_what_is_odd() -> None:
    notices = Notices()
    vector_table(
        {
            "vectors": VECTORS,
            "query_vectors": {"q1": [0, 0], "q2": [1, 0]},
            "relevant_ids": {"q2": ["ghost"], "q7": ["c1"]},
            "index_results": {"q8": ["c1"]},
        },
        notices,
    )
    assert notices.texts() == [
        "embeddings.index_results names queries that have no vector in query_vectors: q8.",
        "embeddings.query_vectors are all zeros and find nothing: q1.",
        "embeddings.relevant_ids names queries that have no vector in query_vectors: q7.",
        "gold chunks have no vector in embeddings.vectors and count as not found: ghost.",
    ]
    quiet = Notices()
    vector_table({"vectors": VECTORS, "query_vectors": QUERIES, "relevant_ids": {"q1": ["c1"]}}, quiet)
    assert quiet.texts() == []


@pytest.mark.parametrize(
    ("changes", "where", "said"),
    [
        ({"vectors": None}, "embeddings.vectors", "must be given ({chunk_id: vector}), got nothing."),
        ({"vectors": {}}, "embeddings.vectors", "must hold at least one vector, got none. Leave embeddings out."),
        ({"vectors": {"a": [1], "b": [1, 2], "c": [3, 4]}}, 'embeddings.vectors["a"]', "must have 2 numbers"),
        ({"vectors": {"c1": [1.0, float("nan")]}}, 'embeddings.vectors["c1"]', "got nan at position 1."),
        ({"vectors": {"é": "text"}}, 'embeddings.vectors["é"]', "must be a list of numbers, got str."),
        (
            {"vectors": {"1": [1, 2], 1: [1, 2]}},
            "embeddings.vectors",
            'must name every id once, got "1" more than once.',
        ),
        ({"vectors": {1.5: [1, 2]}}, "embeddings.vectors", "must be an id (text or whole number), got the number 1.5."),
        ({"vectors": {True: [1, 2]}}, "embeddings.vectors", "must be an id (text or whole number), got true."),
        ({"vectors": [[1, 2]]}, "embeddings.vectors", "must be {id: vector}, got list."),
        (
            {"ids": ["a"], "vectors": np.ones((2, 2))},
            "embeddings.vectors",
            "must have as many vectors as ids, got 2 and 1.",
        ),
        ({"ids": "ab", "vectors": np.ones((2, 2))}, "embeddings.vectors (its ids)", 'Write ["ab"].'),
        ({"ids": ["a", "a"], "vectors": np.ones((2, 2))}, "embeddings.vectors", 'got "a" more than once.'),
        (
            {"query_vectors": {"q1": [1, 2, 3]}},
            'embeddings.query_vectors["q1"]',
            'must have 2 numbers as the chunk vectors (such as ["c1"]), got 3. Embed both with the same model.',
        ),
        ({"query_vectors": {"q1": [1, None]}}, 'embeddings.query_vectors["q1"]', "must hold numbers only, got None"),
        ({"relevant_ids": ["c1"]}, "embeddings.relevant_ids", "must be {query_id: [chunk ids]}, got list."),
        ({"relevant_ids": {"q1": "c1"}}, 'embeddings.relevant_ids["q1"]', 'got the text "c1". Write ["c1"].'),
        (
            {"relevant_ids": {"q1": [None]}},
            'embeddings.relevant_ids["q1"][0]',
            "must be an id (text or whole number), got null.",
        ),
        ({"index_results": {"q1": 5}}, 'embeddings.index_results["q1"]', "must be a list of ids, got int."),
        ({"indexed_ids": "c1"}, "embeddings.indexed_ids", 'must be a list of ids, got the text "c1". Write ["c1"].'),
        (
            {"indexed_ids": ["c1", 2.5]},
            "embeddings.indexed_ids[1]",
            "must be an id (text or whole number), got the number 2.5.",
        ),
        ({"query_vector": {}}, "embeddings", "unknown key 'query_vector'; the nearest is 'query_vectors'."),
    ],
)
def test_an_error_names_its_place_and_the_rule(changes: dict[str, Any], where: str, said: str) -> None:
    with pytest.raises(DatasetError) as caught:
        vector_table({**WHOLE, **changes})
    assert caught.value.where == where
    assert said in caught.value.rule


def test_embeddings_that_are_no_object_are_refused() -> None:
    with pytest.raises(DatasetError, match='must be an object with the key "vectors", got list'):
        vector_table([[1.0]])  # type: ignore[arg-type]  # what a caller may get wrong


def test_a_file_that_needs_unpickling_or_is_no_npz_is_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "objects.npz", ids=np.array(["a", None], dtype=object), vectors=np.ones((2, 2)))
    (tmp_path / "text.npz").write_text("no archive")
    (tmp_path / "cut.npz").write_bytes((tmp_path / "objects.npz").read_bytes()[:200])
    for name in ("objects.npz", "text.npz", "cut.npz"):
        with pytest.raises(DatasetError, match=r"must be an \.npz file of plain arrays"):
            load_npz(tmp_path / name)
    with pytest.raises(FileNotFoundError):
        load_npz(tmp_path / "absent.npz")


def test_sorted_vectors_keep_a_matrix_that_is_in_order() -> None:
    matrix = np.ones((2, 3), dtype=np.float32)
    assert sorted_vectors("chunk_vectors", {"ids": ["a", "b"], "vectors": matrix})[1] is matrix
    ids, vectors = sorted_vectors("chunk_vectors", {})
    assert (ids, vectors.shape) == ((), (0, 0))


def test_grouped_vectors() -> None:
    ids, offsets, vectors = grouped_vectors("s", {2: np.eye(2), "a": [], "b": [[3, 4]]})
    assert (ids, offsets.tolist()) == (("2", "a", "b"), [0, 2, 2, 3])
    assert vectors.tolist() == [[1, 0], [0, 1], [3, 4]]


@pytest.mark.parametrize(
    ("groups", "where", "said"),
    [
        (
            {"a": [[1, 2]], "b": [[1, 2], [1]]},
            's["b"][1]',
            'must have 2 numbers as the others (such as ["a"][0]), got 1.',
        ),
        ({"a": [], "b": [[1, float("inf")]]}, 's["b"][0]', "got inf at position 1."),
        ({"a": "text"}, 's["a"]', "must be a list of vectors, got str."),
        ([[1]], "s", "must be {id: [vector, ...]}, got list."),
        ({"a": [1, 2]}, 's["a"][0]', "must be a list of numbers, got int."),
    ],
)
def test_an_error_in_a_group_names_the_vector(groups: Any, where: str, said: str) -> None:
    with pytest.raises(DatasetError) as caught:
        grouped_vectors("s", groups)
    assert caught.value.where == where
    assert said in caught.value.rule
