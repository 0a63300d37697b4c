"""rag-titan baseline: the report that a person accepted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Run, Write, dataset, query


@pytest.fixture
def runs(run: Run, write: Write) -> None:
    """good.json and bad.json, two reports."""
    for name, ranking in (("good", ["c1"]), ("bad", ["c2"])):
        write(dataset(*(query(f"q{i}", retrieved_ids=ranking) for i in range(12))))
        run("evaluate", "--input", "data.json", "--output", f"{name}.json")


def read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.mark.usefixtures("runs")
def test_the_first_baseline_and_the_next(run: Run, tmp_path: Path) -> None:
    done = run("baseline", "accept", "good.json")
    assert (done.code, done.err) == (0, "")
    assert done.lines[0].startswith("Accepted: good.json is the baseline baseline.json now (12 questions, K = 5, ")
    assert done.lines[1:] == ["The first baseline: there was none before"]
    assert read(tmp_path / "baseline.json") == read(tmp_path / "good.json")
    refused = run("baseline", "accept", "bad.json")
    assert refused.code == 1
    assert refused.err == (
        "rag-titan: bad.json: must be worse in nothing and fail no gate, got 7 worse metrics and 1 failed gate. "
        "Nothing was written. Add --force.\n"
    )
    assert read(tmp_path / "baseline.json") == read(tmp_path / "good.json")
    done = run("baseline", "accept", "bad.json", "--force")
    assert done.code == 0
    assert done.lines[1].startswith("Against the one before: ")
    assert "retrieval.recall_at_k 1.000 -> 0.000 (real)" in done.lines[1]
    assert done.lines[2] == "Accepted all the same, with --force:"
    assert set(done.lines[3:]) <= set(refused.lines)
    assert any(line.startswith("  Worse: retrieval.recall_at_k 1.000 -> 0.000 (real)") for line in done.lines[3:])
    assert any(line.startswith("  Gate failed: retrieval.recall_at_k is 0.000") for line in done.lines[3:])
    assert read(tmp_path / "baseline.json") == read(tmp_path / "bad.json")


def test_errors_need_consent_for_a_first_baseline_too(run: Run, write: Write, tmp_path: Path) -> None:
    write(dataset(*(query(f"q{i}") for i in range(12)), {"id": "late", "error": "timeout"}))
    run("evaluate", "--input", "data.json")
    done = run("baseline", "accept", "report.json")
    assert (done.code, "  Errors: 1 of 13 questions got no answer" in done.lines) == (1, True)
    assert "report.json: must have no errors, got errors. Nothing was written." in done.err
    assert not (tmp_path / "baseline.json").exists()
    assert run("baseline", "accept", "report.json", "--force").code == 0


def test_a_metric_that_vanished_is_the_only_thing_that_is_said(run: Run, write: Write, tmp_path: Path) -> None:
    for extra in ({"answer": "a b", "expected_answer": "a b"}, {}):
        write(dataset(*(query(f"q{i}", **extra) for i in range(12))))
        run("evaluate", "--input", "data.json")
        done = run("baseline", "accept", "report.json")
    gone = sum(line.startswith("  No longer measured: ") for line in done.lines)
    assert gone > 1
    said = f"must measure all that counts and was measured before, got {gone} vanished metrics. Nothing was written."
    assert said in done.err
    assert done.code == 1


def test_what_was_compared_is_said(run: Run, write: Write) -> None:
    for count in (12, 15):
        write(dataset(*(query(f"q{i}") for i in range(count))))
        run("evaluate", "--input", "data.json")
        done = run("baseline", "accept", "report.json")
    assert any(line.startswith("Note: Only 12 questions are in both reports") for line in done.lines)


@pytest.mark.usefixtures("runs")
def test_it_is_what_later_runs_are_compared_with(run: Run) -> None:
    run("baseline", "accept", "good.json", "--to", "kept/base.json")
    done = run("evaluate", "--input", "data.json", "--baseline", "kept/base.json", "--fail-on-regression")
    assert done.code == 1


@pytest.mark.usefixtures("runs")
def test_a_baseline_of_another_k_is_replaced_and_said(run: Run) -> None:
    run("baseline", "accept", "good.json")
    run("evaluate", "--input", "data.json", "--output", "k.json", "--k", "2")
    done = run("baseline", "accept", "k.json", "--force")
    assert done.code == 0
    assert done.lines[1].startswith("Not comparable with the one before: baseline: must have the same K")


@pytest.mark.usefixtures("runs")
@pytest.mark.parametrize(
    ("content", "arguments", "code", "said"),
    [
        (None, ["none.json"], 2, "there is no such file"),
        ('{"queries": []}', ["x.json"], 2, "must be a report, got a dataset"),
        ('{"meta": {}', ["x.json"], 2, "must be a whole report"),
        (
            '{"meta": {}, "retrieval": {"summary": {"recall_at_k": null}}}',
            ["x.json"],
            3,
            "must have measured something",
        ),
        ("my notes", ["good.json", "--to", "x.json"], 2, "--to: must be a new file or a report of rag-titan"),
        (None, ["good.json", "--to", "good.json"], 2, "must not be an input"),
        (None, ["good.json", "--to", "."], 2, "must be a file, got the folder"),
    ],
)
def test_what_is_no_baseline_is_refused(
    run: Run, write: Write, tmp_path: Path, content: str | None, arguments: list[str], code: int, said: str
) -> None:
    if content is not None:
        write(content, "x.json")
    done = run("baseline", "accept", *arguments)
    assert (done.code, said in done.err, "Traceback" in done.err) == (code, True, False), done.err
    assert not (tmp_path / "baseline.json").exists()
    if content is not None:
        assert (tmp_path / "x.json").read_text() == content


@pytest.mark.usefixtures("runs")
def test_it_is_shown(run: Run) -> None:
    run("baseline", "accept", "good.json")
    done = run("baseline", "show")
    assert done.code == 0
    assert done.lines[0].startswith("baseline.json: 12 questions, K = 5, ")
    assert "retrieval.recall_at_k: 1.000 (95 % 0.758 to 1.000)" in done.lines
    assert any(line.startswith("Fingerprint of gold: ") for line in done.lines)
    assert run("baseline", "show", "none.json").code == 2


def test_a_report_of_something_else_is_shown_without_what_it_lacks(run: Run, write: Write) -> None:
    write({"meta": {"rag_titan": "\x1b[31m", "per_query": "gone.parquet"}, "scorecard": {"overall": {}}}, "b.json")
    done = run("baseline", "show", "b.json")
    assert (done.code, done.err) == (0, "")
    assert "\x1b" not in done.out
    assert "Values of the questions: gone.parquet, which is not there" in done.lines


def test_a_broken_report_is_refused_with_the_place(run: Run, write: Write) -> None:
    write({"meta": {"k": "\x1b[31m", "counts": 7}, "scorecard": {"overall": []}}, "b.json")
    done = run("baseline", "show", "b.json")
    assert (done.code, done.out) == (2, "")
    assert "meta.k: must be a whole number from 1" in done.err
    assert "\x1b" not in done.err


@pytest.mark.parquet
def test_the_values_of_the_questions_are_kept_beside_it(run: Run, write: Write, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    command = ("evaluate", "--input", "data.json", "--per-query", "rows.parquet")
    write(dataset(*(query(f"q{i}") for i in range(12))))
    run(*command)
    run("baseline", "accept", "report.json", "--to", "kept/base.json")
    assert read(tmp_path / "kept" / "base.json")["meta"]["per_query"] == "base.parquet"
    write(dataset(*(query(f"q{i}", retrieved_ids=["c2"]) for i in range(12))))
    done = run(*command, "--baseline", "kept/base.json", "--format", "json")
    entry = json.loads(done.out)["baseline"]["regressions"][0]
    assert (entry["paired"], entry["losses"]) == (True, 12)
    foreign = tmp_path / "kept" / "other.parquet"
    for content in (b"mine", (tmp_path / "rows.parquet").read_bytes()):
        foreign.write_bytes(content)
        refused = run("baseline", "accept", "report.json", "--to", "kept/other.json", "--force")
        assert (refused.code, foreign.read_bytes()) == (2, content)
        assert "--to: must leave kept/other.parquet alone" in refused.err
        assert not (tmp_path / "kept" / "other.json").exists()
    assert run("baseline", "accept", "report.json", "--to", "kept/base.json", "--force").code == 0
    again = run("baseline", "accept", "kept/base.json", "--to", "kept/second.json", "--force")
    assert again.code == 0
    assert (tmp_path / "kept" / "second.parquet").is_file()
