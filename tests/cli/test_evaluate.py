"""rag-titan evaluate: what is printed, what is saved, and the exit codes."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Run, Write, dataset, query

from rag_titan.evaluation import RAGEvaluator

MISSED = query(retrieved_ids=["c2", "c3"])


def perfect() -> dict[str, Any]:
    """A question that every stage but the first two handled as well as can be."""
    answer = {"answer": "25 days", "expected_answer": "25 days", "required_facts": ["25 days"], "task_success": True}
    chunks = [{"id": "c1", "text": "You get 25 days of leave. "}, {"id": "c2", "text": "Sick pay is full."}]
    full = query(reranked_ids=["c1", "c2"], context_ids=["c1"], expected_evidence=["25 days of leave"], **answer)
    return {"chunks": chunks, "documents": {"d": "You get 25 days of leave. Sick pay is full."}, "queries": [full]}


def test_it_prints_the_lines_of_the_seed_and_where_the_evidence_was_lost(run: Run, write: Write) -> None:
    done = run("evaluate", "--input", write(perfect()), "--output", "report.json")
    overall = json.loads(Path("report.json").read_text())["scorecard"]["overall"]
    assert (done.code, done.err) == (0, "")
    assert done.lines == [
        "Reports saved: report.json and report.md",
        f"Overall score: {overall['score']:.1f}/100 ({overall['rating']})",
        f"Status: {overall['status']} | Measurement coverage: {int(100 * overall['coverage'])}%",
        "First failing stage: none",
        "Evidence lost for 0 of 1 question",
    ]


def test_it_says_what_to_fix_first_and_what_should_be_0(run: Run, write: Write) -> None:
    done = run("evaluate", "--input", write(dataset(MISSED, {"id": "q9", "error": "timeout"})))
    first = "Fix first: Information search (retrieval), which lost the evidence of 1 of 2 failed questions: "
    assert any(line.startswith("Evidence lost for 1 of") and first in line for line in done.lines)
    assert any(line.startswith("Little was measured: the rating stands on ") for line in done.lines)
    assert "Should be 0: errors 0.500" in done.lines


def test_the_markdown_report_is_written_beside_the_json_report(run: Run, write: Write) -> None:
    done = run("evaluate", "--input", write(dataset()), "--output", "reports/2026/today.json")
    assert done.lines[0] == "Reports saved: reports/2026/today.json and reports/2026/today.md"
    assert Path("reports/2026/today.md").read_text().startswith("# RAG evaluation report")


def test_the_report_is_the_one_of_the_library(
    run: Run, write: Write, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    path = write(perfect())
    run("evaluate", "--input", path, "--k", "3")
    assert json.loads((tmp_path / "report.json").read_text()) == RAGEvaluator(k=3).evaluate_path(path)


def test_the_first_cutoff_is_k_and_the_others_come_beside_it(run: Run, write: Write) -> None:
    run("evaluate", "--input", write(dataset(query(retrieved_ids=["c2", "c1"]))), "--k", "2, 1,100")
    report = json.loads(Path("report.json").read_text())
    assert report["meta"]["k"] == 2
    assert {k: at["recall_at_k"] for k, at in report["retrieval"]["at"].items()} == {"1": 0.0, "100": 1.0}


def test_standard_input_is_read(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = io.TextIOWrapper(io.BytesIO((json.dumps(query()) + "\n").encode()))
    monkeypatch.setattr(sys, "stdin", lines)
    assert run("evaluate", "--input", "-").code == 0


def test_stages_and_conventions_are_passed_on(run: Run, write: Write) -> None:
    path = write(dataset())
    run("evaluate", "--input", path, "--stages", "retrieval,generation", "--conventions", "trec_eval")
    report = json.loads(Path("report.json").read_text())
    assert list(report["scorecard"]["stages"]) == ["retrieval", "generation"]
    assert report["meta"]["conventions"]["gain"] == "linear"


def test_lists_per_query_can_be_left_out(run: Run, write: Write) -> None:
    run("evaluate", "--input", write(dataset()), "--per-query", "none")
    assert "per_query" not in json.loads(Path("report.json").read_text())["retrieval"]


def test_errors_come_first(run: Run, write: Write) -> None:
    done = run("evaluate", "--input", write(dataset(query(), {"id": "q2", "error": "timeout"})))
    assert done.lines[0] == "Errors: 1 of 2 questions got no answer (q2)"
    assert done.code == 0


def test_every_failed_gate_has_a_line(run: Run, write: Write) -> None:
    done = run("evaluate", "--input", write(dataset(MISSED)))
    said = "retrieval.recall_at_k is 0.000, must be at least 0.700"
    assert f"Gate missed (no failure without --fail-on-gate): {said}" in done.lines
    assert done.code == 0
    assert not [line for line in done.lines if line.startswith("Gate failed")]
    done = run("evaluate", "--input", "data.json", "--fail-on-gate")
    assert (f"Gate failed: {said}" in done.lines, done.code) == (True, 1)
    write("[gates.retrieval]\nmrr_at_k = 0.5\n", "rag-titan.toml")  # which fails the run by itself, the others do not
    done = run("evaluate", "--input", "data.json")
    assert f"Gate missed (no failure without --fail-on-gate): {said}" in done.lines
    assert "Gate failed: retrieval.mrr_at_k is 0.000, must be at least 0.500" in done.lines


def test_warnings_are_counted_and_the_first_are_shown(run: Run, write: Write) -> None:
    done = run("evaluate", "--input", write(dataset(query(latency_ms=-1.0, answer="x"))))
    at = next(i for i, line in enumerate(done.lines) if line.startswith("Warnings: "))
    assert done.lines[at] == "Warnings: 1:"
    assert "q1" in done.lines[at + 1]


def test_text_of_the_data_cannot_steer_the_terminal(run: Run, write: Write) -> None:
    done = run("evaluate", "--input", write(dataset(query(), {"id": "q\u001b[2J", "error": "e"})))
    assert "\x1b" not in done.out


# --- exit code 1 ---------------------------------------------------------------------------------------------------


@pytest.fixture
def baseline(run: Run, write: Write) -> Path:
    """The report of a run with a perfect retrieval and an answer."""
    good = query(answer="a", expected_answer="a")
    run("evaluate", "--input", write(dataset(good)), "--output", "baseline.json")
    return Path("baseline.json")


def test_a_regression_fails_the_run_when_asked_to(run: Run, write: Write, baseline: Path) -> None:
    path = write(dataset({**MISSED, "answer": "a", "expected_answer": "a"}))
    told = run("evaluate", "--input", path, "--baseline", baseline)
    failed = run("evaluate", "--input", path, "--baseline", baseline, "--fail-on-regression")
    assert "Could be noise: retrieval.recall_at_k 1.000 -> 0.000" in told.lines
    assert (told.code, failed.code) == (0, 1)
    assert not [line for line in told.lines if line.startswith(("Passed", "Failed"))]  # nobody set a rule
    assert failed.lines[-1] == "Failed: 7 regressions (all could be noise)"


def test_reports_are_saved_before_the_run_fails(run: Run, write: Write, baseline: Path) -> None:
    path = write(dataset(MISSED))
    done = run("evaluate", "--input", path, "--output", "now.json", "--baseline", baseline, "--fail-on-regression")
    assert done.code == 1
    assert json.loads(Path("now.json").read_text())["retrieval"]["summary"]["recall_at_k"] == 0
    assert "## Against the baseline" in Path("now.md").read_text()


def test_a_metric_with_weight_that_vanished_fails_the_run_too(run: Run, write: Write, baseline: Path) -> None:
    done = run("evaluate", "--input", write(dataset()), "--baseline", baseline, "--fail-on-regression")
    assert done.code == 1
    assert any(line.startswith("No longer measured: generation.answer_f1 (") for line in done.lines)


def test_the_same_run_again_fails_nothing(run: Run, write: Write, baseline: Path) -> None:
    path = write(dataset(query(answer="a", expected_answer="a")))
    assert run("evaluate", "--input", path, "--baseline", baseline, "--fail-on-regression").code == 0


def test_the_baseline_is_not_overwritten(run: Run, write: Write, baseline: Path) -> None:
    path, before = write(dataset(MISSED)), baseline.read_bytes()
    done = run("evaluate", "--input", path, "--output", baseline, "--baseline", baseline, "--fail-on-regression")
    assert (done.code, baseline.read_bytes()) == (2, before)
    assert "--output: must not be an input" in done.err


def test_a_first_run_says_that_there_is_no_baseline_yet(run: Run, write: Write) -> None:
    said = "none.json does not exist yet, so nothing was compared"
    asked = ("--html", "report.html", "--junit", "junit.xml", "--github", "--fail-on-regression")
    done = run("evaluate", "--input", write(dataset()), "--baseline", "none.json", *asked)
    assert f"Baseline: {said}" in done.lines
    assert done.code == 0
    assert json.loads(Path("report.json").read_text())["meta"]["baseline"] == {"path": "none.json", "found": False}
    for name in ("report.md", "report.html"):
        assert f"No baseline: {said}" in Path(name).read_text(), name
    assert f'<skipped message="No baseline: {said}"' in Path("junit.xml").read_text()
    assert f"::warning title=No baseline::{said}" in done.err


@pytest.mark.parametrize("place", ["option", "config"])
def test_a_baseline_that_is_required_and_not_there_is_an_error_after_the_reports(
    run: Run, write: Write, place: str
) -> None:
    if place == "config":
        write("require_baseline = true\n", "rag-titan.toml")
    path, option = write(dataset()), ["--require-baseline"] if place == "option" else []
    done = run("evaluate", "--input", path, "--baseline", "none.json", "--junit", "junit.xml", "--github", *option)
    assert done.code == 2
    text = "none.json does not exist yet, so nothing was compared, and one is required"
    assert f'<error message="{text}" type="rules"' in Path("junit.xml").read_text()
    assert f"::error title=No baseline::{text}" in done.err
    printed = run("evaluate", "--input", path, "--baseline", "none.json", "--format", "json", *option)
    result = json.loads(printed.out)
    assert (result["exit_code"], result["baseline"]["found"], result["failing"][0]["rule"]) == (2, False, "baseline")
    run("evaluate", "--input", path, "--output", "base.json")
    assert run("evaluate", "--input", path, "--baseline", "base.json", *option).code == 0
    assert json.loads(Path("report.json").read_text())["meta"]["baseline"] == {"path": "base.json", "found": True}
    alone = run("evaluate", "--input", path, *option)
    assert alone.code == (2 if option else 0)
    assert ("--require-baseline: must have the name of a baseline" in alone.err) is bool(option)


def test_a_failed_gate_fails_the_run_when_asked_to(run: Run, write: Write) -> None:
    path = write(dataset(MISSED))
    assert run("evaluate", "--input", path, "--fail-on-gate").code == 1
    assert run("evaluate", "--input", write(dataset()), "--fail-on-gate").code == 0


def test_a_required_metric_must_be_measured(run: Run, write: Write) -> None:
    path = write(dataset())
    done = run("evaluate", "--input", path, "--require", "answer_precision", "--require", "recall_at_k")
    assert "Required, but not measured: generation.answer_precision" in done.lines
    assert done.code == 1
    assert run("evaluate", "--input", path, "--require", "retrieval.recall_at_k").code == 0


def test_a_required_metric_below_the_usual_gate_fails_only_when_asked_to(run: Run, write: Write) -> None:
    path = write(dataset(MISSED))
    assert run("evaluate", "--input", path, "--require", "recall_at_k").code == 0
    assert run("evaluate", "--input", path, "--require", "recall_at_k", "--fail-on-gate").code == 1


def test_too_many_errors_fail_the_run(run: Run, write: Write) -> None:
    path = write(dataset(query(), {"id": "q2", "error": "timeout"}))
    assert run("evaluate", "--input", path, "--max-error-rate", "0.5").code == 0
    done = run("evaluate", "--input", path, "--max-error-rate", "0.4")
    assert done.code == 1
    assert done.lines[-2:] == ["Error rate: 0.5, must be at most 0.4", "Failed: too many errors"]


# --- exit codes 2 and 3 --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--k", "0"], "--k: must be whole numbers from 1"),
        (["--k", "9" * 5000], "--k: must be whole numbers from 1 to 1000000000"),
        (["--k", str(2**63)], "--k: must be whole numbers from 1 to 1000000000"),
        (["--k", "ten"], "--k: must be whole numbers from 1"),
        (["--k", "5,"], "--k: must be a list with commas"),
        (["--stages", "retreival"], "the nearest is 'retrieval'"),
        (["--conventions", "trec"], "the nearest is 'trec_eval'"),
        (["--require", "recal_at_k"], "the nearest is 'recall_at_k'"),
        (["--fail-on-regression"], "must have a baseline"),
        (["--config", "none.toml"], "none.toml: must be a config file that can be read"),
        (["--output", "report.md"], "--output: must be the file of the JSON report"),
        (["--output", "."], "--output: must be a file, got the folder"),
        (["--output", "data.json"], "--output: must not be an input"),
        (["--output", "data.json/report.json"], "data.json/report.json: must be a file that can be written"),
        (["--per-query", "report.md"], "--per-query: must not be one of the reports"),
        (["--baseline", "data.json"], "must be a report, got a dataset"),
        (["--chunks", "none.jsonl"], "none.jsonl: must be a file"),
    ],
)
def test_an_option_that_breaks_its_rule_is_one_sentence_and_code_2(
    run: Run, write: Write, arguments: list[str], said: str
) -> None:
    write(dataset())
    done = run("evaluate", "--input", "data.json", *arguments)
    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert done.err.startswith("rag-titan: ")
    assert done.err.count("\n") == 1


def test_one_question_is_said_in_the_singular(run: Run, write: Write) -> None:
    done = run("evaluate", "--input", write(dataset({"id": "q1", "error": "down"})))
    assert "Errors: 1 of 1 question got no answer (q1)" in done.lines


@pytest.mark.parametrize("rate", ["nan", "2", "-0.1", "inf"])
def test_a_rate_that_would_switch_its_rule_off_is_refused(run: Run, write: Write, rate: str) -> None:
    done = run("evaluate", "--input", write(dataset()), "--max-error-rate", rate)
    said = f"--max-error-rate: must be a number from 0 to 1, got {float(rate)}."
    assert (done.code, done.out, done.err) == (2, "", f"rag-titan: {said}\n")


@pytest.mark.parametrize("arguments", [["--format", "xml"], ["--max-error-rate", "2"], ["--inptu", "x"], []])
def test_what_the_parser_refuses_is_code_2(run: Run, arguments: list[str]) -> None:
    done = run("evaluate", *arguments)
    assert (done.code, done.out) == (2, "")
    assert "Traceback" not in done.err


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"queries": [{"id": "q1", "retrieved_ids": "c1"}]}, "queries[0].retrieved_ids: "),
        ("{", "data.json: "),
        ("", "data.json: "),
    ],
)
def test_bad_data_are_one_sentence_with_their_place(run: Run, write: Write, data: Any, said: str) -> None:
    done = run("evaluate", "--input", write(data))
    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert not Path("report.json").exists()


def test_bad_records_can_be_left_out(run: Run, write: Write) -> None:
    lines = [json.dumps(query()), '{"id": "q2", "retrieved_ids": "c1"}']
    path = write("\n".join(lines) + "\n", "data.jsonl")
    assert run("evaluate", "--input", path).code == 2
    done = run("evaluate", "--input", path, "--skip-bad-records")
    assert done.code == 0
    said = "Left out: 1 record that breaks a rule, the first: data.jsonl line 2: retrieved_ids: "
    assert done.lines[0].startswith(said)


EMPTY = [{"meta": {}}, {"retrieval": {"summary": {"recall of another tool": 0.9}}}]
BROKEN = [
    ({"retrieval": 3}, "retrieval: must be an object or null, got 3"),
    ({"scorecard": []}, "scorecard: must be an object or null, got a list"),
    ({"retrieval": {"summary": {"recall_at_k": "0.9"}}}, "retrieval.summary.recall_at_k: must be a finite number"),
    ({"retrieval": {"summary": {"recall_at_k": True}}}, "retrieval.summary.recall_at_k: must be a finite number"),
]


@pytest.mark.parametrize("holds", EMPTY)
@pytest.mark.parametrize("arguments", [[], ["--fail-on-regression"]])
def test_a_baseline_without_values_is_never_green(
    run: Run, write: Write, holds: dict[str, Any], arguments: list[str]
) -> None:
    before = write(holds, "before.json")
    done = run("evaluate", "--input", write(dataset()), "--baseline", before, *arguments)
    assert done.code == 2
    said = "baseline: must hold values of metrics, got none: nothing to compare with. Make a new baseline."
    assert f"Not comparable: {said}" in done.lines


@pytest.mark.parametrize(("holds", "said"), BROKEN)
@pytest.mark.parametrize("arguments", [[], ["--fail-on-regression"]])
def test_a_baseline_that_something_broke_is_refused_with_the_place(
    run: Run, write: Write, holds: dict[str, Any], said: str, arguments: list[str]
) -> None:
    done = run("evaluate", "--input", write(dataset()), "--baseline", write(holds, "before.json"), *arguments)
    assert (done.code, done.out) == (2, "")
    assert f"before.json: {said}" in done.err


def test_a_baseline_of_a_newer_form_is_never_green(run: Run, write: Write, baseline: Path) -> None:
    report = json.loads(baseline.read_text())
    report["meta"]["schema"] = 99
    before = write(report, "before.json")
    done = run("evaluate", "--input", write(dataset()), "--baseline", before, "--fail-on-regression")
    assert done.code == 2
    assert "got form 99. Make a new baseline." in done.out


def test_reports_that_cannot_be_compared_are_code_2_with_the_report_saved(
    run: Run, write: Write, baseline: Path
) -> None:
    done = run("evaluate", "--input", write(dataset()), "--k", "3", "--baseline", baseline)
    assert done.code == 2
    assert "Not comparable: baseline: must have the same K, got 5 against 3. Evaluate both with one K." in done.lines
    assert Path("report.json").exists()


@pytest.mark.parametrize("queries", [[], [{"id": "q1"}], [{"id": "q1", "error": "timeout"}]])
def test_nothing_to_measure_is_code_3(run: Run, write: Write, queries: list[dict[str, Any]]) -> None:
    done = run("evaluate", "--input", write({"queries": queries}))
    assert done.code == 3
    assert "Overall score: not scored" in done.lines
    assert done.lines[-1].startswith("Nothing could be measured")


# --- as a process --------------------------------------------------------------------------------------------------


def test_one_json_object_holds_the_facts(run: Run, write: Write, baseline: Path) -> None:
    path = write(dataset(MISSED, {"id": "q2", "error": "timeout"}))
    done = run("evaluate", "--input", path, "--baseline", baseline, "--fail-on-regression", "--format", "json")
    facts = json.loads(done.out)
    assert facts["exit_code"] == done.code == 1
    assert facts["reports"] == ["report.json", "report.md"]
    assert facts["errors"] == {"count": 1, "of": 2, "rate": 0.5, "first": ["q2"]}
    assert facts["lost_at"] == {"retrieval": 1, "end_to_end": 1}
    assert "retrieval.recall_at_k" in [entry["metric"] for entry in facts["baseline"]["regressions"]]
    assert [gate["metric"] for gate in facts["failed_gates"]] == ["recall_at_k"]


def test_an_interrupt_is_code_130_without_a_traceback(run: Run, write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(RAGEvaluator, "evaluate_path", interrupted)
    done = run("evaluate", "--input", write(dataset()))
    assert (done.code, done.out, done.err) == (130, "", "rag-titan: stopped.\n")


def test_a_fault_of_our_own_has_a_code_of_its_own(run: Run, write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(RAGEvaluator, "evaluate_path", broken)
    done = run("evaluate", "--input", write(dataset()))
    assert done.code == 70
    assert "ZeroDivisionError" in done.err
    assert done.err.splitlines()[-1].startswith("rag-titan: this is a fault of rag-titan")


def test_a_parquet_file_without_its_library_is_one_sentence(
    run: Run, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    done = run("evaluate", "--input", write(dataset()), "--per-query", "new/values.parquet")
    assert done.code == 2
    assert done.err.splitlines()[-1].endswith('install it with: pip install "rag-titan[parquet]"')


@pytest.mark.parquet
def test_the_parquet_file_is_named_among_the_reports(run: Run, write: Write) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    done = run("evaluate", "--input", write(dataset()), "--per-query", "new/values.parquet")
    assert done.lines[0] == "Reports saved: report.json, report.md and new/values.parquet"
    assert parquet.read_table("new/values.parquet").num_rows == 1


def test_documents_may_be_a_folder_of_texts_as_for_build(run: Run, write: Write) -> None:
    quoted = {"id": "q1", "expected_evidence": ["25 days"], "retrieved_ids": ["c1"]}
    write(dataset(quoted) | {"chunks": [{"id": "c1", "text": "Leave is 25 days.", "doc_id": "hr/leave.md"}]})
    (Path("texts") / "hr").mkdir(parents=True)
    write("Leave is 25 days.", "texts/hr/leave.md")
    write("x", "texts/logo.png")
    done = run("evaluate", "--input", "data.json", "--documents", "texts", "--output", "folder.json")
    assert done.code == 0
    said = "files of the folder that are no documents by their names were left out: logo.png."
    assert done.err.startswith(f"rag-titan: note: {said}")
    write({"hr/leave.md": "Leave is 25 days."}, "documents.json")
    assert run("evaluate", "--input", "data.json", "--documents", "documents.json", "--output", "file.json").code == 0
    one, other = (json.loads(Path(name).read_text()) for name in ("folder.json", "file.json"))
    assert one["chunking"] == other["chunking"]
    assert one["chunking"] is not None
    assert run("evaluate", "--input", "data.json", "--documents", "texts/hr/leave.md").code == 0
