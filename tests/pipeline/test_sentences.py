"""What of a chunk can be quoted."""

from __future__ import annotations

import pytest
from tests.pipeline.small import chunk

from rag_titan.pipeline.sentences import quotable, sentences


@pytest.mark.parametrize(
    ("text", "quotes"),
    [
        ("", []),
        ("# Leave\n\n---\n```\n", []),
        ("One line\ngoes on. The next?", ["One line goes on.", "The next?"]),
        ("No stop\n\nand another", ["No stop", "and another"]),
        ("- first\n  goes on\n- second\n1. third\n2) fourth", ["first goes on", "second", "third", "fourth"]),
        ("-5 degrees are -3 fewer.", ["-5 degrees are -3 fewer."]),
        ("| City | Limit |\n|---|---:|\n| Oslo | 190 |", ["Oslo | 190"]),
        ("Setext\n======\n\nIt is **so** and `so` [12].", ["Setext", "It is so and so (12)."]),
        ("A\n\nKept text.\nB\nMore.", ["Kept text.", "More."]),
        ("在这里。年休二十天。", ["在这里。", "年休二十天。"]),
    ],
)
def test_sentences_of_a_chunk_whose_headings_are_a_and_b(text: str, quotes: list[str]) -> None:
    assert sentences(chunk("c", text)) == quotes


def test_a_sentence_has_the_heading_above_it() -> None:
    text = "Before. \n\n## Leave ##\nTwo of\nthese. Three.\n\nA\n- item"
    assert quotable(chunk("c", text)) == [
        ("Before.", "B"), ("Two of these.", "Leave"), ("Three.", "Leave"), ("item", "A"),
    ]  # fmt: skip


def test_a_row_has_the_names_of_its_columns_above_it() -> None:
    text = "Limits\n\n| City | Limit |\n|---|---:|\n| Oslo | 190 |\n|Bonn|95|\n\n| x | y |"
    assert [(row, above.split()) for row, above in quotable(chunk("c", text))] == [
        ("Limits", ["B"]),
        ("Oslo | 190", ["B", "City", "|", "Limit"]),
        ("Bonn|95", ["B", "City", "|", "Limit"]),
        ("x | y", ["B", "City", "|", "Limit"]),
    ]
