"""Random logs under every public implementation at hand."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.oracles.harness import Reference, answer_log, ranking_log
from tests.oracles.references import (
    ROUGE,
    ROUGE_WORDS,
    SKLEARN,
    SKLEARN_LINEAR,
    SQUAD,
    TREC_EVAL,
    TREC_EVAL_LEVEL_2,
)

from rag_titan.evaluation import RAGEvaluator

pytestmark = pytest.mark.oracle


def named(reference: Reference) -> str:
    return reference.name


@pytest.mark.parametrize("k", [1, 3, 10, 50])
@pytest.mark.parametrize("reference", [TREC_EVAL, TREC_EVAL_LEVEL_2, SKLEARN, SKLEARN_LINEAR], ids=named)
def test_rankings(reference: Reference, k: int) -> None:
    for seed in range(4):
        reference.check(ranking_log(seed), k)


@pytest.mark.parametrize("reference", [SQUAD, ROUGE, ROUGE_WORDS], ids=named)
def test_answers(reference: Reference) -> None:
    for seed in range(4):
        reference.check(answer_log(seed))


GRADES = st.dictionaries(st.sampled_from("abcdefgh"), st.integers(-1, 4), max_size=6).map(lambda g: {**g, "z": 1})


RANKED = st.tuples(st.permutations("abcdefghz"), st.integers(0, 9)).map(lambda drawn: list(drawn[0][: drawn[1]]))
LOGS = st.lists(st.tuples(GRADES, RANKED), min_size=1, max_size=8)


@given(log=LOGS, k=st.integers(1, 12))
def test_any_ranking_under_trec_eval(log: list[tuple[dict[str, int], list[str]]], k: int) -> None:
    TREC_EVAL.check([{"id": str(i), "relevance": g, "retrieved_ids": ids} for i, (g, ids) in enumerate(log)], k)


TEXTS = st.lists(st.sampled_from(["the", "a", "25", "days", "Days.", "(paid)", "don't", "!"]), max_size=6).map(" ".join)


@given(pairs=st.lists(st.tuples(TEXTS, TEXTS), max_size=20))
def test_any_answer_under_the_squad_rule(pairs: list[tuple[str, str]]) -> None:
    pairs.append(("25 days", "days"))
    SQUAD.check([{"id": str(i), "answer": a, "expected_answer": r} for i, (a, r) in enumerate(pairs)])


@pytest.mark.parametrize("n", [1, 2, 19, 1000])
def test_percentiles_are_those_of_numpy(n: int) -> None:
    dice = random.Random(n)
    times = [round(dice.lognormvariate(5, 1), 3) for _ in range(n)]
    report: dict[str, Any] = RAGEvaluator().evaluate(
        queries=[{"id": str(i), "latency_ms": t} for i, t in enumerate(times)]
    )
    for share in (50, 95, 99):
        assert report["end_to_end"][f"p{share}_latency_ms"] == pytest.approx(np.percentile(times, share), rel=1e-12)


def test_a_topic_without_a_relevant_document_counts_zero_for_trec_eval_and_its_preset() -> None:
    """By itself 0/0 is no value here (all grades 0: None)."""
    pytrec_eval = pytest.importorskip("pytrec_eval")
    qrels = {"q": {"a": 0, "b": 0}}
    theirs = pytrec_eval.RelevanceEvaluator(qrels, {"recall.5", "ndcg_cut.5"}).evaluate({"q": {"a": 1.0}})
    assert theirs == {"q": {"recall_5": 0.0, "ndcg_cut_5": 0.0}}
    query = {"id": "q", "relevance": qrels["q"], "retrieved_ids": ["a"]}
    for preset, value in (("trec_eval", 0.0), ("seed", None)):
        ours = RAGEvaluator(conventions=preset).evaluate(queries=[query])["retrieval"]["summary"]
        assert (ours["recall_at_k"], ours["ndcg_at_k"], ours["average_precision_at_k"]) == (value, value, value)
    unlabelled = RAGEvaluator(conventions="trec_eval").evaluate(queries=[{"id": "q", "retrieved_ids": ["a"]}])
    assert unlabelled["retrieval"]["summary"]["recall_at_k"] is None
