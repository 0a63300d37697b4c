"""Exact search: the fast scan, the full scan and a plain sort agree."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_titan.evaluation.measures import nearest as search
from rag_titan.evaluation.measures.nearest import kth_best, nearest

NUMBERS = st.sampled_from([-2.0, -1.0, 0.0, 0.5, 1.0, 3.0]) | st.floats(-1e3, 1e3, width=32)


@contextmanager
def blocks(vectors: int = 8, queries: int = 2, group: int = 4, few: int = 10**6) -> Iterator[None]:
    """Small blocks, so that a few rows take the way of many."""
    sizes = {"_VECTORS": vectors, "_QUERIES": queries, "_GROUP": group, "_FEW": few}
    with ExitStack() as stack:
        for name, size in sizes.items():
            stack.enter_context(patch.object(search, name, size))
        yield


def slow_cosine(a: list[float], b: list[float]) -> float:
    lengths = (math.sqrt(math.fsum(x * x for x in v)) for v in (a, b))
    return math.fsum(x * y for x, y in zip(a, b, strict=True)) / math.prod(lengths)


def check(queries: np.ndarray, vectors: np.ndarray, k: int) -> None:
    """The cosines are the k highest, and each row that is named has the cosine that stands beside it."""
    rows, values = nearest(queries, vectors, k)
    for q, found, got in zip(queries.tolist(), rows.tolist(), values.tolist(), strict=True):
        every = {i: slow_cosine(q, v) for i, v in enumerate(vectors.tolist()) if any(v) and any(q)}
        want = sorted(every.values(), reverse=True)[:k]
        n = len(want)
        np.testing.assert_allclose(got[:n], want, atol=1e-12)
        np.testing.assert_allclose(got[:n], [every[i] for i in found[:n]], atol=1e-12)
        assert len(set(found[:n])) == n
        assert found[n:] == [-1] * (k - n)
        assert np.isnan(got[n:]).all()
        assert list(zip(got[:n], found[:n], strict=True)) == sorted(
            zip(got[:n], found[:n], strict=True), key=lambda pair: (-pair[0], pair[1])
        )


@st.composite
def tables(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    """Queries and vectors of one length, with copies and zeros among them."""
    d = draw(st.integers(1, 4))
    row = st.lists(NUMBERS, min_size=d, max_size=d) | st.just([0.0] * d) | st.just([1.0] * d)
    dtype = draw(st.sampled_from([np.float32, np.float64]))
    queries, vectors = (draw(st.lists(row, min_size=1, max_size=size)) for size in (5, 40))
    return np.array(queries, dtype=dtype), np.array(vectors, dtype=dtype)


@given(tables(), st.integers(1, 6), st.sampled_from([8, 10, 64]), st.sampled_from([0, 10**6]))
def test_the_k_best_are_those_of_the_slow_twin(
    data: tuple[np.ndarray, np.ndarray], k: int, size: int, few: int
) -> None:
    with blocks(vectors=size, few=few):
        check(*data, k)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("k", [1, 7, 60])
def test_both_scans_agree_on_many_vectors(dtype: type, k: int) -> None:
    rng = np.random.default_rng(k)
    queries, vectors = rng.standard_normal((20, 24)).astype(dtype), rng.standard_normal((3000, 24)).astype(dtype)
    vectors[::50] = 0
    with blocks(vectors=128, queries=7, group=32):
        assert search._scan(queries.astype(np.float32), table_of(vectors), k) is not None
        fast = nearest(queries, vectors, k)
        with patch.object(search, "_scan", lambda *_: None):
            full = nearest(queries, vectors, k)
    for got, want in zip(fast, full, strict=True):
        np.testing.assert_array_equal(got, want)
    for got, want in zip(fast, nearest(queries, vectors, k), strict=True):
        np.testing.assert_array_equal(got, want)


def table_of(vectors: np.ndarray) -> search._Table:
    lengths = search.norms(vectors)
    return search._Table(vectors, lengths, np.flatnonzero(lengths))


def test_crowded_cosines_are_searched_in_float64() -> None:
    rng = np.random.default_rng(0)
    vectors = 1 + 1e-7 * rng.standard_normal((400, 6))
    with blocks(vectors=32, few=0):
        assert search._scan(np.ones((3, 6), dtype=np.float32) / np.float32(6**0.5), table_of(vectors), 2) is None
        check(rng.standard_normal((3, 6)), vectors, 2)


@pytest.mark.parametrize("scale", [1e-170, 1e-30, 1e30, 1e140])
def test_the_length_of_a_vector_does_not_matter(scale: float) -> None:
    rng = np.random.default_rng(2)
    queries, vectors = rng.standard_normal((3, 5)), rng.standard_normal((100, 5))
    with blocks():
        rows, values = nearest(queries, vectors, 4)
        scaled_rows, scaled_values = nearest(queries / scale, vectors * scale, 4)
    np.testing.assert_array_equal(scaled_rows, rows)
    np.testing.assert_allclose(scaled_values, values, atol=1e-14)


def test_winners_that_float32_cannot_tell_apart_are_found() -> None:
    rng = np.random.default_rng(4)
    query, *sideways = np.linalg.qr(rng.standard_normal((64, 64)))[0]
    similar = 0.5 + 1e-9 * rng.permutation(300)  # a float32 score is off by 1e-8 and more
    vectors = similar[:, np.newaxis] * query
    vectors += np.sqrt(1 - similar**2)[:, np.newaxis] * np.array([sideways[i % 63] for i in range(300)])
    with blocks():
        rows, _ = nearest(query[np.newaxis], vectors, 4)
    assert rows[0].tolist() == np.argsort(-similar)[:4].tolist()


def test_a_scan_keeps_only_what_can_still_win() -> None:
    scores = np.array([[-0.9, -0.8, -0.7, -0.6], [0.6, 0.7, 0.8, 0.9], [-0.9, 0.9, 0.1, 0.0]], dtype=np.float32)
    best = search._Best(scores, 2, np.float32(0.01))
    np.testing.assert_allclose(best.floor, [-0.71, 0.79, 0.09], atol=1e-6)
    query, place = (x.reshape(-1) for x in np.indices(scores.shape))
    best.add(query, place, scores.reshape(-1))
    best.add(np.array([1, 0]), np.array([4, 4]), np.array([0.85, 0.5], dtype=np.float32))
    kept = list(zip(*(x.tolist() for x in best.settled()), strict=True))
    assert sorted(kept) == [(0, 3), (0, 4), (1, 3), (1, 4), (2, 1), (2, 2)]
    np.testing.assert_allclose(best.floor, [-0.61, 0.84, 0.09], atol=1e-6)


def test_nothing_to_search_for_or_in() -> None:
    rows, values = nearest(np.zeros((2, 3)), np.ones((4, 3)), 2)
    assert rows.tolist() == [[-1, -1], [-1, -1]]
    assert np.isnan(kth_best(values)).all()
    assert nearest(np.ones((1, 3)), np.zeros((4, 3)), 1)[0].tolist() == [[-1]]
    assert nearest(np.empty((0, 3)), np.ones((4, 3)), 2)[0].shape == (0, 2)
    assert nearest(np.ones((2, 3)), np.ones((4, 3)), 0)[0].shape == (2, 0)


def test_the_kth_best_of_fewer_is_the_last_one() -> None:
    _, values = nearest(np.array([[1.0, 0.0]]), np.array([[1.0, 0.0], [0.6, 0.8]]), 10)
    assert kth_best(values).tolist() == [0.6]
