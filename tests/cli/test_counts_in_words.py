"""One question, one chunk, one gate: nothing that a command prints or writes says "1 questions"."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Run, Write

SEVERAL = re.compile(
    r"(?<![\d.,])1 (?:of them |failed |more |changed |other )?"
    r"(?:questions|queries|chunks|documents|metrics|gates|records|answers|reports|errors|regressions)\b"
)
LABELS = {"expected_chunk_ids": ["c1"], "expected_answer": "27 days"}
RUNS: dict[str, list[dict[str, Any]]] = {
    "wrong": [{**LABELS, "retrieved_ids": ["c2"], "context_ids": ["c2"], "answer": "28 days", "task_success": False}],
    "right": [{**LABELS, "retrieved_ids": ["c1"], "context_ids": ["c1"], "answer": "27 days", "task_success": True}],
    "an error": [{**LABELS, "error": "timeout"}],
    "a record left out": [{"retrieved_ids": ["c1"], **LABELS}, {"id": "q9", "retrieved_ids": 5}],
}


@pytest.mark.parametrize("name", RUNS)
def test_one_of_a_thing_is_one(
    run: Run, write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    chunks = [{"id": "c1", "text": "Leave is 27 days."}]
    write({"queries": [{"id": "q1", **RUNS["right"][0]}], "chunks": chunks})
    said = [run("evaluate", "--input", "data.json", "--output", "base.json")]
    write({"queries": [{"id": f"q{i}", **record} for i, record in enumerate(RUNS[name], 1)], "chunks": chunks})
    files = ("--html", "r.html", "--junit", "j.xml", "--junit-per-query", "--github")
    rules = ("--baseline", "base.json", "--fail-on-regression", "--fail-on-gate", "--skip-bad-records", "--by", "team")
    said += [run("evaluate", "--input", "data.json", "--output", "r.json", *files, *rules)]
    said += [run("diff", "base.json", "r.json", "--all"), run("diff", "base.json", "r.json", "--format", "markdown")]
    said += [run("baseline", "accept", "r.json"), run("baseline", "show", "base.json")]
    assert {done.code for done in said} <= {0, 1}
    texts = [text for done in said for text in (done.out, done.err)]
    written = (file for file in tmp_path.iterdir() if file.suffix in (".json", ".md", ".html", ".xml"))
    texts += [file.read_text("utf-8") for file in written]
    found = [text[max(0, one.start() - 60) : one.end()] for text in texts for one in SEVERAL.finditer(text)]
    assert found == []
