"""The answer normalisation, against the rule of the official script written down anew."""

from __future__ import annotations

import re
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_titan.evaluation.data.squad import in_any_script, official, with_articles

TEXTS = st.text(st.sampled_from("aAnthe .,'-$%_\t\n\xa0éΣ—’1\x00你े") | st.characters(), max_size=30)


def slow_official(text: str) -> list[str]:
    kept = "".join(char for char in text.lower() if char not in string.punctuation)
    return re.sub(r"\b(a|an|the)\b", " ", kept).split()


@given(TEXTS)
def test_the_official_rule_to_the_letter(text: str) -> None:
    assert official(text).split() == slow_official(text)


@given(st.text(st.characters(max_codepoint=127), max_size=30))
def test_ascii_text_has_the_same_tokens_under_both_rules(text: str) -> None:
    assert in_any_script(text).split() == official(text).split()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The U.S.", ["us"]),
        ("Don't", ["dont"]),
        ("$1,000", ["1000"]),
        ("_under_score", ["underscore"]),
        ("a cat, an apple", ["cat", "apple"]),
        ("Cafe\u0301", ["café"]),
        ("在2019年，the end", ["在", "2019", "年", "，", "end"]),
        ("A.", []),
        ("x—a—y", ["x—", "—y"]),
    ],
)
def test_tokens_by_hand(text: str, expected: list[str]) -> None:
    assert in_any_script(text).split() == expected


def test_articles_are_kept_on_request() -> None:
    assert with_articles("The A.").split() == ["the", "a"]
    assert with_articles("...").split() == []
