"""Text from the data stays text: rendered by a CommonMark parser with tables, each cell shows what it was given."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from rag_titan.evaluation.reports.cells import cell, line, shown, table

MARKDOWN = MarkdownIt("commonmark", {"html": True}).enable("table").enable("strikethrough")
NASTY = st.text(
    st.sampled_from("|\\`*_[]()<>!&#~$-+=.:;/\"' \t\n\r\x0b\x1c\x85\u2028\u202e\ud800\u200d1axw\u0301é漢"), max_size=30
)
TEXTS = st.one_of(NASTY, st.text(max_size=30))


def rendered(lines: list[str]) -> list[list[str]]:
    """The rows of the one table in the text, each cell as the reader sees it; only text may be in a cell."""
    tokens = MARKDOWN.parse("\n".join(lines))
    assert [t.type for t in tokens if t.level == 0] == ["table_open", "table_close"]
    rows: list[list[str]] = []
    for token in tokens:
        if token.type == "tr_open":
            rows.append([])
        elif token.type == "inline":
            kinds = {child.type for child in token.children or []}
            assert kinds <= {"text", "text_special"}, kinds
            rows[-1].append("".join(child.content for child in token.children or []))
    return rows


@given(st.lists(st.tuples(TEXTS, TEXTS), max_size=4))
@example([("a\\|b", "c\\"), ("<img src=x>", "`|`"), ("|", "&#124;"), ("[a](b)", "![a](b)")])
def test_a_table_shows_every_text_in_a_cell_of_its_own(rows: list[tuple[str, str]]) -> None:
    lines = table(["One", "Two"], rows)
    assert rendered(lines) == [["One", "Two"], *([shown(a), shown(b)] for a, b in rows)]
    text = "\n".join(lines)
    assert all(len(re.findall(r"(?<!\\)\|", row)) == 3 for row in text.splitlines())
    text.encode("utf-8")


@given(TEXTS)
@example("# heading")
@example("1. one")
@example("- - -")
@example("+")
@example("    code")
def test_a_list_item_shows_its_text_and_opens_nothing(text: str) -> None:
    tokens = MARKDOWN.parse(f"- {line(text)}")
    assert [t.type for t in tokens if t.nesting == 1] == ["bullet_list_open", "list_item_open", "paragraph_open"]
    children = next(t for t in tokens if t.type == "inline").children or []
    assert "".join(child.content for child in children) == shown(text, 1000)


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("two\r\nlines\tof  text ", "two lines of text"),
        ("a\u2028b\x85c\x0bd", "a b c d"),
        ("\u202egnp.exe", "\ufffdgnp.exe"),
        ("\u2066x\u2069", "\ufffdx\ufffd"),
        ("zero\u200bwidth\ufeff", "zerowidth"),
        ("\x00\x1b[31m", "\ufffd\ufffd[31m"),
        ("\ud83d", "\ufffd"),
        ("क्\u200dष", "क्\u200dष"),  # joiners are part of how some scripts are written
        ("", "(empty)"),
        (" \n", "(empty)"),
        (7, "7"),
    ],
)
def test_what_a_reader_may_see(text: object, seen: str) -> None:
    assert shown(text) == seen


def test_no_tag_is_left_in_the_plain_text_either() -> None:
    assert cell("<img src=x><script>") == "&lt;img src=x&gt;&lt;script&gt;"


def test_long_text_is_shortened_before_it_is_escaped() -> None:
    assert cell("|" * 500, longest=4) == "\\|\\|\\|…"
    assert len(shown("x" * 500)) == 160


def test_viewers_make_no_link_of_an_address() -> None:
    assert cell("see https://example.org or WWW.example.org") == "see https\\://example.org or WWW\\.example.org"


def test_none_is_a_dash_and_columns_line_up() -> None:
    assert table(["Name", "Score"], [["recall", 1], [None, 22.5]], right=[1]) == [
        "| Name   | Score |",
        "|--------|------:|",
        "| recall |     1 |",
        "| –      |  22.5 |",
    ]
