"""rag-titan lab sweep-chunks: the table, the files, and the exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Run, Write
from tests.cli.handbook import GOLDEN, folder, without_model

COMMAND = ("lab", "sweep-chunks", "--sizes", "15,30", "--overlaps", "0,5", "--chunkers", "words", "--processes", 1)


@pytest.fixture(autouse=True)
def _counting(monkeypatch: pytest.MonkeyPatch) -> None:
    without_model(monkeypatch)


def test_the_table_the_best_and_the_files(run: Run, write: Write, tmp_path: Path) -> None:
    folder(tmp_path / "docs")
    given = ["--documents", "docs", "--golden", write(GOLDEN, "golden.json"), "--k", 2]
    done = run(*COMMAND, *given, "--plot", "sweep.html")
    assert (done.code, done.err) == (0, "")
    assert done.lines[0] == "3 questions, 2 documents, the first 2 chunks of each search."
    assert [line.split()[:3] for line in done.lines[3:7]] == [
        ["words", "15", "0"], ["words", "15", "5"], ["words", "30", "0"], ["words", "30", "5"],
    ]  # fmt: skip
    whole = json.loads((tmp_path / "chunk_sweep.json").read_text())
    assert any(line.startswith(f"Best by token F1: {whole['best']}, ") for line in done.lines)
    assert "chunks of another size are other things" in done.out
    assert (tmp_path / "chunk_sweep.json.journal").is_file()
    assert ">15<" in (tmp_path / "sweep.html").read_text()
    again = run(*COMMAND, *given, "--json")
    assert json.loads(again.out) == whole


def test_what_is_refused_and_what_is_not_measured(run: Run, write: Write, tmp_path: Path) -> None:
    folder(tmp_path / "docs")
    golden = write(GOLDEN, "golden.json")
    given = ["--documents", "docs", "--golden", golden]
    assert run(*COMMAND, *given, "--sizes", "10,x").err.startswith("rag-titan: --sizes: must be whole numbers, got")
    assert run(*COMMAND, *given, "--output", golden).code == 2
    bare = write([{"id": "q", "question": "What?"}], "bare.json")
    done = run(*COMMAND, "--documents", "docs", "--golden", bare, "--output", "bare_sweep.json")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("rag-titan: golden: must have expected_evidence for some question")
    lost = write([{"id": "q", "question": "What?", "expected_evidence": ["in no document"]}], "lost.json")
    done = run(*COMMAND, "--documents", "docs", "--golden", lost, "--output", "lost_sweep.json")
    assert (done.code, done.err) == (3, "rag-titan: nothing was measured.\n")


def test_a_line_of_the_journal_that_was_cut_off_is_told(run: Run, write: Write, tmp_path: Path) -> None:
    folder(tmp_path / "docs")
    given = ["--documents", "docs", "--golden", write(GOLDEN, "golden.json")]
    first = run(*COMMAND, *given)
    journal = tmp_path / "chunk_sweep.json.journal"
    journal.write_bytes(journal.read_bytes()[:-30])
    again = run(*COMMAND, *given)
    assert (again.code, again.out) == (0, first.out)
    assert "lines of the journal that cannot be read are dropped, and their cells measured again" in again.err
