"""The documents of other tools: each loads, or is named."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rag_titan.pipeline.loading.load import Loading, load_documents

FOLDER = Path(__file__).parents[4] / "shared" / "data" / "documents"

pytestmark = pytest.mark.skipif(not FOLDER.exists(), reason="the documents of other tools are not here")


@pytest.fixture(scope="module")
def loading() -> Loading:
    return load_documents(FOLDER)


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text)


def test_every_file_is_loaded_or_named(loading: Loading) -> None:
    files = {path.relative_to(FOLDER).as_posix() for path in FOLDER.rglob("*") if path.is_file()}
    loaded = set(loading.texts())
    named = {warning.partition(": ")[0] for warning in loading.warnings}
    assert loaded | named | set(loading.left_out) == files
    assert {name for name in files - loaded if "LICENSE" not in name} <= {
        "corrupted/empty.pdf", "corrupted/truncated.docx", "corrupted/truncated_half.pdf",
        "pdf/libreoffice-writer-password.pdf",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("corrupted/bad_xref.pdf", "It was repaired"),
        ("corrupted/empty.pdf", "got an empty file"),
        ("corrupted/truncated_half.pdf", "got a truncated one"),
        ("corrupted/html_named.pdf", "got HTML: it is wrongly named"),
        ("corrupted/latin1.md", "were read as Windows-1252"),
        ("corrupted/truncated.docx", "must be a whole Word file"),
        ("pdf/libreoffice-writer-password.pdf", "got an encrypted PDF"),
        ("pdf/MEDRPT-2024-PAT-3847_medical_report_scan.pdf", "without a text layer"),
    ],
)
def test_what_is_wrong_is_said(loading: Loading, name: str, said: str) -> None:
    if not (FOLDER / name).exists():
        pytest.skip(f"{name} is not here")
    assert [w for w in loading.warnings if w.startswith(f"{name}: ") and said in w]


def test_marks_lie_in_order_inside_the_text(loading: Loading) -> None:
    kinds = set()
    for document in loading.documents:
        at = 0
        for mark in document.marks:
            assert at <= mark.start <= mark.end <= len(document.text), (document.id, mark)
            kinds.add(mark.kind)
            at = mark.end
    assert kinds == {"page", "heading", "table", "code"}


@pytest.mark.parametrize("expected", sorted(FOLDER.glob("expected_markdown/*_*.md")), ids=lambda path: path.stem)
def test_the_words_of_a_pdf_come_in_the_order_that_another_tool_gives(loading: Loading, expected: Path) -> None:
    name = f"pdf/{expected.stem}.pdf"
    if name not in loading.texts():
        pytest.skip(f"{name} is not here")
    assert words(loading.texts()[name]) == words(expected.read_text(encoding="utf-8"))


def test_pages_are_kept(loading: Loading) -> None:
    marks = {document.id: document.marks for document in loading.documents}
    assert [mark.label for mark in marks["pdf/pdflatex-4-pages.pdf"]] == ["1", "2", "3", "4"]


def test_markdown_is_its_own_text(loading: Loading) -> None:
    for name, text in loading.texts().items():
        if name.startswith("md/"):
            assert (FOLDER / name).read_bytes().decode() == text


def test_word_files_say_what_word_shows(loading: Loading) -> None:
    texts = loading.texts()
    assert texts["docx/test.docx"] == "python-docx was here!\n\npython-docx was here too!"
    assert texts["docx/num-having-numbering-part.docx"] == "1. Paragraph having List Number style."
    assert "header" not in texts["docx/hdr-header-footer.docx"].replace("section with header", "").replace(
        "section without header", ""
    )
    assert words(texts["docx/equations.docx"])[:3] == ["For", "m", "1"]
