from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from rag_titan.evaluation.catalogue import CATALOGUE
from rag_titan.evaluation.reports.compare import compare
from rag_titan.evaluation.reports.figures import share_text
from rag_titan.evaluation.reports.html import html
from rag_titan.evaluation.reports.markdown import QUESTIONS_SHOWN, markdown
from rag_titan.evaluation.reports.stage_tables import missing_texts
from rag_titan.integrations import github

MARKDOWN = MarkdownIt("commonmark", {"html": True}).enable("table")


def sections(text: str) -> dict[str, str]:
    parts = re.split(r"^## (.*)$", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def check_tables(text: str) -> None:
    """Every row has the cells of its header, and a parser finds as many tables as were begun."""
    width, begun = None, 0
    for line in text.splitlines():
        if not line.startswith("|"):
            width = None
            continue
        pipes = len(re.findall(r"(?<!\\)\|", line))
        begun += width is None
        width = width or pipes
        assert pipes == width, line
    tokens = MARKDOWN.parse(text)
    assert sum(token.type == "table_open" for token in tokens) == begun
    kinds = {token.type for token in tokens} | {c.type for token in tokens for c in token.children or []}
    assert not kinds & {"html_block", "html_inline", "link_open", "image", "code_inline", "fence", "code_block"}


def test_the_report_has_the_form_of_stages_txt(report: dict[str, Any]) -> None:
    text = markdown(report)
    overall = report["scorecard"]["overall"]
    assert f"Overall: {overall['score']:.1f}/100 - {overall['rating']}" in text
    assert f"Assessment: Action Required · Measurement coverage: {share_text(overall['coverage'])}" in text
    assert re.search(r"\| Pipeline stage +\| Score / 100 \| Rating +\| Measurement coverage \|", text)
    assert re.search(r"\| Information search +\| +\d+\.\d \| \w+", text)
    assert list(sections(text)) == [
        "Scorecard",
        "Quality gates",
        "Where the questions were lost",
        "Improvement priorities",
        "Root-cause hints",
        "Questions to look at",
        "Stages",
        "Times",
        "Warnings",
        "How to read this report",
    ]
    check_tables(text)
    assert not re.search(r"\bnan\b", text, re.IGNORECASE)


def test_each_section_says_what_is_there(report: dict[str, Any]) -> None:
    found = sections(markdown(report))
    assert re.search(r"Information search +\| Recall@5 +\| at least 0.700 \| +0.500 \| FAIL", found["Quality gates"])
    assert (
        "Evidence lost for 1 of 2 questions: Information search (retrieval) 1."
        in found["Where the questions were lost"]
    )
    assert "1 right, 1 wrong, 1 unjudged" in found["Where the questions were lost"]
    assert "First threshold missed: **Information search (retrieval)**" in found["Root-cause hints"]
    assert "gold chunk c7 is at rank 9" in found["Questions to look at"]
    assert "wrong (required_facts)" in found["Questions to look at"]
    assert "q2" not in found["Questions to look at"]
    assert "c\\|9" in found["Warnings"]
    assert "linear gain" in found["How to read this report"]
    assert "nDCG@5 (linear gain)" in found["Stages"]


def test_a_stage_table_says_on_what_a_value_stands_and_what_is_not_measured(report: dict[str, Any]) -> None:
    stages = sections(markdown(report))["Stages"]
    assert re.search(r"Recall@5 +\| recall_at_k +\| +0.500 \| +50.0 \| 2 of 3 questions +\| 0.100 to 0.900", stages)
    assert re.search(r"p95_latency_ms +\| +290 ms \| +– \| all 3 questions", stages)
    assert stages.count("95 % interval") == 1  # the other stages have none to show
    assert "because expected_evidence was not passed" in stages
    assert re.search(r"own_metric +\| own_metric +\| +3.000", stages)
    assert "1 more, which no score counts, wait for expected_x." in stages
    assert "Not evaluated, because context_ids was not passed." in stages


def test_further_cutoffs_stand_beside_k(report: dict[str, Any]) -> None:
    report["retrieval"]["at"] = {"10": {"recall_at_k": 0.75}, "1": {"recall_at_k": None}}
    text = markdown(report)
    assert "At further cut-offs:" in text
    assert re.search(r"\| Metric +\| K = 1 \| K = 5 \| K = 10 \|", text)
    assert re.search(r"\| Recall@K +\| +– \| 0.500 \| +0.750 \|", text)
    check_tables(text)
    assert "At further cut-offs" not in markdown({**report, "retrieval": {"summary": {"recall_at_k": 0.5}, "at": {}}})


def test_errors_are_said_first(report: dict[str, Any]) -> None:
    report["diagnosis"]["counts"]["errors"] = 2
    assert "**2 of 3 questions got no answer because of an error.**" in markdown(report).partition("## ")[0]


def test_times_that_no_score_counts_stand_in_their_own_section_alone(report: dict[str, Any]) -> None:
    report["retrieval"]["summary"]["p99_latency_ms"] = 999.0
    found = sections(markdown(report))
    assert "p99_latency_ms" not in found["Stages"]
    assert "999 ms" in found["Times"]


def test_times_stand_together(report: dict[str, Any]) -> None:
    row = next(line for line in sections(markdown(report))["Times"].splitlines() if line.startswith("| Retrieval"))
    assert [cell.strip() for cell in row.split("|")[1:-1]] == [
        "Retrieval Latency", "Information search", "110 ms", "290 ms", "–", "3",
    ]  # fmt: skip


def test_the_questions_shown_are_capped_and_every_stage_has_some(report: dict[str, Any]) -> None:
    lost = [{"id": f"r{i}", "lost_at": "retrieval", "correct": False} for i in range(500)]
    report["queries"] = [*lost, {"id": "last", "lost_at": "augmentation", "correct": False}]
    shown = sections(markdown(report))["Questions to look at"]
    assert f"501 failed; {QUESTIONS_SHOWN} of them, from every stage:" in shown
    assert shown.count("\n| r") == QUESTIONS_SHOWN - 1
    assert "| last" in shown


def test_no_failed_question_is_said_and_no_verdicts_are_not(report: dict[str, Any]) -> None:
    assert "No question failed" in markdown({**report, "queries": []})
    without = {key: value for key, value in report.items() if key not in ("queries", "diagnosis", "retrieval")}
    assert "Questions to look at" not in markdown(without)


def test_a_comparison_is_shown_when_given(report: dict[str, Any]) -> None:
    baseline = {"retrieval": {"summary": {"recall_at_k": 0.9, "ndcg_at_k": 0.1}}, "meta": {"k": 5}}
    shown = sections(markdown(report, compare(report, baseline)))["Against the baseline"]
    assert re.search(r"Recall@5 \(primary\) +\| +0.900 \| +0.500 \| -0.400 \|.+\| worse, not tested", shown)
    assert re.search(r"nDCG@5 \(linear gain\) +\| +0.100 \| +0.750 \| \+0.650 \|.+\| better, not tested", shown)
    assert re.search(r"MRR@5 +\| +– \| +0.625 \| .+\| newly measured", shown)
    other = compare(report, {**baseline, "meta": {"k": 9}})
    assert "Not comparable: baseline: must have the same K" in markdown(report, other)
    assert "No metric changed by more than the tolerance of 0.02.\n\n## " in markdown(report, compare(report, report))


@pytest.mark.parametrize(
    "report", [{}, {"retrieval": {"summary": {"recall_at_k": 0.5}}}, {"scorecard": None, "meta": None}]
)
def test_a_report_that_lacks_parts_is_shown_without_them(report: dict[str, Any]) -> None:
    text = markdown(report)
    assert text.startswith("# RAG evaluation report\n")
    check_tables(text)


def test_nothing_evaluated_is_said_and_no_0(report: dict[str, Any]) -> None:
    overall = {"score": None, "rating": None, "status": "Not Evaluated", "coverage": 0.0}
    text = markdown({"scorecard": {"overall": overall, "stages": {}, "gates": []}})
    assert "**Overall: –/100 - not rated**" in text
    assert "Not Evaluated · Measurement coverage: 0%" in text


NASTY = st.text(st.sampled_from("|\\`*_[]()<>!&#~$\n\r\u2028\u202e\ud800a "), min_size=1, max_size=20)


@given(NASTY, NASTY, NASTY)
def test_no_text_of_the_data_leaves_its_cell_or_line(query: str, why: str, warning: str) -> None:
    report = {
        "meta": {"k": 5, "rag_titan": warning, "conventions": {"tokenizer": why}},
        "warnings": [warning],
        "retrieval": {
            "summary": {"recall_at_k": 0.5, query: 1.0, "mrr_at_k": None},
            "detail": {"mrr_at_k": {"n": 0, "of": 1, "reason": why}},
        },
        "queries": [{"id": query, "lost_at": "retrieval", "correct": False, "correct_by": why, "why": [why, warning]}],
        "diagnosis": {"funnel": [{"stage": why, "lost": 1, "kept": 1}]},
    }
    text = markdown(report)
    text.encode("utf-8")
    check_tables(text)
    assert len(re.findall(r"^#+ ", text, flags=re.MULTILINE)) == len(re.findall(r"^#+ [A-Z]", text, flags=re.MULTILINE))


def test_the_head_says_what_to_fix_first_and_how_much_the_rating_stands_on(report: dict[str, Any]) -> None:
    report["queries"] = [{"id": "a", "lost_at": "generation", "correct": False}]
    report["root_causes"]["first_failing_stage"] = "retrieval"
    report["scorecard"]["overall"]["coverage"] = 0.1
    report["end_to_end"] = {"error_rate": 0.25}
    text = markdown(report)
    head = text.partition("## ")[0]
    assert (
        "**Fix first: Answer quality (generation), which gave the wrong answer to 1 of 1 failed question: a.**" in head
    )
    assert "** (the rating stands on 10% of what counts)  " in head
    assert "errors 0.250" in head
    causes = sections(text)["Root-cause hints"]
    assert "But begin with Answer quality (generation), where 1 of 1 failed question was lost." in causes
    assert "begin there" not in causes


def test_the_two_hints_agree_where_they_name_one_stage(report: dict[str, Any]) -> None:
    report["queries"] = [{"id": "a", "lost_at": "retrieval", "correct": False}]
    assert "so begin there." in sections(markdown(report))["Root-cause hints"]


def test_a_place_that_nobody_knows_is_said(report: dict[str, Any]) -> None:
    report["queries"] = [{"id": "a", "lost_at": None, "correct": False}]
    text = markdown(report)
    assert re.search(r"\| a +\| not known +\| wrong", sections(text)["Questions to look at"])
    assert "Fix first" not in text


@pytest.mark.parametrize(
    ("stages", "said"),
    [(["augmentation", "generation"], "in the prompt, answered wrong"), (["generation"], "evidence at hand, answered")],
)
def test_without_a_logged_context_nothing_was_in_the_prompt(stages: list[str], said: str) -> None:
    funnel = [{"stage": stage, "lost": 1, "kept": 3} for stage in stages]
    assert f"Answer quality (generation): {said}" in markdown({"diagnosis": {"funnel": funnel}})


def test_a_gate_whose_interval_holds_the_limit_is_said_to_be_undecided() -> None:
    gate = {"stage": "retrieval", "metric": "recall_at_k", "minimum": 0.8, "value": 0.7, "status": "fail"}
    text = markdown({"scorecard": {"gates": [{**gate, "verdict": "undecided"}, {**gate, "verdict": "fail"}]}})
    said = "1 failed, 1 undecided (by the value 1 failed), 0 passed. A gate is undecided where its 95 % interval holds"
    assert said in text
    assert text.count("FAIL, undecided") == 1


def test_gates_are_counted_alike_in_every_report() -> None:
    known = {"stage": "retrieval", "metric": "recall_at_k", "minimum": 0.7, "value": 0.811}
    statuses = [("pass", "undecided"), ("pass", "pass"), ("fail", "fail"), ("unmeasured", "unmeasured")]
    gates = [{**known, "status": status, "verdict": verdict} for status, verdict in statuses]
    gates.append({**known, "status": "pass"})  # an older report knows no verdicts
    counts = {"questions": 0, "errors": 0}
    overall = {"score": None, "rating": None, "status": "Evaluated", "coverage": 0.0}
    report = {"scorecard": {"gates": gates, "overall": overall}, "diagnosis": {"counts": counts}, "queries": []}
    for text in (markdown(report), html(report), github.summary(report)):
        assert "1 failed, 1 undecided (by the value 1 passed), 2 passed, 1 not measured." in text


def test_what_metrics_wait_for_is_named_once() -> None:
    keys = ("time_to_first_token_p50_latency_ms", "inter_token_p50_latency_ms", "refusal_rate")
    rows = [row for row in CATALOGUE.values() if row.key in keys]
    missing = {
        keys[0]: "time_to_first_token_ms was not passed",
        keys[1]: "time_to_first_token_ms and output_tokens were not passed",
        keys[2]: "not measured: undefined (0/0)",
    }
    detail = {key: {"reason": f"not measured, because {reason}"} for key, reason in missing.items()}
    waits = [text for text in missing_texts(rows, detail, {"k": 5}) if "wait for" in text]
    assert waits == ["2 more, which no score counts, wait for time_to_first_token_ms, output_tokens."]
