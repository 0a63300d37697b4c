"""GitHub Actions: annotations and the summary, with texts that try to be commands."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_titan.evaluation import RAGEvaluator, ReportManager
from rag_titan.integrations.github import LARGEST_SUMMARY, MOST_ANNOTATIONS, annotation, append, commands, summary

COMMAND = re.compile(r"::(\w+) title=([^:,\r\n]*)::([^\r\n]*)")


def report_of(count: int, missed: set[int], **first: Any) -> dict[str, Any]:
    queries: list[dict[str, Any]] = [
        {"id": f"q{i}", "expected_chunk_ids": ["c1"], "retrieved_ids": ["c2" if i in missed else "c1"]}
        for i in range(count)
    ]
    queries[0] |= first
    return RAGEvaluator().evaluate(queries=queries)


def failing(rule: str = "gate", name: str = "retrieval.recall_at_k", text: str = "it failed") -> dict[str, str]:
    return {"rule": rule, "name": name, "text": text}


def unescaped(text: str) -> str:
    for sign, code in ((":", "%3A"), (",", "%2C"), ("\r", "%0D"), ("\n", "%0A"), ("%", "%25")):
        text = text.replace(code, sign)
    return text


@given(st.text(), st.text())
def test_no_text_leaves_its_place_in_a_command(title: str, text: str) -> None:
    found = COMMAND.fullmatch(annotation("error", title, text))
    assert found
    assert (unescaped(found[2]), found[1]) == (title, "error")
    assert unescaped(found[3]) == text or "%3A" in text or "%2C" in text


def test_what_fails_the_run_is_an_error() -> None:
    assert commands(report_of(3, set()), failing=[failing()]) == ["::error title=Gate failed::it failed"]


def test_what_fails_nothing_is_a_warning() -> None:
    now, before = report_of(200, set(range(70))), report_of(200, set())
    said = commands(now, ReportManager().compare(now, before))
    assert any(
        line.startswith("::warning title=Regression::retrieval.recall_at_k 1.000 -> 0.650 (real)") for line in said
    )
    assert any(line.startswith("::warning title=Gate undecided::retrieval.recall_at_k is 0.650") for line in said)
    assert commands(report_of(10, {1}), ReportManager().compare(report_of(10, {1}), report_of(10, {2}))) == []


def test_questions_without_an_answer_are_a_warning() -> None:
    said = commands(report_of(4, set(), error="timeout"))
    assert said == ["::warning title=Errors::1 of 4 questions got no answer because of an error"]


def test_no_more_annotations_than_github_shows() -> None:
    ten = [failing(text=f"n{i}") for i in range(MOST_ANNOTATIONS)]
    assert len(commands(report_of(3, set()), failing=ten)) == MOST_ANNOTATIONS
    many = commands(report_of(3, set()), failing=[*ten, failing(), failing()])
    assert len(many) == MOST_ANNOTATIONS
    assert many[-1] == "::error title=More::3 more stand in the report."


HOSTILE = "q|1\n::error::x <script>alert(1)</script> [a](http://b) ##[error]y"


def test_the_summary_says_what_failed_and_shows_text_as_text() -> None:
    now, before = report_of(60, set(range(40)), id=HOSTILE), report_of(60, {3}, id=HOSTILE)
    verdict = {"passed": False, "text": f"This run fails: {HOSTILE}"}
    said = summary(now, ReportManager().compare(now, before), [failing()], verdict=verdict)
    more = summary(now, None, [failing("vanished", "generation.answer_f1", HOSTILE)])
    assert "- No longer measured: q\\|1 ::error::x &lt;script&gt;" in more
    assert said.startswith("## RAG evaluation: failed\n")
    assert said.splitlines()[2].startswith("**This run fails: q\\|1 ::error::x &lt;script&gt;")
    assert "### What fails the run\n\n- Gate failed: it failed\n" in said
    assert "- failed: retrieval.recall_at_k is 0.333, must be at least 0.700; 95% interval 0.227 to 0.459" in said
    assert "### Against the baseline" in said
    assert re.search(r"retrieval\.recall_at_k 0\.983 -&gt; 0\.333 +\| real", said)
    assert "40 questions failed, the first 10:" in said
    assert "<script>" not in said
    assert "[a](http" not in said
    assert not [line for line in said.splitlines() if line.lstrip().startswith("::")]


def test_of_many_regressions_the_first_stand_among_what_fails_the_run() -> None:
    many = [failing("regression", f"m{i}", f"m{i} fell") for i in range(30)]
    said = summary(report_of(3, set()), None, [*many, failing()])
    assert "- Regression: m2 fell\n- Gate failed: it failed\n- and 27 more\n" in said


def test_a_run_that_passes_says_so_and_one_without_rules_does_not() -> None:
    passed = {"passed": True, "text": "This run passes"}
    assert summary(report_of(3, set()), verdict=passed).startswith(
        "## RAG evaluation: passed\n\n**This run passes.**\n"
    )
    assert summary(report_of(3, set())).startswith("## RAG evaluation\n\n**89.5/100")


def test_the_summary_begins_with_the_verdict_and_ends_with_the_links() -> None:
    now, before = report_of(60, set(range(40))), report_of(60, {3})
    verdict = {"passed": False, "text": "This run fails: 1 failed gate"}
    set_by_github = {"GITHUB_SERVER_URL": "https://github.com", "GITHUB_REPOSITORY": "a/b", "GITHUB_RUN_ID": "7"}
    said = summary(
        now, ReportManager().compare(now, before), [failing()], verdict=verdict,
        files=[Path("reports/r_1|.html")], environment=set_by_github,
    )  # fmt: skip
    headings = [line for line in said.splitlines() if line.startswith("#")]
    assert headings == [
        "## RAG evaluation: failed", "### What fails the run", "### Against the baseline", "### Quality gates",
        "### Questions to look at",
    ]  # fmt: skip
    last = said.splitlines()[-1]
    assert last == "Reports: reports/r_1\\|.html ([artifacts of this run](https://github.com/a/b/actions/runs/7))"
    alone = summary(now, None, [], files=[Path("r.html")], environment={})
    assert alone.splitlines()[-1] == "Reports: r.html"


def test_what_a_judge_finds_and_that_another_one_is_not_compared() -> None:
    def judged(by: str) -> dict[str, Any]:
        return report_of(2, set(), verdicts={"judge": by, "answer_claims": [{"context": "not_supported"}]})

    now, before = judged("m@2"), judged("m@1")
    said = summary(now, ReportManager().compare(now, before))
    assert "### What the judge finds\n\n- Judge: Faithfulness 0.000 (low on 1 of 1), Contradicted" in said
    assert "cannot be said 1 (not measured: Context Recall, Context Precision and Answer Relevance)" in said
    reason = "it stands on the verdicts of m@2, and in the baseline on those of m@1"
    assert f"0 metrics worse, 0 better. 2 metrics not compared: {reason}." in said
    assert "judge" not in summary(report_of(2, set())).lower()


def test_the_summary_is_appended(tmp_path: Path) -> None:
    file = tmp_path / "summary.md"
    file.write_text("before\n")
    assert append("text", {"GITHUB_STEP_SUMMARY": str(file)}) is None
    assert append("lone \ud800", {"GITHUB_STEP_SUMMARY": str(file)}) is None
    assert file.read_text() == "before\ntext\nlone ?\n"


@pytest.mark.parametrize("environment", [{}, {"GITHUB_STEP_SUMMARY": ""}])
def test_outside_of_github_it_is_a_sentence(environment: dict[str, str]) -> None:
    said = append("text", environment)
    assert said is not None
    assert said.startswith("--github: GITHUB_STEP_SUMMARY must name a file")


def test_a_full_summary_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "summary.md"
    file.write_bytes(b"x" * (LARGEST_SUMMARY - 4))
    said = append("text", {"GITHUB_STEP_SUMMARY": str(file)})
    assert said is not None
    assert "must have room for 5 bytes more" in said
    assert file.stat().st_size == LARGEST_SUMMARY - 4
    assert append("tex", {"GITHUB_STEP_SUMMARY": str(file)}) is None


def test_a_summary_that_cannot_be_written_is_a_sentence(tmp_path: Path) -> None:
    said = append("text", {"GITHUB_STEP_SUMMARY": str(tmp_path)})
    assert said is not None
    assert "must be a file that can be written" in said
