"""What begins where, in the words of a text."""

from __future__ import annotations

import numpy as np
import pytest

from rag_titan.pipeline.chunking.boundaries import Boundaries
from rag_titan.pipeline.chunking.pieces import pieces_of
from rag_titan.pipeline.parts import Mark


def begins(what: str, text: str, *marks: Mark) -> list[str]:
    """The words at which one begins."""
    pieces = pieces_of(text, "words", 100)
    found = getattr(Boundaries(text, marks, pieces.starts), what)
    return [text[pieces.starts[piece] : pieces.ends[piece]] for piece in found]


def mark(kind: str, text: str, part: str, level: int = 1) -> Mark:
    return Mark(kind, text.index(part), text.index(part) + len(part), part, level)


@pytest.mark.parametrize("apart", ["\n\n", "\r\n\r\n", "\r\r", "\n \t\n", "\n\n\n\n", "\u2029", "\f", "\r\n \r\n"])
def test_paragraphs(apart: str) -> None:
    assert begins("paragraphs", f"a\nb{apart}c d{apart}") == ["c"]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\u2028", " \n "])
def test_a_line_is_no_paragraph(end: str) -> None:
    assert begins("paragraphs", f"a{end}b{end}c") == []


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\n\n", "\u2028", "\x85", " \n "])
def test_lines(end: str) -> None:
    assert begins("lines", f"a b{end}c d{end}") == ["c"]


def test_sentences() -> None:
    assert begins("sentences", "One. Two! (Three?) four\n\nfive 3.5 六。七") == [
        "Two!",
        "(Three?)",
        "four",
        "five",
        "七",
    ]
    assert begins("sentences", "Do:\n1. this\n 2) that\n- more\n3. end") == ["1.", "2)", "-", "3."]


def test_sections_and_pages() -> None:
    text = "intro\nTitle\nbody more"
    assert begins("sections", text, mark("heading", text, "Title")) == ["Title"]
    assert begins("pages", text, mark("page", text, "body"), mark("page", text, "intro")) == ["intro", "body"]
    assert begins("pages", text, Mark("page", 99, 100), Mark("page", 0, 0)) == ["intro"]


@pytest.mark.parametrize("what", ["paragraphs", "lines", "sentences"])
def test_nothing_begins_behind_a_heading(what: str) -> None:
    text = "Top.\n\nSub.\n\nBody.\n\nNext.\n\nLast."
    marks = [mark("heading", text, "Top."), mark("heading", text, "Sub.", 2), mark("heading", text, "Next.")]
    assert [word for word in begins(what, text, *marks) if word != "Top."] == ["Next."]
    assert begins("bodies", text, *marks) == ["Sub.", "Body.", "Last."]


@pytest.mark.parametrize(("first", "second", "sections"), [(1, 2, ["A"]), (2, 2, ["A", "B"]), (2, 1, ["A", "B"])])
def test_a_heading_without_text_goes_with_a_deeper_one_only(first: int, second: int, sections: list[str]) -> None:
    text = "A\nB\ntext"
    assert begins("sections", text, mark("heading", text, "B", second), mark("heading", text, "A", first)) == sections


def test_of_tables_and_code_the_lines_are_known() -> None:
    text = "One.\n\na. b\n\nc. d\n\nTwo. Three."
    for kind in ("table", "code"):
        table = mark(kind, text, "a. b\n\nc. d")
        assert begins("paragraphs", text, table) == ["a.", "Two."]
        assert begins("sentences", text, table) == ["a.", "Two.", "Three."]
        assert begins("lines", text, table) == ["a.", "c.", "Two."]


def test_of_a_table_that_holds_another_too() -> None:
    text = "One.\n\na b\n\nc d\n\ne f\n\nTwo."
    marks = [mark("table", text, "a b\n\nc d\n\ne f"), mark("code", text, "b")]
    assert begins("paragraphs", text, *marks) == ["a", "b", "c", "Two."]  # "e" begins none


def test_a_table_begins_a_paragraph_without_an_empty_line_before_it() -> None:
    text = "One\ntwo\nthree"
    assert begins("paragraphs", text, mark("code", text, "two")) == ["two", "three"]


def test_of_nothing() -> None:
    found = Boundaries(
        " ", [Mark("heading", 0, 1), Mark("code", 0, 1), Mark("page", 0, 1)], np.zeros(0, dtype=np.int64)
    )
    assert [
        getattr(found, n).tolist() for n in ("sections", "pages", "paragraphs", "lines", "sentences", "bodies")
    ] == [[]] * 6
