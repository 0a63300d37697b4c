"""Facts of a text: what is one, what is none, and that a replacement keeps the writing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_titan.judge.facts import MONTHS, days, facts, rewritten


def found(text: str) -> list[tuple[str, str]]:
    return [(fact.kind, fact.key) for fact in facts(text)]


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("25 days, 1,000 euros, 3.50 and 20%", ["25", "1000", "3.5", "20"]),
        ("1.000,50 and 1,000,000", ["1000.5", "1000000"]),
        ("a 3-day trip of 5-7 people", ["3"]),  # a range is left alone
        ("form A4, hr-7, 10:30, 12/05/2024, v1.2.3, 007", []),
        ("1.500", []),  # one and a half, or fifteen hundred
        ("in 2024-05-12", ["2024", "May", "12"]),
        ("2024-13-40", []),
        ("on Mondays in May and June", ["Monday", "May", "June"]),
        ("it may rain", []),
        ("12 May", ["12", "May"]),
    ],
)
def test_facts(text: str, keys: list[str]) -> None:
    assert [key for kind, key in found(text) if kind != "names"] == keys


def test_may_at_the_start_is_no_month() -> None:
    assert ("dates", "May") not in found("May I carry leave over?")


def test_days_of_months() -> None:
    assert list(days("12 May, June 3, 4. July; 25 days in August; 2024-05-30")) == ["12", "3", "4", "30"]


@pytest.mark.parametrize(
    ("text", "key", "new", "result"),
    [
        ("1,000 or 1000 or 1,000.00", "1000", "7300", "7,300 or 7300 or 7,300.00"),
        ("1.000,50", "1000.5", "82.3", "82,30"),
        ("3.5 and 3.50", "3.5", "8.2", "8.2 and 8.20"),
        ("25", "25", "61", "61"),
        ("2024-05-05", "5", "17", "2024-05-17"),
        ("1,000,000", "1000000", "7000000", "7,000,000"),
    ],
)
def test_the_writing_is_kept(text: str, key: str, new: str, result: str) -> None:
    assert rewritten(text, {("numbers", key): new}).text == result


def test_a_month_in_both_writings() -> None:
    assert rewritten("12 May 2024, 2024-05-12", {("dates", "May"): "August"}).text == "12 August 2024, 2024-08-12"


def test_places_move_with_the_text() -> None:
    text = "It is 5 days, not 5 weeks."
    done = rewritten(text, {("numbers", "5"): "117"})
    assert done.text == "It is 117 days, not 117 weeks."
    for word in ("It", "days", "not", "weeks"):
        assert done.moved(text.index(word)) == done.text.index(word)
    assert done.moved(len(text)) == len(done.text)
    assert (done.moved(6), done.moved(7)) == (6, 9)


@given(
    st.lists(
        st.one_of(
            st.integers(1, 99_999).map(str), st.integers(1000, 9_999_999).map("{:,}".format),
            st.sampled_from([*MONTHS, "Ada", "paid", "the", "3.50", "2024-05-12", "(", ". ", ",", "\n"]),
        ),
        max_size=12,
    ).map(" ".join)
)  # fmt: skip
def test_what_is_replaced_can_be_put_back(text: str) -> None:
    """Every number becomes one with a 7 before it, and back."""
    keys = {key for kind, key in found(text) if kind == "numbers" and "." not in key}
    there = {("numbers", key): str(int(key) + 10**12) for key in keys}
    if any(fact.width for fact in facts(text)):
        return  # a date has no room for such numbers
    changed = rewritten(text, there).text
    back = {("numbers", new): key for (_, key), new in there.items()}
    assert rewritten(changed, back).text == text
