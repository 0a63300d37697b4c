"""Several reports side by side."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from tests.evaluation.reports.of_questions import chances, noisy, report_of

from rag_titan.errors import SettingsError
from rag_titan.evaluation.reports.diff import VERDICTS, diff
from rag_titan.evaluation.reports.diff_tables import HEADINGS, markdown_of
from rag_titan.evaluation.reports.manager import ReportManager

RECALL = "retrieval.recall_at_k"


def runs() -> list[dict[str, Any]]:
    """A good run, one that differs by chance, and a bad one."""
    rng = np.random.default_rng(2)
    questions = chances(rng, 120)
    return [report_of(noisy(rng, questions, drop=drop), created_at=f"day {i}") for i, drop in enumerate((0, 0, 0.25))]


def verdict(query: str, failed: bool, lost: Any = "retrieval") -> dict[str, Any]:
    return {"id": query, "correct": not failed, "lost_at": lost if failed else None, "why": ["gone"] if failed else []}


def test_every_metric_has_a_value_a_report_and_one_verdict() -> None:
    reports = runs()
    found = diff(reports, names=["a", "b", "c"])
    names = [entry["metric"] for entry in found["metrics"]]
    assert len(names) == len(set(names))
    recall = next(entry for entry in found["metrics"] if entry["metric"] == RECALL)
    assert recall["values"] == [report["retrieval"]["summary"]["recall_at_k"] for report in reports]
    assert recall["verdict"] == "worse"
    assert [one["name"] for one in found["reports"]] == ["a", "b", "c"]
    assert [one["questions"] for one in found["reports"]] == [120, 120, 120]
    json.dumps(found, allow_nan=False)


def test_the_worst_stand_first_and_the_primary_before_others() -> None:
    entries = diff(runs())["metrics"]
    order = [VERDICTS.index(entry["verdict"]) for entry in entries]
    assert order == sorted(order)
    worse = [entry for entry in entries if entry["verdict"] == "worse"]
    assert [entry["primary"] for entry in worse] == sorted((entry["primary"] for entry in worse), reverse=True)
    primary = [entry["change"] for entry in worse if entry["primary"]]
    assert primary == sorted(primary)


def test_noise_is_not_sure() -> None:
    rng = np.random.default_rng(4)
    questions = chances(rng, 20)
    found = diff([report_of(noisy(rng, questions)) for _ in range(2)])
    assert {entry["verdict"] for entry in found["metrics"]} <= {"not sure", "same"}
    assert "not sure" in {entry["verdict"] for entry in found["metrics"]}


def test_questions_that_changed_sides() -> None:
    before = {**report_of({RECALL: [1.0]}), "queries": [verdict("a", False), verdict("b", True), verdict("old", True)]}
    now = {**report_of({RECALL: [0.5]}), "queries": [verdict("a", True), verdict("b", False), verdict("new", True)]}
    changed = diff([before, now])["questions_changed"]
    assert changed == {
        "failed_before": 1, "failed_now": 1,
        "newly_failed": [{"id": "a", "lost_at": "retrieval", "why": ["gone"]}],
        "newly_right": [{"id": "b", "lost_at": "retrieval", "why": ["gone"]}],
    }  # fmt: skip
    assert diff([{**before, "queries": None}, now])["questions_changed"] is None


@pytest.mark.parametrize(
    "queries", [[1, "x", {}, {"id": "a", "why": 7, "lost_at": 3, "correct": False}], {"a": 1}, "x"]
)
def test_verdicts_of_something_else_do_no_harm(queries: Any) -> None:
    report = {**report_of({RECALL: [1.0]}), "queries": queries}
    json.dumps(diff([report, {**report, "queries": [verdict("a", False)]}]), allow_nan=False)


def test_a_middle_report_of_another_k_is_said_and_left_blank() -> None:
    first, middle, last = runs()
    middle["meta"]["k"], first["meta"]["k"], last["meta"]["k"] = 10, 5, 5
    found = diff([first, middle, last], names=["a", "b", "c"])
    assert found["notes"][-1].startswith("b is not comparable: baseline: must have the same K")
    assert all(entry["values"][1] is None for entry in found["metrics"])


def test_reports_that_are_not_comparable_have_no_metrics() -> None:
    first, _, last = runs()
    first["meta"]["k"], last["meta"]["k"] = 5, 6
    found = diff([first, last])
    assert not found["comparable"]
    assert found["metrics"] == []
    assert "**Not comparable.** baseline: must have the same K" in markdown_of(found)


def test_one_report_is_too_few() -> None:
    with pytest.raises(SettingsError, match="must have at least two reports, got 1"):
        diff([{}])


def test_markdown_keeps_hostile_names_in_their_cells() -> None:
    first, _, last = runs()
    evil = "<script>|x\u202e"
    first["retrieval"]["summary"][evil], last["retrieval"]["summary"][evil] = 1.0, 2.0
    last["queries"] = first["queries"] = [verdict(evil, True)]
    text = markdown_of(ReportManager().diff([first, last], names=[evil, "b"]), everything=True)
    assert "<script>" not in text
    widths = [line.replace("\\|", "").count("|") for line in text.splitlines() if line.startswith("|")]
    assert set(widths) == {5, 9}


def test_every_verdict_has_a_heading_in_the_same_order() -> None:
    assert tuple(HEADINGS) == VERDICTS
