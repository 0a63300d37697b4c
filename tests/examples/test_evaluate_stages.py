"""The example that evaluates the pipeline on the sample documents, and the golden questions that it asks."""

from __future__ import annotations

import importlib.util
import json
import os
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

pytest.importorskip("wordllama")

from tests.models.scripted import base_url, good, scripted

from rag_titan.evaluation import check_golden
from rag_titan.pipeline.loading.load import load_documents

pytestmark = pytest.mark.pipeline

EXAMPLES = Path(__file__).parents[2] / "examples"
GOLDEN = EXAMPLES / "sample_docs" / "golden.json"


def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("evaluate_stages", EXAMPLES / "evaluate_stages.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(autouse=True)
def own_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No setting of whoever runs the tests."""
    for name in [name for name in os.environ if name.startswith("RAG_TITAN_") and name != "RAG_TITAN_CI"]:
        monkeypatch.delenv(name)


def test_the_golden_questions_are_ready_as_the_files_are_and_as_they_are_loaded() -> None:
    for documents in (GOLDEN.parent, load_documents(GOLDEN.parent).texts()):
        result = check_golden(GOLDEN, documents)
        assert (result["ready"], result["problems"], result["question_count"]) == (True, [], 22)


def test_every_document_is_asked_for_and_two_questions_have_no_answer() -> None:
    golden = json.loads(GOLDEN.read_text(encoding="utf-8"))
    texts = load_documents(GOLDEN.parent).texts()
    quotes = [quote for question in golden for quote in question.get("expected_evidence", [])]
    assert {name for name, text in texts.items() if any(quote in text for quote in quotes)} == set(texts)
    assert sum(not question["answerable"] for question in golden) == 2


def test_offline_the_example_measures_every_stage(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAG_TITAN_GENERATOR", "openai")  # is for --live
    assert script().main(["--output", str(tmp_path / "run")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"Reports saved: {tmp_path / 'run' / 'report.json'} and {tmp_path / 'run' / 'report.md'}"
    assert [line.partition(":")[0] for line in lines[1:4]] == ["Overall score", "Status", "First failing stage"]
    report: dict[str, Any] = json.loads((tmp_path / "run" / "report.json").read_text(encoding="utf-8"))
    assert all(stage["score"] is not None for stage in report["scorecard"]["stages"].values())
    assert report["diagnosis"]["counts"]["errors"] == 0
    assert report["retrieval"]["summary"]["recall_at_k"] > 0.8
    assert (tmp_path / "run" / "report.md").read_text(encoding="utf-8").startswith("# RAG evaluation report")


def test_without_a_folder_nothing_is_said_to_be_saved(capsys: pytest.CaptureFixture[str]) -> None:
    assert script().main([]) == 0
    assert capsys.readouterr().out.startswith("Overall score: ")


def test_live_asks_ollama_unless_the_environment_says_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = script().settings
    assert settings(True) == {"generator": "ollama", "url": "http://127.0.0.1:11434", "model": "llama3.2"}
    monkeypatch.setenv("RAG_TITAN_MODEL", "qwen3")
    assert settings(True) == {"generator": "ollama", "url": "http://127.0.0.1:11434"}
    assert settings(False) == {"generator": "extractive", "embedder": "wordllama"}


def test_live_the_model_answers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with scripted(good("ollama", ("27 days", " [1]."))) as server:
        monkeypatch.setenv("RAG_TITAN_URL", base_url(server, "ollama"))
        assert script().main(["--live", "--output", str(tmp_path)]) == 0
    report = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    assert "Overall score" in capsys.readouterr().out
    assert report["generation"]["per_query"][0]["id"] == "leave_days"
    right = [row["id"] for row in report["queries"] if row["correct"]]
    assert right == ["leave_days"]
    assert report["end_to_end"]["mean_total_tokens"] > 0
    assert len(server.requests) >= 22


def test_what_cannot_be_is_said_without_a_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RAG_TITAN_K", "many")
    assert script().main([]) == 2
    assert capsys.readouterr().err == "RAG_TITAN_K: must be a whole number, got 'many'.\n"
