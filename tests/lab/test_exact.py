"""Exact search by blocks, beside a slow twin."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_titan.errors import SettingsError
from rag_titan.lab import exact_search
from rag_titan.lab.exact import METRICS

Found = list[list[tuple[float, int]]]


def twin(queries: np.ndarray, vectors: np.ndarray, k: int, metric: str) -> Found:
    """Every pair in Python's own arithmetic, sorted by score, then by row."""
    found = []
    for query in queries.astype(float).tolist():
        scored = []
        for row, vector in enumerate(vectors.astype(float).tolist()):
            dot = sum(a * b for a, b in zip(query, vector, strict=True))
            lengths = sum(a * a for a in query) ** 0.5 * sum(b * b for b in vector) ** 0.5
            if metric == "l2":
                score = -(sum((a - b) ** 2 for a, b in zip(query, vector, strict=True)) ** 0.5)
            elif metric == "cosine":
                score = dot / lengths if lengths else float("nan")
            else:
                score = dot
            if score == score:
                scored.append((-round(score, 12), row))
        best = [(-score, row) for score, row in sorted(scored)[:k]]
        found.append(best + [(float("nan"), -1)] * (k - len(best)))
    return found


@pytest.mark.parametrize("metric", METRICS)
@given(n=st.integers(1, 40), m=st.integers(1, 4), k=st.integers(1, 12), seed=st.integers(0, 10**6))
def test_it_finds_what_the_slow_twin_finds(metric: str, n: int, m: int, k: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    vectors = rng.integers(-3, 4, size=(n, 3)).astype(np.float32)  # many ties and zeros
    queries = rng.integers(-3, 4, size=(m, 3)).astype(np.float32)
    rows, scores = exact_search(queries, vectors, k, metric)
    expected = twin(queries, vectors, k, metric)
    assert np.allclose(scores, [[one[0] for one in its] for its in expected], atol=1e-9, equal_nan=True)
    if metric != "cosine":  # whose ties differ in the last digits
        assert rows.tolist() == [[one[1] for one in its] for its in expected]


@pytest.mark.parametrize("metric", METRICS)
def test_it_is_the_same_over_many_blocks(metric: str) -> None:
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(9000, 24)).astype(np.float32) * rng.gamma(3, size=(9000, 1)).astype(np.float32)
    queries = rng.normal(size=(1100, 24))
    rows, scores = exact_search(queries, vectors, 5, metric)
    a, b = queries[:40], vectors.astype(np.float64)
    table = a @ b.T
    if metric == "cosine":
        table = table / np.linalg.norm(b, axis=1) / np.linalg.norm(a, axis=1)[:, np.newaxis]
    elif metric == "l2":
        table = -np.sqrt((a * a).sum(axis=1)[:, np.newaxis] + (b * b).sum(axis=1) - 2 * table)
    assert rows[:40].tolist() == np.argsort(-table, axis=1, kind="stable")[:, :5].tolist()
    assert np.allclose(scores[:40], -np.sort(-table, axis=1)[:, :5], atol=1e-12)
    assert rows[1050:].tolist() == exact_search(queries[1050:], vectors, 5, metric)[0].tolist()


def test_scores_too_close_for_float32_are_told_apart() -> None:
    """Steps of 1e-9 between the dot products are lost in float32."""
    vectors = np.column_stack([1 + 1e-9 * np.arange(200), np.zeros(200)])
    rows, scores = exact_search(np.array([[1.0, 0.0]]), vectors, 3, "dot")
    assert rows.tolist() == [[199, 198, 197]]
    assert scores[0].tolist() == [1 + 199e-9, 1 + 198e-9, 1 + 197e-9]


@pytest.mark.parametrize("metric", METRICS)
def test_vectors_with_nan_are_never_found(metric: str) -> None:
    vectors = np.array([[np.nan, 1.0], [1.0, np.inf], [0.5, 0.5], [0.0, 0.0]])
    found = exact_search(np.array([[1.0, 1.0]]), vectors, 4, metric)[0].tolist()
    assert found == [[2, -1, -1, -1]] if metric == "cosine" else [[2, 3, -1, -1]]


def test_a_matrix_may_stay_in_its_file(tmp_path: Path) -> None:
    vectors = np.random.default_rng(0).normal(size=(5000, 8)).astype(np.float16)
    np.save(tmp_path / "v.npy", vectors)
    mapped = np.load(tmp_path / "v.npy", mmap_mode="r")
    assert exact_search(vectors[:9], mapped, 1)[0][:, 0].tolist() == list(range(9))


def test_nothing_to_search_or_to_ask() -> None:
    assert exact_search(np.ones((2, 3)), np.empty((0, 3)), 2)[0].tolist() == [[-1, -1], [-1, -1]]
    assert exact_search(np.empty((0, 3)), np.ones((2, 3)), 2)[0].shape == (0, 2)
    with pytest.raises(SettingsError, match="metric"):
        exact_search(np.ones((1, 2)), np.ones((1, 2)), 1, "hamming")


@pytest.mark.parametrize("metric", METRICS)
def test_vectors_that_are_all_alike_take_little_memory(metric: str) -> None:
    """12,000 equal vectors: every one of them ties for every query, and no more than 4 k + 256 are scored again."""
    rng = np.random.default_rng(0)
    vectors = np.vstack([np.tile(rng.normal(size=(1, 64)), (12_000, 1)), rng.normal(size=(100, 64))])
    queries = np.vstack([vectors[:200], vectors[-1:]])
    tracemalloc.start()
    rows, scores = exact_search(queries, vectors, 10, metric)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 150e6
    expected = -np.zeros((200, 10)) if metric == "l2" else np.broadcast_to(scores[:1, :1], (200, 10))
    assert np.allclose(scores[:200], expected, rtol=0, atol=1e-9 * max(1.0, abs(float(scores[0, 0]))))
    assert (rows[:200] < 12_000).all()
    assert metric == "dot" or rows[200, 0] == 12_099


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("size", [1e-100, 1e-25, 1e25, 1e100, np.inf, np.nan])
def test_lengths_beyond_32_bits_are_found_by_none_and_find_nothing(size: float, metric: str) -> None:
    rng = np.random.default_rng(0)
    vectors, queries = rng.normal(size=(50, 8)), rng.normal(size=(3, 8))
    expected = exact_search(queries, np.delete(vectors, 7, axis=0), 49, metric)[1]
    vectors[7] = vectors[7] * size
    rows, scores = exact_search(np.vstack([queries, vectors[7:8]]), vectors, 50, metric)
    if size < 1 and metric != "cosine":  # in 32 bits it is as good as zeros, which have a product and a distance
        assert (rows[:3] >= 0).all()
    else:
        assert not (rows == 7).any()
        assert np.allclose(scores[:3, :49], expected)
    assert (rows[3] == -1).all()
    assert np.isnan(scores[3]).all()
