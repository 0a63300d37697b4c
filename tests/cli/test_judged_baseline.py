"""A baseline with the verdicts of another judge: its stage is not compared, and fails no run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Run, Write


def judged(judge: str, label: str) -> dict[str, Any]:
    verdicts = {"judge": judge, "answer_claims": [{"context": label}], "reference_claims": [{"context": "supported"}]}
    queries = [{"id": f"q{i}", "answer": "x", "expected_answer": "x", "verdicts": verdicts} for i in range(4)]
    return {"queries": queries}


@pytest.mark.parametrize(("judge", "code"), [("m@1", 1), ("m@2", 0)])
def test_another_judge_is_no_regression(run: Run, write: Write, tmp_path: Path, judge: str, code: int) -> None:
    write(judged("m@1", "supported"))
    assert run("evaluate", "--input", "data.json", "--output", "base.json").code == 0
    write(judged(judge, "contradicted"), "now.json")
    done = run(
        "evaluate", "--input", "now.json", "--output", "now-report.json", "--baseline", "base.json",
        "--fail-on-regression", "--junit", "junit.xml", "--html", "now.html",
    )  # fmt: skip
    assert done.code == code
    reason = "it stands on the verdicts of m@2, and in the baseline on those of m@1"
    assert (reason in (tmp_path / "now-report.md").read_text()) == (code == 0)
    assert ("judge.faithfulness 1.000 -> 0.000" in done.out) == (code == 1)
    assert (reason in done.out) == (code == 0)
    of_files = [(tmp_path / name).read_text().count(reason) for name in ("now-report.md", "now.html", "junit.xml")]
    assert of_files == ([0, 0, 0] if code else [1, 1, 1])  # once for all that share it
    for form in ("text", "markdown"):
        assert run("diff", "base.json", "now-report.json", "--format", form).out.count(reason) == (0 if code else 1)


def test_the_line_of_the_judge(run: Run, write: Write) -> None:
    done = run("evaluate", "--input", write(judged("m@1", "contradicted")), "--output", "r.json")
    said = "By the judge, of 4 questions: hallucination despite good context 4; the funnel differs on 4"
    assert said in done.lines  # the labels say that the answers are right
