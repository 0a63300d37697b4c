"""rag-titan lab confusion: what is printed, the JSON, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Run, Write, dataset, query


def test_the_table_and_the_questions_with_the_most_misses(run: Run, write: Write) -> None:
    far = query("q2", expected_chunk_ids=["c7", "c8"], retrieved_ids=["c1", "c7"])
    done = run("lab", "confusion", "--input", write(dataset(query(), far, {"id": "q3"})), "--corpus-size", 10)
    assert (done.code, done.err) == (0, "")
    assert done.lines[0] == "Confusion matrix of 2 questions, the first 5 chunks; 10 chunks."
    assert done.lines[1] == "Not measured: 1 question without gold chunks or without a ranking."
    assert [line.split() for line in done.lines[4:6]] == [
        ["Retrieved", "2", "TP", "2", "FP"],
        ["Not", "retrieved", "1", "FN", "15", "TN"],
    ]
    assert done.lines[-1].split() == ["q2", "1", "1", "1"]
    assert "accuracy" not in done.out.lower()


def test_the_json_printed_and_written(run: Run, write: Write, tmp_path: Path) -> None:
    done = run("lab", "confusion", "--input", write(dataset()), "--json", "--output", "out.json")
    assert json.loads(done.out) == json.loads((tmp_path / "out.json").read_text())
    assert json.loads(done.out)["pooled"]["tn"] is None


def test_what_is_refused(run: Run, write: Write) -> None:
    data = write(dataset())
    done = run("lab", "confusion", "--input", data, "--corpus-size", 1)
    assert done.code == 2
    assert done.err.startswith("rag-titan: corpus_size: must be at least 2")
    assert run("lab", "confusion", "--input", data, "--output", data).code == 2
    assert run("lab", "confusion", "--input", "nothing.json").code == 2
