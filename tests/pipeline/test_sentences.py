"""What of a chunk can be quoted."""

from __future__ import annotations

import pytest
from tests.pipeline.small import chunk

from rag_titan.pipeline.parts import Chunk
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
        ("| City | Limit |\n|---|---:|\n| Oslo | 190 |", ["City: Oslo; Limit: 190"]),
        ("Setext\n======\n\nIt is **so** and `so` [12].", ["It is so and so (12)."]),
        (
            "Store 34\nTotal $82.40\nThe card that was used is on the slip.\nVAT 7.10",
            ["Store 34", "Total $82.40", "The card that was used is on the slip.", "VAT 7.10"],
        ),
        (
            "1.2 Annual leave\nAll of the staff may take leave in\nJuly.\nSick leave\nA note is needed.",
            ["All of the staff may take leave in July.", "A note is needed."],
        ),
        ("A\n\nKept text.\nB\nMore.", ["Kept text.", "More."]),
        ("在这里。年休二十天。", ["在这里。", "年休二十天。"]),
    ],
)
def test_sentences_of_a_chunk_whose_headings_are_a_and_b(text: str, quotes: list[str]) -> None:
    assert sentences(chunk("c", text)) == quotes


def test_a_sentence_has_the_heading_above_it() -> None:
    text = "Before. \n\n## Leave ##\nTwo of\nthese. Three.\n\nA\n- item"
    assert [(one.text, one.above) for one in quotable(chunk("c", text))] == [
        ("Before.", "B"), ("Two of these.", "Leave"), ("Three.", "Leave"), ("item", "A"),
    ]  # fmt: skip


def test_a_line_that_names_what_follows_is_the_heading_above_it_until_the_next() -> None:
    text = "The first of the sentences.\nParental leave:\nIt is paid.\nAsk early.\n# Travel\nBy train."
    assert [(one.text, one.above) for one in quotable(chunk("c", text))] == [
        ("The first of the sentences.", "B"), ("It is paid.", "Parental leave:"), ("Ask early.", "Parental leave:"),
        ("By train.", "Travel"),
    ]  # fmt: skip


def test_labels_and_pieces_of_sentences_are_known_from_sentences() -> None:
    text = "Total $82.40\n\nIt was paid (by card).\n\n- an item\n| a | row |\nThe rest of the page was"
    assert [(one.text, one.is_whole) for one in quotable(chunk("c", text))] == [
        ("Total $82.40", False), ("It was paid (by card).", True), ("an item", True), ("a, row", True),
        ("The rest of the page was", False),
    ]  # fmt: skip


def test_a_row_says_the_names_of_its_columns_and_one_of_no_table_or_another_form_does_not() -> None:
    table = "| City | Limit |\n|---|---:|\n| Oslo | 190. Or more. |\n|Bonn|95|\n| Rome | |\n| a | b | c |"
    text = f"Limits\n\n{table}\n\n|x|y|"
    assert [(row.text, row.above) for row in quotable(chunk("c", text))] == [
        (row, "B")
        for row in (
            "Limits",
            "City: Oslo; Limit: 190. Or more.",
            "City: Bonn; Limit: 95",
            "City: Rome",
            "a, b, c",
            "x, y",
        )
    ]


def test_rows_at_the_start_of_a_chunk_have_the_columns_that_it_knows() -> None:
    knowing = Chunk("c", "Oslo | 190\nBonn | 95\n\nx | y", 0, 0, "d", {"columns": "City | Limit"})
    assert sentences(knowing) == ["City: Oslo; Limit: 190", "City: Bonn; Limit: 95", "x, y"]


def test_a_row_knows_its_line_in_the_chunk_below_a_title_too() -> None:
    table = "Hotel prices\nAll of them are per night.\n\n| City | Limit |\n|---|---|\n| Oslo | **190** [1] |"
    *_, row = quotable(Chunk("c", table, 0, 0, "d"))
    assert (row.text, row.row) == ("City: Oslo; Limit: 190 (1)", "| Oslo | **190** [1] |")
    assert {one.row for one in quotable(Chunk("c", "It is so.\n\n- an item", 0, 0, "d"))} == {""}
