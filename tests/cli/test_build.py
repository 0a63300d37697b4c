"""rag-titan build: what it writes, what it says, and its exit codes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Run, Write

CONFIG = '[columns]\nid = "rid"\nquestion = "input"\nretrieved_ids = "docs[].id"\n'
CHUNKS = [{"id": "c1", "text": "Leave is 25 days."}]
GOLDEN = [
    {"id": "g1", "question": "How long?", "expected_evidence": ["25 days"]},
    {"id": "g2", "question": "Who?"},
]
LOG = {"rid": "r1", "input": "how long", "docs": [{"id": "c1"}]}
STRANGER = {"rid": "r\x1b[2J", "input": "\x1b[2J", "docs": []}


@pytest.fixture
def files(write: Write) -> list[str]:
    """The arguments that name the usual files."""
    write(CONFIG, "rag-titan.toml")
    write("".join(json.dumps(record) + "\n" for record in (LOG, STRANGER)), "log.jsonl")
    write(GOLDEN, "golden.json")
    write(CHUNKS, "chunks.json")
    return ["--logs", "log.jsonl", "--golden", "golden.json", "--chunks", "chunks.json"]


def records(path: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def test_it_writes_a_folder_and_says_what_matched(run: Run, files: list[str]) -> None:
    done = run("build", *files, "--output", "out")
    assert (done.code, done.err) == (0, "")
    assert records("out/queries.jsonl")[0] == {
        **GOLDEN[0], "retrieved_ids": ["c1"], "log_id": "r1", "expected_chunk_ids": ["c1"],
    }  # fmt: skip
    assert records("out/chunks.jsonl") == CHUNKS
    assert sorted(path.name for path in Path("out").iterdir()) == ["chunks.jsonl", "queries.jsonl"]
    assert done.lines == [
        "Golden questions: 2, of which 0 matched by id, 1 by their words, 1 absent from the logs",
        "Logged requests: 2, of which 1 used, 0 superseded by a later one, 1 without a golden question",
        "Gold chunks: 1 of 2 questions have them",
        "What to know:",
        "  - golden questions that are absent from the logs are records with an error: g2.",
        r'  - logged requests that answer no golden question were left out: log.jsonl line 2 ("\u001b[2J").',
        "Written: out/queries.jsonl, out/chunks.jsonl",
        "Next: rag-titan evaluate --input out",
    ]


def test_one_question_is_one_question(run: Run, files: list[str], write: Write) -> None:
    write(GOLDEN[:1], "golden.json")
    assert "Gold chunks: 1 of 1 question has them" in run("build", *files, "--output", "out").lines


def test_the_folder_can_be_evaluated_beside_the_same_config(run: Run, files: list[str]) -> None:
    run("build", *files, "--output", "out")
    assert run("evaluate", "--input", "out").code == 0
    assert json.loads(Path("report.json").read_text())["retrieval"]["summary"]["recall_at_k"] == 1.0


def test_it_may_be_built_again(run: Run, files: list[str]) -> None:
    run("build", *files, "--output", "out")
    (Path("out") / "embeddings.npz").write_bytes(b"")
    assert run("build", *files, "--output", "out").code == 0


def test_nothing_matched(run: Run, files: list[str], write: Write) -> None:
    write([{"id": "h1", "question": "How long is leave?"}], "golden.json")
    done = run("build", *files, "--output", "out")
    assert (done.code, done.out, Path("out").exists()) == (3, "", False)
    assert done.err.startswith("rag-titan: logs and golden questions: must have ids or questions in common, got id")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--logs", "none.jsonl"], "none.jsonl: must be a file or a folder, got nothing there. Check the path."),
        (["--golden", "log.jsonl"], "log.jsonl line 1: id: must be given"),
        (["--output", "golden.json"], "--output: must be a folder, got the file golden.json. Choose another name."),
        (["--output", "old"], "--output: old: must hold no data of another source, got queries.parquet. Remove it"),
        (["--output", "."], "--output: must not hold --chunks chunks.json, got .. Choose another folder."),
        (["--config", "bad.toml"], "bad.toml: columns: unknown key 'identity'"),
    ],
)
def test_bad_input(arguments: list[str], told: str, run: Run, files: list[str], write: Write) -> None:
    Path("old").mkdir()
    (Path("old") / "queries.parquet").write_bytes(b"")
    write('[columns]\nidentity = "x"', "bad.toml")
    named = dict(zip(files[::2], files[1::2], strict=True)) | {"--output": "out"}
    named |= dict(zip(arguments[::2], arguments[1::2], strict=True))
    done = run("build", *(part for pair in named.items() for part in pair))
    assert (done.code, done.err.startswith(f"rag-titan: {told}")) == (2, True), done.err


def test_logs_without_any_output_are_said_to_need_columns(run: Run, files: list[str], write: Write) -> None:
    write('[columns]\nquestion = "input"\n', "rag-titan.toml")
    write(json.dumps({"input": "How long?", "docs": [1], "out\x1b[2Jput": "25 days", "timestamp": 3}), "log.jsonl")
    done = run("build", *files, "--output", "out")
    keys = r"docs, out\x1b[2Jput"
    assert done.lines[-3:] == [
        f"No log has retrieved_ids, retrieved_texts or answer; these of its keys were not understood: {keys}.",
        "Say in [columns] of rag-titan.toml which key is which (docs/config.md), and build again.",
        "Next: rag-titan evaluate --input out",
    ]
    write('[columns]\nquestion = "input"\nretrieved_ids = "docs"\n', "rag-titan.toml")
    assert "not understood" not in run("build", *files, "--output", "out").out
