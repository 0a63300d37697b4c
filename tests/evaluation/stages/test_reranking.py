"""The reranking stage against slow twins, and its edges by hand."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.evaluation.stages.rank_twins import assert_columns, first_ranks, gold_of, ndcg, ranking_scores, table_of
from tests.strategies import World, worlds

from rag_titan.evaluation.data.records import Query
from rag_titan.evaluation.data.tables import QueryTable, Settings
from rag_titan.evaluation.stages.reranking import METRICS, RerankingInputs
from rag_titan.evaluation.stages.stage import measure

KEYS = (
    "ndcg_at_k", "mrr_at_k", "ndcg_gain", "mrr_gain", "precision_gain", "first_relevant_rank_change",
    "candidate_set_preservation_rate",
)  # fmt: skip


def slow(query: dict[str, Any], k: int) -> dict[str, float | None]:
    gold, before, after = gold_of(query) or {}, query.get("retrieved_ids"), query.get("reranked_ids")
    scores: dict[str, float | None] = dict.fromkeys(KEYS)
    if after is not None and before is not None:
        scores["candidate_set_preservation_rate"] = float(set(before) == set(after))
    if after is not None and gold:
        scores["ndcg_at_k"] = ndcg(gold, after, k)
        scores["ndcg_gain"] = None if before is None else ndcg(gold, after, k) - ndcg(gold, before, k)
    relevant = {chunk for chunk, grade in gold.items() if grade > 0}
    if after is None or not relevant:
        return scores
    new = ranking_scores(gold, after, k, 0.0, "exponential")
    scores["mrr_at_k"] = new["mrr_at_k"]
    if before is None:
        return scores
    old = ranking_scores(gold, before, k, 0.0, "exponential")
    scores["mrr_gain"] = new["mrr_at_k"] - old["mrr_at_k"]
    scores["precision_gain"] = new["precision_at_k"] - old["precision_at_k"]
    ranks = [next((i for i, c in enumerate(first_ranks(x), 1) if c in relevant), None) for x in (before, after)]
    if None not in ranks:
        scores["first_relevant_rank_change"] = ranks[0] - ranks[1]  # type: ignore[operator]
    return scores


def values(k: int = 3, **query: Any) -> dict[str, float]:
    table = QueryTable([Query(id="q", **query)], settings=Settings(k))
    return {key: float(column[0]) for key, column in measure(METRICS, RerankingInputs(table, k)).items()}


@given(world=worlds(), k=st.integers(1, 7))
def test_every_metric(world: World, k: int) -> None:
    got = measure(METRICS, RerankingInputs(table_of(world, k), k))
    assert_columns(got, {key: [slow(query, k)[key] for query in world.queries] for key in KEYS})


def test_the_gold_chunk_that_moves_from_rank_2_to_rank_1() -> None:
    """The quick start of stages.txt: a gain of one half in MRR."""
    got = values(expected_chunk_ids=["c1"], retrieved_ids=["c2", "c1", "c3"], reranked_ids=["c1", "c2", "c3"])
    assert (got["mrr_gain"], got["first_relevant_rank_change"], got["candidate_set_preservation_rate"]) == (0.5, 1, 1)
    assert got["ndcg_gain"] == pytest.approx(1 - 1 / math.log2(3))
    assert got["precision_gain"] == 0


def test_the_first_rank_is_looked_for_in_the_whole_lists() -> None:
    long = [f"c{i}" for i in range(9)]
    got = values(k=2, expected_chunk_ids=["c8"], retrieved_ids=long, reranked_ids=["c0", "c1", "c8"])
    assert got["first_relevant_rank_change"] == 6
    assert (got["mrr_gain"], got["candidate_set_preservation_rate"]) == (0, 0)


def test_a_reranker_that_loses_the_gold_has_no_rank_change_but_a_loss() -> None:
    got = values(expected_chunk_ids=["a"], retrieved_ids=["a", "b"], reranked_ids=["b"])
    assert math.isnan(got["first_relevant_rank_change"])
    assert (got["mrr_gain"], got["ndcg_gain"]) == (-1, -1)


def test_without_the_list_before_only_the_list_after_is_measured() -> None:
    got = values(expected_chunk_ids=["a"], reranked_ids=["a"])
    assert (got["ndcg_at_k"], got["mrr_at_k"]) == (1, 1)
    assert all(math.isnan(got[key]) for key in KEYS[2:])


def test_an_empty_list_after_is_a_miss() -> None:
    got = values(expected_chunk_ids=["a"], retrieved_ids=["a"], reranked_ids=[])
    assert (got["ndcg_at_k"], got["mrr_gain"], got["candidate_set_preservation_rate"]) == (0, -1, 0)


def test_the_same_chunks_with_one_of_them_twice_are_the_same_set() -> None:
    assert values(retrieved_ids=["a", "b"], reranked_ids=["b", "a", "b"])["candidate_set_preservation_rate"] == 1
