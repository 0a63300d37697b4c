"""Samples: the same for the same seed whatever the order, in proportion, and nothing drawn twice."""

from __future__ import annotations

import json
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_titan.errors import DatasetError, SettingsError
from rag_titan.evaluation import profile_documents, sample_documents, sample_queries
from rag_titan.evaluation.data.notices import Notices
from rag_titan.evaluation.preparation.sample import quotas

CATEGORIES = ("hr", "hr", "hr", "hr", "hr", "it", "it", "it", None, "law")
DOCUMENTS = [
    {"id": f"d{number}", "text": f"text {number}" * 20, **({"category": kind} if kind else {})}
    for number, kind in enumerate(CATEGORIES * 4)
]
LOGS = [
    {"id": f"q{number}", "question": f"How is number {number}?", "tags": {"language": "de" if number % 4 else "en"}}
    for number in range(20)
]


@pytest.mark.parametrize("strategy", ["random", "stratified", "risk"])
@given(order=st.permutations(DOCUMENTS), size=st.integers(1, 50), seed=st.integers())
def test_neither_the_order_nor_a_second_run_changes_a_sample(
    strategy: str, order: list[dict[str, Any]], size: int, seed: int
) -> None:
    drawn = sample_documents(DOCUMENTS, size, strategy, seed)
    assert sample_documents(order, size, strategy, seed) == drawn
    assert len(set(drawn)) == len(drawn) == min(size, len(DOCUMENTS))
    assert set(drawn) <= {document["id"] for document in DOCUMENTS}


def test_every_document_has_the_same_chance() -> None:
    """10 of 40, 2,000 seeds: 500 each are expected, with a standard deviation of 19."""
    drawn = Counter(name for seed in range(2000) for name in sample_documents(DOCUMENTS, 10, seed=seed))
    assert len(drawn) == 40
    assert max(abs(count - 500) for count in drawn.values()) < 5 * 19.4


def test_a_larger_random_sample_holds_the_smaller_one() -> None:
    assert sample_documents(DOCUMENTS, 20, seed=3)[:5] == sample_documents(DOCUMENTS, 5, seed=3)


def test_a_stratified_sample_has_every_category_in_proportion() -> None:
    """20 hr, 12 it, 4 law, 4 without: a quarter of each."""
    kinds = {document["id"]: document.get("category") for document in DOCUMENTS}
    drawn = Counter(kinds[name] for name in sample_documents(DOCUMENTS, 10, "stratified", seed=5))
    assert drawn == {"hr": 5, "it": 3, "law": 1, None: 1}


def test_documents_without_categories_are_one_stratum() -> None:
    documents = {f"d{number}": "x" for number in range(9)}
    assert sorted(sample_documents(documents, 4, "stratified")) == sorted(sample_documents(documents, 4))


def test_risk_takes_issues_first_and_fills_up_at_random() -> None:
    profile = {"issues": {"d3": ["tiny"], "d8": ["empty"], "gone": ["tiny"]}}
    drawn = sample_documents(DOCUMENTS, 5, "risk", seed=1, profile=profile)
    assert set(drawn[:2]) == {"d3", "d8"}
    assert drawn[2:] == [name for name in sample_documents(DOCUMENTS, 40, seed=1) if name not in ("d3", "d8")][:3]
    assert set(sample_documents(DOCUMENTS, 1, "risk", profile=profile)) < {"d3", "d8"}


def test_risk_without_a_profile_makes_one() -> None:
    documents = {"c": "word " * 30, "b": "other " * 30, "a": "word " * 30, "d": b"\xff" + b"more " * 30}
    assert set(sample_documents(documents, 2, "risk")) == {"c", "d"}  # in the order of ids, "c" is the later copy
    profile = profile_documents(documents)
    assert set(sample_documents(documents, 2, "risk", profile=profile)) == {"a", "d"}


@pytest.mark.parametrize(
    ("options", "error"),
    [
        (
            {"strategy": "stratifed"},
            "strategy: must be the name of a strategy, got 'stratifed'; the nearest is 'stratified'.",
        ),
        ({"strategy": None}, "strategy: must be the name of a strategy, got None; there are random, stratified, risk."),
        ({"size": 0}, "size: must be a whole number from 1, got the number 0."),
        ({"size": True}, "size: must be a whole number from 1, got true."),
        ({"size": 2.0}, "size: must be a whole number from 1, got the number 2.0."),
        ({"seed": None}, "seed: must be a whole number, got null."),
        ({"seed": "7"}, 'seed: must be a whole number, got the text "7".'),
        (
            {"strategy": "risk", "profile": {"document_count": 3}},
            "profile: must be what profile_documents returned, got an object without issues.",
        ),
    ],
)
def test_options_that_cannot_be_are_refused(options: dict[str, Any], error: str) -> None:
    with pytest.raises(SettingsError) as caught:
        sample_documents(DOCUMENTS, **options)
    assert str(caught.value) == error


def test_nothing_to_draw_from_is_an_empty_sample() -> None:
    assert [sample_documents({}, 3, strategy) for strategy in ("random", "stratified", "risk")] == [[], [], []]


@given(st.lists(st.integers(0, 40), max_size=8), st.integers(1, 60))
def test_quotas_are_the_exact_shares_rounded(sizes: list[int], size: int) -> None:
    shares, total = quotas(sizes, size), sum(sizes)
    assert sum(shares) == min(size, total)
    for share, has in zip(shares, sizes, strict=True):
        exact = Fraction(min(size, total) * has, total) if total else Fraction(0)
        assert abs(share - exact) < 1
        assert 0 <= share <= has


def test_equal_remainders_go_to_the_larger_stratum_and_then_to_the_earlier() -> None:
    """2 of 2 + 1 + 1: 1, 1/2, 1/2. 2 of 3 + 1: 3/2 and 1/2."""
    assert (quotas([1, 2, 1], 2), quotas([1, 3], 2)) == ([1, 1, 0], [0, 2])


# --- questions ------------------------------------------------------------------------------------


@given(st.permutations(LOGS), st.sampled_from([None, "language"]), st.integers(1, 25))
def test_the_order_of_the_logs_does_not_matter(order: list[dict[str, Any]], by: str | None, size: int) -> None:
    drawn = sample_queries(LOGS, size, by, seed=4)
    assert sample_queries(order, size, by, seed=4) == drawn
    assert len(drawn) == min(size, 20)
    assert [item["id"] for item in drawn] == sorted({item["id"] for item in drawn})


def test_a_template_item_has_empty_fields_for_a_person() -> None:
    assert sample_queries([{**LOGS[4], "answer": "Fine.", "retrieved_ids": ["c1"], "latency_ms": 3}]) == [
        {
            "id": "q4",
            "question": "How is number 4?",
            "tags": {"language": "en"},
            "expected_evidence": [],
            "expected_answer": "",
            "validated": False,
        }
    ]


def test_gold_labels_of_the_log_are_kept() -> None:
    log = {
        "id": "q1",
        "question": "Who?",
        "expected_evidence": ["He", {"quote": "she", "occurrence": 2}],
        "expected_answers": ["He", "she"],
        "validated": True,
    }
    assert sample_queries([log]) == [log]


def test_every_value_of_a_tag_has_its_share() -> None:
    """5 en and 15 de among 20; one more without the tag: 8 of 21 are 1.9, 5.7 and 0.4."""
    logs = [*LOGS, {"id": "q99", "question": "Where?"}]
    drawn = sample_queries(logs, 8, "language")
    assert Counter(item.get("tags", {}).get("language") for item in drawn) == {"en": 2, "de": 6}


def test_a_question_is_sampled_once_and_the_other_times_are_told() -> None:
    logs = [
        {"id": "q3", "question": "How  many days?"},
        {"id": "q1", "question": " How many days?"},
        {"id": "q2", "question": "how many DAYS"},
        {"id": "q4", "question": "  "},
        {"id": "q5"},
    ]
    notices = Notices()
    assert [item["id"] for item in sample_queries(logs, notices=notices)] == ["q1"]
    assert notices.texts() == [
        "the question of q2, q3 was asked before under another id; it is sampled once.",
        "these queries have no question and cannot be sampled: q4, q5.",
    ]


def test_logs_may_be_a_file(tmp_path: Path) -> None:
    path = tmp_path / "logs.jsonl"
    path.write_text("\n".join(map(json.dumps, LOGS)), encoding="utf-8")
    assert (
        sample_queries(path, 5, "language")
        == sample_queries(str(path), 5, "language")
        == sample_queries(LOGS, 5, "language")
    )


def test_the_template_is_a_list_of_queries(tmp_path: Path) -> None:
    drawn = sample_queries(LOGS, 5)
    assert sample_queries(drawn, 5) == drawn


@pytest.mark.parametrize(
    ("logs", "options", "error"),
    [
        (
            LOGS,
            {"by": "langage"},
            "by: must be the name of a tag of the queries, got 'langage'; the nearest is 'language'.",
        ),
        (
            [{"id": 1, "question": "x"}],
            {"by": "tenant"},
            "by: must be the name of a tag of the queries, got 'tenant'; no query has tags.",
        ),
        (LOGS, {"size": 0}, "size: must be a whole number from 1, got the number 0."),
    ],
)
def test_what_cannot_be_sampled_so_is_refused(logs: Any, options: dict[str, Any], error: str) -> None:
    with pytest.raises(SettingsError) as caught:
        sample_queries(logs, **options)
    assert str(caught.value) == error


@pytest.mark.parametrize("logs", [[], [{"id": "q1"}]])
def test_logs_without_a_question_are_an_error(logs: Any) -> None:
    with pytest.raises(DatasetError, match="queries: must have a question in at least one record, got none"):
        sample_queries(logs)


RAW: list[dict[str, Any]] = [
    {"input": {"text": "How long?"}, "lang": "en", "output": "25 days"},
    {"input": {"text": "Who?"}, "lang": "de"},
]


def test_raw_logs_are_read_with_columns_and_get_ids(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join(map(json.dumps, RAW)))
    for logs in (RAW, path, iter(RAW)):
        notices = Notices()
        drawn = sample_queries(logs, notices=notices, columns={"question": "input.text"})
        assert [(item["id"], item["question"]) for item in drawn] == [("q1", "How long?"), ("q2", "Who?")]
        assert notices.texts() == ["no record has an id: they are called q1, q2, ... in their order."]


def test_raw_logs_with_ids_keep_them(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    logs = [{"rid": f"r{number}", **record} for number, record in enumerate(RAW)]
    path.write_text("\n".join(map(json.dumps, logs)))
    for source in (logs, path):
        notices = Notices()
        drawn = sample_queries(source, notices=notices, columns={"id": "rid", "question": "input.text"})
        assert ([item["id"] for item in drawn], notices.texts()) == (["r0", "r1"], [])


def test_a_sheet_without_ids_is_drawn_from(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("question,answer\nHow long?,25\n")
    assert [item["id"] for item in sample_queries(path)] == ["q1"]
