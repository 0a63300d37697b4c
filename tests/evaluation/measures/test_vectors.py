"""Norms, duplicates, cosines, means and recalls against plain Python twins and scikit-learn."""

from __future__ import annotations

import math
from itertools import combinations, pairwise
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_titan.evaluation.measures import vectors as measures
from rag_titan.evaluation.measures.ragged import Ragged, ragged
from rag_titan.evaluation.measures.vectors import (
    cohesion,
    cosines,
    gold_recall,
    index_recall,
    mean_gold_cosines,
    mean_other_cosines,
    norms,
    repeated,
)

Vector = tuple[float, ...]
NUMBERS = st.sampled_from([-2.0, -1.0, -0.0, 0.0, 0.5, 1.0, 3.0]) | st.floats(-1e3, 1e3, width=32)


def matrices(least: int = 1, most: int = 12) -> st.SearchStrategy[list[Vector]]:
    """Lists of vectors of one length, with copies and zeros among them."""

    def of_length(d: int) -> st.SearchStrategy[list[Vector]]:
        one = st.tuples(*[NUMBERS] * d) | st.just((0.0,) * d) | st.just((1.0,) * d)
        return st.lists(one, min_size=least, max_size=most)

    return st.integers(1, 4).flatmap(of_length)


def slow_norm(v: Vector) -> float:
    return math.sqrt(math.fsum(x * x for x in v))


def slow_cosine(a: Vector, b: Vector) -> float:
    if not any(a) or not any(b):
        return math.nan
    a, b = ([x / max(map(abs, v)) for x in v] for v in (a, b))
    return math.fsum(x * y for x, y in zip(a, b, strict=True)) / (slow_norm(a) * slow_norm(b))


def close(got: np.ndarray, want: list[float]) -> None:
    np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12)


@given(matrices(), st.sampled_from([np.float32, np.float64]))
def test_norms(rows: list[Vector], dtype: type) -> None:
    close(norms(np.array(rows, dtype=dtype)), [slow_norm(v) for v in rows])


@pytest.mark.parametrize("scale", [1e-320, 1e-200, 1e-100, 1e100, 1e200])
def test_vectors_far_from_1_keep_their_norm_and_direction(scale: float) -> None:
    rows = np.array([[3.0, 4.0], [4.0, -3.0], [6.0, 8.0]]) * scale
    np.testing.assert_allclose(norms(rows), np.array([5.0, 5.0, 10.0]) * scale, rtol=1e-3 if scale < 1e-300 else 1e-15)
    close(cosines(rows, rows, np.array([0, 0]), np.array([1, 2])), [0.0, 1.0])
    close(cosines(rows, rows / scale, np.array([0, 1]), np.array([2, 2])), [1.0, 0.0])


@given(matrices(), st.sampled_from([np.float32, np.float64]), st.booleans())
def test_repeated(rows: list[Vector], dtype: type, colliding: bool) -> None:
    seen: list[Vector] = []
    want = []
    for v in rows:
        want.append(v in seen)
        seen.append(v)
    prints = (lambda v: np.zeros(len(v), dtype=np.uint64)) if colliding else measures._fingerprints
    with patch.object(measures, "_fingerprints", prints):
        assert repeated(np.array(rows, dtype=dtype)).tolist() == want


def test_zero_has_no_sign_among_vectors_of_one_fingerprint() -> None:
    rows = np.array([[1.0, 1.0], [0.0, 2.0], [-0.0, 2.0]])
    with patch.object(measures, "_fingerprints", lambda v: np.zeros(len(v), dtype=np.uint64)):
        assert repeated(rows).tolist() == [False, False, True]


def test_round_numbers_have_fingerprints_of_their_own() -> None:
    rows = np.array([[i, j, k] for i in range(16) for j in range(16) for k in range(16)], dtype=np.float32)
    assert len(np.unique(measures._fingerprints(rows))) == len(rows)


def test_nothing_is_repeated_in_nothing() -> None:
    assert repeated(np.empty((0, 3))).tolist() == []


@given(matrices(least=2))
def test_cosines(rows: list[Vector]) -> None:
    table = np.array(rows)
    pairs = list(combinations(range(len(rows)), 2))
    left, right = np.array(pairs).T
    close(cosines(table, table, left, right), [slow_cosine(rows[i], rows[j]) for i, j in pairs])


@given(matrices())
def test_equal_directions_have_the_cosine_1_exactly(rows: list[Vector]) -> None:
    table = np.array([v for v in rows if any(v)] or [(1.0,)])
    same = np.arange(len(table))
    assert cosines(table, 4 * table, same, same).tolist() == [1.0] * len(table)
    assert cosines(table, -table, same, same).tolist() == [-1.0] * len(table)


def test_a_cosine_never_leaves_its_range() -> None:
    rows = np.array([[-0.5, -0.3], [0.5, 0.3]])
    a, b = rows[0], 3 * rows[0]
    assert (a * b).sum() / np.sqrt((a * a).sum() * (b * b).sum()) > 1  # what rounding does to it
    assert cosines(rows, 3 * rows, np.array([0, 0]), np.array([0, 1])).tolist() == [1.0, -1.0]


@pytest.mark.oracle
def test_cosines_and_means_are_those_of_scikit_learn() -> None:
    sklearn = pytest.importorskip("sklearn.metrics.pairwise")
    rng = np.random.default_rng(5)
    queries, table = rng.standard_normal((7, 33)) + 0.2, rng.standard_normal((600, 33)) + 0.1
    want = sklearn.cosine_similarity(queries, table)
    left, right = (x.reshape(-1) for x in np.indices(want.shape))
    got = cosines(queries, table, left, right)
    close(got, want.reshape(-1))
    gold = ragged([[i, 3 * i + 20] for i in range(7)])
    gold_cosines = cosines(queries, table, gold.rows, gold.values)
    others = [np.delete(want[i], [i, 3 * i + 20]).mean() for i in range(7)]
    close(mean_other_cosines(queries, table, gold, gold_cosines), others)
    close(mean_gold_cosines(gold, gold_cosines), [want[i, [i, 3 * i + 20]].mean() for i in range(7)])


@st.composite
def questions(draw: st.DrawFn) -> tuple[list[Vector], list[Vector], list[list[int]]]:
    """Chunk vectors, query vectors and each query's gold rows."""
    rows = draw(matrices(least=2))
    cut = draw(st.integers(1, len(rows) - 1))
    table, queries = rows[:cut], rows[cut:]
    gold = st.lists(st.integers(0, cut - 1), unique=True, max_size=cut).map(sorted)
    return table, queries, [draw(gold) for _ in queries]


def slow_mean(values: list[float]) -> float:
    kept = [v for v in values if not math.isnan(v)]
    return math.fsum(kept) / len(kept) if kept else math.nan


@given(questions())
def test_mean_cosines(data: tuple[list[Vector], list[Vector], list[list[int]]]) -> None:
    table, queries, gold_rows = data
    gold = ragged(gold_rows)
    gold_cosines = cosines(np.array(queries), np.array(table), gold.rows, gold.values)
    positive, negative = [], []
    for q, gold_of in zip(queries, gold_rows, strict=True):
        positive.append(slow_mean([slow_cosine(q, table[i]) for i in gold_of]))
        negative.append(slow_mean([slow_cosine(q, v) for i, v in enumerate(table) if i not in gold_of]))
    close(mean_gold_cosines(gold, gold_cosines), positive)
    close(mean_other_cosines(np.array(queries), np.array(table), gold, gold_cosines), negative)


@given(matrices(most=30), st.data())
def test_cohesion(rows: list[Vector], data: st.DataObject) -> None:
    inner = data.draw(st.lists(st.integers(0, len(rows)), max_size=6).map(sorted))
    offsets = np.array([0, *inner, len(rows)])
    want = [
        slow_mean([slow_cosine(a, b) for a, b in combinations(rows[start:end], 2)])
        for start, end in pairwise(offsets.tolist())
    ]
    with patch.object(measures, "_ROWS", 4):
        got = cohesion(np.array(rows), offsets)
    np.testing.assert_allclose(got, want, atol=1e-12)
    np.testing.assert_array_equal(got, cohesion(np.array(rows), offsets))


def test_blocks_and_neighbours_change_no_digit() -> None:
    rng = np.random.default_rng(1)
    for dtype in (np.float32, np.float64):
        table, queries = rng.standard_normal((50, 70)).astype(dtype), rng.standard_normal((9, 70)).astype(dtype)
        gold = ragged([[i, i + 1] for i in range(9)])
        every = cosines(queries, table, gold.rows, gold.values)
        means = mean_other_cosines(queries, table, gold, every)
        for one in range(9):
            alone = cosines(queries[one : one + 1], table, np.zeros(2, dtype=np.int64), np.array([one, one + 1]))
            np.testing.assert_array_equal(alone, every[2 * one : 2 * one + 2])
            single = Ragged(gold.values[2 * one : 2 * one + 2], np.array([0, 2]))
            assert mean_other_cosines(queries[one : one + 1], table, single, alone)[0] == means[one]
        with patch.object(measures, "_ROWS", 3):
            np.testing.assert_array_equal(cosines(queries, table, gold.rows, gold.values), every)
            np.testing.assert_array_equal(norms(table), norms(table.copy()))


def test_gold_recall_counts_ties_and_gold_without_a_vector() -> None:
    gold = ragged([[0, 1], [2], [], []])
    found = gold_recall(gold, np.array([0.5 - 9e-7, 0.5 - 2e-6, np.nan]), np.array([4, 1, 2, 0]), np.full(4, 0.5))
    np.testing.assert_array_equal(found, [0.25, 0.0, 0.0, np.nan])


def test_nothing_is_found_where_nothing_can_be_searched() -> None:
    assert gold_recall(ragged([[0]]), np.array([np.nan]), np.array([1]), np.array([np.nan])).tolist() == [0.0]
    assert np.isnan(index_recall(ragged([[0]]), np.array([np.nan]), np.array([np.nan]), 0)).all()


def test_index_recall_counts_ties_but_never_more_than_the_exact_results() -> None:
    results = ragged([[0, 1, 2], [3], []])
    kth = np.array([0.5, 0.5, 0.5])
    got = index_recall(results, np.array([0.9, 0.5 - 5e-7, 0.5, 0.4]), kth, 2)
    assert got.tolist() == [1.0, 0.0, 0.0]
