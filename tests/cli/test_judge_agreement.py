"""rag-titan judge agreement: what is printed, the JSON, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.cli.conftest import Run, Write

YES, NO = "supported", "not_supported"


def labelled(who: str, *labels: tuple[str, str]) -> dict[str, Any]:
    queries = [
        {"id": f"q{i}", "verdicts": {"judge": who, "answer_claims": [{"text": str(n), "context": v} for n, v in
                                                                    enumerate(pair)]}}
        for i, pair in enumerate(labels)
    ]  # fmt: skip
    return {"queries": queries}


JUDGED = labelled("a-model@0f", (YES, YES), (YES, NO), (NO, NO), (YES, YES))
HUMAN = labelled("Ada", (YES, YES), (YES, YES), (NO, NO), (YES, NO))


def test_the_tables(run: Run, write: Write) -> None:
    done = run("judge", "agreement", "--judged", write(JUDGED, "j.json"), "--human", write(HUMAN, "h.json"))
    assert (done.code, done.err) == (0, "")
    assert done.lines[0] == "a-model@0f against Ada on 4 questions"
    rows = {" ".join(line.split()[:6]): line for line in done.lines}
    assert "Statements of the answer, by the context  8  0.750" in done.out
    assert any(line.split()[:4] == ["supported", "5", "5", "0.800"] for line in done.lines)
    assert any("Faithfulness" in line for line in rows)
    assert done.lines[-1] == "Of 4 questions the intervals are a rough guide; label 30 or more."


def test_the_json_printed_and_written(run: Run, write: Write, tmp_path: Path) -> None:
    files = ("--judged", write(JUDGED, "j.json"), "--human", write(HUMAN, "h.json"))
    done = run("judge", "agreement", *files, "--json", "--output", "out.json")
    assert json.loads(done.out) == json.loads((tmp_path / "out.json").read_text())
    assert json.loads(done.out)["labels"][0]["kappa"]["n"] == 8


def test_what_is_refused(run: Run, write: Write) -> None:
    judged = write(JUDGED, "j.json")
    done = run("judge", "agreement", "--judged", judged, "--human", write({"queries": [{"id": "z"}]}, "h.json"))
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("rag-titan: human: must have verdicts")
    assert run("judge", "agreement", "--judged", judged, "--human", "none.json").code == 2
    assert run("judge", "agreement", "--judged", judged, "--human", judged, "--output", judged).code == 2
