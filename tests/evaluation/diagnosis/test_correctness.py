"""Is the answer right, and which rule says so."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.evaluation.diagnosis.logs import verdicts_of

from rag_titan.evaluation.diagnosis.correctness import RULES, Correctness

LONG = "Parking is paid by the month and costs every employee the sum of 12 euros"
GOOD, BAD = {"supported": True}, {"supported": False}


def judged(**query: Any) -> tuple[bool | None, str | None]:
    answers = verdicts_of([query]).answers
    correct = answers.correct.tolist()[0]
    return (None if math.isnan(correct) else bool(correct)), answers.by[0]


@pytest.mark.parametrize(
    ("query", "verdict"),
    [
        ({"task_success": True}, (True, "task_success")),
        ({"task_success": False, "answer": "12 euros", "expected_answer": "12 euros"}, (False, "task_success")),
        ({"task_success": True, "verified_claims": [BAD]}, (True, "task_success")),
        ({"verified_claims": [GOOD, GOOD]}, (True, "verified_claims")),
        ({"verified_claims": [GOOD, BAD]}, (False, "verified_claims")),
        ({"verified_claims": []}, (None, None)),
        ({"verified_claims": [GOOD], "answer": "12", "required_facts": ["12", "euros"]}, (False, "verified_claims")),
        ({"verified_claims": [GOOD], "answer": "12 euros", "required_facts": ["12 euros"]}, (True, "verified_claims")),
        ({"answer": "It is 12 euros.", "required_facts": ["12 euros"]}, (True, "required_facts")),
        ({"answer": "It is 120 euros.", "required_facts": ["12"]}, (False, "required_facts")),
        ({"answer": "", "required_facts": ["12"]}, (False, "required_facts")),
        ({"required_facts": ["12"]}, (None, None)),
        ({"answer": "12", "required_facts": [], "expected_answer": "12"}, (True, "short_reference")),
        ({"answerable": True, "abstained": True}, (False, "abstention")),
        ({"answerable": False, "abstained": False, "answer": "12"}, (False, "abstention")),
        ({"answerable": False, "abstained": True, "answer": "I do not know."}, (True, "abstention")),
        ({"answerable": True, "abstained": False}, (None, None)),
        ({"answerable": True, "abstained": False, "answer": "7", "expected_answer": "12"}, (False, "short_reference")),
        ({"answerable": False}, (None, None)),
        ({"answer": "The 12 Euros!", "expected_answer": "12 euros"}, (True, "short_reference")),
        ({"answer": "", "expected_answer": "12 euros"}, (False, "short_reference")),
        (
            {"answer": "one two three four five six seven eight nine ten", "expected_answer": "12"},
            (False, "short_reference"),
        ),
        ({"answer": "one two three four five six seven eight nine ten eleven", "expected_answer": "12"}, (None, None)),
        ({"answer": "no idea", "expected_answer": LONG}, (None, None)),
        ({"answer": LONG, "expected_answer": LONG}, (None, None)),
        ({"answer": "no idea", "expected_answers": ["12 euros", LONG]}, (None, None)),
        ({"answer": "12 euros", "expected_answers": [LONG, "12 euros"]}, (True, "short_reference")),
        ({"answer": "7", "expected_answers": ["12", "twelve"]}, (False, "short_reference")),
        ({"expected_answer": "12 euros"}, (None, None)),
        ({"answer": "12 euros"}, (None, None)),
        ({"error": "timeout"}, (False, "error")),
        ({"error": "timeout", "expected_answer": "12"}, (False, "error")),
        ({"error": "retried", "answer": "12", "expected_answer": "12"}, (True, "short_reference")),
    ],
)
def test_the_first_rule_that_has_what_it_needs_decides(query: dict[str, Any], verdict: tuple[bool | None, str]) -> None:
    assert judged(**query) == verdict


@pytest.mark.parametrize(("extra", "right"), [(1, True), (2, True), (3, False)])
def test_the_f1_from_which_a_short_answer_is_right_is_three_quarters(extra: int, right: bool) -> None:
    """Three tokens of the reference in another order and one to three more: F1 6/7, 6/8 and 6/9."""
    answer = " ".join(["twelve", "costs", "parking", *["indeed"] * extra])
    assert judged(answer=answer, expected_answer="parking costs twelve") == (right, "short_reference")


def test_another_f1_may_be_asked_for() -> None:
    inputs = verdicts_of([{"answer": "parking costs", "expected_answer": "parking is dear"}]).answers.inputs
    assert [Correctness(inputs, enough).correct.tolist() for enough in (0.4, 0.5)] == [[1.0], [0.0]]


TERMS = "within 45 days of delivery, free of charge"


@pytest.mark.parametrize(
    ("answer", "reference", "right"),
    [
        ("It is 25 days of annual leave for every employee in the company", "25 days", True),
        ("It is 125 days of annual leave for every employee in the company", "25 days", None),
        ("It is 125 days", "25 days", False),
        ("You can send it back at no charge within 45 days", TERMS, None),
        ("within 30 days of delivery, free of charge", TERMS, False),
        ("within 45 days of delivery, free", TERMS, True),
        ("1,000 units", "1000 units", True),
        ("the 1000", "a thousand", False),
    ],
)
def test_a_long_answer_is_never_called_wrong_and_a_number_must_be_there(
    answer: str, reference: str, right: bool | None
) -> None:
    assert judged(answer=answer, expected_answer=reference) == (right, None if right is None else "short_reference")


@pytest.mark.parametrize(("tokens", "verdict"), [(10, (False, "short_reference")), (11, (None, None))])
def test_a_reference_of_ten_tokens_is_short(tokens: int, verdict: tuple[bool | None, str | None]) -> None:
    assert judged(answer="none of it", expected_answer=" ".join(f"w{i}" for i in range(tokens))) == verdict


TEXTS = st.sampled_from(["12", "12 euros", "", "the", LONG, "seven"])
QUERIES = st.fixed_dictionaries(
    {},
    optional={
        "task_success": st.booleans(),
        "verified_claims": st.lists(st.sampled_from([GOOD, BAD]), max_size=2),
        "required_facts": st.lists(st.sampled_from(["12", "euros"]), max_size=2),
        "answerable": st.booleans(),
        "abstained": st.booleans(),
        "answer": TEXTS,
        "expected_answer": TEXTS,
        "error": st.just("timeout"),
    },
)


@given(queries=st.lists(QUERIES, max_size=5))
def test_a_verdict_and_its_rule_go_together(queries: list[dict[str, Any]]) -> None:
    answers = verdicts_of(queries).answers
    assert len(answers.correct) == len(answers.by) == len(queries)
    for correct, rule, query in zip(answers.correct.tolist(), answers.by, queries, strict=True):
        assert math.isnan(correct) == (rule is None)
        assert rule is None or rule in RULES
        if "task_success" in query and not ("error" in query and "answer" not in query):
            assert (correct, rule) == (float(query["task_success"]), "task_success")
        if rule == "short_reference":
            assert len(query["expected_answer"].split()) <= 10
