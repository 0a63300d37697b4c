"""One verdict a question: scenarios, failures, counts, and that merging batches changes nothing."""

from __future__ import annotations

import json
import pickle
from functools import reduce
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.evaluation.diagnosis.logs import verdicts_of

from rag_titan.evaluation.diagnosis.reasons import reasons
from rag_titan.evaluation.diagnosis.verdicts import PLACES, VerdictTally

QUOTE, GOLD = {"expected_evidence": ["costs 12 euros"]}, {"expected_chunk_ids": ["parking"]}
FOUND, MISSED = {"context_ids": ["parking"]}, {"context_ids": ["canteen"]}
RIGHT, WRONG = {"answer": "12", "expected_answer": "12"}, {"answer": "7", "expected_answer": "12"}
LONG = {"answer": "12", "expected_answer": " ".join(f"w{i}" for i in range(20))}


def verdict(*parts: dict[str, Any], **setting: Any) -> dict[str, Any]:
    verdicts = verdicts_of([{key: value for part in parts for key, value in part.items()}], **setting)
    row = verdicts.rows(reasons(verdicts))[0]
    return {**row, "failed": bool(verdicts.failed[0])}


@pytest.mark.parametrize("labels", [QUOTE, GOLD])
@pytest.mark.parametrize(
    ("parts", "lost_at", "correct", "scenario", "failed"),
    [
        ((FOUND, RIGHT), None, True, "A", False),
        ((FOUND, WRONG), "generation", False, "B", True),
        ((MISSED, WRONG), "augmentation", False, "C", True),
        ((MISSED, {"answerable": True, "abstained": True}), "augmentation", False, "D", True),
        ((MISSED, RIGHT), "augmentation", True, None, False),
        ((FOUND, LONG), None, None, None, False),
        ((MISSED, LONG), "augmentation", None, None, True),
        ((FOUND,), None, None, None, False),
        ((FOUND, {"error": "timeout"}), "end_to_end", False, None, True),
        ((MISSED, {"error": "timeout"}), "end_to_end", False, None, True),
        (({"error": "timeout"},), "end_to_end", False, None, True),
    ],
)
def test_the_verdict_on_a_question(
    labels: dict[str, Any],
    parts: tuple[dict[str, Any], ...],
    lost_at: str | None,
    correct: bool | None,
    scenario: str | None,
    failed: bool,
) -> None:
    got = verdict(labels, *parts)
    assert [got[key] for key in ("lost_at", "correct", "scenario", "failed")] == [lost_at, correct, scenario, failed]


def test_a_wrong_answer_to_what_the_documents_cannot_answer_is_lost_at_the_answer() -> None:
    got = verdict({"answerable": False, "abstained": False, "answer": "12"})
    assert (got["lost_at"], got["correct_by"], got["scenario"], got["failed"]) == (
        "generation",
        "abstention",
        None,
        True,
    )


def test_a_right_refusal_of_what_the_documents_cannot_answer_lost_nothing() -> None:
    got = verdict({"answerable": False, "abstained": True, "answer": "I do not know."}, MISSED)
    assert (got["lost_at"], got["correct"], got["failed"], got["why"]) == (None, True, False, [])


def test_a_wrong_answer_without_gold_labels_failed_nobody_knows_where() -> None:
    got = verdict(WRONG, FOUND)
    assert (got["lost_at"], got["scenario"], got["failed"]) == (None, None, True)
    assert got["why"][-1] == "without gold labels nothing says where it went wrong"


def test_an_error_that_was_followed_by_an_answer_is_judged_by_the_answer() -> None:
    got = verdict(QUOTE, FOUND, RIGHT, {"error": "first try timed out"})
    assert (got["lost_at"], got["correct_by"], got["scenario"]) == (None, "short_reference", "A")


def test_the_row_of_a_question_is_plain_and_carries_its_tags() -> None:
    got = verdict(QUOTE, MISSED, WRONG, {"id": "x", "tags": {"language": "nl"}})
    assert list(got)[:7] == ["id", "lost_at", "correct", "correct_by", "scenario", "why", "tags"]
    assert (got["id"], got["tags"]) == ("x", {"language": "nl"})
    assert json.loads(json.dumps(got, allow_nan=False)) == got


# Counts.

PARTS: dict[str, Any] = {
    "labels": st.sampled_from([QUOTE, GOLD, {}]),
    "search": st.sampled_from([{}, {"retrieved_ids": ["parking"]}, {"retrieved_ids": ["canteen", "badges"]}]),
    "rerank": st.sampled_from([{}, {}, {"reranked_ids": ["badges", "canteen", "parking"]}]),
    "context": st.sampled_from([{}, FOUND, MISSED, {"context": "nothing"}]),
    "answer": st.sampled_from([{}, RIGHT, WRONG, LONG, {"error": "timeout"}, {"task_success": False}]),
    "refusal": st.sampled_from(
        [{}, {"answerable": True, "abstained": True}, {"answerable": False, "abstained": False}]
    ),
}
QUERY = st.fixed_dictionaries(PARTS).map(lambda parts: {k: v for part in parts.values() for k, v in part.items()})
QUERIES = st.lists(QUERY, max_size=8).map(lambda rows: [{"id": f"q{i}", **row} for i, row in enumerate(rows)])


@given(queries=QUERIES)
def test_there_is_one_verdict_a_question_and_the_counts_add_up(queries: list[dict[str, Any]]) -> None:
    verdicts = verdicts_of(queries)
    rows = verdicts.rows(reasons(verdicts))
    report = VerdictTally.of(verdicts).report()
    assert [row["id"] for row in rows] == [query["id"] for query in queries]
    counts, funnel = report["counts"], {step["stage"]: step for step in report["funnel"]}
    assert counts["questions"] == len(queries) == counts["right"] + counts["wrong"] + counts["unjudged"]
    assert [counts["right"], counts["wrong"]] == [sum(r["correct"] is value for r in rows) for value in (True, False)]
    for place in PLACES:
        assert funnel.get(place, {"lost": 0})["lost"] == sum(row["lost_at"] == place for row in rows)
    assert counts["lost"] == sum(step["lost"] for place, step in funnel.items() if place in PLACES[:5])
    assert report["scenarios"] == {name: sum(row["scenario"] == name for row in rows) for name in "ABCD"}
    failed = {row["id"] for row, fail in zip(rows, verdicts.failed.tolist(), strict=True) if fail}
    assert counts["failed"] == len(failed)
    assert {i for ids in report["examples"].values() for i in ids} == failed - {
        r["id"] for r in rows if not r["lost_at"]
    }


@given(queries=QUERIES)
def test_scenario_and_place_never_disagree(queries: list[dict[str, Any]]) -> None:
    verdicts = verdicts_of(queries)
    places = {"A": {None}, "B": {"generation"}, "C": set(PLACES[:5]), "D": set(PLACES[:5])}
    for row in verdicts.rows(reasons(verdicts)):
        assert row["scenario"] is None or row["lost_at"] in places[row["scenario"]]
        assert row["scenario"] != "A" or row["correct"] is True
        assert row["scenario"] not in ("B", "C") or row["correct"] is False


@given(queries=QUERIES)
def test_every_loss_and_every_wrong_answer_has_its_evidence(queries: list[dict[str, Any]]) -> None:
    verdicts = verdicts_of(queries)
    for row in verdicts.rows(reasons(verdicts)):
        assert bool(row["why"]) == (row["lost_at"] is not None or row["correct"] is False)
        assert all(isinstance(text, str) and text.strip() == text != "" for text in row["why"])


@given(queries=QUERIES, seed=st.randoms(use_true_random=False))
def test_merging_batches_in_any_order_equals_the_whole(queries: list[dict[str, Any]], seed: Any) -> None:
    whole = VerdictTally.of(verdicts_of(queries)).report()
    mixed = [[query] for query in queries]
    seed.shuffle(mixed)
    parts = [pickle.loads(pickle.dumps(VerdictTally.of(verdicts_of(batch)))) for batch in mixed]
    assert reduce(VerdictTally.merge, parts, VerdictTally()).report() == whole
    assert reduce(lambda a, b: b.merge(a), parts, VerdictTally()).report() == whole


def test_the_examples_are_the_hundred_smallest_ids() -> None:
    queries = [{"id": f"q{i:03}", **GOLD, **MISSED, **WRONG} for i in range(107)]
    halves = [VerdictTally.of(verdicts_of(part)) for part in (queries[60:], queries[:60])]
    assert halves[0].merge(halves[1]).report()["examples"] == {"augmentation": [q["id"] for q in queries[:100]]}


def test_the_funnel_says_how_many_came_and_how_many_were_lost() -> None:
    search = [{"retrieved_ids": ids} for ids in (["parking"], ["parking"], ["badges"])]
    contexts = [FOUND, MISSED, MISSED]
    rows = [{**QUOTE, **WRONG, **s, **c} for s, c in zip(search, contexts, strict=True)]
    assert VerdictTally.of(verdicts_of(rows)).report()["funnel"] == [
        {"stage": "chunking", "lost": 0, "kept": 3},
        {"stage": "retrieval", "lost": 1, "kept": 2},
        {"stage": "augmentation", "lost": 1, "kept": 1},
        {"stage": "generation", "lost": 1, "kept": 0},
    ]


def test_a_question_that_ended_in_an_error_is_followed_as_far_as_it_came() -> None:
    """One is found and answered; one is not found and then ends in an error: its evidence is kept nowhere, and the
    request is where it was lost."""
    found, missed = {"retrieved_ids": ["parking"]}, {"retrieved_ids": ["badges"], "error": "timed out"}
    report = VerdictTally.of(verdicts_of([{**QUOTE, **RIGHT, **found}, {**QUOTE, **missed}])).report()
    assert report["funnel"] == [
        {"stage": "chunking", "lost": 0, "kept": 2},
        {"stage": "retrieval", "lost": 0, "kept": 1},
        {"stage": "generation", "lost": 0, "kept": 1},
        {"stage": "end_to_end", "lost": 1, "kept": None},
    ]


def test_questions_without_an_answer_in_the_documents_are_judged_by_their_answer_alone() -> None:
    refused = {"answerable": False, "answer": "I do not know.", "abstained": True}
    answered = {"answerable": False, "answer": "It is 27 days.", "abstained": False}
    tally = VerdictTally.of(verdicts_of([{**QUOTE, **RIGHT, "retrieved_ids": ["parking"]}, refused, answered])).report()
    assert tally["funnel"][-1] == {"stage": "generation", "lost": 1, "kept": 2}
    assert tally["counts"]["unanswerable_answered"] == 1


def test_nothing_at_all() -> None:
    report = VerdictTally.of(verdicts_of([])).report()
    assert (report["funnel"], report["counts"]["questions"], report["examples"]) == ([], 0, {})
