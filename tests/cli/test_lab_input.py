"""What the commands of the lab read: chunks in a file of their own, logs with other names, standard input."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest
from tests.cli.conftest import Run, query

LOGS = [query(f"q{i}", expected_chunk_ids=["a"], retrieved_ids=["a", "b"], latency_ms=20 + i) for i in range(4)]
CHUNKS = [{"id": name, "text": "four words in it"} for name in "abcde"]


def lines(records: list[dict[str, object]]) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def test_chunks_of_a_file_of_their_own_are_the_corpus(run: Run, tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_text(lines(LOGS))
    (tmp_path / "chunks.jsonl").write_text(lines(CHUNKS))
    alone = run("lab", "confusion", "--input", "log.jsonl")
    assert "how many chunks there are is not known" in alone.lines[0]
    whole = run("lab", "confusion", "--input", "log.jsonl", "--chunks", "chunks.jsonl")
    assert "the first 5 chunks; 5 chunks." in whole.lines[0]
    assert whole.lines[4].split() == ["Not", "retrieved", "0", "FN", "12", "TN"]  # 4 questions, c, d and e of each


def test_logs_with_other_names_are_read_as_evaluate_reads_them(run: Run, tmp_path: Path) -> None:
    other = [{"rid": log["id"], "took": {"s": 0.25}, "gold": ["a"], "hits": [{"chunk": "a"}]} for log in LOGS]
    (tmp_path / "log.jsonl").write_text(lines(other))
    columns = {
        "id": "rid",
        "expected_chunk_ids": "gold",
        "retrieved_ids": "hits[].chunk",
        "latency_ms": "took.s * 1000",
    }
    text = "[columns]\n" + "".join(f'{key} = "{place}"\n' for key, place in columns.items())
    refused = run("lab", "latency", "--input", "log.jsonl")
    assert (refused.code, refused.err.startswith("rag-titan: log.jsonl line 1: id: must be given")) == (2, True)
    (tmp_path / "mine.toml").write_text(text)
    assert run("lab", "latency", "--input", "log.jsonl", "--config", "mine.toml").lines[1].split()[:3] == [
        "total", "250", "ms",
    ]  # fmt: skip
    (tmp_path / "rag-titan.toml").write_text(text)
    assert run("lab", "confusion", "--input", "log.jsonl").lines[3].split() == ["Retrieved", "4", "TP", "0", "FP"]


def test_standard_input(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(lines(LOGS).encode())))
    assert run("lab", "latency", "--input", "-").lines[1].split()[-2:] == ["4", "–"]


@pytest.mark.parametrize("name", ["log.jsonl", "chunks.jsonl", "rag-titan.toml"])
def test_no_output_takes_the_place_of_what_is_read(run: Run, tmp_path: Path, name: str) -> None:
    (tmp_path / "log.jsonl").write_text(lines(LOGS))
    (tmp_path / "chunks.jsonl").write_text(lines(CHUNKS))
    (tmp_path / "rag-titan.toml").write_text("k = 3\n")
    before = (tmp_path / name).read_text()
    done = run("lab", "confusion", "--input", "log.jsonl", "--chunks", "chunks.jsonl", "--output", name)
    assert (done.code, "must not be an input" in done.err) == (2, True)
    assert (tmp_path / name).read_text() == before
