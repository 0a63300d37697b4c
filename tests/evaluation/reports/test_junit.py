"""JUnit XML: cases, counts, and texts that XML has no form for."""

from __future__ import annotations

from typing import Any
from xml.etree.ElementTree import Element, fromstring

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_titan.evaluation import RAGEvaluator, ReportManager
from rag_titan.evaluation.reports.junit import LONGEST, junit
from rag_titan.evaluation.reports.markdown import markdown


def gate(metric: str = "recall_at_k", **more: Any) -> dict[str, Any]:
    usual = {"stage": "retrieval", "metric": metric, "minimum": 0.7, "value": 0.5, "status": "fail", "required": False}
    return {**usual, "ci95": [0.3, 0.6], "verdict": "fail", "needed": None, **more}


def card(*gates: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"scorecard": {"gates": list(gates)}, **more}


def worse(significant: bool | None, metric: str = "retrieval.recall_at_k") -> dict[str, Any]:
    values = {"baseline": 0.9, "current": 0.8, "change": -0.1, "n": 10, "ci95": [-0.3, 0.1], "needed": 90}
    return {"metric": metric, **values, "significant": significant, "untested": None, "wins": 1, "losses": 2}


def compared(*regressions: dict[str, Any]) -> dict[str, Any]:
    return {"comparable": True, "reason": None, "regressions": list(regressions)}


def suites(text: str) -> dict[str, dict[str, tuple[str, str]]]:
    """{suite: {case: (how it came out, message)}}, with every count checked."""
    root = fromstring(text.encode())
    assert root.tag == "testsuites"
    assert [counted(root, "testcase"), counted(root, "failure"), counted(root, "error")] == [
        root.get("tests"), root.get("failures"), root.get("errors"),
    ]  # fmt: skip
    found: dict[str, dict[str, tuple[str, str]]] = {}
    for suite in root:
        tags = ("testcase", "failure", "error", "skipped")
        names = ("tests", "failures", "errors", "skipped")
        assert [counted(suite, tag) for tag in tags] == [suite.get(name) for name in names]
        cases = found.setdefault(suite.get("name") or "", {})
        for case in suite:
            assert case.get("classname") == f"rag-titan.{suite.get('name')}"
            outcome = {child.tag: child.get("message") or "" for child in case}
            cases[case.get("name") or ""] = next(iter(outcome.items()), ("passed", ""))
    return found


def counted(element: Element, tag: str) -> str:
    return str(len(list(element.iter(tag))))


@pytest.mark.parametrize(
    ("change", "outcome", "said"),
    [
        ({}, "failure", "retrieval.recall_at_k is 0.500, must be at least 0.700; 95% interval 0.300 to 0.600"),
        ({"verdict": "pass", "status": "pass", "value": 0.9}, "passed", ""),
        ({"verdict": "undecided", "needed": 81}, "skipped", "undecided: retrieval.recall_at_k is 0.500"),
        ({"verdict": "undecided", "status": "pass", "value": 0.8}, "skipped", "undecided: retrieval.recall_at_k is"),
        ({"verdict": "unmeasured", "status": "unmeasured", "value": None}, "skipped", "is not measured"),
        ({"verdict": "fail", "value": None, "required": True}, "failure", "is not measured"),
    ],
)
def test_a_gate_is_a_case(change: dict[str, Any], outcome: str, said: str) -> None:
    found, message = suites(junit(card(gate(**change))))["gates"]["retrieval.recall_at_k"]
    assert found == outcome
    assert said in message


def test_an_undecided_gate_that_fails_the_run_is_a_failed_case() -> None:
    failing = [{"rule": "gate", "name": "retrieval.recall_at_k", "text": "x"}]
    found = suites(junit(card(gate(verdict="undecided")), failures=failing))
    assert found["gates"]["retrieval.recall_at_k"][0] == "failure"
    assert list(found) == ["gates"]


def test_regressions_that_fail_nothing_are_skipped() -> None:
    failing = [{"rule": "regression", "name": "retrieval.recall_at_k", "text": "x"}]
    both = compared(worse(True), worse(False, "retrieval.mrr_at_k"))
    found = suites(junit(card(), both, failures=failing))["regressions"]
    assert found["retrieval.recall_at_k"][0] == "failure"
    assert found["retrieval.mrr_at_k"][0] == "skipped"
    assert (
        "(could be noise); -0.100, 95% interval -0.300 to +0.100; 10 questions, about 90 needed"
        in (found["retrieval.mrr_at_k"][1])
    )
    assert suites(junit(card(), compared()))["regressions"] == {"nothing got worse": ("passed", "")}


def test_other_rules_have_cases_and_what_cannot_be_judged_is_an_error() -> None:
    failing = [
        {"rule": "vanished", "name": "generation.answer_f1", "text": "gone"},
        {"rule": "error_rate", "name": "error_rate", "text": "too many"},
        {"rule": "measured", "name": "measured", "text": "nothing"},
        {"rule": "required", "name": "retrieval.recall_at_k", "text": "its gate says so"},
    ]
    found = suites(junit(card(gate(value=None, verdict="fail")), failures=failing))
    assert found["rules"] == {
        "vanished generation.answer_f1": ("failure", "gone"),
        "error_rate": ("failure", "too many"),
        "measured": ("error", "nothing"),
    }


def test_questions_that_failed_are_cases_on_request() -> None:
    queries = [{"id": name, "expected_chunk_ids": ["a"], "retrieved_ids": [name]} for name in ("a", "b", "c")]
    report = RAGEvaluator().evaluate(queries=queries)
    assert "questions" not in suites(junit(report))
    found = suites(junit(report, per_query=True))["questions"]
    assert list(found) == ["b", "c"]
    assert found["b"][1].startswith("retrieval: ")


def test_no_report_is_too_small() -> None:
    assert suites(junit({})) == {}


@given(st.text(st.characters(exclude_categories=())), st.text(st.characters(exclude_categories=())))
def test_any_text_can_be_read_back(name: str, text: str) -> None:
    failing = [{"rule": "vanished", "name": name, "text": text}]
    written = junit(card(), failures=failing)
    written.encode("utf-8")
    ((case, (outcome, message)),) = suites(written)["rules"].items()
    assert (case.startswith("vanished "), outcome) == (True, "failure")
    assert len(message) == len(text)


def test_a_long_text_is_cut_and_says_so() -> None:
    failing = [{"rule": "error_rate", "name": "error_rate", "text": "x" * 100_000}]
    ((_, message),) = suites(junit(card(), failures=failing))["rules"].values()
    assert message.endswith("x… (98,000 more characters)")
    assert len(message) < LONGEST + 50


def test_it_is_written_whole_into_a_new_folder(tmp_path: Any) -> None:
    ReportManager().save_junit(card(gate()), tmp_path / "new" / "junit.xml")
    assert (tmp_path / "new" / "junit.xml").read_text(encoding="utf-8") == junit(card(gate()))


def test_without_lists_per_query_the_questions_that_are_not_named_are_counted() -> None:
    """Of 130 that failed at one stage a report without lists names 100."""
    queries = [{"id": f"q{i:03}", "expected_chunk_ids": ["a"], "retrieved_ids": ["b"]} for i in range(130)]
    report = RAGEvaluator().evaluate(queries=queries, per_query=None)
    found = suites(junit(report, per_query=True))["questions"]
    assert len(found) == 101
    assert found["not named"] == (
        "skipped",
        "30 more questions failed, which a report without lists per query does not name",
    )
    assert "130 failed; 50 of them, from every stage:" in markdown(report)
