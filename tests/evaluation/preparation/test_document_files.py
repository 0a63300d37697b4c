"""Documents from folders, files and datasets."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from rag_titan.errors import DatasetError, MissingExtraError
from rag_titan.evaluation.data.notices import Notices
from rag_titan.evaluation.preparation.document_files import read_documents


def test_a_folder_of_texts_is_read_with_the_paths_as_ids(tmp_path: Path) -> None:
    (tmp_path / "hr").mkdir()
    (tmp_path / ".git").mkdir()
    (tmp_path / "hr" / "leave.md").write_bytes(b"\xef\xbb\xbfone\r\ntwo")
    (tmp_path / "old.TXT").write_bytes(b"caf\xe9")
    (tmp_path / "wide.html").write_bytes("<b>é</b>".encode("utf-16"))
    (tmp_path / "scan.pdf").write_bytes(b"%PDF")
    (tmp_path / ".git" / "notes.md").write_bytes(b"hidden")
    notices = Notices()
    assert read_documents(tmp_path, notices) == {
        "hr/leave.md": "one\r\ntwo",
        "old.TXT": "café",
        "wide.html": "<b>é</b>",
    }
    assert notices.texts() == [
        "files that are no UTF-8 were read as Windows-1252: old.TXT. Save them as UTF-8.",
        "these files of the folder were not read: scan.pdf; "
        "what is read as text is .txt .md .markdown .rst .html .htm.",
    ]


def test_pdf_and_word_files_are_read_by_a_loader_and_what_it_refuses_stops_nothing(tmp_path: Path) -> None:
    for name in ("a.md", "b.PDF", "c.docx", "d.pdf", "e.pptx"):
        (tmp_path / name).write_text(name)

    def load(file: Path, name: str) -> str:
        if name == "c.docx":
            raise MissingExtraError("python-docx", "pipeline")
        if name == "d.pdf":
            raise DatasetError(name, "must be whole.")
        return f"{name} {file.read_text()}"

    notices = Notices()
    assert read_documents(tmp_path, notices, load) == {"a.md": "a.md", "b.PDF": "b.PDF b.PDF"}
    assert notices.texts() == [
        "d.pdf: must be whole.",
        "these files of the folder were not read: c.docx; python-docx is not installed; install it with: "
        'pip install "rag-titan[pipeline]"',
        "these files of the folder were not read: e.pptx; what is read as text is .txt .md .markdown .rst .html .htm.",
    ]
    assert read_documents(tmp_path / "b.PDF", load=load) == {"b.PDF": "b.PDF b.PDF"}
    for name in ("a.md", "b.PDF"):
        (tmp_path / name).unlink()
    with pytest.raises(MissingExtraError):
        read_documents(tmp_path, load=load)


def test_documents_without_text_are_named(tmp_path: Path) -> None:
    for name, text in (("a.md", "one"), ("b.txt", ""), ("c.html", " \n")):
        (tmp_path / name).write_text(text)
    notices = Notices()
    assert list(read_documents(tmp_path, notices)) == ["a.md", "b.txt", "c.html"]
    assert notices.texts() == ["documents without text: b.txt, c.html."]


def test_a_pdf_without_a_loader_is_said_to_be_one(tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(b"%PDF")
    with pytest.raises(DatasetError, match=r"a\.pdf: must be a file of text \(.*\) or of records, got \.pdf\. Save it"):
        read_documents(tmp_path / "a.pdf")


def test_one_text_file(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("one")
    assert read_documents(tmp_path / "a.md") == {"a.md": "one"}


@pytest.mark.parametrize(
    "value",
    [
        {"a": "one", "b": "two"},
        {"documents": {"a": "one", "b": "two"}, "queries": [{"id": "q1"}]},
        {"documents": [{"id": "a", "text": "one"}, {"source": "b", "text": "two"}]},
        [{"id": "a", "text": "one"}, {"id": "b", "text": "two"}],
    ],
)
def test_json_of_documents_and_of_a_dataset(tmp_path: Path, value: object) -> None:
    (tmp_path / "d.json").write_text(json.dumps(value))
    assert read_documents(tmp_path / "d.json") == {"a": "one", "b": "two"}


def test_a_sheet_of_documents(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("id;text\na;one\nb;two\n")
    assert read_documents(tmp_path / "d.csv") == {"a": "one", "b": "two"}


def test_the_single_text_of_a_dataset(tmp_path: Path) -> None:
    (tmp_path / "d.json").write_text(json.dumps({"document_text": "one", "chunks": ["one"]}))
    assert read_documents(tmp_path / "d.json") == {"document": "one"}


def test_lines_and_the_folder_of_a_dataset(tmp_path: Path) -> None:
    (tmp_path / "documents.jsonl.gz").write_bytes(gzip.compress(b'{"id": "a", "text": "one"}\n'))
    (tmp_path / "queries.jsonl").write_text('{"id": "q1"}\n')
    assert read_documents(tmp_path / "documents.jsonl.gz") == read_documents(tmp_path) == {"a": "one"}


def test_where_there_is_none(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="must hold text files"):
        read_documents(tmp_path)
    with pytest.raises(DatasetError, match="nothing there"):
        read_documents(tmp_path / "none.md")
    (tmp_path / "d.json").write_text('{"documents": null, "chunks": ["x"], "document_text": null}')
    with pytest.raises(DatasetError, match="must hold documents, got none"):
        read_documents(tmp_path / "d.json")
