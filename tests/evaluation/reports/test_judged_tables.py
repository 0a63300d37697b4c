"""What the judge finds, in Markdown, on the terminal and in the HTML report; nothing of it without verdicts."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from rag_titan.evaluation import RAGEvaluator, ReportManager, ScoreAggregator
from rag_titan.evaluation.catalogue import ROWS
from rag_titan.evaluation.diagnosis.judged import SIGNS
from rag_titan.evaluation.reports import judged_tables
from rag_titan.evaluation.reports.html import html
from rag_titan.evaluation.reports.markdown import markdown

pytest.importorskip("jinja2")

YES, DENIED, NO = "supported", "contradicted", "not_supported"
JUDGE = "a-model@0123456789abcdef"
CHUNKS = [{"id": "a", "text": "Leave is  25 days a year."}, {"id": "b", "text": "Lunch is at noon."}]
Record = dict[str, Any]


def query(name: str, *claims: Record, recalled: str = YES, **more: Any) -> Record:
    verdicts = {
        "judge": JUDGE,
        "answer_claims": list(claims),
        "reference_claims": [{"text": "25 days", "context": recalled}],
        "useful_chunks": {"a": True, "b": False},
        "question_similarities": [0.9],
    }
    base = {"id": name, "question": f"{name}?", "context_ids": ["a", "b"], "expected_chunk_ids": ["a"], "answer": "30"}
    return {**base, "verdicts": verdicts, **more}


@pytest.fixture
def report() -> Record:
    queries = [
        query("q1", {"text": "25 days", "context": YES, "evidence": "is 25 days"}, task_success=True),
        query(
            "q2", {"text": "30 <b>days</b>", "context": DENIED, "evidence": "25 days", "by": "rule"}, task_success=True
        ),
        query("q3", {"text": "x", "chunks": {"a": YES, "b": NO}}, recalled=NO),
        query("q4", {"text": "x", "context": YES}),
    ]
    del queries[3]["verdicts"]["question_similarities"]
    queries[3]["verdicts"]["unjudged"] = {"answer_relevance": "the judge gave half a JSON"}
    return RAGEvaluator(k=2, explorer=True).evaluate(chunks=CHUNKS, queries=queries)


def section(text: str) -> list[str]:
    return text.split("## What the judge finds\n")[1].split("\n## ")[0].splitlines()


def test_markdown(report: Record) -> None:
    lines = section(markdown(report))
    assert lines[1].startswith(f"Judged by {JUDGE} (4 questions). Without a verdict: Answer Relevance on 1 question.")
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| ")]
    assert ["Hallucination despite good context", "1", "prompt or model", "q2"] in rows
    assert ["Evidence never retrieved", "1", "chunking, embedding, K", "q3"] in rows
    assert ["Healthy", "1", "–", "–"] in rows
    assert ["Cannot be said", "1", "nothing to judge, or verdicts that are missing", "q4"] in rows
    assert ["Faithfulness", "0.750", "below 0.80", "1 of 4"] in rows
    assert ["Answer Relevance", "0.900", "below 0.40", "0 of 3"] in rows
    assert "The two differ on 2 of the 3 questions that both speak of:" in lines
    said = next(row for row in rows if row[0] == "q2")
    assert said[1:] == [
        "Hallucination despite good context (Faithfulness 0.000)", "nothing lost, the answer is right (task_success)",
    ]  # fmt: skip


def test_the_stage_has_its_values_with_intervals(report: Record) -> None:
    text = markdown(report)
    (line,) = [line for line in text.splitlines() if line.startswith("| Faithfulness ") and " faithfulness " in line]
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    assert cells[:3] == ["Faithfulness", "faithfulness", "0.750"]
    assert cells[4] == "all 4 questions"
    assert " to " in cells[5]


def test_the_line_of_the_terminal(report: Record) -> None:
    assert judged_tables.scores_line(report, ROWS) == (
        "Judge: Context Recall 0.750 (low on 1 of 4), Context Precision 1.000 (low on 0 of 4), "
        "Faithfulness 0.750 (low on 1 of 4), Answer Relevance 0.900 (low on 0 of 3), Contradicted Claims 0.250, "
        "Claim Recall 0.750"
    )
    assert judged_tables.judged_line(report, ROWS) == (
        "By the judge, of 4 questions: evidence never retrieved 1; hallucination despite good context 1; "
        "cannot be said 1; the funnel differs on 2"
    )


def test_nothing_of_it_without_verdicts() -> None:
    plain = RAGEvaluator(k=2).evaluate(queries=[{"id": "q", "expected_chunk_ids": ["a"], "retrieved_ids": ["a"]}])
    assert judged_tables.judged_line(plain, ROWS) is None
    assert judged_tables.scores_line(plain, ROWS) is None
    assert "What the judge finds" not in markdown(plain)
    assert 'id="judged"' not in html(plain)
    assert judged_tables.tables({"judge": None}, ROWS) == []


def test_what_was_not_asked_for_is_named() -> None:
    """With faithfulness alone no question can be called healthy; the score is told all the same."""
    queries = [{"id": f"q{n}", "answer": "x", "verdicts": {"answer_claims": [{"context": NO}]}} for n in range(3)]
    alone = RAGEvaluator().evaluate(queries=queries)
    assert judged_tables.scores_line(alone, ROWS) == (
        "Judge: Faithfulness 0.000 (low on 3 of 3), Contradicted Claims 0.000"
    )
    assert judged_tables.judged_line(alone, ROWS) == (
        "By the judge, of 3 questions: cannot be said 3 (not measured: Context Recall, Context Precision and Answer "
        "Relevance)"
    )
    text = "\n".join(section(markdown(alone)))
    assert "ask the judge for Context Recall, Context Precision and Answer Relevance, too" in text
    assert "WordLlama" not in text


def test_a_score_without_a_limit_is_said_to_have_none() -> None:
    """Answer relevance by the vectors of another embedder is measured, and in no diagnosis."""
    signs = {sign: {"low": 0, "measured": 0 if sign == "answer_relevance" else 3} for sign in SIGNS}
    diagnosis = {"rows": {"undetermined": 3}, "signs": signs, "limits": dict.fromkeys(SIGNS, 0.5)}
    other = {"judge": {"summary": dict.fromkeys(SIGNS, 0.75), "diagnosis": diagnosis}}
    assert judged_tables.judged_line(other, ROWS) == (
        "By the judge, of 3 questions: cannot be said 3 (no limit for Answer Relevance)"
    )
    assert judged_tables.caveat_text(other, ROWS).startswith("Answer Relevance has no limit here: its scale is that of")
    assert [row["fix"] for row in judged_tables.diagnosis_rows(other, ROWS)] == ["set a threshold for Answer Relevance"]
    assert "Answer Relevance 0.750" in str(judged_tables.scores_line(other, ROWS))
    assert "Answer Relevance has no limit" in html(other)


def test_metrics_that_lack_verdicts_on_as_many_questions_stand_together() -> None:
    unjudged = {"answer_relevance": 1, "claim_recall": 3, "context_recall": 3, "faithfulness": 3, "hallucination": 3}
    more = {**unjudged, "self_knowledge": 3}
    said = judged_tables.unjudged_text({"judge": {"unjudged": unjudged}}, ROWS)
    assert said == (
        "Without a verdict: Claim Recall, Context Recall, Faithfulness and Hallucination on 3 questions; "
        "Answer Relevance on 1 question"
    )
    assert "Claim Recall, Context Recall, Faithfulness and 2 more on 3 questions" in judged_tables.unjudged_text(
        {"judge": {"unjudged": more}}, ROWS
    )


def test_a_judge_without_weights_is_not_scored_and_not_unmeasured(report: Record) -> None:
    (row,) = [line for line in markdown(report).splitlines() if line.startswith("| Judge's verdicts ")]
    assert [cell.strip() for cell in row.strip("|").split("|")] == ["Judge's verdicts", "–", "not scored", "–"]
    heading = html(report).split("Judge&#39;s verdicts</span>")[1].split("</summary>")[0]
    assert "<span>not scored</span>" in heading
    assert "0%</span>" not in heading


def test_where_no_label_speaks_of_the_evidence_nothing_is_said_of_it() -> None:
    healthy = query("q1", {"text": "x", "context": YES}, task_success=False)
    del healthy["expected_chunk_ids"]
    report = RAGEvaluator(k=2).evaluate(chunks=CHUNKS, queries=[healthy])
    assert judged_tables.differing(report, ROWS) == [("q1", "Healthy", "the answer is wrong (task_success)")]


def test_without_lists_per_query_the_counts_are_told(report: Record) -> None:
    slim = {key: value for key, value in report.items() if key not in ("queries", "explorer")}
    lines = section(markdown(slim))
    assert lines[-1].strip() == "" or lines[-1] == "The two differ on 2 of the 3 questions that both speak of."
    assert "The two differ on 2 of the 3 questions that both speak of." in lines


class Texts(HTMLParser):
    """The texts of a page, and of the list items their classes."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.items: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "li":
            self.items.append(dict(attrs).get("class") or "")

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_html(report: Record) -> None:
    parser = Texts()
    parser.feed(html(report))
    text = " ".join(parser.texts)
    assert "What the judge finds" in text
    assert "Where judge and funnel differ" in text
    assert f"Judged by {JUDGE} (4 questions)" in text


def test_the_explorer_has_the_statements_with_their_verdicts(report: Record) -> None:
    rows = {row["id"]: row for row in report["explorer"]["queries"]}
    (claim,) = rows["q1"]["claims"]["answer"]
    assert (claim["context"], claim["evidence"]) == (YES, "is 25 days")
    (place,) = claim["places"]
    assert place["chunk"] == "a"
    assert CHUNKS[0]["text"][place["start"] : place["end"]] == "is  25 days"
    failing = {**report, "queries": [{**row, "correct": False} for row in report["queries"]]}
    explorer = {
        **report["explorer"],
        "queries": [{**r, "verdict": {**r["verdict"], "correct": False}} for r in rows.values()],
    }
    page = html(failing, explorer=explorer)
    tagged = '<li class="contradicted" dir="auto"><b class="tag">contradicted</b> '
    assert f"{tagged}30 &lt;b&gt;days&lt;/b&gt;; “25 days”; settled by rule" in page
    assert "<b>days</b>" not in page
    assert "the funnel differs, by gold labels and logs" in page
    assert "quoted by the judge" in page
    assert "x; in a" in page


def test_redacted_statements_stay_unseen() -> None:
    queries = [query("q1", {"text": "a secret", "context": YES, "evidence": "Leave is"})]
    report = RAGEvaluator(k=2, explorer=True, redact=True).evaluate(chunks=CHUNKS, queries=queries)
    assert "a secret" not in json.dumps(report)
    assert "Leave is" not in json.dumps(report)
    (claim,) = report["explorer"]["queries"][0]["claims"]["answer"]
    assert claim["places"] == []  # a place in a text that is not shown


def test_junit_and_gates_take_the_stage_as_any(tmp_path: Path) -> None:
    scorer = ScoreAggregator(quality_gates={"judge": {"faithfulness": 0.9}})
    gated = RAGEvaluator(k=2, scorer=scorer).evaluate(
        chunks=CHUNKS, queries=[query("q1", {"context": NO}), query("q2", {"context": YES})]
    )
    ReportManager().save_junit(gated, tmp_path / "junit.xml")
    assert "judge.faithfulness" in (tmp_path / "junit.xml").read_text()
