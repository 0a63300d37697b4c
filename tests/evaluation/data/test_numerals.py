"""Numbers by value, and the tokens of facts."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rag_titan.evaluation.data.numerals import NUMBERS, fact_tokens, facts, join_percent, numbers, readings, written
from rag_titan.evaluation.data.tokens import words


@pytest.mark.parametrize(
    ("text", "one", "other"),
    [
        ("1,000", ["1000"], ["1000"]),
        ("1000", ["1000"], ["1000"]),
        ("3.0 and 3.50", ["3", "3.5"], ["3", "3.5"]),
        ("1.500", ["1.5"], ["1500"]),
        ("1,500", ["1500"], ["1.5"]),
        ("1.000,50", ["1000.5"], ["1000.5"]),
        ("1,234,567.89", ["1234567.89"], ["1234567.89"]),
        ("1.234.567", ["1234567"], ["1234567"]),
        ("1,00,000", ["100000"], ["100000"]),
        ("1'000 1\u202f000 1\u00a0000", ["1000"] * 3, ["1000"] * 3),
        ("5'10", ["5", "10"], ["5", "10"]),
        ("0.125", ["0.125"], ["0.125"]),
        ("12.05.2024", ["12.05.2024"], ["12.05.2024"]),
        ("2024-05-12, 5-7, 3:30", ["2024", "5", "12", "5", "7", "3", "30"], ["2024", "5", "12", "5", "7", "3", "30"]),
        ("-5 and 10-5 and (-5)", ["-5", "10", "5", "5"], ["-5", "10", "5", "5"]),
        ("\u22123.0 -0", ["-3", "0"], ["-3", "0"]),
        ("20% 20\u00a0% 20 days", ["20%", "20%", "20"], ["20%", "20%", "20"]),
        ("Q3 of 2020.", ["3", "2020"], ["3", "2020"]),
        ("٣٫٥ ๒๕๖๐ १२", ["3.5", "2560", "12"], ["3.5", "2560", "12"]),
        ("007, 0, 00.50", ["7", "0", "0.5"], ["7", "0", "0.5"]),
        ("no digits, m²", [], []),
    ],
)
def test_numbers_by_value(text: str, one: list[str], other: list[str]) -> None:
    assert numbers(text) == NUMBERS[0].tokens(text) == one
    assert NUMBERS[1].tokens(text) == other


@given(st.integers(0, 10**9), st.integers(0, 999), st.sampled_from([(",", "."), (".", ",")]))
def test_a_number_written_in_either_way_has_its_value(whole: int, thousandths: int, marks: tuple[str, str]) -> None:
    grouping, decimal = marks
    assume(decimal == "." or thousandths or whole > 999)  # 1,000 is never one
    text = f"{whole:,}".replace(",", grouping) + f"{decimal}{thousandths:03}"
    assert Fraction(whole * 1000 + thousandths, 1000) in map(Fraction, readings(text))


@given(st.text(st.sampled_from("0123456789.,'-%\u00a0 a٣"), max_size=20))
def test_both_readings_and_the_spellings_stand_side_by_side(text: str) -> None:
    one, other = (split.tokens(text) for split in NUMBERS)
    assert len(one) == len(other) == len(written(text))
    one, other = (split.tokens(text) for split in facts())
    assert len(one) == len(other)


@given(st.text(st.characters(exclude_categories=["Nd"]), max_size=20))
def test_without_digits_facts_are_words(text: str) -> None:
    assert fact_tokens(text) == words().tokens(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("5 days", ["5", "days"]),
        ("3.5 days", ["3.5", "days"]),
        ("3.5km", ["3.5km"]),
        ("v3.5v2.1!", ["v3.5v2.1"]),
        ("3.50 = 3.5", ["3.5", "3.5"]),
        ("A1 25天", ["a1", "25", "天"]),
        ("20% off", ["20", "%", "off"]),
        ("1,000 Units", ["1000", "units"]),
        ("192.168.0.1", ["192.168.0.1"]),
    ],
)
def test_fact_tokens_by_hand(text: str, expected: list[str]) -> None:
    assert fact_tokens(text) == expected


def test_facts_are_cut_by_the_tokenizer_of_the_conventions() -> None:
    def by_dash(text: str) -> list[tuple[int, int]]:
        return [(0, text.index("-")), (text.index("-") + 1, len(text))]

    one, _ = facts(by_dash)
    assert one.tokens("Net 30-days") == ["net 30", "days"]
    assert not one.by_piece


def test_a_percent_sign_is_joined_to_its_number_only() -> None:
    assert join_percent("20 % of all, x % y, 5 %d") == "20% of all, x % y, 5 %d"
