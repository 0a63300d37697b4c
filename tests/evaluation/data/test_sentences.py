"""Sentences in several scripts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_titan.evaluation.data.sentences import coded_sentences, sentences_of


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("", []),
        ("No end", ["No end"]),
        ("One. Two!\nThree? ", ["One.", " Two!", "\nThree?", " "]),
        ("It is 3.5 or a.b.c", ["It is 3.5 or a.b.c"]),
        ('He said "Go." Then', ['He said "Go."', " Then"]),
        ("Really?! Yes...", ["Really?!", " Yes..."]),
        ("休假是。病假？好", ["休假是。", "病假？", "好"]),
        ("「好。」然后", ["「好。」", "然后"]),
        ("छुट्टी है। बीमारी।", ["छुट्टी है।", " बीमारी।"]),
        ("هل؟ نعم", ["هل؟", " نعم"]),
    ],
)
def test_sentences(text: str, sentences: list[str]) -> None:
    assert sentences_of(text) == sentences


@given(st.text(st.sampled_from('ab .!?。"\n'), max_size=30))
def test_joined_they_are_the_text(text: str) -> None:
    assert "".join(sentences_of(text)) == text
    assert all(sentences_of(text))


def test_coded_sentences() -> None:
    codes, offsets = coded_sentences(["A b. B c.", None, "c"], "unicode")
    assert [codes.values[a:b].tolist() for a, b in zip(codes.offsets, codes.offsets[1:], strict=False)] == [
        [0, 1], [1, 2], [2],
    ]  # fmt: skip
    assert offsets.tolist() == [0, 2, 2, 3]
