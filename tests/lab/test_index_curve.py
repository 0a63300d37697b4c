"""Recall against exact search, the growth of latency, and what both are called."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from tests.lab import own_index

from rag_titan.errors import SettingsError
from rag_titan.lab import IndexCurve, index_curves
from rag_titan.lab.generated import clustered
from rag_titan.lab.index_curves import BRUTE_FORCE, NEAR_FLAT, UNDECIDED, Corpus

OWN = "tests.lab.own_index"
CORPORA = ("sizes", "vectors", "queries", "dimensions", "asked")
SMALL: dict[str, Any] = {"sizes": (200, 800, 3200), "dimensions": 8, "asked": 20, "rounds": 3}


def index_curve(index: str, **settings: Any) -> dict[str, Any]:
    """The result, of the settings of both the curve and its corpora."""
    of_corpora = {key: settings.pop(key) for key in CORPORA if key in settings}
    return IndexCurve(index, **settings).measure(**of_corpora)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_curves.time, "perf_counter_ns", own_index.clock)


def kinds(result: dict[str, Any]) -> list[str]:
    return [finding["kind"] for finding in result["findings"]]


@pytest.mark.usefixtures("clock")
@pytest.mark.parametrize("seed", range(4))
def test_a_scan_that_is_called_an_index_is_suspected(seed: int) -> None:
    result = index_curve(f"{OWN}:scanning", seed=seed, **SMALL)
    assert result["scaling"][0]["verdict"] == BRUTE_FORCE
    assert result["scaling"][0]["slope"] == pytest.approx(1.0, abs=0.02)
    assert kinds(result) == ["brute_force"]
    json.dumps(result, allow_nan=False)


@pytest.mark.usefixtures("clock")
@pytest.mark.parametrize("seed", range(4))
def test_a_graph_is_near_flat_and_raises_nothing(seed: int) -> None:
    result = index_curve(f"{OWN}:graph", seed=seed, **SMALL)
    assert result["scaling"][0]["verdict"] == NEAR_FLAT
    assert result["findings"] == []


@pytest.mark.usefixtures("clock")
def test_what_is_between_is_undecided() -> None:
    result = index_curve(f"{OWN}:between", **SMALL)
    assert result["scaling"][0]["verdict"] == UNDECIDED
    assert result["scaling"][0]["slope"] == pytest.approx(0.7, abs=0.02)
    assert result["findings"] == []


@pytest.mark.usefixtures("clock")
def test_latencies_are_those_of_one_query() -> None:
    """200 us a query with 200 vectors, and up to 6 % more."""
    row = index_curve(f"{OWN}:scanning", **{**SMALL, "sizes": (200,)})["rows"][0]
    assert 0.2 <= row["p50_ms"] <= row["p95_ms"] <= 0.2 * 1.07
    assert row["qps"] == pytest.approx(1000 / 0.206, rel=0.03)


@pytest.mark.usefixtures("clock")
def test_one_size_or_one_round_has_no_slope() -> None:
    for less in ({"sizes": (200,)}, {"rounds": 1}):
        result = index_curve(f"{OWN}:graph", **{**SMALL, **less})
        assert result["scaling"] == [{"value": None, "slope": None, "ci95": None, "last_slope": None, "verdict": None}]


@pytest.mark.usefixtures("clock")
def test_a_clock_that_is_too_coarse_measures_nothing() -> None:
    result = index_curve("exact", **SMALL)
    assert [row["qps"] for row in result["rows"]] == [None, None, None]
    assert result["scaling"][0]["verdict"] is None
    json.dumps(result, allow_nan=False)


def test_a_value_in_use_that_is_too_small_is_found_and_the_first_that_is_enough_is_named() -> None:
    result = index_curve(f"{OWN}:lossy", parameter="probes", values=[2, 8, 10], at=2, **{**SMALL, "sizes": (300,)})
    assert [row["recall"] for row in result["rows"]] == pytest.approx([0.2, 0.8, 1.0])
    assert kinds(result) == ["low_recall"]
    assert "Set probes to 10" in result["findings"][0]["advice"]
    assert kinds(index_curve(f"{OWN}:lossy", parameter="probes", values=[2, 10], **{**SMALL, "sizes": (300,)})) == []
    assert kinds(index_curve(f"{OWN}:lossy", parameter="probes", values=[2, 8], **{**SMALL, "sizes": (300,)})) == [
        "low_recall"
    ]


def test_a_row_that_is_returned_twice_counts_once() -> None:
    result = index_curve(f"{OWN}:repeating", **{**SMALL, "sizes": (300,)})
    assert result["rows"][0]["recall"] == pytest.approx(0.1)


def test_rows_that_tie_with_the_kth_are_hits() -> None:
    vectors = np.array([[1, 0], [0, 1], [0, 1], [0, 1], [-1, 0]], dtype=np.float32)
    corpus = Corpus.of(vectors, np.array([[1.0, 0.1]], dtype=np.float32), 2, "cosine")
    assert [corpus.recalls([rows], "x")[0] for rows in ([0, 1], [0, 3], [1, 3], [4, 0], [-1, 9])] == [
        1.0, 1.0, 1.0, 0.5, 0.0
    ]  # fmt: skip


def test_vectors_that_are_given_are_drawn_from_and_queries_are_left_out_of_them() -> None:
    vectors = np.random.default_rng(0).normal(size=(100, 4))
    result = index_curve("exact", vectors=vectors, sizes=(80,), asked=20, rounds=1)
    assert (result["queries"], result["dimensions"], result["rows"][0]["recall"]) == (20, 4, 1.0)
    with pytest.raises(SettingsError, match="at most 80"):
        index_curve("exact", vectors=vectors, sizes=(90,), asked=20, rounds=1)
    assert index_curve("exact", vectors=vectors, queries=vectors[:7], sizes=(100,), rounds=1)["queries"] == 7


def test_clustered_vectors_are_unit_vectors_and_the_same_for_the_same_seed() -> None:
    first, asked = clustered(1000, 16, 5, seed=3)
    assert np.allclose(np.linalg.norm(first, axis=1), 1, atol=1e-6)
    assert np.array_equal(first, clustered(1000, 16, 5, seed=3)[0])
    assert not np.array_equal(asked, clustered(1000, 16, 5, seed=4)[1])


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"index": "hnsw"}, "faiss-hnsw"),
        ({"index": "exact", "values": [3]}, "no parameter"),
        ({"index": f"{OWN}:lossy", "parameter": "probes"}, "must be given for the parameter probes"),
        ({"index": f"{OWN}:absent"}, "that Python can import"),
        ({"index": "no_such_module:x"}, "that Python can import"),
        ({"index": f"{OWN}:nothing"}, "must return a function"),
        ({"index": f"{OWN}:floating"}, "must return rows as whole numbers"),
        ({"index": "exact", "sizes": ()}, "sizes"),
        ({"index": "exact", "sizes": (0,)}, "sizes"),
        ({"index": "exact", "rounds": 0}, "rounds"),
        ({"index": "exact", "metric": "hamming"}, "metric"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        index_curve(settings.pop("index"), **{**SMALL, "sizes": (50,), **settings})


@pytest.mark.lab
@pytest.mark.parametrize("metric", ["cosine", "dot", "l2"])
def test_the_flat_index_of_faiss_finds_what_exact_search_finds(metric: str) -> None:
    pytest.importorskip("faiss")
    result = index_curve("faiss-flat", metric=metric, **SMALL)
    assert [row["recall"] for row in result["rows"]] == [1.0, 1.0, 1.0]


@pytest.mark.lab
@pytest.mark.parametrize("metric", ["cosine", "dot", "l2"])
@pytest.mark.parametrize(("name", "library", "few", "many"), [
    ("faiss-hnsw", "faiss", 1, 256), ("faiss-ivf", "faiss", 1, 54), ("usearch-hnsw", "usearch", 1, 512),
])  # fmt: skip
def test_too_small_a_value_is_found_in_real_indexes(name: str, library: str, few: int, many: int, metric: str) -> None:
    pytest.importorskip(library)
    settings = {**SMALL, "sizes": (3000,), "dimensions": 24, "rounds": 1, "asked": 50, "metric": metric}
    options = {"connectivity": 4, "expansion_add": 8} if name == "usearch-hnsw" else None
    options = {"M": 8} if name == "faiss-hnsw" else options
    result = index_curve(name, values=[few, many], at=few, options=options, **settings)
    low, high = (row["recall"] for row in result["rows"])
    assert low < 0.9 < high
    assert kinds(result) == ["low_recall"]
