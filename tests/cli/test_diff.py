"""rag-titan diff: what a person sees, and the exit code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Run, query

from rag_titan.evaluation import RAGEvaluator, ReportManager


def saved(name: str, found: int, n: int = 40, **meta: Any) -> None:
    """A report on n questions, of which the first ones have their chunk retrieved."""
    queries = [query(f"q{i:02}", retrieved_ids=["c1" if i < found else "c2"], task_success=i < found) for i in range(n)]
    report = RAGEvaluator(k=1).evaluate(queries=queries)
    ReportManager().save_json({**report, "meta": {**report["meta"], "created_at": "2026-11-12", **meta}}, name)


def test_reports_side_by_side_worst_first(run: Run) -> None:
    for name, found in (("a.json", 36), ("b.json", 35), ("c.json", 20)):
        saved(name, found)
    done = run("diff", "a.json", "b.json", "c.json")
    assert (done.code, done.err) == (0, "")
    assert done.lines[:4] == [
        "A  a.json  2026-11-12  40 questions",
        "B  b.json  2026-11-12  40 questions",
        "C  c.json  2026-11-12  40 questions",
        "",
    ]
    assert done.lines[4].startswith("9 metrics worse; ")
    at = done.lines.index("Worse: 9")
    assert done.lines[at + 1].split() == ["A", "B", "C", "change"]
    assert done.lines[at + 2].split() == ["retrieval.recall_at_k", "*", "0.900", "0.875", "0.500", "-0.400"]
    assert done.lines[at + 3].strip().startswith("95 % -0.")
    assert done.lines[at + 3].endswith("p <0.001 (corrected), 0 better, 16 worse, 24 same")
    assert "just so: end_to_end.task_success_rate *" in done.lines[at + 4]
    assert "Questions: 4 failed before, 20 now" in done.lines
    assert "  Newly failed (16): q20 (retrieval), q21 (retrieval)" in done.out
    assert ", and 6 more" in done.out


@pytest.fixture
def two(run: Run) -> None:
    """Reports of which the second is worse by what may be noise."""
    saved("a.json", 9, n=10)
    saved("b.json", 8, n=10)


@pytest.mark.usefixtures("two")
def test_few_questions_are_not_sure_and_fail_only_without_the_rule(run: Run) -> None:
    done = run("diff", "a.json", "b.json")
    assert done.code == 0
    head = next(line for line in done.lines if line.startswith("No metric worse"))
    assert head.startswith("No metric worse for sure, but 9 look worse, which could be noise; ")
    assert head.endswith("; 1 question newly failed")
    assert head in run("diff", "a.json", "b.json", "--format", "markdown").out
    assert "No metric worse, 9 that could be noise; " in run("diff", "b.json", "a.json").out  # which all look better
    closing = next(line for line in done.lines if line.startswith("9 metrics moved by what could be noise: retrieval."))
    assert closing.startswith("9 metrics moved by what could be noise: retrieval.recall_at_k (-0.100, about ")
    assert closing.endswith(" and 1 more (--all shows each)")
    assert "questions would show it" in closing
    assert not [line for line in done.lines if line.startswith("Could be noise")]
    assert "Could be noise: 9" in run("diff", "a.json", "b.json", "--all").lines
    assert run("diff", "a.json", "b.json", "--fail-on-regression").code == 1
    assert run("diff", "a.json", "b.json", "--require-significant").code == 0
    assert run("diff", "a.json", "b.json", "--fail-on-regression", "--require-significant").code == 0
    saved("bad.json", 0, n=10)
    assert run("diff", "a.json", "bad.json", "--require-significant").code == 1


@pytest.mark.usefixtures("two")
def test_the_same_as_json_and_markdown_and_into_a_file(run: Run, tmp_path: Path) -> None:
    found = json.loads(run("diff", "a.json", "b.json", "--format", "json").out)
    assert found["metrics"][0]["verdict"] == "not sure"
    assert "same" not in {entry["verdict"] for entry in found["metrics"]}
    every = json.loads(run("diff", "a.json", "b.json", "--format", "json", "--all").out)
    assert "same" in {entry["verdict"] for entry in every["metrics"]}
    done = run("diff", "a.json", "b.json", "--format", "markdown", "--output", "out/d.md", "--all")
    assert done.out == "Written: out/d.md\n"
    assert "## Same" in (tmp_path / "out" / "d.md").read_text(encoding="utf-8")


@pytest.mark.usefixtures("two")
def test_the_tolerance_and_the_primary_metrics_are_the_users(run: Run) -> None:
    assert "not sure" not in run("diff", "a.json", "b.json", "--tolerance", "0.5").out
    done = run("diff", "a.json", "b.json", "--primary", "mrr_at_k")
    assert (done.code, "must name one metric, got retrieval.mrr_at_k" in done.err) == (2, True)
    done = run("diff", "a.json", "b.json", "--primary", "retrieval.mrr_at_k", "--format", "json")
    assert json.loads(done.out)["primary"] == ["retrieval.mrr_at_k"]


@pytest.mark.usefixtures("two")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["a.json"], "must have two reports or more, got 1"),
        (["a.json", "none.json"], "none.json: must be a report, but there is no such file"),
        (["a.json", "b.json", "--output", "a.json"], "must not be an input"),
        (["a.json", "b.json", "--output", "."], "must be a file, got the folder"),
        (["a.json", "b.json", "--primary", "retrieval.recal"], "the nearest is 'recall_at_k'"),
        (["a.json", "b.json", "--tolerance", "-1"], "tolerance: must be a finite number from 0"),
    ],
)
def test_what_is_wrong_is_one_sentence(run: Run, arguments: list[str], said: str) -> None:
    done = run("diff", *arguments)
    assert (done.code, said in done.err, "Traceback" in done.err) == (2, True, False), done.err


@pytest.mark.usefixtures("two")
def test_what_is_not_comparable_exits_2(run: Run) -> None:
    saved("k.json", 9, n=10, k=7)
    done = run("diff", "k.json", "a.json", "--fail-on-regression")
    assert done.code == 2
    assert "Not comparable: baseline: must have the same K" in done.out


@pytest.mark.parametrize(("left", "code"), [(19, 2), (20, 0)])
@pytest.mark.parametrize("rule", ["--fail-on-regression", "--require-significant"])
def test_a_rule_cannot_be_judged_by_less_than_half_of_the_questions(run: Run, rule: str, left: int, code: int) -> None:
    """The boundary by hand: of 40 questions 20 are half. The rule and its words are those of evaluate --baseline."""
    saved("all.json", 40)
    saved("few.json", left, n=left)
    assert run("diff", "all.json", "few.json").code == 0
    done = run("diff", "all.json", "few.json", rule)
    assert done.code == code
    said = "all.json, the baseline: at least 50% of its questions must be in the run, got 19 of 40. Ask them all"
    assert (said in " ".join(done.err.split())) == (code == 2)


@pytest.mark.usefixtures("two")
@pytest.mark.parametrize("width", [40, 80])
def test_it_keeps_to_the_terminal(run: Run, monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    monkeypatch.setattr("rag_titan.cli.diff.columns", lambda: width)
    done = run("diff", "a.json", *["b.json"] * 12, "--all")
    assert max(map(len, done.lines)) <= max(width, 72), "a name, the first, the last and the change always stand"
    table = next(line for line in done.lines if line.split()[-1:] == ["change"])
    assert table.split()[0] == "A"
    assert "M" in table.split()


def test_latency_that_wavers_is_named_behind_what_is_sure_to_be_better(run: Run) -> None:
    def of(name: str, found: int, wait: int) -> None:
        asked = [
            query(f"q{i:02}", retrieved_ids=["c1" if i < found else "c2"], latency_ms=500 + (i * wait) % 97)
            for i in range(40)
        ]
        ReportManager().save_json(RAGEvaluator(k=1).evaluate(queries=asked), name)

    of("a.json", 10, 31)
    of("b.json", 36, 57)
    done = run("diff", "a.json", "b.json", "--tolerance", "0.001")
    better = next(i for i, line in enumerate(done.lines) if line.startswith("Better: "))
    closing = next(i for i, line in enumerate(done.lines) if " could be noise: " in line)
    assert better < closing
    assert "latency_ms" in done.lines[closing]
    assert not [line for line in done.lines[:closing] if "latency_ms" in line]
    markdown = run("diff", "a.json", "b.json", "--tolerance", "0.001", "--format", "markdown").out
    assert markdown.index("## Better") < markdown.index(" could be noise: ")
    assert "| p (corrected) |" in markdown


def test_hostile_names_stay_in_their_line(run: Run) -> None:
    report = {
        "meta": {"created_at": "\x1b[31m\nred"},
        "queries": [{"id": "\u202eevil\x07", "correct": False, "lost_at": "\x1b[2J"}],
        "retrieval": {"summary": {"recall_at_k": 0.5, "\x1b]0;x\x07": 1.0}},
    }
    ReportManager().save_json(report, "a.json")
    fine = {**report, "queries": [{**report["queries"][0], "correct": True}], "meta": {}}  # type: ignore[index]  # a list of dicts
    ReportManager().save_json(fine, "b.json")
    done = run("diff", "b.json", "a.json", "--all")
    assert done.code == 0
    assert not {"\x1b", "\x07", "\u202e"} & set(done.out)


@pytest.mark.usefixtures("two")
def test_a_report_and_a_dataset_are_never_replaced(run: Run) -> None:
    Path("data.json").write_text(json.dumps({"queries": [query("q1")]}), encoding="utf-8")
    Path("data.jsonl").write_text(json.dumps(query("q1")) + "\n", encoding="utf-8")
    saved("other.json", 9, n=10)
    for name in ("data.json", "data.jsonl", "other.json"):
        before = Path(name).read_bytes()
        done = run("diff", "a.json", "b.json", "--output", name)
        assert (done.code, done.out) == (2, "")
        assert "--output: must not take the place of a" in done.err
        assert Path(name).read_bytes() == before
    for form in ("text", "json", "markdown"):  # what it wrote itself is written anew
        for _ in range(2):
            assert run("diff", "a.json", "b.json", "--format", form, "--output", f"d.{form}").code == 0


def test_the_file_of_the_questions_of_a_report_is_an_input(run: Run) -> None:
    saved("a.json", 9, n=10, per_query="rows.parquet")
    saved("b.json", 8, n=10)
    Path("rows.parquet").write_bytes(b"PAR1")
    done = run("diff", "a.json", "b.json", "--output", "rows.parquet")
    assert (done.code, done.out) == (2, "")
    assert "must not be an input" in done.err
    assert Path("rows.parquet").read_bytes() == b"PAR1"


@pytest.mark.usefixtures("two")
def test_the_place_of_the_output_speaks_of_no_other_report(run: Run) -> None:
    done = run("diff", "a.json", "b.json", "--output", "/dev/null")
    assert done.code == 2
    assert "must be an ordinary file, got /dev/null" in done.err


def test_a_report_without_values_is_not_comparable() -> None:
    whole = RAGEvaluator(k=1).evaluate(queries=[query("q1")])
    for reports in ([whole, {}], [{}, whole], [{}, {}]):
        found = ReportManager().diff(reports)
        assert found["comparable"] is False
        assert "must hold values of metrics, got none" in found["reason"]
