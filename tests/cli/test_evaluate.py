"""rag-titan evaluate: what is printed, what is saved, and the exit codes."""

from __future__ import annotations

import io
import json
import os
import subprocess
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
        "Evidence lost for 0 of 1 questions",
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
    assert "Gate failed: retrieval.recall_at_k is 0.000, must be at least 0.700" in done.lines
    assert done.code == 0


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
    assert "Regression: retrieval.recall_at_k 1.000 -> 0.000" in told.lines
    assert (told.code, failed.code) == (0, 1)
    assert failed.lines[-1].startswith("Failed: ")
    assert "regressions" in failed.lines[-1]


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
    done = run("evaluate", "--input", write(dataset()), "--baseline", "none.json", "--fail-on-regression")
    assert "Baseline: none.json does not exist yet, so nothing was compared" in done.lines
    assert done.code == 0


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
    assert done.lines[0].startswith("Left out: 1 record that breaks a rule, the first: line 2: retrieved_ids: ")


EMPTY = [
    {"meta": {}},
    {"retrieval": 3},
    {"scorecard": []},
    {"meta": 3, "retrieval": {"summary": 3, "per_query": 3}},
    {"retrieval": {"summary": {"recall_at_k": "0.9", "mrr_at_k": None, "ndcg_at_k": True}}},
    {"retrieval": {"summary": {"recall of another tool": 0.9}}},
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
    assert done.code == 130
    assert "Traceback" not in done.err


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


FULL = (
    'standard output: must have room for what is written, got "No space left on device". Free some space, or choose '
    "another path."
)


def evaluated(tmp_path: Path, code: str) -> subprocess.CompletedProcess[str]:
    """A Python process that runs `code` after the command line was imported, with the arguments of an evaluation."""
    data = tmp_path / "data.json"
    data.write_text(json.dumps(dataset()))
    start = (
        "import sys\nfrom rag_titan.cli.main import main\n"
        f"sys.argv = ['rag-titan', 'evaluate', '--input', {str(data)!r}, '--output', {str(tmp_path / 'r.json')!r}]\n"
    )
    return subprocess.run([sys.executable, "-c", start + code], capture_output=True, text=True, check=False)


def test_a_reader_who_stops_reading_changes_nothing(tmp_path: Path) -> None:
    done = evaluated(
        tmp_path,
        "import os\nread, write = os.pipe()\nos.close(read)\nos.dup2(write, 1)\nmain()",
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "r.md").exists()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no /dev/full")
def test_a_full_disk_is_one_sentence(tmp_path: Path) -> None:
    done = evaluated(tmp_path, "import os\nos.dup2(os.open('/dev/full', os.O_WRONLY), 1)\nmain()")
    assert (done.returncode, done.stderr) == (2, f"rag-titan: {FULL}\n")


def test_a_closed_standard_output_changes_nothing(tmp_path: Path) -> None:
    done = evaluated(tmp_path, "sys.stdout = None\nmain()")
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "r.md").exists()


@pytest.mark.parquet
def test_a_run_that_is_terminated_leaves_no_draft(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    kill = "import os, signal\nfrom rag_titan.evaluation.data.parquet import QueryWriter\n"
    kill += "QueryWriter.write = lambda *_: (os.kill(os.getpid(), signal.SIGTERM), [0] * 1000)\n"
    done = evaluated(tmp_path, f"{kill}sys.argv += ['--per-query', {str(tmp_path / 'q.parquet')!r}]\nmain()")
    assert (done.returncode, done.stderr) == (143, "")
    assert [path.name for path in tmp_path.iterdir()] == ["data.json"]


def test_a_path_with_a_line_break_is_escaped(run: Run) -> None:
    done = run("evaluate", "--input", "no\n\x1b[31m\u202efile.json")
    assert done.code == 2
    assert done.err.count("\n") == 1
    assert "no\\n\\x1b[31m\\u202efile.json" in done.err


@pytest.mark.parametrize("option", ["--baseline", "--config", "--chunks", "--documents"])
def test_what_this_user_may_not_read_is_one_sentence_of_ours(
    run: Run, write: Write, monkeypatch: pytest.MonkeyPatch, option: str
) -> None:
    path, secret, read, opened = write(dataset()), write("{}", "secret.json"), os.access, Path.open
    monkeypatch.setattr(os, "access", lambda path, mode, **more: "secret" not in str(path) and read(path, mode, **more))

    def refuse(self: Path, *arguments: Any, **more: Any) -> Any:  # root may read everything
        if self.name == secret.name:
            raise PermissionError(13, "Permission denied", str(self))
        return opened(self, *arguments, **more)

    monkeypatch.setattr(Path, "open", refuse)
    done = run("evaluate", "--input", path, option, secret)
    assert done.code == 2
    assert done.err.count("\n") == 1
    assert "secret.json: must be " in done.err


def test_the_name_of_a_report_cannot_steer_the_terminal(run: Run, write: Write) -> None:
    done = run("evaluate", "--input", write(dataset()), "--output", "two\nlines\x1b[31m.json", "--baseline", "a\nb")
    assert done.lines[0] == "Reports saved: two\\nlines\\x1b[31m.json and two\\nlines\\x1b[31m.md"
    assert "Baseline: a\\nb does not exist yet, so nothing was compared" in done.lines


def test_an_output_of_ascii_only_is_no_reason_to_stop(tmp_path: Path) -> None:
    data = tmp_path / "data.json"
    data.write_text(json.dumps(dataset({**query(), "id": "frÃ¡ga"}, {"id": "q–2", "error": "e"})))
    arguments = ["evaluate", "--input", str(data), "--output", str(tmp_path / "r.json")]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(
        [sys.executable, "-m", "rag_titan", *arguments], capture_output=True, env=environment, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")


def test_an_evaluation_loads_nothing_that_it_does_not_need(tmp_path: Path) -> None:
    done = evaluated(
        tmp_path,
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "sys.stderr.write(' '.join(m for m in ('rich', 'jinja2', 'rensa', 'pyarrow', 'pandas') if m in sys.modules))",
    )
    assert done.stderr == ""
