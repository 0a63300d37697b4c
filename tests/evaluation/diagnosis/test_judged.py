"""The whitepaper's diagnosis table over a judge's scores, and where it stands beside the funnel."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rag_titan.evaluation import RAGEvaluator
from rag_titan.evaluation.diagnosis.judged import NAMES, ROWS, SIGNS, JudgedFaults
from rag_titan.evaluation.diagnosis.verdicts import PLACES
from rag_titan.evaluation.scoring.policy import JUDGED_LIMITS

YES, NO = "supported", "not_supported"
Record = dict[str, Any]


def query(
    name: str,
    *,
    faithful: bool | None = True,
    relevant: bool | None = True,
    recalled: bool | None = True,
    ordered: bool | None = True,
    **more: Any,
) -> Record:
    """A question of which each of the four scores is 1, low, or not measured (None)."""
    verdicts: Record = {"judge": "a-model@0f"}
    if faithful is not None:
        verdicts["answer_claims"] = [{"context": YES}, {"context": YES if faithful else NO}]
    if relevant is not None:
        verdicts["question_similarities"] = [1.0 if relevant else 0.1]
    if recalled is not None:
        verdicts["reference_claims"] = [{"context": YES if recalled else NO}]
    if ordered is not None:
        verdicts["useful_chunks"] = {"a": ordered, "b": False, "c": True}
    return {"id": name, "retrieved_ids": ["a", "b", "c"], "verdicts": verdicts, **more}


def evaluated(*queries: Record, **options: Any) -> Record:
    return RAGEvaluator(k=3).evaluate(queries=list(queries), **options)


def diagnosed(**scores: bool | None) -> Record:
    (row,) = evaluated(query("q", **scores))["queries"]
    said: Record = row["judge"]
    return said


@pytest.mark.parametrize(
    ("faithful", "relevant", "recalled", "ordered", "diagnosis"),
    [
        (True, True, True, True, "healthy"),
        (False, True, True, True, "hallucination"),
        (True, False, True, True, "question_not_answered"),
        (True, True, False, None, "evidence_not_retrieved"),
        (True, True, True, False, "wrong_order"),
    ],
)
def test_the_rows_of_the_whitepaper(
    faithful: bool, relevant: bool, recalled: bool, ordered: bool | None, diagnosis: str
) -> None:
    """Section 4, the table at its end; the precision of a context without evidence is not asked for."""
    said = diagnosed(faithful=faithful, relevant=relevant, recalled=recalled, ordered=ordered)
    assert said["diagnosis"] == diagnosis


def test_the_scores_that_a_row_stands_on() -> None:
    said = diagnosed(faithful=False)
    assert said["low"] == {"faithfulness": 0.5}
    assert said["unmeasured"] == []
    assert diagnosed(ordered=False)["low"] == {"context_precision": pytest.approx(1 / 3, abs=1e-15)}


@pytest.mark.parametrize(
    ("scores", "diagnosis"),
    [
        ({"faithful": False, "relevant": None}, "hallucination"),
        ({"faithful": False, "recalled": None}, "undetermined"),  # whether the context was good is not known
        ({"relevant": False, "faithful": None}, "undetermined"),
        ({"relevant": None}, "undetermined"),  # healthy takes all four
        ({"recalled": False, "faithful": None, "relevant": None}, "evidence_not_retrieved"),
        ({"recalled": False, "faithful": False}, "several"),
        ({"faithful": None, "relevant": None, "recalled": None, "ordered": None}, "undetermined"),
    ],
)
def test_what_is_not_measured_settles_nothing(scores: Record, diagnosis: str) -> None:
    assert diagnosed(**scores)["diagnosis"] == diagnosis


def test_every_combination_against_a_slow_twin() -> None:
    """Each score is high, at the limit (not low), low, or not measured."""
    limits = {sign: JUDGED_LIMITS[sign].value for sign in SIGNS}
    values = {sign: (1.0, limits[sign], limits[sign] - 0.01, float("nan")) for sign in SIGNS}
    every = list(product(*(values[sign] for sign in SIGNS)))
    columns = {sign: np.array([row[i] for row in every]) for i, sign in enumerate(SIGNS)}
    faults = JudgedFaults(columns, limits, np.ones(len(every), dtype=bool))
    for name, row in zip(faults.names, every, strict=True):
        scores = dict(zip(SIGNS, row, strict=True))
        low = [sign for sign in SIGNS if scores[sign] < limits[sign]]
        missing = [sign for sign in SIGNS if scores[sign] != scores[sign]]
        if len(low) > 1:
            assert name == "several"
        elif not low:
            assert name == ("undetermined" if missing else "healthy")
        else:
            (fault,) = (one for one in ROWS if one.low == low[0])
            assert name == (fault.name if not set(fault.high) & set(missing) else "undetermined")


GOLD: Record = {"expected_chunk_ids": ["a"]}


@pytest.mark.parametrize(
    ("scores", "more", "agrees"),
    [
        ({}, {**GOLD, "answer": "1", "task_success": True}, True),
        ({}, {**GOLD, "answer": "1", "task_success": False}, False),  # healthy, and wrong by the labels
        ({}, {"expected_chunk_ids": ["z"], "answer": "1"}, False),  # healthy, and the gold chunk is not there
        ({"faithful": False}, {**GOLD, "answer": "1", "task_success": False}, True),
        ({"faithful": False}, {**GOLD, "answer": "1", "task_success": True}, False),
        ({"faithful": False}, {**GOLD, "answer": "1"}, None),  # the labels say nothing of the answer
        ({"faithful": False}, {"expected_chunk_ids": ["z"], "answer": "1"}, False),
        ({"recalled": False}, {"expected_chunk_ids": ["z"], "answer": "1"}, True),
        ({"recalled": False}, {**GOLD, "answer": "1", "task_success": True}, False),
        ({"recalled": False}, {**GOLD, "answer": "1"}, False),
        ({"recalled": False}, {"answer": "1"}, None),  # no gold at all
        ({}, {"answer": "1", "task_success": True}, True),
        ({}, {"answer": "1", "task_success": False}, False),  # healthy, and wrong, wherever that was
        ({"faithful": False}, {"answer": "1", "task_success": True}, False),
        ({"faithful": False}, {"answer": "1", "task_success": False}, None),  # wrong, and nobody knows where
        ({"recalled": False}, {"answer": "1", "task_success": True}, None),  # no label speaks of the evidence
        ({"recalled": False}, {"answer": "1", "task_success": False}, None),
        ({"ordered": False}, {"answer": "1", "task_success": True}, None),
        ({"ordered": False}, {**GOLD, "answer": "1"}, True),
        ({"faithful": False, "recalled": False}, {**GOLD, "answer": "1", "task_success": False}, True),
        ({"faithful": False, "recalled": None}, {**GOLD, "answer": "1", "task_success": False}, None),
        ({}, {**GOLD, "error": "timeout"}, None),
    ],
)
def test_beside_the_funnel(scores: Record, more: Record, agrees: bool | None) -> None:
    report = evaluated(query("q", **scores, **more))
    assert report["queries"][0]["judge"]["agrees_with_funnel"] is agrees
    counted = {None: (0, 0), True: (1, 0), False: (0, 1)}[agrees]
    assert (
        report["judge"]["diagnosis"]["funnel"]["agree"],
        report["judge"]["diagnosis"]["funnel"]["differ"],
    ) == counted


def test_the_funnel_says_what_it_says_without_a_judge() -> None:
    """The judge's table stands beside the verdict, and changes nothing of it."""
    more = {**GOLD, "answer": "1", "task_success": False}
    with_judge = evaluated(query("q", recalled=False, **more))
    without = evaluated({key: value for key, value in query("q", **more).items() if key != "verdicts"})
    assert "judge" not in without
    assert "judge" not in without["queries"][0]
    (row,) = with_judge["queries"]
    assert {key: value for key, value in row.items() if key != "judge"} == without["queries"][0]
    assert with_judge["diagnosis"] == without["diagnosis"]


def test_the_counts_over_the_run() -> None:
    queries = [
        query("q1"), query("q2", faithful=False), query("q3", faithful=False), query("q4", recalled=False),
        query("q5", relevant=None), {"id": "q6", "answer": "no verdicts"},
    ]  # fmt: skip
    queries[4]["verdicts"]["unjudged"] = {"answer_relevance": "the judge did not answer"}
    found = evaluated(*queries)["judge"]
    assert {name: n for name, n in found["diagnosis"]["rows"].items() if n} == {
        "healthy": 1, "hallucination": 2, "evidence_not_retrieved": 1, "undetermined": 1,
    }  # fmt: skip
    assert list(found["diagnosis"]["rows"]) == list(NAMES)
    assert found["diagnosis"]["signs"]["faithfulness"] == {"low": 2, "measured": 5}
    assert found["diagnosis"]["signs"]["answer_relevance"] == {"low": 0, "measured": 4}
    assert found["diagnosis"]["examples"]["hallucination"] == ["q2", "q3"]
    assert found["unjudged"] == {"answer_relevance": 1}
    assert found["diagnosis"]["limits"]["faithfulness"] == 0.8


def test_batches_and_the_order_of_questions_change_nothing(tmp_path: Path) -> None:
    queries = [query(f"q{i:03}", faithful=i % 3 > 0, recalled=i % 4 > 0, **GOLD) for i in range(60)]
    whole = evaluated(*queries)["judge"]["diagnosis"]
    assert evaluated(*reversed(queries))["judge"]["diagnosis"] == whole
    path = tmp_path / "data.jsonl"
    path.write_text("\n".join(json.dumps(one) for one in queries))
    assert RAGEvaluator(k=3).evaluate_path(path, per_query=None)["judge"]["diagnosis"] == whole


def test_places_are_those_of_the_funnel() -> None:
    assert {stage for row in ROWS for stage in row.stages if stage is not None} <= set(PLACES)
