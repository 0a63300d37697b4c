"""Chroma's chunking evaluation."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from tests.architecture.source_tree import ROOT

from rag_titan.errors import DatasetError, SettingsError
from rag_titan.evaluation import RAGEvaluator
from rag_titan.evaluation.importers.chroma_chunking import read

TEXT = "The pool opens at seven.\r\nThe gym opens at seven too.\n"


def folder(path: Path, *rows: tuple[str, Any, str]) -> Path:
    (path / "hours.md").write_bytes(TEXT.encode())
    with (path / "questions.csv").open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(("question", "references", "corpus_id"))
        for question, references, corpus in rows:
            writer.writerow((question, references if isinstance(references, str) else json.dumps(references), corpus))
    return path


def span(content: str, start: int) -> dict[str, Any]:
    return {"content": content, "start_index": start, "end_index": start + len(content)}


def test_questions_and_corpora(tmp_path: Path) -> None:
    gym = TEXT.index("seven", TEXT.index("gym"))
    got = read([folder(tmp_path, ("When?", [span("seven", gym)], "hours"), ("Where?", [span("here", 0)], "else"))])
    assert got.queries == [
        {
            "id": "hours-0",
            "question": "When?",
            "tags": {"corpus": "hours"},
            "expected_evidence": [{"start": gym, "end": gym + 5, "doc_id": "hours"}],
        },
        {"id": "else-1", "question": "Where?", "tags": {"corpus": "else"}, "expected_evidence": ["here"]},
    ]
    assert got.documents == {"hours": TEXT}
    assert got.notices.texts() == ["a corpus has no file NAME.md, so its references are quotes without a place: else."]


def test_one_corpus(tmp_path: Path) -> None:
    path = folder(tmp_path, ("Where?", [span("here", 0)], "else"), ("When?", [span("seven", 18)], "hours"))
    assert [query["id"] for query in read([path], corpus="hours").queries] == ["hours-1"]
    with pytest.raises(SettingsError, match="corpus: 'hour' has no questions; the nearest is 'hours'"):
        read([path], corpus="hour")


def test_references_that_moved_are_quotes(tmp_path: Path) -> None:
    rows = [("When?", [span("seven", 3), span("", 0)], "hours"), ("Who?", "not JSON", "hours")]
    (tmp_path / "notes.pdf").touch()
    got = read([folder(tmp_path, *rows)])
    assert [query["expected_evidence"] for query in got.queries] == [["seven"]]
    text = " ".join(got.notices.texts())
    assert "do not stand at their start_index are quotes without a place: question hours-0." in text
    assert "questions.csv row 3.references: must be a list" in text
    assert "references without words are no evidence: question hours-0." in text
    assert "were not read: notes.pdf." in text


def test_a_folder_without_questions(tmp_path: Path) -> None:
    (tmp_path / "hours.md").write_text(TEXT)
    with pytest.raises(DatasetError, match=r"must hold the questions as \.csv, got none"):
        read([tmp_path])


def test_a_table_of_something_else(tmp_path: Path) -> None:
    (tmp_path / "questions.csv").write_text("a,b\n1,2\n")
    with pytest.raises(DatasetError, match=r"questions\.csv row 2\.question: must be given"):
        read([tmp_path])


def test_every_reference_of_chroma_has_its_place() -> None:
    path = ROOT.parent / "shared" / "data" / "chroma_chunking"
    if not path.exists():
        pytest.skip("not here: chroma_chunking")
    got = read([path])
    evidence = [item for query in got.queries for item in query["expected_evidence"]]
    assert (len(got.queries), len(evidence), len(got.documents or ())) == (472, 790, 5)
    assert all(isinstance(item, dict) for item in evidence)
    texts = dict(sorted((got.documents or {}).items(), key=lambda item: len(item[1]))[:2])  # the others take seconds
    queries = [query for query in got.queries if query["tags"]["corpus"] in texts]
    assert queries
    chunks = [{"id": name, "doc_id": name, "start": 0, "end": len(t), "text": t} for name, t in texts.items()]
    report = RAGEvaluator().evaluate(queries=queries, documents=texts, chunks=chunks)
    assert report["chunking"]["coverage"] == report["chunking"]["evidence_completeness"] == 1.0


def test_references_that_are_nested_too_deep_cost_their_question_alone(tmp_path: Path) -> None:
    got = read([folder(tmp_path, ("When?", [span("seven", 19)], "hours"), ("Deep?", "[" * 100_000, "hours"))])
    assert [query["question"] for query in got.queries] == ["When?"]
