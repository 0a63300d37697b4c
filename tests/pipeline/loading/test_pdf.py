"""PDF -> pages."""

from __future__ import annotations

import sys

import pytest
from tests.pipeline.loading.made_files import pdf

from rag_titan.errors import DatasetError, MissingExtraError
from rag_titan.pipeline.loading.pdf import pdf_document
from rag_titan.pipeline.parts import Mark


def test_each_page_has_its_mark() -> None:
    document = pdf_document("leave.pdf", pdf([["Leave", "25 days a year."], ["Sick pay"]]))
    assert document.text == "Leave\n25 days a year.\n\nSick pay"
    assert document.marks == [Mark("page", 0, 21, "1"), Mark("page", 23, 31, "2")]
    assert document.warnings == []


def test_pages_without_text_are_named_and_keep_their_number() -> None:
    document = pdf_document("a.pdf", pdf([["one"], [], [], ["four"], []]))
    assert document.text == "one\n\nfour"
    assert [(m.label, document.text[m.start : m.end]) for m in document.marks] == [
        ("1", "one"), ("2", ""), ("3", ""), ("4", "four"), ("5", ""),
    ]  # fmt: skip
    assert document.warnings == [
        "a.pdf: must have text on every page, got none on pages 2-3, 5 (scanned?). Run text recognition on it."
    ]


def test_a_scanned_file_is_a_document_without_text() -> None:
    document = pdf_document("scan.pdf", pdf([[], []]))
    assert document.text == ""
    assert document.warnings == [
        "scan.pdf: must have pages with text, got 2 without a text layer (scanned?). Run text recognition on it first."
    ]


def test_an_encrypted_file_is_refused() -> None:
    with pytest.raises(DatasetError, match="without a password, got an encrypted PDF"):
        pdf_document("a.pdf", pdf([["secret"]], encrypted=True))


def test_a_truncated_file_is_refused_as_such() -> None:
    data = pdf([["one"], ["two"]])
    with pytest.raises(DatasetError, match="got a truncated one: its end is missing"):
        pdf_document("a.pdf", data[: len(data) // 3])


def test_a_file_of_noise_with_an_end_is_broken_and_not_truncated() -> None:
    with pytest.raises(DatasetError, match="got a broken one"):
        pdf_document("a.pdf", b"%PDF-1.4\nnoise\n%%EOF\n")


def test_a_file_without_pages_is_refused() -> None:
    with pytest.raises(DatasetError, match="must be a whole PDF, got a broken one"):
        pdf_document("a.pdf", pdf([]))


def test_a_broken_table_of_parts_is_repaired_and_said() -> None:
    data = pdf([["Leave"]])
    at = data.rindex(b"startxref")
    document = pdf_document("a.pdf", data[:at] + b"startxref\n7\n%%EOF\n")
    assert document.text == "Leave"
    assert document.warnings == [
        "a.pdf: must have a sound table of its parts (xref), got a broken one. It was repaired; save it again."
    ]


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        (["the con-", "firming fact", "is confirming"], "the confirming fact\nis confirming"),
        (["a re-", "entry here", "no re-entry"], "a re-entry here\nno re-entry"),
        (["three-", "foot lines", "a foot is not three"], "three-foot lines\na foot is not three"),
        (["con-", "firm and at-", "test", "confirm"], "confirm and attest\nconfirm"),
        (["con-", "firm well-", "known", "confirm well known"], "confirm well-known\nconfirm well known"),
        (["a well-", "known rule"], "a well-known rule"),
        (["ends with-", "(a bracket)"], "ends with-\n(a bracket)"),
    ],
)
def test_words_that_are_cut_at_the_end_of_a_line_are_whole_again(lines: list[str], text: str) -> None:
    assert pdf_document("a.pdf", pdf([lines])).text == text


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pypdfium2", None)
    with pytest.raises(MissingExtraError, match=r"pypdfium2 is not installed.*rag-titan\[pipeline\]"):
        pdf_document("a.pdf", pdf([["x"]]))
