"""rag-titan judge counterfactual: the files, what is printed, the score, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.cli.conftest import Run, Write

DATA: dict[str, Any] = {
    "chunks": [{"id": "a", "text": "Leave is 25 days, and the office is in Oslo."}],
    "queries": [
        {"id": "q1", "question": "How long?", "expected_answer": "25 days", "context_ids": ["a"], "answer": "25 days"},
        {"id": "q2", "question": "Where?", "expected_answer": "in Oslo", "context_ids": ["a"]},
        {"id": "q3", "question": "Why?", "expected_answer": "so"},
    ],
}


def test_a_test_set_and_its_score(run: Run, write: Write, tmp_path: Path) -> None:
    done = run("judge", "counterfactual", "--input", write(DATA), "--output", "cf.json")
    assert (done.code, done.err) == (0, "")
    assert done.lines[0] == "Changed 2 facts of 2 of 3 questions"
    assert done.lines[-1] == "Test set saved: cf.json and cf.map.json"
    assert "Left out, as it is of the texts as they were: answer" in done.lines
    made, told = (json.loads((tmp_path / name).read_text()) for name in ("cf.json", "cf.map.json"))
    new = {fact["original"]: fact["replacement"] for fact in told["facts"]}
    assert made["chunks"][0]["text"] == f"Leave is {new['25']} days, and the office is in {new['Oslo']}."
    assert run("evaluate", "--input", "cf.json", "--output", "r.json").code == 0

    answers = [{"id": "q1", "answer": f"{new['25']} days"}, {"id": "q2", "answer": "It is in Oslo."}]
    scored = run("judge", "counterfactual", "--input", "cf.json", "--score", write(answers, "answers.json"))
    assert (scored.code, scored.err) == (0, "")
    assert scored.lines[0] == "2 answers to 2 changed questions"
    assert scored.lines[-1] == "Not from the context: q2"
    shown = run("judge", "counterfactual", "--input", "cf.json", "--score", "answers.json", "--json")
    assert json.loads(shown.out)["original"]["count"] == 1


def test_what_is_refused(run: Run, write: Write) -> None:
    source = write(DATA)
    assert run("judge", "counterfactual", "--input", source).err.startswith("rag-titan: --output: must be given")
    assert run("judge", "counterfactual", "--input", source, "--output", source).code == 2
    assert run("judge", "counterfactual", "--input", source, "--output", "x.json", "--kinds", "words").code == 2
    assert run("judge", "counterfactual", "--input", "none.json", "--score", source).code == 2
    assert run("judge", "counterfactual", "--input", source, "--score", source).code == 2
    assert run("judge", "counterfactual", "--input", write("[1", "bad.json"), "--score", source).code == 2
