"""rag-titan evaluate for CI: failing only on what is more than noise, JUnit XML, GitHub Actions, the HTML report."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import parse

import pytest
from tests.cli.conftest import Run, Write, query

from rag_titan.evaluation import RAGEvaluator


def questions(count: int, missed: set[int], **more: Any) -> dict[str, Any]:
    """Questions of which some missed their chunk."""
    each = [query(f"q{i}", **({"retrieved_ids": ["c2", "c3"]} if i in missed else {}), **more) for i in range(count)]
    return {"queries": each}


@pytest.fixture
def against(run: Run, write: Write) -> Any:
    """Evaluate a run against the report of another."""

    def evaluate(before: dict[str, Any], now: dict[str, Any], *arguments: object) -> Any:
        run("evaluate", "--input", write(before), "--output", "base.json")
        return run("evaluate", "--input", write(now), "--baseline", "base.json", *arguments)

    return evaluate


DROP = (questions(200, set(range(20))), questions(200, set(range(50))))
NOISE = (questions(30, {1, 2, 3}), questions(30, {1, 4, 5, 6}))
FEW = (questions(10, {1}), questions(10, {1, 2, 3, 4}))


@pytest.mark.parametrize("rule", ["--require-significant", "--fail-on-regression"])
@pytest.mark.parametrize(("left", "code"), [(3, 2), (29, 2), (30, 0), (60, 0)])
def test_a_run_that_lost_most_of_the_questions_cannot_be_judged(against: Any, rule: str, left: int, code: int) -> None:
    """The boundary by hand: of 60 questions 30 are half."""
    done = against(questions(60, set()), questions(left, set()), rule)
    assert done.code == code
    said = f"at least 50% of its questions must be in the run, got {left} of 60. Ask them all"
    assert (said in " ".join((done.out + done.err).split())) == (code == 2)


def test_without_a_rule_about_regressions_fewer_questions_are_a_note(against: Any) -> None:
    assert against(questions(60, set()), questions(3, set())).code == 0


def test_a_real_drop_fails(against: Any) -> None:
    done = against(*DROP, "--require-significant")
    assert done.code == 1
    assert "Regression: retrieval.recall_at_k 0.900 -> 0.750 (real)" in done.lines
    at = done.lines.index("Regression: retrieval.recall_at_k 0.900 -> 0.750 (real)")
    assert done.lines[at + 1].startswith("  -0.150, 95% interval -0.2")
    assert done.lines[at + 1].endswith("; 30 worse, 0 better of 200 questions")
    assert done.lines[-1] == "Failed: 7 real regressions"
    assert max(map(len, done.lines[at:])) <= 80


def test_noise_fails_only_without_the_option(against: Any) -> None:
    assert against(*NOISE, "--fail-on-regression").code == 1
    done = against(*NOISE, "--fail-on-regression", "--require-significant")
    assert done.code == 0
    assert "Against base.json: 5 metrics worse (5 could be noise), 0 better" in done.lines
    assert done.lines[-2].startswith("Undecided: whether retrieval.recall_at_k got worse; about ")
    assert done.lines[-1] == "Passed: 5 metrics look worse, not for sure"
    assert not [line for line in done.lines if line.startswith("Regression")]
    assert any(line.startswith("And 2 more that could be noise: ") for line in done.lines)


def test_few_questions_are_undecided_and_it_says_how_many_would_tell(against: Any) -> None:
    done = against(*FEW, "--require-significant", "--fail-on-gate")
    assert done.code == 0
    at = done.lines.index("Gate undecided: retrieval.recall_at_k is 0.600, must be at least 0.700")
    assert done.lines[at + 1] == "  95% interval 0.313 to 0.832; 10 questions, about 81 needed"
    assert done.lines[-2].startswith("Undecided: whether retrieval.recall_at_k got worse; about 23 questions would")
    assert done.lines[-1] == "Passed: 7 metrics look worse, not for sure; 1 gate undecided"
    assert against(*FEW, "--fail-on-gate").code == 1


def test_a_gate_whose_whole_interval_breaks_the_limit_fails(run: Run, write: Write) -> None:
    path = write(questions(40, set(range(30))))
    done = run("evaluate", "--input", path, "--require-significant", "--fail-on-gate")
    assert done.code == 1
    assert "Gate failed: retrieval.recall_at_k is 0.250, must be at least 0.700" in done.lines


def test_a_metric_that_vanished_fails_all_the_same(against: Any) -> None:
    before = questions(5, set(), answer="a", expected_answer="a")
    done = against(before, questions(5, set()), "--require-significant")
    assert done.code == 1
    assert "vanished metric" in done.lines[-1]


def test_the_option_needs_something_to_judge(run: Run, write: Write) -> None:
    path = write(questions(3, set()))
    done = run("evaluate", "--input", path, "--require-significant")
    assert (done.code, done.out) == (2, "")
    assert "--require-significant: must have a baseline, or gates that fail the run, got none." in done.err
    assert run("evaluate", "--input", path, "--require-significant", "--fail-on-gate").code == 0
    write("require_significant = true\n", "rag-titan.toml")
    assert run("evaluate", "--input", path).code == 0


def test_the_config_file_has_the_same_rules(against: Any, write: Write) -> None:
    write("require_significant = true\ntolerance = 0.01\nprimary = ['hit_at_k']\n", "rag-titan.toml")
    done = against(*DROP, "--format", "json")
    facts = json.loads(done.out)
    assert (done.code, facts["require_significant"]) == (1, True)
    assert (facts["baseline"]["tolerance"], facts["baseline"]["primary"]) == (0.01, ["retrieval.hit_at_k"])
    assert json.loads(against(*DROP, "--format", "json", "--tolerance", "0.3").out)["baseline"]["regressions"] == []


def test_the_json_has_the_facts_of_the_text(against: Any) -> None:
    facts = json.loads(against(*FEW, "--require-significant", "--fail-on-gate", "--format", "json").out)
    assert (facts["exit_code"], facts["failing"], facts["failed_gates"]) == (0, [], [])
    assert [(gate["metric"], gate["needed"]) for gate in facts["undecided_gates"]] == [("recall_at_k", 81)]
    recall = next(e for e in facts["baseline"]["regressions"] if e["metric"] == "retrieval.recall_at_k")
    assert (recall["significant"], recall["n"], recall["losses"], recall["needed"]) == (False, 10, 3, 23)
    facts = json.loads(against(*DROP, "--require-significant", "--format", "json").out)
    assert {one["rule"] for one in facts["failing"]} == {"regression"}


@pytest.mark.parametrize("value", ["-0.1", "nan", "inf"])
def test_a_tolerance_that_is_none_is_refused_before_the_work(run: Run, write: Write, value: str) -> None:
    done = run("evaluate", "--input", write("no dataset"), "--tolerance", value)
    assert (done.code, done.out) == (2, "")
    assert "--tolerance: must be a number from 0, such as 0.02, got " in done.err


def test_the_reports_open_with_how_the_run_ended_in_the_words_of_the_terminal(against: Any) -> None:
    against(*DROP, "--require-significant", "--html", "r.html")
    # the primary metric comes first
    failed = "This run fails: 7 real regressions (retrieval.recall_at_k, retrieval.precision_at_k, retrieval.f1_at_k"
    assert Path("report.md").read_text().splitlines()[2] == f"**{failed} and 4 more).**"
    page = Path("r.html").read_text()
    assert page.index(f'<p class="ended failed">{failed} and 4 more).</p>') < page.index('class="lead"')
    facts = json.loads(against(*FEW, "--require-significant", "--format", "json", "--html", "r.html").out)
    assert facts["verdict"] == {
        "passed": True,
        "why": "7 metrics look worse, not for sure; 1 gate undecided",
        "text": "This run passes: 7 metrics look worse, not for sure; 1 gate undecided",
    }
    assert Path("report.md").read_text().splitlines()[2] == f"**{facts['verdict']['text']}.**"
    assert '<p class="ended passed">This run passes' in Path("r.html").read_text()


def test_a_run_without_rules_has_no_verdict_and_one_that_cannot_be_judged_fails(run: Run, write: Write) -> None:
    path = write(questions(3, set()))
    facts = json.loads(run("evaluate", "--input", path, "--output", "base.json", "--format", "json").out)
    assert facts["verdict"] is None
    assert "This run" not in Path("base.md").read_text()
    done = run("evaluate", "--input", path, "--baseline", "base.json", "--k", "3")
    assert (done.code, done.lines[-1]) == (2, "Failed: not comparable with the baseline")
    assert Path("report.md").read_text().splitlines()[2].startswith("**This run fails: it cannot be compared with the")
    empty = write({"queries": [{"id": "a", "question": "?"}]}, "empty.json")
    assert run("evaluate", "--input", empty).code == 3
    assert Path("report.md").read_text().splitlines()[2] == "**This run fails: nothing could be measured.**"


# --- files ------------------------------------------------------------------------------------------------------------


def test_the_html_report_holds_the_explorer_and_the_json_report_does_not(run: Run, write: Write) -> None:
    data = questions(3, {1}, question="How many <b>days</b>?", tags={"language": "de"})
    done = run("evaluate", "--input", write(data), "--html", "site/index.html", "--by", "language")
    assert done.lines[0] == "Reports saved: report.json, report.md and site/index.html"
    report = json.loads(Path("report.json").read_text())
    assert "explorer" not in report
    assert report["slices"]["by"] == ["language"]
    page = Path("site/index.html").read_text()
    assert "How many" in page
    assert "How many <b>" not in page


def test_the_worst_slice_is_printed(run: Run, write: Write) -> None:
    data = questions(40, set(range(0, 40, 2)))
    for i, asked in enumerate(data["queries"]):
        asked["tags"] = {"language": "en" if i % 2 else "de"}
    done = run("evaluate", "--input", write(data), "--by", "language")
    assert [line for line in done.lines if line.startswith("Worst slice: language = de ")]
    assert run("evaluate", "--input", write(data), "--by", "language,").code == 2


def test_no_text_of_the_data_is_in_any_output_with_redact(run: Run, write: Write) -> None:
    texts = {"question": "Secret question?", "answer": "secret answer 42", "expected_answer": "reference in private"}
    data = questions(3, {1}, **texts, required_facts=["classified fact"])
    files = ("--html", "r.html", "--junit", "r.xml", "--junit-per-query")
    done = run("evaluate", "--input", write(data), "--redact", *files)
    assert done.code == 0
    written = (
        done.out + done.err + "".join(Path(f).read_text() for f in ("report.json", "report.md", "r.html", "r.xml"))
    )
    assert not [word for word in ("ecret question", "secret answer", "in private", "classified") if word in written]


def test_junit_has_the_gates_the_regressions_and_on_request_the_questions(against: Any) -> None:
    against(*DROP, "--require-significant", "--junit", "ci/junit.xml", "--junit-per-query")
    suites = {suite.get("name"): suite for suite in parse("ci/junit.xml").getroot()}
    assert list(suites) == ["gates", "regressions", "questions"]
    assert suites["regressions"].get("failures") == suites["regressions"].get("tests")
    assert suites["questions"].get("failures") == "50"


def test_junit_says_why_a_run_cannot_be_judged(run: Run, write: Write) -> None:
    run("evaluate", "--input", write(questions(3, set())), "--output", "base.json", "--k", "3")
    done = run("evaluate", "--input", write(questions(3, set())), "--baseline", "base.json", "--junit", "junit.xml")
    assert done.code == 2
    assert [case.get("name") for case in parse("junit.xml").iter("testcase") if case.find("error") is not None] == [
        "comparable"
    ]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--html", "report.json"], "--html: must not be one of the reports, got report.json."),
        (["--junit", "report.md"], "--junit: must not be one of the reports"),
        (["--html", "x.html", "--junit", "x.html"], "--junit: must not be one of the reports"),
        (["--html", "data.json"], "--html: must not be an input"),
        (["--junit", "base.json", "--baseline", "base.json"], "--junit: must not be an input"),
        (["--html", "."], "--html: must be a file, got the folder"),
        (["--junit", "data.json/x.xml"], "--junit: data.json/x.xml: must be a file that can be written"),
        (["--html", "/dev/stdout"], "--html: must be an ordinary file"),
        (["--junit-per-query"], "--junit-per-query: must have a file to write, got none."),
    ],
)
def test_files_are_checked_before_the_work(run: Run, write: Write, arguments: list[str], said: str) -> None:
    write("no dataset")
    write("{}", "base.json")
    done = run("evaluate", "--input", "data.json", *arguments)
    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert done.err.count("\n") == 1


# --- GitHub -----------------------------------------------------------------------------------------------------------

HOSTILE = "::error file=a::b ##[add-mask]c"


def test_github_gets_a_summary_and_annotations(against: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    done = against(*DROP, "--require-significant", "--github")
    assert (tmp_path / "summary.md").read_text().startswith("## RAG evaluation: failed\n\n**This run fails: 7 real reg")
    assert done.err.startswith("::error title=Regression::retrieval.")
    assert not [line for line in done.lines if line.startswith("::")]


@pytest.mark.parametrize("name", ["data.json", "base.json", "report.json", "report.md"])
def test_the_summary_takes_the_place_of_no_input_and_no_report(
    run: Run, write: Write, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    write(questions(3, set()))
    run("evaluate", "--input", "data.json", "--output", "base.json")
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / name))
    done = run("evaluate", "--input", "data.json", "--baseline", "base.json", "--github")
    assert done.code == 2
    assert done.err.startswith("rag-titan: --github: must not be ")
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_without_a_place_for_the_summary_it_is_one_sentence(
    run: Run, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    done = run("evaluate", "--input", write(questions(3, set())), "--github")
    assert done.code == 0
    assert done.err.startswith("rag-titan: note: --github: GITHUB_STEP_SUMMARY must name a file")
    assert done.err.count("\n") == 1


@pytest.mark.parametrize("form", ["text", "json"])
def test_no_text_of_the_data_becomes_a_command(
    run: Run, write: Write, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    data = {"queries": [query(HOSTILE, latency_ms=-1, retrieved_ids=[]), {"id": f" {HOSTILE}2", "error": HOSTILE}]}
    done = run("evaluate", "--input", write(data), "--format", form, "--output", "##[error]r.json")
    for line in [*done.lines, *done.err.splitlines()]:
        assert not line.lstrip().startswith("::")
        assert "##[" not in line
    if form == "json":
        assert HOSTILE in json.dumps(json.loads(done.out), ensure_ascii=False)


def test_elsewhere_text_stays_as_it_is(run: Run, write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    monkeypatch.delenv("TF_BUILD", raising=False)
    done = run("evaluate", "--input", write({"queries": [{"id": HOSTILE, "error": "e"}]}))
    assert HOSTILE in done.out


def test_options_that_nobody_gave_load_nothing(run: Run, write: Write) -> None:
    for name in ("rag_titan.evaluation.reports.junit", "rag_titan.integrations.github"):
        sys.modules.pop(name, None)
    run("evaluate", "--input", write(questions(3, set())))
    assert not {"rag_titan.evaluation.reports.junit", "rag_titan.integrations.github"} & set(sys.modules)


def test_a_fault_of_our_own_is_no_command_either(run: Run, write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError(f"\n{HOSTILE}")

    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setattr(RAGEvaluator, "evaluate_path", broken)
    done = run("evaluate", "--input", write(questions(3, set())))
    assert done.code == 70
    assert not [line for line in done.err.splitlines() if line.startswith("::") or "##[" in line]


def test_what_cannot_be_compared_says_why(against: Any) -> None:
    def chunked(first: str) -> dict[str, Any]:
        chunks = [{"id": f"{first}{i}", "text": f"{first} text number {i} {i * i}"} for i in range(40)]
        asked = [
            {"id": f"q{i}", "expected_chunk_ids": [f"{first}{i}"], "retrieved_ids": [f"{first}{i}"]} for i in range(9)
        ]
        return {"chunks": chunks, "queries": asked}

    done = against(chunked("old"), chunked("new"))
    assert [line for line in done.lines if line.startswith("Not compared: retrieval.") and "recall_at_k" in line]


@pytest.mark.parametrize("width", [60, 80])
def test_lines_wrap_at_the_terminal(against: Any, monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    monkeypatch.setattr("rag_titan.cli.evaluate.columns", lambda: width)
    done = against(*FEW, "--require-significant")
    assert max(map(len, done.lines)) <= width
    assert any(line.startswith("And 4 more that could be noise: ") for line in done.lines)


def test_a_rating_says_on_how_many_questions_it_stands_where_these_are_few(run: Run, write: Write) -> None:
    labelled = [query(f"q{i}") for i in range(4)]
    unlabelled = [{"id": f"u{i}", "retrieved_ids": ["c1"], "answer": "yes"} for i in range(26)]
    run("evaluate", "--input", write({"queries": [*labelled, *unlabelled]}), "--html", "r.html")
    assert ", on 4 of 30 questions" in Path("report.md").read_text()
    assert "<small>on 4 of 30 questions</small>" in Path("r.html").read_text()
    run("evaluate", "--input", write({"queries": labelled}), "--html", "r.html")
    assert ", on 4 of " not in Path("report.md").read_text()
    assert "<small>on " not in Path("r.html").read_text()
