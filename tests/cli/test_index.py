"""rag-titan index: what is taken in, what is named, and what a run leaves that was stopped."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.architecture.source_tree import ROOT
from tests.cli.conftest import Run, Write
from tests.cli.handbook import folder, settings, without_model

from rag_titan.pipeline import titan
from rag_titan.pipeline.embedding.embedders import CallableEmbedder
from rag_titan.pipeline.stores.sqlite import SqliteStore


@pytest.fixture(autouse=True)
def _counting(monkeypatch: pytest.MonkeyPatch) -> None:
    without_model(monkeypatch)


def documents_of(store: Path) -> set[str]:
    return {chunk.doc_id for chunk in SqliteStore(store, "counts").chunks()}


def test_documents_are_indexed_and_what_did_not_change_is_left_alone(run: Run, tmp_path: Path) -> None:
    docs = folder(tmp_path / "docs")
    first = run("index", "docs", "--store", "i.db", *settings())
    assert (first.code, first.err) == (0, "")
    assert first.lines == [
        "Documents: 2, of which 0 unchanged | Chunks: 6", "Index: i.db", 'Next: rag-titan ask "..." --store i.db',
    ]  # fmt: skip
    (docs / "leave.md").write_text("Leave is 30 days.")
    again = run("index", "docs", "--store", "i.db", *settings())
    assert again.lines[0] == "Documents: 2, of which 1 unchanged | Chunks: 4"
    other = run("index", docs / "leave.md", "--store", "i.db", *settings())
    assert other.lines[:2] == [
        "Documents: 1, of which 1 unchanged | Chunks: 1", "With those of earlier runs: 2 documents, 4 chunks",
    ]  # fmt: skip


def test_what_cannot_be_read_is_named_and_stops_nothing(run: Run, tmp_path: Path) -> None:
    docs = folder(tmp_path / "docs")
    (docs / "broken\x1b[31m.pdf").write_bytes(b"%PDF-1.4 cut")
    done = run("index", "docs", "no/such.md", "--store", "i.db", *settings())
    assert done.code == 0
    for name in ("no/such.md", r"broken\x1b[31m.pdf"):
        assert any(line.startswith(f"Warning: {name}: must be ") for line in done.lines)
    assert "\x1b" not in done.out
    assert documents_of(tmp_path / "i.db") == {"leave.md", "travel.md"}


def test_nothing_to_index_is_an_exit_code_of_its_own_and_leaves_no_file(run: Run, write: Write, tmp_path: Path) -> None:
    done = run("index", write("", "empty.txt"), "--store", "i.db", *settings())
    assert (done.code, done.err) == (3, "rag-titan: nothing was indexed.\n")
    assert not (tmp_path / "i.db").exists()


def test_the_chunks_and_texts_of_the_whole_index_are_written(run: Run, tmp_path: Path) -> None:
    docs = folder(tmp_path / "docs")
    run("index", "docs", "--store", "i.db", *settings())
    done = run("index", docs / "leave.md", "--store", "i.db", "--output", "data", *settings())
    assert (done.code, done.err) == (0, "")
    assert done.lines[-2] == "Written: data/chunks.jsonl, data/documents.jsonl"
    chunks, documents = (
        [json.loads(line) for line in (tmp_path / "data" / f"{name}.jsonl").read_text().splitlines()]
        for name in ("chunks", "documents")
    )
    assert {chunk["id"] for chunk in chunks} == {one.id for one in SqliteStore(tmp_path / "i.db", "counts").chunks()}
    texts = {document["id"]: document["text"] for document in documents}
    assert set(texts) == {"leave.md", "travel.md"}  # the second from its chunks: its file was not given
    assert texts["leave.md"] == (docs / "leave.md").read_text()
    assert [texts[chunk["doc_id"]][chunk["start"] : chunk["end"]] for chunk in chunks] == [c["text"] for c in chunks]


def test_a_run_that_fails_at_its_first_document_leaves_no_empty_index(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder(tmp_path / "docs")
    monkeypatch.setattr(titan, "embedder_of", lambda settings: CallableEmbedder(lambda texts: [], "broken"))
    done = run("index", "docs", "--store", "i.db", *settings())
    assert done.code == 2
    assert "one vector for each" in done.err
    assert not (tmp_path / "i.db").exists()


def test_another_chunking_takes_all_documents_or_none(run: Run, tmp_path: Path) -> None:
    docs = folder(tmp_path / "docs")
    command = ["--store", "i.db", *settings()]
    other = ["--store", "i.db", *settings(chunker="words", chunk_size=10)]
    run("index", "docs", *command)
    done = run("index", docs / "leave.md", *other)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(
        "rag-titan: store: i.db: must be cut in one way, got words 10/0 beside sentence 20/0 in travel.md. Set that"
    )
    (docs / "travel.md").unlink()
    assert run("index", "docs", *other).code == 2
    assert run("index", "docs", *other, "--prune").lines[0].startswith("Documents: 1, of which 0 unchanged")
    assert documents_of(tmp_path / "i.db") == {"leave.md"}


def test_files_that_are_gone_are_named_and_taken_out_when_wished(run: Run, tmp_path: Path) -> None:
    docs = folder(tmp_path / "docs")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "apart.md").write_text("Apart from the rest.")
    command = ["index", "docs", "--store", "i.db", *settings()]
    run("index", "other", "--store", "i.db", *settings())
    run(*command)
    (docs / "leave.md").rename(tmp_path / "leave.md")
    (tmp_path / "other" / "apart.md").unlink()  # not of the folder that is given below
    again = run(*command)
    assert again.code == 0
    assert "Gone, but still in the index: leave.md. --prune takes them out." in again.lines
    assert documents_of(tmp_path / "i.db") == {"apart.md", "leave.md", "travel.md"}
    pruned = run(*command, "--prune")
    assert pruned.code == 0
    assert "Removed: leave.md" in pruned.lines
    assert documents_of(tmp_path / "i.db") == {"apart.md", "travel.md"}
    assert not [line for line in run(*command, "--prune").lines if line.startswith(("Gone", "Removed"))]
    (docs / "travel.md").unlink()
    assert run(*command).code == 3
    emptied = run(*command, "--prune")
    assert (emptied.code, emptied.err) == (0, "")
    assert documents_of(tmp_path / "i.db") == {"apart.md"}
    docs.rmdir()  # as of a disk that is not mounted
    assert run(*command, "--prune").code == 3


def test_a_file_that_cannot_be_read_now_is_not_gone(run: Run, tmp_path: Path) -> None:
    docs = folder(tmp_path / "docs")
    run("index", "docs", "--store", "i.db", *settings())
    (docs / "leave.md").write_bytes(b"%PDF-1.4 cut")
    done = run("index", "docs", "--store", "i.db", "--prune", *settings())
    assert not [line for line in done.lines if line.startswith(("Gone", "Removed"))]
    assert documents_of(tmp_path / "i.db") == {"leave.md", "travel.md"}


def test_the_settings_come_from_the_command_line_then_the_environment_then_the_file(
    run: Run, write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder(tmp_path / "docs")
    write('k = 3\n[pipeline]\nstore = "file.db"\nchunk_size = 30\nchunk_overlap = 0\n', "rag-titan.toml")
    assert run("index", "docs").lines[-2] == "Index: file.db"
    monkeypatch.setenv("RAG_TITAN_STORE", "environment.db")
    assert run("index", "docs").lines[-2] == "Index: environment.db"
    assert run("index", "docs", "--set", "store=set.db").lines[-2] == "Index: set.db"
    assert run("index", "docs", "--set", "store=set.db", "--store", "option.db").lines[-2] == "Index: option.db"
    monkeypatch.delenv("RAG_TITAN_STORE")
    (tmp_path / "rag-titan.toml").unlink()
    write('[tool.rag-titan.pipeline]\nstore = "project.db"\n', "pyproject.toml")
    assert run("index", "docs").lines[-2] == "Index: project.db"


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ([], "--store: must be the file of the index, got none. Write it as --store index.db."),
        (["--store", "docs"], "--store: docs: must be a file in a folder that is there, got a folder."),
        (["--store", "no/i.db"], "--store: no/i.db: must be a file in a folder that is there, got no folder no."),
        (["--store", "docs/leave.md", "docs/leave.md"], "--store: must not be a document, got docs/leave.md as both."),
        (["--store", "i.db", "--output", "docs/leave.md"], "--output: must be a folder, got the file docs/leave.md."),
        (["--store", "i.db", "--output", "docs"], "--output: must not hold the document docs, got docs."),
        (["--store", "i.db", "--set", "chunker"], "--set: must be NAME=VALUE, got 'chunker'."),
        (["--store", "i.db", "--set", "chunk=3"], "--set chunk: must be the name of a setting, got 'chunk'"),
        (["--store", "i.db", "--set", "k=x"], "--set k: must be a whole number, got 'x'."),
        (["--store", "i.db", "--set", "k=1", "--set", "k=2"], "--set: must give each setting once, got k twice."),
    ],
)
def test_options_that_cannot_be_are_one_sentence(run: Run, tmp_path: Path, more: list[str], said: str) -> None:
    folder(tmp_path / "docs")
    done = run("index", "docs", *more)
    assert done.code == 2
    assert done.err.startswith(f"rag-titan: {said}")
    assert done.err.count("\n") == 1
    assert not (tmp_path / "i.db").exists()


def test_an_index_of_another_model_is_refused(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder(tmp_path / "docs")
    run("index", "docs", "--store", "i.db", *settings())
    without_model(monkeypatch, "another")
    done = run("index", "docs", "--store", "i.db", *settings())
    assert done.code == 2
    assert "counts" in done.err


KILLED = """
import os, signal, sys
from rag_titan.pipeline import titan
from rag_titan.pipeline.embedding.embedders import CallableEmbedder
from tests.pipeline.small import counted

def embed(texts):
    if any("hotel" in text for text in texts):
        os.kill(os.getpid(), getattr(signal, sys.argv.pop()))
    return [[0.1, *some] for some in counted(texts)]

titan.embedder_of = lambda settings: CallableEmbedder(embed, "counts")
from rag_titan.cli.main import main
main()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no such signal")
@pytest.mark.parametrize("name", ["SIGKILL", "SIGTERM", "SIGINT"])
def test_a_run_that_is_stopped_leaves_whole_documents_and_goes_on(run: Run, tmp_path: Path, name: str) -> None:
    folder(tmp_path / "docs")
    arguments = ["index", str(tmp_path / "docs"), "--store", str(tmp_path / "i.db"), *settings()]
    done = subprocess.run([sys.executable, "-c", KILLED, *arguments, name], check=False, capture_output=True, cwd=ROOT)
    number = getattr(signal, name)
    assert done.returncode in (-number, 128 + number)
    if name == "SIGINT":
        said = "stopped: 1 of 2 documents are done and stay in the index. The same command goes on from there."
        assert done.stderr.decode() == f"rag-titan: {said}\n"
    assert documents_of(tmp_path / "i.db") == {"leave.md"}
    assert run(*arguments).lines[0] == "Documents: 2, of which 1 unchanged | Chunks: 6"
    assert documents_of(tmp_path / "i.db") == {"leave.md", "travel.md"}
