"""The sweep of K: the evaluator's own numbers at each K, the knee, and the answers of each K."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from rag_titan.errors import DatasetError, SettingsError
from rag_titan.evaluation import RAGEvaluator
from rag_titan.lab.answer_quality import MEASURES, answer_quality
from rag_titan.lab.sweep_k import sweep_k

pytest.importorskip("kneed")
pytestmark = pytest.mark.lab
KS = (1, 2, 3, 5, 8)


def run(count: int = 30, at: int = 3, depth: int = 10) -> dict[str, Any]:
    """Questions with as many gold chunks as `at`, which all stand in front: recall is k / at, and then 1."""
    chunks = [{"id": f"c{i}", "text": "word " * 10} for i in range(20)]
    ids = [f"c{i}" for i in range(depth)]
    queries = [{"id": f"q{i}", "expected_chunk_ids": ids[:at], "retrieved_ids": ids} for i in range(count)]
    return {"chunks": chunks, "queries": queries}


def answered(right: int, count: int = 40, first: int = 0) -> dict[str, Any]:
    return {
        "queries": [{"id": f"q{i}", "answer": "yes", "task_success": first <= i < first + right} for i in range(count)]
    }


def test_the_values_are_those_of_the_evaluator_and_of_a_hand() -> None:
    data = run()
    sweep = sweep_k(data, ks=KS)
    for row in sweep.rows:
        report = RAGEvaluator(k=row.k).evaluate(**data)["retrieval"]
        for key, found in row.retrieval.items():
            detail = report["detail"][key]
            assert (found.value, found.n, found.ci95) == (report["summary"][key], detail["n"], detail["ci95"])
        assert row.retrieval["recall_at_k"].value == pytest.approx(min(row.k, 3) / 3)
        assert row.context_tokens.value == 10 * row.k
        assert row.context_tokens.n == 30


def test_the_knee_is_where_recall_was_made_to_stop() -> None:
    knee = sweep_k(run(), ks=KS).knee
    assert knee.k == 3
    assert knee.support == {"3": 1.0}
    assert knee.reason.startswith("Knee at K = 3: recall is 1.000, it rises by 0.333 with each further chunk up to")
    assert "by 0.000 beyond" in knee.reason


def test_no_knee_is_said_with_its_reason() -> None:
    even = sweep_k(run(at=8), ks=(2, 4, 6, 8)).knee
    assert (even.k, even.support) == (None, {"none": 1.0})
    assert even.reason == "No knee: recall rises about evenly, or ever faster, 0.250 at K = 2 and 1.000 at K = 8."
    flat = sweep_k(run(at=1), ks=(1, 3, 5)).knee
    assert flat.reason == "No knee: recall does not rise at all, 1.000 at K = 1 and 1.000 at K = 5."
    assert sweep_k(run(), ks=(1, 3)).knee.reason == "No knee: it takes 3 values of K, and recall has 2."
    bare = {"queries": [{"id": "q", "retrieved_ids": ["a"]}]}
    answers = {3: answered(30), 5: answered(12)}  # which can decide without any gold
    assert sweep_k(bare, runs=answers).knee.reason == "No knee: recall is measured for no question."
    with pytest.raises(DatasetError, match="must have retrieved_ids and expected_chunk_ids"):
        sweep_k(bare)


def test_k_beyond_what_was_logged_makes_no_knee() -> None:
    sweep = sweep_k(run(at=8, depth=6), ks=(2, 4, 6, 8, 10, 15))
    assert [row.shorter for row in sweep.rows] == [0, 0, 0, 30, 30, 30]
    assert sweep.knee.k is None  # 6 would be one, were the flat rest counted
    assert "without K = 8, 10, 15, where most rankings end before" in sweep.knee.reason
    assert any("rankings shorter than K (K = 8: 30" in text for text in sweep.warnings)


def test_the_reranked_list_is_another_sweep() -> None:
    data = run(count=3, at=1)
    for query in data["queries"]:
        query["reranked_ids"] = query["retrieved_ids"][::-1]
    first = sweep_k(data, ks=(1, 10), ranking="reranked").rows
    assert [row.retrieval["recall_at_k"].value for row in first] == [0.0, 1.0]
    assert data["queries"][0]["retrieved_ids"][0] == "c0"  # the caller's own stay as they are
    with pytest.raises(SettingsError, match=r"^ranking: must be retrieved or reranked, got 'ranked'\."):
        sweep_k(data, ranking="ranked")


def test_the_answers_of_each_k_and_which_cannot_be_told_apart() -> None:
    found = answer_quality({3: answered(30), 5: answered(29), 15: answered(4)})
    assert found is not None
    assert (found.by, found.best, found.not_told_apart) == ("task_success_rate", 3, [5])
    assert found.rows[15]["task_success_rate"].value == 4 / 40
    # 3 against 5: one question differs, so that both of the 2 signs are as far; 3 against 15: 26 of 26 fall
    assert found.p[5] == 1.0
    assert (found.p[15] or 1) < 0.001
    assert found.reason() == (
        "Answers are best at K = 3 (task_success_rate 0.750); not told apart from it (paired test, 5 %): K = 5."
    )


def test_of_equal_answers_the_smaller_context_is_taken() -> None:
    found = answer_quality({8: answered(10), 3: answered(10, first=5)})
    assert found is not None
    assert found.best == 3


def test_runs_of_other_questions_or_without_gold_answers_are_refused() -> None:
    strange = {"queries": [{"id": "z", "answer": "yes", "task_success": True}]}
    with pytest.raises(DatasetError, match=r"^run 3: must share questions with run 5, got none\."):
        answer_quality({3: answered(4), 5: strange})
    with pytest.raises(DatasetError, match=r"^runs: must all have answers with one of task_success_rate"):
        answer_quality({3: {"queries": [{"id": "q", "answer": "yes"}]}})
    assert answer_quality({}) is None
    assert len(MEASURES) == 4


def test_the_result_is_strict_json_and_the_same_in_every_order() -> None:
    data, runs = run(), {3: answered(30), 5: answered(12)}
    first = sweep_k(data, ks=KS, runs=runs)
    data["queries"] = data["queries"][::-1]
    again = sweep_k(data, ks=KS[::-1], runs=runs)
    assert json.dumps(first.as_dict(), allow_nan=False) == json.dumps(again.as_dict())
    points = first.points()
    assert {point["metric"] for point in points} >= {"recall_at_k", "task_success_rate"}
    assert all(point["low"] <= point["value"] <= point["high"] for point in points)
    assert [points[0]["low"], points[0]["high"]] == first.rows[0].retrieval["recall_at_k"].ci95


@pytest.mark.parametrize("ks", [[], [0], [-1], ["3"], [3.0], [None], [True], [[3]], "35", 5, None])
def test_cut_offs_that_are_none_are_refused(ks: Any) -> None:
    with pytest.raises(SettingsError, match=r"^ks: must be"):
        sweep_k(run(), ks=ks)


def test_cut_offs_of_numpy_are_plain_in_the_result() -> None:
    swept = sweep_k(run(), ks=np.array([3, 1, 3])).as_dict()
    assert json.dumps(swept) == json.dumps(sweep_k(run(), ks=(1, 3)).as_dict())


@pytest.mark.parametrize("runs", [5, [(3, {})]])
def test_runs_that_are_none_are_refused(runs: Any) -> None:
    with pytest.raises(SettingsError, match=r"^runs: must be {K: a run}"):
        sweep_k(run(), runs=runs)
