"""Markdown -> its own text and marks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_titan.pipeline.loading import markdown
from rag_titan.pipeline.loading.markdown import markdown_document


def marked(source: str) -> list[tuple[str, int, str, str]]:
    document = markdown_document("a.md", source.encode())
    assert document.text == source
    return [(m.kind, m.level, m.label, document.text[m.start : m.end]) for m in document.marks]


def test_headings_have_the_label_that_a_reader_sees() -> None:
    assert marked("# A `b` [link](u) ![alt](i) \\* &amp; **c** <b>d</b>\n\ntext\n\n## Closed ##\n") == [
        ("heading", 1, "A b link alt * & c d", "# A `b` [link](u) ![alt](i) \\* &amp; **c** <b>d</b>"),
        ("heading", 2, "Closed", "## Closed ##"),
    ]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_offsets_hold_with_any_line_end(end: str) -> None:
    source = end.join(
        ["Set", "up", "===", "", "text \x0b\x0c\x85\u2028# none", "", "### Third", "```py", "# no", "```"]
    )
    assert marked(source) == [
        ("heading", 1, "Set up", end.join(["Set", "up", "==="])),
        ("heading", 3, "Third", "### Third"),
        ("code", 0, "py", end.join(["```py", "# no", "```"])),
    ]


def test_tables_and_code_are_marked_and_what_is_in_code_is_not() -> None:
    assert marked("| a | b |\n|---|---|\n| 1 | 2 |\n\npara\n\n    # indented\n    code\n\n~~~\n# never closed") == [
        ("table", 0, "", "| a | b |\n|---|---|\n| 1 | 2 |"),
        ("code", 0, "", "# indented\n    code"),
        ("code", 0, "", "~~~\n# never closed"),
    ]


def test_headings_in_quotes_and_lists_are_marked() -> None:
    assert marked("> ## Quoted\n\n- ### Listed\n") == [
        ("heading", 2, "Quoted", "> ## Quoted"),
        ("heading", 3, "Listed", "- ### Listed"),
    ]


def test_front_matter_is_no_heading() -> None:
    assert marked("---\ntitle: Leave\n---\n# Leave\n") == [("heading", 1, "Leave", "# Leave")]
    assert marked("---\ntitle: Leave\n\n# Leave\n") == [("heading", 1, "Leave", "# Leave")]


def test_a_heading_without_text_is_none() -> None:
    assert marked("#\n\n## ##\n") == []


def test_more_lines_than_can_be_looked_at_keep_their_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(markdown, "MOST_LINES", 3)
    document = markdown_document("a.md", b"# a\n\nb\n\nc\n")
    assert (document.text, document.marks) == ("# a\n\nb\n\nc\n", [])
    assert document.warnings == ["a.md: must have at most 3 lines, got 7. Its headings were not looked for; split it."]


@pytest.mark.parametrize("source", [">" * 20_000 + "x", "* " * 2_000 + "x", "[" * 20_000, "# " + "*" * 5_000])
def test_deep_nesting_ends(source: str) -> None:
    assert markdown_document("a.md", source.encode()).text == source


LINES = ["# a", "##", "b", "===", "---", "```", "|x|y|", "|-|-|", "> # q", "- # l", "", "    c", "\t"]


@given(st.lists(st.sampled_from(LINES)), st.sampled_from(["\n", "\r\n", "\r"]))
def test_marks_lie_in_order_inside_the_text(lines: list[str], end: str) -> None:
    document = markdown_document("a.md", end.join(lines).encode())
    at = 0
    for mark in document.marks:
        found = document.text[mark.start : mark.end]
        assert at <= mark.start < mark.end <= len(document.text)
        assert found == found.strip()
        assert mark.kind != "heading" or set(mark.label.split()) <= set(found.split())
        at = mark.end
