"""Recall against exact search, the growth of latency, and what both are called."""

from __future__ import annotations

import json
import math
import signal
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.lab import own_index

from rag_titan.errors import DatasetError, MissingExtraError, SettingsError
from rag_titan.lab import IndexCurve, growth, index_curves, query_times
from rag_titan.lab import faiss as faiss_kinds
from rag_titan.lab import usearch as usearch_kinds
from rag_titan.lab.corpus import Corpus
from rag_titan.lab.generated import clustered
from rag_titan.lab.growth import BRUTE_FORCE, NEAR_FLAT, UNDECIDED

OWN = "tests.lab.own_index"
CORPORA = ("sizes", "vectors", "queries", "dimensions", "asked")
SMALL: dict[str, Any] = {"sizes": (200, 800, 3200), "dimensions": 8, "asked": 20, "rounds": 3}


def index_curve(index: str, **settings: Any) -> dict[str, Any]:
    """The result, of the settings of both the curve and its corpora."""
    of_corpora = {key: settings.pop(key) for key in CORPORA if key in settings}
    return IndexCurve(index, **settings).measure(**of_corpora)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(query_times.time, "perf_counter_ns", own_index.clock)
    monkeypatch.setattr(query_times.time, "process_time_ns", own_index.of_cpu)
    monkeypatch.setattr(growth, "TELLING", 3200)


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
    assert [corpus.recalls(np.array([rows]))[0] for rows in ([0, 1], [0, 3], [1, 3], [4, 0], [-1, -1])] == [
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
        ({"index": f"{OWN}:floating"}, "must return rows as whole numbers.*float64 of"),
        ({"index": f"{OWN}:nothing_found"}, "must return rows as whole numbers.*NoneType"),
        ({"index": f"{OWN}:distances_too"}, "without distances"),
        ({"index": f"{OWN}:ragged"}, "got list"),
        ({"index": f"{OWN}:flat_row"}, r"got list: int64 of \(3,\)"),
        ({"index": f"{OWN}:too_many_rows"}, "of 1 query"),
        ({"index": f"{OWN}:truths"}, "bool of"),
        ({"index": f"{OWN}:ids_beyond"}, "rows below 50, .*got 100,000"),
        ({"index": f"{OWN}:failing"}, r"answer a query.*KeyError: 'no\\nsuch shard' \(.*own_index.py, line \d+\)"),
        ({"index": f"{OWN}:unbuildable"}, "build an index of 50 vectors, got RuntimeError: the server is full"),
        ({"index": f"{OWN}:scanning", "options": {"M": 3}}, "TypeError"),
        ({"index": f"{OWN}:not_a_function"}, "must name a function"),
        ({"index": ":x"}, "that Python can import"),
        ({"index": ".x:y"}, "that Python can import"),
        ({"index": "exact", "parameter": "probes"}, "parameter: must be left out"),
        ({"index": "faiss-ivf", "parameter": "efSearch"}, "parameter: must be nprobe"),
        ({"index": "faiss-hnsw", "options": {"m": 3}}, "build: must be one of M, efConstruction, threads"),
        ({"index": "exact", "options": {"M": 3}}, "build: must be left out"),
        ({"index": "faiss-hnsw", "options": {"M": 1}}, "build: M must be a whole number from 2"),
        ({"index": "usearch-hnsw", "options": {"connectivity": 0}}, "from 2"),
        ({"index": "faiss-hnsw", "values": [0]}, "values"),
        ({"index": "faiss-hnsw", "values": [2**40]}, "values"),
        ({"index": "faiss-hnsw", "at": -1}, "values"),
        ({"index": "exact", "k": 2.5}, "k: must be whole"),
        ({"index": "exact", "rounds": True}, "rounds"),
        ({"index": "exact", "seed": -1}, "seed"),
        ({"index": "exact", "least_recall": float("nan")}, "least_recall"),
        ({"index": "exact", "dimensions": 0}, "dimensions"),
        ({"index": "exact", "asked": 0}, "asked"),
        ({"index": "exact", "sizes": (2.5,)}, "sizes"),
        ({"index": "exact", "queries": np.ones((3, 8))}, "queries: must come with vectors"),
        ({"index": "exact", "sizes": ()}, "sizes"),
        ({"index": "exact", "sizes": (0,)}, "sizes"),
        ({"index": "exact", "rounds": 0}, "rounds"),
        ({"index": "exact", "metric": "hamming"}, "metric"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        index_curve(settings.pop("index"), **{**SMALL, "sizes": (50,), **settings})


@pytest.mark.usefixtures("clock")
def test_time_that_others_take_is_neither_in_the_slope_nor_in_the_best_time() -> None:
    result = index_curve(f"{OWN}:busy", **{**SMALL, "rounds": 5})
    assert (result["clock"], result["scaling"][0]["verdict"]) == ("cpu", NEAR_FLAT)
    of_log_n = math.log(math.log(3200) / math.log(200)) / math.log(16)
    assert result["scaling"][0]["slope"] == pytest.approx(of_log_n, abs=0.01)
    row = result["rows"][-1]
    assert row["best_ms"] == pytest.approx(0.1 * math.log(3200), rel=0.03)
    assert row["p50_ms"] > 90
    assert "the machine was busy" in result["notes"][0]


@pytest.mark.usefixtures("clock")
def test_a_service_that_is_waited_for_is_timed_by_the_clock_on_the_wall() -> None:
    result = index_curve(f"{OWN}:waiting", **SMALL)
    assert (result["clock"], result["scaling"][0]["verdict"]) == ("wall", BRUTE_FORCE)


@pytest.mark.usefixtures("clock")
def test_sizes_that_are_close_and_small_ones_have_no_verdict_and_it_is_said() -> None:
    near = index_curve(f"{OWN}:scanning", **{**SMALL, "sizes": (400, 3200)})
    assert near["scaling"][0]["slope"] == pytest.approx(1.0, abs=0.02)
    assert (near["scaling"][0]["verdict"], near["findings"]) == (None, [])
    assert near["notes"] == ["no verdict on growth: the largest size must be 10 times the smallest"]
    small = index_curve(f"{OWN}:graph", **{**SMALL, "sizes": (200, 3000)})
    assert small["scaling"][0]["verdict"] == UNDECIDED
    assert "nothing is called near flat" in small["notes"][0]


@pytest.mark.usefixtures("clock")
def test_a_finding_names_the_value_that_is_slow() -> None:
    result = index_curve(f"{OWN}:scanning", parameter="probes", values=[1, 4], **SMALL)
    assert "at probes 4: brute force suspected" in result["findings"][0]["text"]


def test_values_are_asked_in_their_order_and_the_smallest_that_is_enough_is_named() -> None:
    settings = {**SMALL, "sizes": (300,)}
    result = index_curve(f"{OWN}:lossy", parameter="probes", values=[10, 2, 8, 8], at=2, least_recall=0.7, **settings)
    assert [row["value"] for row in result["rows"]] == [2, 8, 10]
    assert "Set probes to 8" in result["findings"][0]["advice"]


def test_a_parameter_that_changes_nothing_is_found() -> None:
    settings = {**SMALL, "sizes": (300, 500)}
    result = index_curve(f"{OWN}:swallowing", parameter="probes", values=[2, 10], **settings)
    assert kinds(result) == ["low_recall", "low_recall", "parameter_without_effect"]
    assert result["findings"][0]["advice"] == "No probes changed it."
    without = index_curve(f"{OWN}:empty", **settings)
    assert "no parameter" in without["findings"][0]["advice"]
    assert kinds(index_curve(f"{OWN}:lossy", parameter="probes", values=[10, 20], **settings)) == []


@pytest.mark.parametrize(("index", "recall"), [("empty", 0.0), ("negative", 0.0), ("lists", 0.3)])
def test_few_rows_negative_ones_and_repeated_ones_are_no_errors(index: str, recall: float) -> None:
    vectors = np.eye(3)
    result = index_curve(f"{OWN}:{index}", vectors=vectors, queries=np.ones((4, 3)), sizes=(3,), k=10, rounds=1)
    assert result["rows"][0]["recall"] == pytest.approx(1.0 if recall else 0.0)


def test_more_neighbours_than_vectors_and_a_single_vector() -> None:
    result = index_curve("exact", k=1000, **{**SMALL, "sizes": (1, 5), "rounds": 1})
    assert [row["recall"] for row in result["rows"]] == [1.0, 1.0]


def test_vectors_of_zeros_are_no_ones_neighbour_by_cosine() -> None:
    """2 of 30 have a direction, so these are all there is to find; a query of zeros has no neighbour."""
    vectors = np.zeros((30, 4))
    vectors[[3, 4]] = [[1, 0, 0, 0], [0, 1, 0, 0]]
    result = index_curve("exact", vectors=vectors, queries=[[1, 1, 0, 0], [0, 0, 0, 0]], sizes=(30,), rounds=1)
    assert (result["rows"][0]["recall"], result["rows"][0]["recall_n"]) == (1.0, 1)
    assert "1 of 2 queries have no neighbour" in result["notes"][-1]
    nothing = index_curve("exact", vectors=np.zeros((30, 4)), sizes=(20,), asked=5, rounds=1)
    assert (nothing["rows"][0]["recall"], nothing["findings"]) == (None, [])
    json.dumps(nothing, allow_nan=False)


@pytest.mark.parametrize("kind", [np.float16, np.int8, np.float64])
def test_vectors_of_other_types_are_searched(kind: Any) -> None:
    vectors = (np.random.default_rng(0).normal(size=(60, 4)) * 40).astype(kind)
    assert index_curve("exact", vectors=vectors, sizes=(50,), asked=10, rounds=1)["rows"][0]["recall"] == 1.0


def test_vectors_that_are_no_finite_numbers_are_refused() -> None:
    vectors = np.ones((20, 4))
    vectors[3, 1] = np.nan
    with pytest.raises(DatasetError, match="NaN or infinity in 1 of"):
        index_curve("exact", vectors=vectors, queries=np.ones((1, 4)), sizes=(20,))
    with pytest.raises(DatasetError, match="must have 4 numbers a vector"):
        index_curve("exact", vectors=np.ones((20, 4)), queries=np.ones((1, 3)), sizes=(20,))


@pytest.mark.parametrize("metric", ["dot", "l2"])
def test_neighbours_that_float32_cannot_tell_apart_are_equal(metric: str) -> None:
    """Two vectors that differ by less than the rounding of their scores; the index names the other one."""
    query = np.zeros((1, 8), dtype=np.float32)
    query[0, :2] = 100, 1
    vectors = np.zeros((3, 8), dtype=np.float32)
    vectors[:, :2] = ([0, 1], [1e-6, 1], [0, -90]) if metric == "dot" else ([100, 1.01], [100, 1.0101], [0, 1])
    corpus = Corpus.of(vectors, query, 1, metric)
    assert [corpus.recalls(np.array([[row]]))[0] for row in range(3)] == [1.0, 1.0, 0.0]


def test_without_sizes_a_tenth_and_all_of_the_given_vectors_are_taken() -> None:
    vectors = np.random.default_rng(0).normal(size=(230, 4))
    result = index_curve("exact", vectors=vectors, asked=30, rounds=1)
    assert [row["size"] for row in result["rows"]] == [20, 200]
    one = index_curve("exact", vectors=vectors[:1], queries=vectors[:1], rounds=1)
    assert [row["size"] for row in one["rows"]] == [1]


def test_memory_is_asked_for_before_it_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(
        SettingsError, match=r"2,000,000,000 vectors of 128, about 953\.7 GiB with their indexes, where"
    ):
        index_curve("exact", sizes=(2_000_000_000,))
    monkeypatch.setattr(index_curves, "free_bytes", lambda: None)
    monkeypatch.setattr(index_curves, "drawn", lambda *_: (_ for _ in ()).throw(MemoryError))
    with pytest.raises(SettingsError, match="must fit in memory, got 50"):
        index_curve("exact", sizes=(50,))


def test_a_missing_library_is_said_before_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_curves, "drawn", lambda *_: pytest.fail("vectors were drawn"))
    for index, library in (("faiss-hnsw", "faiss"), ("usearch-hnsw", "usearch"), ("usearch-hnsw", "usearch.index")):
        monkeypatch.setitem(sys.modules, library, None)
        with pytest.raises(MissingExtraError, match=library.partition(".")[0]):
            index_curve(index, **SMALL)


def test_ctrl_c_in_a_build_is_no_error_of_the_index() -> None:
    with pytest.raises(KeyboardInterrupt):
        index_curve(f"{OWN}:interrupted", **{**SMALL, "sizes": (50,)})


@pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="Windows holds no signals back")
def test_a_signal_waits_for_the_end_of_what_usearch_adds() -> None:
    done = []

    def add() -> None:
        with usearch_kinds._undisturbed():
            signal.raise_signal(signal.SIGINT)
            done.append(1)

    with pytest.raises(KeyboardInterrupt):
        add()
    assert done == [1]


def test_a_search_that_usearch_ends_for_a_signal_is_ended_by_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def search(*_: object, **__: object) -> None:
        raise RuntimeError("Operation has been terminated")

    index = SimpleNamespace(add=lambda *_, **__: None, search=search)
    monkeypatch.setattr(usearch_kinds, "_library", lambda: SimpleNamespace(Index=lambda **_: index))
    kind = usearch_kinds.KINDS["usearch-hnsw"]
    found = kind.build(np.ones((2, 2), dtype=np.float32), "cosine", kind.built_with({}), lambda held: None)
    with pytest.raises(KeyboardInterrupt):
        found(np.ones((1, 2), dtype=np.float32), 1)


def test_progress_names_the_step_the_vectors_and_what_is_left() -> None:
    told: list[tuple[int, int, str]] = []
    IndexCurve("exact", rounds=2).measure((50, 60), dimensions=4, asked=20, progress=lambda *said: told.append(said))
    assert [said[2] for said in told[:4]] == [
        "searches 50 vectors exactly", "searches 60 vectors exactly", "builds 50 vectors", "builds 60 vectors"
    ]  # fmt: skip
    assert {said[1] for said in told} == {7}
    assert sorted({said[0] for said in told}) == [1, 2, 3, 4, 5, 6, 7]
    assert told[-1][2] == "asks 60 vectors, query 19 of 20"


@pytest.mark.lab
def test_a_build_tells_how_far_it_is() -> None:
    pytest.importorskip("faiss")
    told: list[str] = []
    IndexCurve("faiss-flat", rounds=1).measure(
        (10_000,), dimensions=4, asked=2, progress=lambda *said: told.append(said[2])
    )
    assert told[2].startswith("builds 10,000 vectors: 82% after 0:0")
    assert ", about 0:0" in told[2]
    assert told[3].startswith("builds 10,000 vectors: 100% after 0:0")


def test_the_lists_of_ivf_are_trained_with_vectors_of_the_whole_file() -> None:
    """The first of a file in some order are all of one topic."""
    rows = faiss_kinds._training(1000, 100)
    assert len(set(rows.tolist())) == 100
    assert rows.min() < 100 < 900 < rows.max()
    assert faiss_kinds._training(100, 100) == slice(None)


@pytest.mark.lab
@pytest.mark.parametrize(
    ("name", "library", "options"),
    [
        ("faiss-hnsw", "faiss", {"M": 4, "efConstruction": 8}),
        ("faiss-ivf", "faiss", {}),
        ("usearch-hnsw", "usearch", {"connectivity": 4, "expansion_add": 8}),
    ],
)
def test_one_thread_builds_the_same_index_each_time(name: str, library: str, options: dict[str, int]) -> None:
    pytest.importorskip(library)
    settings = {**SMALL, "sizes": (9000,), "dimensions": 16, "rounds": 1, "values": [4], "options": options}
    once, again = (index_curve(name, **settings)["rows"][0]["recall"] for _ in range(2))
    assert once == again < 1


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
