"""rag-titan demo: the sample scored, shown and saved."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Run

from rag_titan.cli.demo import sample_path
from rag_titan.evaluation import RAGEvaluator, Stage


def test_it_shows_the_scorecard_and_where_each_question_failed(run: Run) -> None:
    done = run("demo")
    assert (done.code, done.err) == (0, "")
    report = RAGEvaluator().evaluate_path(sample_path())
    assert f"Overall score: {report['scorecard']['overall']['score']:.1f}/100" in done.out
    for stage in (stage for stage in Stage if not stage.optional):
        assert sum(stage.label in line for line in done.lines) >= 2  # in the scorecard, and with a question
    for name in ("q04", "q05", "q06", "q07", "q08", "q09", "q10", "q12"):
        assert name in done.out


def test_it_writes_both_reports_here_or_into_a_folder(run: Run) -> None:
    assert "Reports saved: report.json and report.md" in run("demo").lines
    assert "Reports saved: new/report.json and new/report.md" in run("demo", "--output", "new").lines
    assert json.loads(Path("new/report.json").read_text())["meta"]["counts"]["queries"] == 12
    assert Path("report.md").read_text().startswith("# RAG evaluation report")


def test_lines_fit_a_terminal_of_80_columns(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert max(map(len, run("demo").lines)) <= 80
