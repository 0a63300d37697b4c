"""The retrieval stage against slow twins, and its edges by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.evaluation.stages.rank_twins import assert_columns, gold_of, ndcg, ranking_scores, table_of, token_scores
from tests.strategies import World, worlds

from rag_titan.evaluation.data.records import Query
from rag_titan.evaluation.data.tables import QueryTable, Settings
from rag_titan.evaluation.evaluator import RAGEvaluator
from rag_titan.evaluation.stages.retrieval import METRICS, RetrievalInputs
from rag_titan.evaluation.stages.stage import bounds, measure

AT_K = (
    "precision_at_k", "recall_at_k", "f1_at_k", "mrr_at_k", "hit_at_k", "average_precision_at_k", "ndcg_at_k",
)  # fmt: skip
TOKENS = ("token_recall", "token_precision", "token_iou", "complete_evidence_recall")


def values(queries: list[dict[str, Any]], k: int = 5, **settings: Any) -> dict[str, Any]:
    table = QueryTable([Query(**query) for query in queries], settings=Settings(k, **settings))
    return {key: column.tolist() for key, column in measure(METRICS, RetrievalInputs(table, k)).items()}


def rank_columns(world: World, k: int, level: float, gain: str, all_topics: bool = False) -> dict[str, Any]:
    columns: dict[str, list[float | None]] = {key: [] for key in AT_K}
    for query in world.queries:
        gold, ids = gold_of(query), query.get("retrieved_ids")
        labelled = gold and (ids is not None or all_topics)
        relevant = labelled and any(grade >= level for grade in (gold or {}).values())
        scores = ranking_scores(gold or {}, ids or [], k, level, gain) if relevant else {}
        scores |= {"ndcg_at_k": ndcg(gold or {}, ids or [], k, gain)} if labelled else {}
        for key in AT_K:
            columns[key].append(scores.get(key))
    return columns


@pytest.mark.parametrize("level", [0.5, 1.0, 2.0])
@given(world=worlds(), k=st.integers(1, 7), gain=st.sampled_from(["exponential", "linear"]))
def test_the_rank_metrics(level: float, world: World, k: int, gain: str) -> None:
    got = measure(METRICS, RetrievalInputs(table_of(world, k, gain=gain, relevance_level=level), k))
    assert_columns(got, rank_columns(world, k, level, gain))


@given(world=worlds(), k=st.integers(1, 7))
def test_with_all_topics_a_labelled_query_without_a_list_counts_nothing_found(world: World, k: int) -> None:
    got = measure(METRICS, RetrievalInputs(table_of(world, k, all_topics=True), k))
    assert_columns(got, rank_columns(world, k, 0.0, "exponential", all_topics=True))


@given(world=worlds(), k=st.integers(1, 7), other=st.integers(1, 9))
def test_a_further_cutoff_is_the_same_as_an_evaluation_at_it(world: World, k: int, other: int) -> None:
    asked = RetrievalInputs(table_of(world, k, also_at=(other,)), k)
    direct = measure(METRICS, RetrievalInputs(table_of(world, other), other))
    for key, column in measure(METRICS, asked.at(other)).items():
        np.testing.assert_array_equal(column, direct[key], err_msg=key)


@given(world=worlds(), k=st.integers(1, 7))
def test_the_token_metrics(world: World, k: int) -> None:
    got = measure(METRICS, RetrievalInputs(table_of(world, k), k))
    columns: dict[str, list[float | None]] = {key: [] for key in TOKENS}
    for query in world.queries:
        ids = query.get("retrieved_ids")
        scores = token_scores(world, query, None if ids is None else list(dict.fromkeys(ids))[:k])
        for key in TOKENS:
            columns[key].append(scores[key])
    assert_columns(got, columns)


@given(world=worlds(), k=st.integers(1, 7))
def test_what_needs_no_labels(world: World, k: int) -> None:
    got = measure(METRICS, RetrievalInputs(table_of(world, k), k))
    lists = [query.get("retrieved_ids") for query in world.queries]
    assert_columns(
        got,
        {
            "empty_rate": [None if ids is None else float(not ids) for ids in lists],
            "duplicate_rate_at_k": [1 - len(set(ids[:k])) / len(ids[:k]) if ids else None for ids in lists],
        },
    )


def test_the_example_of_a_repeated_id_counts_it_once_at_its_first_rank() -> None:
    got = values([{"id": "q", "expected_chunk_ids": ["a", "b"], "retrieved_ids": ["a", "a", "b", "c"]}], k=2)
    assert [got[key] for key in ("recall_at_k", "precision_at_k", "ndcg_at_k")] == [[1.0], [1.0], [1.0]]
    assert got["duplicate_rate_at_k"] == [0.5]


@pytest.mark.parametrize(
    "query",
    [
        {"expected_chunk_ids": ["a"]},
        {"expected_chunk_ids": [], "retrieved_ids": ["a"]},
        {"relevance": {"a": 0.0, "b": -2.0}, "retrieved_ids": ["a"]},
        {"retrieved_ids": ["a"]},
    ],
)
def test_without_labels_list_or_gold_nothing_is_measured(query: dict[str, Any]) -> None:
    got = values([{"id": "q", **query}])
    assert {key: got[key] for key in AT_K if not np.isnan(got[key]).all()} == {}


def test_an_empty_list_is_a_miss() -> None:
    got = values([{"id": "q", "expected_chunk_ids": ["a"], "retrieved_ids": []}])
    assert {key: got[key] for key in AT_K} == {key: [0.0] for key in AT_K}
    assert got["empty_rate"] == [1.0]
    assert np.isnan(got["duplicate_rate_at_k"]).all()


def test_precision_divides_by_k_however_few_were_returned() -> None:
    assert values([{"id": "q", "expected_chunk_ids": ["a"], "retrieved_ids": ["a"]}], k=4)["precision_at_k"] == [0.25]


def test_logged_texts_stand_in_for_ids() -> None:
    """Two equal texts are one chunk; a text of no chunk is no gold."""
    got = values([{"id": "q", "expected_chunk_ids": ["a"], "retrieved_texts": ["x", "x", "y"]}])
    assert (got["recall_at_k"], got["empty_rate"], got["duplicate_rate_at_k"]) == ([0.0], [0.0], [pytest.approx(1 / 3)])


def test_times_that_are_not_finite_or_negative_are_left_out() -> None:
    times = [100.0, 300.0, None, float("nan"), float("inf"), -5.0]
    got = values([{"id": f"q{i}", "retrieval_latency_ms": t} for i, t in enumerate(times)])
    np.testing.assert_array_equal(got["p95_latency_ms"], [100.0, 300.0, *[np.nan] * 4])
    assert np.isnan(got["search_p95_latency_ms"]).all()


def test_a_chunk_that_leaves_the_token_metrics_unmeasured_is_named() -> None:
    queries = [
        {"id": "q1", "expected_evidence": ["at dawn"], "retrieved_ids": ["a", "x9", "x8"]},
        {"id": "q2", "expected_evidence": ["at dawn"], "retrieved_ids": ["a", "b"]},
        {"id": "q3", "expected_evidence": ["at dawn"], "retrieved_ids": ["a", "bare"]},
        {"id": "q4", "retrieved_ids": ["x9"]},
        {"id": "q5", "expected_evidence": ["at dawn"], "retrieved_ids": ["a", "b", "a", "b", "x9"]},
    ]
    text = "Ships sail at dawn. Dogs stay outside."
    inputs: dict[str, Any] = {
        "chunks": [{"id": "a", "text": text[:20]}, {"id": "b", "text": text[20:]}, {"id": "bare"}], "queries": queries,
    }  # fmt: skip
    told = (
        "`retrieved_ids` name a chunk that is unknown or has no text or sure place: query q1 (x9), q3 (bare). "
        "What it found of the evidence is not measured."
    )
    for documents in ({"document_text": text}, {}):
        report = RAGEvaluator(k=2).evaluate(**inputs, **documents)
        assert [w for w in report["warnings"] if "`retrieved_ids`" in w] == [told]
        complete = [row["complete_evidence_recall"] for row in report["retrieval"]["per_query"]]
        assert complete == [None, 1.0, None, None, 1.0]
    del inputs["chunks"]
    assert not [w for w in RAGEvaluator(k=2).evaluate(**inputs)["warnings"] if "`retrieved_ids`" in w]


def test_every_grade_above_0_is_relevant_unless_a_level_is_set() -> None:
    query = {"id": "q", "relevance": {"a": 0.5, "b": 0.0}, "retrieved_ids": ["b", "a"]}
    for level, recall in ((0, 1.0), (0.5, 1.0), (1, None)):
        report = RAGEvaluator(k=2, conventions={"relevance_level": level}).evaluate(queries=[query])
        assert report["retrieval"]["summary"]["recall_at_k"] == recall
    assert RAGEvaluator(k=2).evaluate(queries=[query])["retrieval"]["summary"]["mrr_at_k"] == 0.5


@pytest.mark.parametrize("ap_denominator", ["min", "relevant", "retrieved"])
@given(world=worlds(), k=st.integers(1, 7))
def test_no_ranking_goes_beyond_its_bound_and_the_best_one_reaches_it(
    ap_denominator: str, world: World, k: int
) -> None:
    best = [query | {"retrieved_ids": sorted(gold_of(query) or {})} for query in world.queries]
    for queries, room in ((world.queries, np.inf), (best, 1e-12)):
        table = table_of(World(world.documents, world.chunks, queries), k, ap_denominator=ap_denominator)
        got = measure(METRICS, inputs := RetrievalInputs(table, k))
        for key, most in bounds(METRICS, inputs, got).items():
            assert np.array_equal(np.isnan(got[key]), np.isnan(most)), key
            left = (most - got[key])[~np.isnan(most)]
            assert ((left > -1e-12) & (left < room)).all(), key


def test_what_the_labels_allow_is_the_mean_of_the_measured_queries() -> None:
    gold = [["a"], ["a", "b", "c"], ["a"], []]  # one gold chunk, three, one without a ranking, none
    queries = [{"id": str(i), "expected_chunk_ids": ids, "retrieved_ids": ["z"]} for i, ids in enumerate(gold)]
    del queries[2]["retrieved_ids"]
    detail = RAGEvaluator(k=2).evaluate(queries=queries)["retrieval"]["detail"]
    most = {key: entry["attainable"] for key, entry in detail.items() if "attainable" in entry}
    # 1 of 2 places and 2 of 2; all of 1 and 2 of 3; 2·(1/2)·1 / (3/2) and 2·1·(2/3) / (5/3)
    wanted = {"precision_at_k": 0.75, "recall_at_k": 5 / 6, "f1_at_k": (2 / 3 + 4 / 5) / 2}
    assert most == pytest.approx(wanted | {"average_precision_at_k": 1.0})
    unlabelled = RAGEvaluator(k=2).evaluate(queries=[{"id": "q", "retrieved_ids": ["a"]}])
    assert unlabelled["retrieval"]["detail"]["precision_at_k"]["attainable"] is None
