"""HTML -> what a browser would show."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_titan.errors import DatasetError
from rag_titan.pipeline.loading import html
from rag_titan.pipeline.loading.html import html_document


def text_of(source: str) -> str:
    return html_document("a.html", source.encode()).text


def test_blocks_stand_apart_and_white_space_is_one_space() -> None:
    source = (
        "Hi\n <b>bold</b>er  text<p>One &amp; two&nbsp;&lt;3&gt; &#128512;<br>below</p> tail<div>div<div>in</div></div>"
    )
    assert text_of(source) == "Hi bolder text\n\nOne & two <3> 😀\nbelow\n\ntail\n\ndiv\n\nin"


def test_what_is_not_seen_is_left_out() -> None:
    source = (
        "<head><title>T</title><style>x{}</style></head><body>a<script>b()</script><noscript>c</noscript>"
        "<!-- d --><template>e</template><p hidden>f<b>g</b></p><div style='color:red; DISPLAY : none'>h</div>"
        "<span style='display:none'>i</span><svg><text>j</text></svg><iframe>k</iframe>z</body>"
    )
    assert text_of(source).split() == ["a", "z"]


def test_headings_have_their_text_as_label() -> None:
    document = html_document("a.html", b"<h1>Paid <i>leave</i></h1><p>25</p><h3>In<br>parts</h3><h2> </h2>")
    assert document.text == "Paid leave\n\n25\n\nIn parts"
    assert [(m.kind, m.level, m.label, document.text[m.start : m.end]) for m in document.marks] == [
        ("heading", 1, "Paid leave", "Paid leave"),
        ("heading", 3, "In parts", "In parts"),
    ]


def test_lists_have_their_bullets_and_numbers() -> None:
    source = (
        "<p>x</p><ul><li>one<li><p>two</p><ol start=3><li>a</li><li>b</li></ol></li><li></li></ul>"
        "<ol><li>c<li>d<li></ol><p>y</p>"
    )
    assert text_of(source) == "x\n\n- one\n- two\n  3. a\n  4. b\n\n1. c\n2. d\n\ny"


def test_a_table_is_a_line_for_each_row() -> None:
    source = (
        "<table><caption>Grades</caption><thead><tr><th>Grade<th>Days</thead>"
        "<tr><td><p>A</p><p>B</p><td>25<script>x</script><tr><td><td></table>after"
    )
    document = html_document("a.html", source.encode())
    assert document.text == "Grades\nGrade | Days\nA B | 25\n\nafter"
    assert [(m.kind, document.text[m.start : m.end]) for m in document.marks] == [
        ("table", "Grades\nGrade | Days\nA B | 25")
    ]


def test_a_table_that_lays_out_the_page_is_none() -> None:
    source = "<table><tr><td><h1>Leave</h1><td>25 days<table><tr><td>A<td>25</table></table>"
    document = html_document("a.html", source.encode())
    assert document.text == "Leave\n\n25 days\n\nA | 25"
    assert [(m.kind, m.label) for m in document.marks] == [("heading", "Leave"), ("table", "")]


def test_code_keeps_its_white_space() -> None:
    document = html_document("a.html", b"<pre>\n  if <b>x</b>:\n\n    y<br>z</pre>")
    assert document.text == "  if x:\n\n    y\nz"
    assert [(m.kind, m.start, m.end) for m in document.marks] == [("code", 0, len(document.text))]


@pytest.mark.parametrize(
    ("encoding", "meta"),
    [
        ("cp1251", "<meta charset=windows-1251>"),
        ("shift_jis", "<META http-equiv='Content-Type' content='text/html; charset=Shift_JIS'>"),
        ("utf-8", "<meta charset='utf-16'>"),
        ("utf-8", "<meta charset='no-such-thing'>"),
        ("utf-8", ""),
        ("utf-8-sig", "<meta charset=latin1>"),
        ("utf-16", ""),
        ("iso8859-5", "<?xml version='1.0' encoding='iso-8859-5'?>"),
    ],
)
def test_the_page_names_its_encoding(encoding: str, meta: str) -> None:
    text = "тест" if encoding != "shift_jis" else "日本語"
    document = html_document("a.html", f"{meta}<html><p>{text}</p></html>".encode(encoding))
    assert (document.text, document.warnings) == (text, [])


def test_latin1_is_windows_1252_as_in_browsers() -> None:
    assert html_document("a.html", b"<meta charset=iso-8859-1><p>5 \x80").text == "5 €"


def test_a_page_that_lies_about_its_encoding_is_read_as_well_as_can_be() -> None:
    document = html_document("a.html", b"<meta charset=utf-8><p>caf\xe9")
    assert document.text == "café"
    assert "were read as Windows-1252" in document.warnings[0]


@pytest.mark.parametrize("source", [b"<!-- nothing -->", b" ", b"<html></html>", b"<script>x</script>"])
def test_a_page_without_text_is_said(source: bytes) -> None:
    assert html_document("a.html", source).warnings == [
        "a.html: must hold text, got none but white space. Leave it out."
    ]


def test_what_is_nested_too_deep_is_said() -> None:
    document = html_document("a.html", b"<p>before</p>" + b"<div>" * 3000 + b"deep")
    assert document.text == "before"
    assert "must not be nested so deep" in document.warnings[0]


def test_a_thousand_levels_are_read() -> None:
    assert text_of("<div>" * 1000 + "deep" + "</div>" * 1000 + "<p>after") == "deep\n\nafter"


def test_too_large_a_page_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(html, "MOST_TAGS", 2)
    with pytest.raises(DatasetError, match="at most 2 tags, got 3"):
        text_of("<p><p><p>")
    monkeypatch.setattr(html, "MOST_BYTES", 2)
    with pytest.raises(DatasetError, match="at most 0 MB of HTML"):
        text_of("<p>")


TAGS = ["h1", "p", "table", "tr", "td", "ul", "ol", "li", "pre", "script", "div"]
PARTS = [
    *(f"<{tag}>" for tag in TAGS),
    *(f"</{tag}>" for tag in TAGS),
    "a",
    " b\n",
    "<br>",
    "<div hidden>",
    "&amp;",
    "\0",
]


@given(st.lists(st.sampled_from(PARTS), max_size=30))
def test_marks_lie_in_order_inside_the_text(parts: list[str]) -> None:
    document = html_document("a.html", "".join(parts).encode())
    at = 0
    for mark in document.marks:
        assert at <= mark.start < mark.end <= len(document.text)
        assert mark.kind != "heading" or mark.label == document.text[mark.start : mark.end]
        at = mark.end
    assert "\0" not in document.text
