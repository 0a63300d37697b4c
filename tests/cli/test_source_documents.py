"""The documents of a command: the same text of a file wherever it is read, and in the chunks of an index."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Run, Write
from tests.cli.handbook import settings, without_model
from tests.pipeline.loading.made_files import pdf, word

from rag_titan.cli.source_documents import source_documents
from rag_titan.errors import DatasetError
from rag_titan.pipeline import load_documents

HTML = (
    "<html><head><title>Leave</title></head><body><h1>Leave</h1><p>You get <b>25 days</b> of leave.</p></body></html>"
)
LEFT_OUT = "files of the folder that are no documents by their names were left out: golden.json."


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    """A folder of every kind, with golden questions, a broken file and an empty one in it."""
    folder = tmp_path / "docs"
    (folder / "hr").mkdir(parents=True)
    (folder / "hr" / "leave.html").write_text(HTML)
    (folder / "pay.md").write_text("# Pay\n\nSick pay is **full** for 10 days.\n")
    (folder / "travel.txt").write_text("Hotels cost 95 euros.")
    (folder / "golden.json").write_text("[]")
    (folder / "empty.txt").write_text("")
    return folder


@pytest.mark.pipeline
def test_every_kind_is_read_as_the_pipeline_indexes_it(docs: Path) -> None:
    for library in ("pypdfium2", "docx", "markdown_it", "lxml"):
        pytest.importorskip(library)
    (docs / "scan.pdf").write_bytes(pdf([[]]))
    (docs / "trips.docx").write_bytes(word(lambda document: document.add_paragraph("Trains are free.")))
    texts, notes = source_documents(docs)
    assert texts == load_documents(docs).texts()
    assert texts is not None
    assert sorted(texts) == ["hr/leave.html", "pay.md", "scan.pdf", "travel.txt", "trips.docx"]
    assert (texts["hr/leave.html"].count("<"), texts["trips.docx"].strip(), texts["scan.pdf"]) == (
        0,
        "Trains are free.",
        "",
    )
    assert [note.partition(":")[0] for note in notes] == ["empty.txt", "scan.pdf", LEFT_OUT.partition(":")[0]]
    assert source_documents(docs / "hr" / "leave.html") == ({"leave.html": texts["hr/leave.html"]}, [])


def test_without_a_loader_text_is_read_as_it_is(docs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "lxml", None)
    texts, notes = source_documents(docs)
    assert texts == {
        "hr/leave.html": HTML,
        "pay.md": "# Pay\n\nSick pay is **full** for 10 days.\n",
        "travel.txt": "Hotels cost 95 euros.",
        "empty.txt": "",
    }
    assert notes[0] == "documents without text: empty.txt."
    assert notes[1].startswith("these files of the folder were not read: golden.json;")


def test_records_of_documents_are_read_as_such_and_none_are_none(docs: Path, write: Write) -> None:
    (docs / "documents.jsonl").write_text('{"id": "a", "text": "one"}\n')
    assert source_documents(docs) == ({"a": "one"}, [])
    assert source_documents(write({"b": "two"}, "b.json")) == ({"b": "two"}, [])
    assert source_documents(None) == (None, [])


def test_a_folder_without_documents_is_refused(tmp_path: Path) -> None:
    (tmp_path / "none").mkdir()
    with pytest.raises(DatasetError, match=r"none: must hold documents, or documents\.jsonl, got none of them\."):
        source_documents(tmp_path / "none")
    (tmp_path / "none" / "a.txt").write_text("")
    with pytest.raises(DatasetError, match=r"got none of them \(a\.txt: must hold something, got an empty file\."):
        source_documents(tmp_path / "none")


def test_the_golden_questions_in_the_folder_are_no_document(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "travel.txt").write_text("Hotels cost 95 euros.")
    (folder / "golden.csv").write_text(
        "id,question,expected_evidence,validated\nq1,What do hotels cost?,Hotels cost 95 euros.,true\n"
    )
    (tmp_path / "log.jsonl").write_text('{"id": "q1", "answer": "95 euros"}\n')
    checked = run("golden", "check", "docs/golden.csv", "--documents", "docs")
    assert checked.code == 0
    assert "note: docs/golden.csv: holds the golden questions, and was not read as a document." in checked.lines
    given = ("--golden", "docs/golden.csv", "--documents", "docs", "--output", "data")
    built = run("build", "--logs", "log.jsonl", *given)
    assert built.code == 0
    assert "  - docs/golden.csv: holds the golden questions, and was not read as a document." in built.lines
    assert [record["id"] for record in records(tmp_path / "data" / "documents.jsonl")] == ["travel.txt"]


@pytest.mark.pipeline
def test_from_an_index_to_a_report_every_chunk_stands_in_the_documents(
    run: Run, docs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("lxml")
    pytest.importorskip("markdown_it")
    without_model(monkeypatch)
    quotes = {"g1": "25 days of leave", "g2": "Sick pay is **full** for 10 days", "g3": "95 euros"}
    questions = [{"id": name, "question": f"What of {name}?", "expected_evidence": [q]} for name, q in quotes.items()]
    (docs / "golden.json").write_text(json.dumps(questions))
    indexed = run("index", "docs", "--store", "i.db", "--output", "run", *settings())
    assert (indexed.code, indexed.err) == (0, "")
    assert f"Note: {LEFT_OUT} Give a file itself to have it read." in indexed.lines
    assert "Written: run/chunks.jsonl, run/documents.jsonl" in indexed.lines
    chunks = records(tmp_path / "run" / "chunks.jsonl")
    log = [{"id": name, "retrieved_ids": [chunks[0]["id"]], "answer": "x"} for name in quotes]
    (tmp_path / "run" / "queries.jsonl").write_text("".join(json.dumps(line) + "\n" for line in log))
    built = {}
    for documents in ("docs", "run/documents.jsonl"):
        joined = run(
            "build", "--logs", "run/queries.jsonl", "--golden", "docs/golden.json", "--chunks", "run/chunks.jsonl",
            "--documents", documents, "--output", f"of-{Path(documents).stem}",
        )  # fmt: skip
        assert "Gold chunks: 3 of 3 questions have them" in joined.lines
        built[documents] = (tmp_path / f"of-{Path(documents).stem}" / "documents.jsonl").read_text()
    assert built["docs"] == built["run/documents.jsonl"]
    arguments = ("--input", "of-docs/queries.jsonl", "--chunks", "run/chunks.jsonl", "--documents", "docs")
    assert run("evaluate", *arguments, "--output", "r.json").code == 0
    report = json.loads((tmp_path / "r.json").read_text())
    assert report["chunking"]["coverage"] is not None  # a chunk without a sure place leaves it unmeasured
    checked = run("golden", "check", "docs/golden.json", "--documents", "docs", "--chunks", "run/chunks.jsonl")
    assert not any("found exactly once" in line for line in checked.lines)


def records(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()]
