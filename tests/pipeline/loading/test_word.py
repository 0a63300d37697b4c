"""Word -> headings, paragraphs, lists and tables in order."""

from __future__ import annotations

import io
import zipfile
from typing import Any

import pytest
from tests.pipeline.loading.made_files import changed, word

from rag_titan.pipeline.loading.numbering import written
from rag_titan.pipeline.loading.word import word_document
from rag_titan.pipeline.parts import Document

BODY = "word/document.xml"


def loaded(fill: Any) -> Document:
    return word_document("a.docx", word(fill))


SPACES = {
    "m": "http://schemas.openxmlformats.org/officeDocument/2006/math",
    "mc": "http://schemas.openxmlformats.org/markup-compatibility/2006",
}


def with_body(xml: str) -> Document:
    """A document with this in its body, in Word's XML."""

    def change(content: bytes) -> bytes:
        start, section, end = content.partition(b"<w:sectPr")
        for prefix, space in SPACES.items():
            if f"xmlns:{prefix}=".encode() not in start:
                start = start.replace(b"<w:document ", f'<w:document xmlns:{prefix}="{space}" '.encode(), 1)
        return start + xml.encode() + section + end

    return word_document("a.docx", changed(word(lambda document: None), BODY, change))


def test_everything_comes_in_the_order_of_the_document() -> None:
    def fill(document: Any) -> None:
        document.add_heading("Handbook", 0)
        document.add_heading("Leave", 1)
        document.add_paragraph("25 days.\ta\nyear")
        table = document.add_table(2, 2)
        for at, text in enumerate(["Grade", "Days", "A\nB", "25"]):
            table.cell(at // 2, at % 2).text = text
        document.add_heading("Sick pay", 2)
        document.add_paragraph("")
        document.add_paragraph("10 days")

    document = loaded(fill)
    assert document.text == "Handbook\n\nLeave\n\n25 days.\ta\nyear\n\nGrade | Days\nA B | 25\n\nSick pay\n\n10 days"
    assert [(m.kind, m.level, m.label, document.text[m.start : m.end]) for m in document.marks] == [
        ("heading", 1, "Handbook", "Handbook"),
        ("heading", 1, "Leave", "Leave"),
        ("table", 0, "", "Grade | Days\nA B | 25"),
        ("heading", 2, "Sick pay", "Sick pay"),
    ]
    assert document.warnings == []


def test_lists_have_their_bullets_and_numbers() -> None:
    def fill(document: Any) -> None:
        for text, style in [("a", "List Bullet"), ("b", "List Bullet"), ("x", None), ("c", "List Number"),
                            ("d", "List Number")]:  # fmt: skip
            document.add_paragraph(text, style=style)

    assert loaded(fill).text == "- a\n- b\n\nx\n\n1. c\n2. d"


def test_headers_and_footers_are_left_out() -> None:
    def fill(document: Any) -> None:
        document.sections[0].header.paragraphs[0].text = "every page"
        document.sections[0].footer.paragraphs[0].text = "page 1"
        document.add_paragraph("text")

    assert loaded(fill).text == "text"


def test_merged_cells_are_said_once_and_empty_ones_keep_their_place() -> None:
    def fill(document: Any) -> None:
        table = document.add_table(3, 3)
        table.cell(0, 0).merge(table.cell(0, 2)).text = "wide"
        table.cell(1, 0).text, table.cell(1, 2).text = "a", "c"
        table.cell(1, 1).add_table(1, 1).cell(0, 0).text = "nested"

    assert loaded(fill).text == "wide\na | nested | c"


def test_numbers_are_written_as_the_list_says() -> None:
    def fill(document: Any) -> None:
        document.add_heading("Scope", 1)
        document.add_paragraph("x")

    forms = [(3, "upperRoman", "%1."), (1, "lowerLetter", "%1.%2)"), (1, "none", "")]
    levels = "".join(
        f'<w:lvl w:ilvl="{n}"><w:start w:val="{start}"/><w:numFmt w:val="{form}"/><w:lvlText w:val="{text}"/></w:lvl>'
        for n, (start, form, text) in enumerate(forms)
    )
    lists = (
        f'<w:abstractNum w:abstractNumId="90">{levels}</w:abstractNum>'
        '<w:num w:numId="91"><w:abstractNumId w:val="90"/></w:num>'
        '<w:num w:numId="92"><w:abstractNumId w:val="90"/>'
        '<w:lvlOverride w:ilvl="0"><w:startOverride w:val="1"/></w:lvlOverride></w:num>'
    )
    steps = [
        ("91", 0),
        ("91", 1),
        ("91", 1),
        ("91", 0),
        ("91", 1),
        ("91", 2),
        ("92", 0),
        ("91", 0),
        ("0", 0),
        ("77", 1),
    ]
    body = "".join(
        f'<w:p><w:pPr><w:numPr><w:ilvl w:val="{depth}"/><w:numId w:val="{name}"/></w:numPr></w:pPr>'
        f"<w:r><w:t>t</w:t></w:r></w:p>"
        for name, depth in steps
    )
    data = word(lambda document: document.add_paragraph("x"))
    data = changed(
        data, "word/numbering.xml", lambda xml: xml.replace(b"</w:numbering>", lists.encode() + b"</w:numbering>")
    )
    data = changed(data, BODY, lambda xml: xml.replace(b"<w:sectPr", body.encode() + b"<w:sectPr", 1))
    lines = [line for line in word_document("a.docx", data).text.split("\n") if line]
    assert lines == ["x", "III. t", "  III.a) t", "  III.b) t", "IV. t", "  IV.a) t", "t", "I. t", "V. t", "t", "  - t"]


@pytest.mark.parametrize(
    ("number", "form", "text"),
    [(4, "lowerRoman", "iv"), (1994, "upperRoman", "MCMXCIV"), (26, "lowerLetter", "z"), (27, "upperLetter", "AA"),
     (0, "lowerRoman", "0"), (7, "chineseCounting", "7"), (7, "none", "")],
)  # fmt: skip
def test_a_number_in_each_form(number: int, form: str, text: str) -> None:
    assert written(number, form) == text


def test_what_python_docx_passes_over_is_read() -> None:
    document = with_body(
        "<w:sdt><w:sdtContent><w:p><w:r><w:t>control</w:t></w:r></w:p></w:sdtContent></w:sdt>"
        "<w:p><w:ins><w:r><w:t>in</w:t></w:r></w:ins><w:del><w:r><w:t>gone</w:t></w:r></w:del>"
        "<w:moveFrom><w:r><w:t>moved</w:t></w:r></w:moveFrom><m:oMath><m:r><m:t>x=1</m:t></m:r></m:oMath>"
        "<w:r><w:rPr><w:vanish/></w:rPr><w:t>hidden</w:t></w:r>"
        '<w:r><w:rPr><w:vanish w:val="0"/></w:rPr><w:t>!</w:t></w:r></w:p>'
        "<w:p><w:r><w:t>before</w:t></w:r><w:r><mc:AlternateContent><mc:Choice><w:txbxContent><w:p><w:r><w:t>box</w:t>"
        "</w:r></w:p></w:txbxContent></mc:Choice><mc:Fallback><w:txbxContent><w:p><w:r><w:t>box</w:t></w:r></w:p>"
        "</w:txbxContent></mc:Fallback></mc:AlternateContent></w:r><w:r><w:t> after</w:t></w:r></w:p>"
    )
    assert document.text == "control\n\ninx=1!\n\nbefore after\n\nbox"


def test_a_paragraph_may_be_a_heading_of_its_own() -> None:
    document = with_body(
        '<w:p><w:pPr><w:outlineLvl w:val="2"/></w:pPr><w:r><w:t>Third</w:t></w:r></w:p>'
        '<w:p><w:pPr><w:pStyle w:val="Heading1"/><w:outlineLvl w:val="9"/></w:pPr><w:r><w:t>none</w:t></w:r></w:p>'
    )
    assert [(m.label, m.level) for m in document.marks] == [("Third", 3)]


def test_a_file_without_text_is_said() -> None:
    assert loaded(lambda document: None).warnings == ["a.docx: must hold text, got none but white space. Leave it out."]


def test_styles_that_are_based_on_each_other_end() -> None:
    end = b"</w:styles>"
    style = b'<w:style w:styleId="BodyText"><w:name w:val="a"/><w:basedOn w:val="BodyText"/></w:style>'
    data = word(lambda document: document.add_paragraph("x", style="Body Text"))
    data = changed(data, "word/styles.xml", lambda xml: xml.replace(end, style + end))
    assert word_document("a.docx", data).text == "x"


def test_footnotes_stand_at_the_end() -> None:
    space = "http://schemas.openxmlformats.org"
    note = "<w:footnote{}><w:p><w:r><w:t>{}</w:t></w:r></w:p></w:footnote>".format
    inside = note(' w:type="separator"', "-") + note("", "See the annex.")
    notes = f'<w:footnotes xmlns:w="{space}/wordprocessingml/2006/main">{inside}</w:footnotes>'
    kind = f"{space}/officeDocument/2006/relationships/footnotes"
    relation = f'<Relationship Id="n1" Type="{kind}" Target="notes.xml"/>'
    data = word(lambda document: document.add_paragraph("x"))
    end = b"</Relationships>"
    data = changed(data, "word/_rels/document.xml.rels", lambda xml: xml.replace(end, relation.encode() + end))
    written = io.BytesIO(data)
    with zipfile.ZipFile(written, "a") as archive:
        archive.writestr("word/notes.xml", notes)
    assert word_document("a.docx", written.getvalue()).text == "x\n\nSee the annex."
