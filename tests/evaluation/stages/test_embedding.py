"""The embedding stage against a plain Python twin, the shared oracles and scikit-learn."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag_titan.evaluation.data.vectors import vector_table
from rag_titan.evaluation.metric import Stage
from rag_titan.evaluation.stages.embedding import METRICS, EmbeddingInputs
from rag_titan.evaluation.stages.stage import StageTally, measure, per_query_rows

SHARED = Path(__file__).resolve().parents[4] / "shared"
CHUNKS = ["a", "b", "c", "d", "e", "f"]
QUERIES = ["q1", "q2", "q3"]
UNKNOWN = ["x", "y"]

VECTOR_KEYS = ("zero_norm_rate", "duplicate_vector_rate", "mean_vector_norm", "index_coverage")
QUERY_KEYS = (
    "query_topk_recall",
    "ann_recall_at_k",
    "positive_similarity",
    "negative_similarity",
    "similarity_margin",
)


def result(embeddings: dict[str, Any], k: int) -> dict[str, Any]:
    """The stage as a report shows it."""
    table = vector_table(embeddings)
    inputs = EmbeddingInputs(table, k)
    values = measure(METRICS, inputs)
    tally = StageTally.tally(METRICS, values, reasons=inputs.reasons)
    detail = tally.detail(METRICS, table.given)
    return {**tally.summary(METRICS), "detail": detail, "per_query": per_query_rows(METRICS, values, table.query_ids)}


# --- the twin: one query at a time, straight from the formulas


def cosine(a: list[float], b: list[float]) -> float | None:
    if not any(a) or not any(b):
        return None
    dot = math.fsum(x * y for x, y in zip(a, b, strict=True))
    return dot / math.sqrt(math.fsum(x * x for x in a) * math.fsum(y * y for y in b))


def mean(values: list[float | None]) -> float | None:
    kept = [v for v in values if v is not None]
    return math.fsum(kept) / len(kept) if kept else None


def slow_query(data: dict[str, Any], query: str, k: int) -> dict[str, float | None]:
    q, vectors = data["query_vectors"][query], data["vectors"]
    similar = {chunk: s for chunk, v in vectors.items() if (s := cosine(q, v)) is not None}
    exact = sorted(similar.values(), reverse=True)[:k]
    gold = set(data.get("relevant_ids", {}).get(query, []))
    row: dict[str, float | None] = dict.fromkeys(QUERY_KEYS)

    def is_found(chunk: str) -> bool:
        return chunk in similar and similar[chunk] >= exact[-1] - 1e-6

    if gold:
        row["query_topk_recall"] = sum(map(is_found, gold)) / len(gold)
        row["positive_similarity"] = mean([similar.get(chunk) for chunk in gold])
        row["negative_similarity"] = mean([s for chunk, s in similar.items() if chunk not in gold])
        if row["positive_similarity"] is not None and row["negative_similarity"] is not None:
            row["similarity_margin"] = row["positive_similarity"] - row["negative_similarity"]
    returned = data.get("index_results", {}).get(query)
    if returned is not None and exact:
        first = list(dict.fromkeys(returned))[:k]
        row["ann_recall_at_k"] = min(sum(map(is_found, first)), len(exact)) / len(exact)
    return row


def slow(data: dict[str, Any], k: int) -> dict[str, Any]:
    rows = list(data["vectors"].values())
    distinct: list[list[float]] = []
    for row in rows:
        if row not in distinct:
            distinct.append(row)
    indexed = data.get("indexed_ids")
    queries = [slow_query(data, query, k) for query in data.get("query_vectors", {})]
    return {
        "zero_norm_rate": mean([float(not any(row)) for row in rows]),
        "duplicate_vector_rate": (len(rows) - len(distinct)) / len(rows),
        "mean_vector_norm": mean([math.sqrt(math.fsum(x * x for x in row)) for row in rows]),
        "index_coverage": None if indexed is None else mean([float(c in indexed) for c in data["vectors"]]),
        **{key: mean([row[key] for row in queries]) for key in QUERY_KEYS},
        "per_query": queries,
    }


@st.composite
def inputs(draw: st.DrawFn) -> dict[str, Any]:
    """An `embeddings` input: zeros, copies, ties, unknown ids, keys that are absent or empty."""
    d = draw(st.integers(1, 3))
    vector = st.lists(st.sampled_from([-1.0, 0.0, 0.5, 1.0, 2.0]), min_size=d, max_size=d)
    ids = st.lists(st.sampled_from(CHUNKS + UNKNOWN), max_size=5)

    def some_of(names: list[str], values: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
        return st.fixed_dictionaries({names[0]: values}, optional=dict.fromkeys(names[1:], values))

    data: dict[str, Any] = {"vectors": draw(some_of(CHUNKS, vector))}
    more = {
        "query_vectors": some_of(QUERIES, vector),
        "relevant_ids": some_of(QUERIES[::-1], ids),
        "index_results": some_of(QUERIES, ids),
        "indexed_ids": ids,
    }
    for key, values in more.items():
        if draw(st.integers(0, 5)):
            data[key] = draw(values)
    return data


def same(got: float | None, want: float | None) -> bool:
    return (got is None) == (want is None) and (got is None or want is None or abs(got - want) <= 1e-9)


@given(inputs(), st.integers(1, 4))
def test_the_stage_is_its_slow_twin(data: dict[str, Any], k: int) -> None:
    got, want = result(data, k), slow(data, k)
    for key in (*VECTOR_KEYS, *QUERY_KEYS):
        assert same(got[key], want[key]), key
    assert [row["id"] for row in got["per_query"]] == list(data.get("query_vectors", {}))
    for row, twin in zip(got["per_query"], want["per_query"], strict=True):
        assert all(same(row[key], twin[key]) for key in QUERY_KEYS)


@settings(max_examples=40)
@given(inputs(), st.integers(1, 4), st.randoms())
def test_neither_order_nor_company_changes_a_digit(data: dict[str, Any], k: int, random: Any) -> None:
    want = result(data, k)
    shuffled = dict(data)
    for key in ("vectors", "query_vectors", "relevant_ids", "index_results"):
        if key in data:
            items = list(data[key].items())
            random.shuffle(items)
            shuffled[key] = dict(items)
    got = result(shuffled, k)
    by_id = {row["id"]: row for row in want["per_query"]}
    assert {row["id"]: row for row in got.pop("per_query")} == by_id
    want.pop("per_query")
    assert got == want
    for query, vector in data.get("query_vectors", {}).items():
        alone = result({**data, "query_vectors": {query: vector}}, k)
        assert alone["per_query"] == [by_id[query]]


def test_values_lie_in_the_range_of_their_kind_at_the_edge() -> None:
    rows = {str(i): [0.1 * i, 0.7, -0.3] for i in range(1, 30)}
    data = {"vectors": rows, "query_vectors": rows, "relevant_ids": {key: [key] for key in rows}}
    row = result(data, 1)
    assert row["positive_similarity"] == row["query_topk_recall"] == 1.0
    copies = {"vectors": {"a": [0.1, 0.7], "b": [0.2, 1.4], "c": [0.3, 2.1]}, "query_vectors": {"q": [0.1, 0.7]}}
    assert result({**copies, "relevant_ids": {"q": ["a"]}}, 1)["negative_similarity"] <= 1.0


def test_the_rows_stand_in_the_order_of_the_metrics_page() -> None:
    assert [row.key for row in METRICS] == [*VECTOR_KEYS, *QUERY_KEYS]
    assert {row.stage for row in METRICS} == {Stage.EMBEDDING}
    assert [row.per for row in METRICS] == ["vector"] * 4 + ["query"] * 5
    assert next(row for row in METRICS if row.key == "mean_vector_norm").kind.better is None


def test_ties_at_rank_k_count_as_found_and_in_the_index() -> None:
    data = {
        "vectors": {"a": [1, 0], "b": [2, 0], "c": [0.5, 0], "d": [0, 1]},
        "query_vectors": {"q": [1, 0]},
        "relevant_ids": {"q": ["c", "d"]},
        "index_results": {"q": ["c", "c", "b", "d"]},
    }
    row = result(data, 2)
    assert (row["query_topk_recall"], row["ann_recall_at_k"]) == (0.5, 1.0)


def test_the_index_is_judged_by_its_first_k_distinct_results() -> None:
    vectors = {"a": [1.0, 0.0], "b": [0.0, 1.0], "c": [-1.0, 0.0]}
    data = {"vectors": vectors, "query_vectors": {"q": [1.0, 0.0]}}
    assert result({**data, "index_results": {"q": ["c", "a"]}}, 1)["ann_recall_at_k"] == 0.0
    assert result({**data, "index_results": {"q": ["x", "x", "a"]}}, 2)["ann_recall_at_k"] == 0.5


def test_without_gold_there_are_no_other_chunks_either() -> None:
    data = {"vectors": {"a": [1.0, 0.0], "b": [0.0, 1.0]}, "query_vectors": {"q": [1.0, 0.0], "r": [1.0, 0.0]}}
    rows = result({**data, "relevant_ids": {"q": ["a"], "r": []}}, 1)["per_query"]
    assert [row["negative_similarity"] for row in rows] == [0.0, None]
    rows = result({**data, "relevant_ids": {"q": ["a"], "r": ["ghost"]}}, 1)["per_query"]
    assert [row["negative_similarity"] for row in rows] == [0.0, 0.5]


def test_a_vector_of_zeros_is_no_result_to_be_missed() -> None:
    data = {"vectors": {"a": [1.0], "z": [0.0]}, "query_vectors": {"q": [2.0]}, "index_results": {"q": ["a", "z"]}}
    assert result(data, 2)["ann_recall_at_k"] == 1.0


def test_a_k_beyond_all_vectors_costs_nothing() -> None:
    data = {"vectors": {"a": [1, 0], "b": [0, 1]}, "query_vectors": {"q": [1, 0]}, "relevant_ids": {"q": ["b"]}}
    row = result({**data, "index_results": {"q": ["a"]}}, 10**15)
    assert (row["query_topk_recall"], row["ann_recall_at_k"]) == (1.0, 0.5)


def test_a_query_of_zeros_finds_nothing_and_has_no_similarity() -> None:
    data = {"vectors": {"a": [1, 0]}, "query_vectors": {"q": [0, 0]}, "relevant_ids": {"q": ["a"]}}
    row = result({**data, "index_results": {"q": ["a"]}}, 1)
    assert [row[key] for key in QUERY_KEYS] == [0.0, None, None, None, None]


def test_reasons_say_what_is_missing() -> None:
    vectors = {"a": [1.0, 0.0], "b": [0.0, 1.0]}
    detail = result({"vectors": vectors}, 1)["detail"]
    assert detail["index_coverage"]["reason"] == "not measured, because indexed_ids was not passed"
    assert "query_vectors" in detail["query_topk_recall"]["reason"]
    assert detail["zero_norm_rate"]["reason"] is None
    queries = {"q1": [1.0, 0.0], "q2": [1.0, 1.0]}
    detail = result({"vectors": vectors, "query_vectors": queries, "relevant_ids": {"q1": ["a"]}}, 1)["detail"]
    row = detail["query_topk_recall"]
    assert (row["n"], row["of"]) == (1, 2)
    assert row["reason"] == "not measured for 1 of 2 queries with a vector: they have no gold chunks"
    assert detail["ann_recall_at_k"]["reason"] == "not measured, because index_results was not passed"


# --- oracles


def shared(path: str) -> dict[str, Any]:
    file = SHARED / path
    if not file.exists():
        pytest.skip(f"{file.name} is not here")
    return dict(json.loads(file.read_text(encoding="utf-8")))


@pytest.mark.oracle
@pytest.mark.parametrize("name", ["embedding_edge", "embedding_real"])
def test_the_shared_oracle(name: str) -> None:
    for case in shared(f"oracle/{name}.json")["cases"]:
        got = result(case["kwargs"]["embeddings"], case["k"])
        for key, want in case["expected"]["embedding"].items():
            assert same(got[key], want), (case["id"], key)


@pytest.mark.oracle
def test_a_zero_vector_takes_no_place_in_the_top_k() -> None:
    case = shared("cases/15-zero-vector-in-topk.json")
    data = case["input"]["embeddings"]
    got = result(data, case["k"])
    for name, want in case["expect"]["values"].items():
        assert same(got[name.removeprefix("embedding.")], want), name
    assert got["negative_similarity"] == 1.0
    assert result({**data, "vectors": dict(reversed(data["vectors"].items()))}, case["k"]) == got


@pytest.mark.oracle
def test_scikit_learn_finds_the_same() -> None:
    pairwise = pytest.importorskip("sklearn.metrics.pairwise")
    rng = np.random.default_rng(3)
    table, queries = (
        rng.standard_normal((5000, 16)).astype(np.float32),
        rng.standard_normal((40, 16)).astype(np.float32),
    )
    gold = rng.integers(0, 5000, (40, 3))
    gold[:, 0] = np.argsort(-(queries @ (table / np.linalg.norm(table, axis=1)[:, None]).T), axis=1)[:, 4]
    want = pairwise.cosine_similarity(queries.astype(np.float64), table.astype(np.float64))
    kth = np.sort(want, axis=1)[:, -10]
    data = {
        "ids": np.arange(5000),
        "vectors": table,
        "query_ids": np.arange(40),
        "query_vectors": queries,
        "relevant_ids": dict(enumerate(gold)),
    }
    got = result(data, 10)["per_query"]
    for i, row in enumerate(got):
        mine = np.unique(gold[i])
        assert row["query_topk_recall"] == (want[i, mine] >= kth[i] - 1e-6).mean()
        assert row["positive_similarity"] == pytest.approx(want[i, mine].mean(), abs=1e-9)
        assert row["negative_similarity"] == pytest.approx(np.delete(want[i], mine).mean(), abs=1e-9)
    assert sum(row["query_topk_recall"] > 0 for row in got) == 40
