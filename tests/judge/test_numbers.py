"""Numbers of claims: what a rule may settle, and all that is left to the judge."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_titan.judge.numbers import TextNumbers

TEXT = (
    "Acme was founded in 1997 in Munich with twenty-five people. Revenue in 2023 was 1.5 million euros, 14.2% more "
    "than the 1,313,485 of the year before. The lease of 12.05.2024 is for 90 months."
)


@pytest.mark.parametrize(
    "claim",
    [
        "It was founded in 1979.",
        "Revenue was 1.8 million euros.",
        "Revenue rose by 17.3%.",
        "The lease is of 2016.",
        "The lease is for 47 months.",
        "The answer counts 6,000,000,000 people.",
    ],
)
def test_a_number_that_stands_nowhere_is_not_supported(claim: str) -> None:
    assert TextNumbers(TEXT).lacks(claim)


@pytest.mark.parametrize(
    "claim",
    [
        "It was founded in 1997.",
        "It began with 25 people.",  # written out in the text
        "Revenue was 1,500,000 euros.",  # a word such as million
        "Revenue was EUR 1.5 million.",
        "Revenue was 1313485 the year before.",  # separators
        "Revenue was 1.313.485 the year before.",
        "Revenue was 1.3 million before.",  # rounded
        "It was founded in the late 90s.",  # a decade
        "It was founded around 1990.",  # hedged
        "It has more than 400 people.",
        "It has 3 offices.",  # may be counted
        "The lease began on 12 May 2024.",
        "It is 26 years from the founding to 2023.",  # a difference
        "The lease is for 7.5 years.",  # converted
        "It rose by 14.2 percent.",
        "It is called X-200.",  # a name
        "It has no number at all.",
    ],
)
def test_whatever_may_follow_is_left_to_the_judge(claim: str) -> None:
    assert not TextNumbers(TEXT).lacks(claim)


def test_numbers_of_the_question_are_known() -> None:
    claim = "In 2031 leave is long."
    assert TextNumbers("Leave is long and the rules are old.").lacks(claim)
    assert not TextNumbers("Leave is long and the rules are old.", "How long is leave in 2031?").lacks(claim)


def test_other_languages_may_write_numbers_out() -> None:
    assert not TextNumbers("Der Urlaub beträgt siebenundzwanzig Tage.").lacks("Leave is 27 days.")
    assert TextNumbers("Der Umsatz war hoch.").lacks("Revenue was 27,431 euros.")


def test_a_text_full_of_numbers_settles_nothing() -> None:
    assert not TextNumbers(" the ".join(str(10_007 * n) for n in range(1, 260))).lacks("It is 31.")


def test_the_judge_is_told_of_another_writing() -> None:
    told = TextNumbers(TEXT).told
    assert told("Revenue was 1313485.") == "Revenue was 1313485. (the text writes 1313485 as 1,313,485)"
    assert told("It began with 25 people.") == "It began with 25 people. (the text writes 25 as twenty-five)"
    assert told("It was founded in 1997.") == "It was founded in 1997."


@given(st.lists(st.floats(0, 1e7, allow_nan=False), min_size=1, max_size=8))
def test_a_sentence_of_the_text_never_lacks_a_number(values: list[float]) -> None:
    sentences = [f"The amount of case {chr(97 + k)} is {value:,.2f} euros." for k, value in enumerate(values)]
    assert [s for s in sentences if TextNumbers(" ".join(sentences)).lacks(s)] == []


@pytest.mark.parametrize("number", ["9" * 400, f"1{'0' * 400} million", f"0.{'0' * 400}1", f"{'9' * 300} trillion"])
def test_a_number_beyond_all_computing_is_left_to_the_judge(number: str) -> None:
    """Seen once: it ended the whole run."""
    of = TextNumbers(f"It is 77, or {number}, or two {'hundred ' * 200} of them.")
    assert not of.lacks(f"It is {number} of them.")
    assert not TextNumbers("It is 77 m.").lacks(f"It is {'9' * 400} of the m.")
    assert of.lacks("It was 1979.")
    assert of.told("It is 77.") == "It is 77."
