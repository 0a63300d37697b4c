"""The slices in the Markdown report and in a few lines for a terminal."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rag_titan.evaluation import RAGEvaluator, slice_tallies
from rag_titan.evaluation.catalogue import ROWS
from rag_titan.evaluation.reports.markdown import markdown
from rag_titan.evaluation.reports.slice_tables import differences, slice_lines, slice_name, tables

Rows = list[dict[str, Any]]
BAD = "x|y\n# z <script>alert(1)</script> `c` \u202e\x1b[31m\ud800 https://evil.example"


def questions(value: Any, count: int, rank: int | None, **more: Any) -> Rows:
    """Questions with a tag whose gold chunk stands at that rank; None: it is not found."""
    found = ["x", "y", "z"] if rank is None else [*["x", "y", "z"][: rank - 1], "gold"]
    made = {"expected_chunk_ids": ["gold"], "retrieved_ids": found, "tags": {"language": value}, **more}
    return [{"id": f"{value!r:.20}-{i}", **made} for i in range(count)]


def report(*groups: Rows, by: tuple[str, ...] = ("language",)) -> dict[str, Any]:
    made = RAGEvaluator(k=3, by=by).evaluate(queries=[row for group in groups for row in group])
    again: dict[str, Any] = json.loads(json.dumps(made))
    return again


def cells(lines: list[str], start: str) -> list[str]:
    row = next(text for text in lines if text.startswith(f"| {start}"))
    return [cell.strip() for cell in row.strip("|").split(" | ")]


def test_the_slices_stand_worst_first_then_the_pools_then_all_questions() -> None:
    shown = tables(report(questions("en", 20, 1), questions("de", 12, None), questions("fr", 3, 1)), ROWS)
    names = [text.split(" | ")[0].strip("| ") for text in shown if text.startswith("| ")]
    order = ["Slice", "language = de", "language = en", "language: 1 other value", "all questions"]
    assert names[:5] == order
    assert cells(shown, "language = de")[1:] == ["12", "0.0", "12 (100%)"]
    assert cells(shown, "language: 1 other")[1:] == ["3", "–", "–"]
    assert "With fewer than 10 questions, so among the other values: language = fr (3)." in shown


def test_it_says_what_is_worse_and_whether_that_may_be_chance() -> None:
    made = report(questions("en", 50, 1), questions("de", 11, None), questions("de2", 1, 1), questions("fr", 10, 2))
    shown = tables(made, ROWS)
    recall = next(text for text in shown if "language = de " in text and "Recall@3" in text)
    assert [cell.strip() for cell in recall.strip("|").split(" | ")][3:] == ["0.000", "0.000 to 0.259", "0.847", "yes"]
    assert not any("language = en" in text and "Information search" in text for text in shown)


def test_the_differences_are_in_points_of_the_overall_score() -> None:
    made = report(questions("en", 30, 1), questions("de", 10, 2))
    (mrr,) = (one for one in differences(made, made["slices"]["slices"][0], ROWS) if one["metric"] == "mrr_at_k")
    weights = made["scorecard"]["stages"]["retrieval"]["metrics"]
    share = 20 / 100 * weights["mrr_at_k"]["weight"] / sum(
        metric["weight"] for metric in weights.values() if not metric["needs_target"]
    )  # fmt: skip
    assert (mrr["value"], mrr["whole"]) == (0.5, 0.875)
    assert mrr["points"] == pytest.approx(100 * share * 0.375)
    assert differences(made, made["slices"]["slices"][1], ROWS) == []


def test_what_is_clear_stands_before_what_costs_more_points() -> None:
    made = report(questions("en", 30, 1), questions("de", 10, 2))
    detail = made["slices"]["slices"][0]["stages"]["retrieval"]
    made["retrieval"]["summary"] |= {"recall_at_k": 0.9, "hit_at_k": 0.6}
    detail["summary"] |= {"recall_at_k": 0.2, "hit_at_k": 0.5}
    detail["detail"] |= {"recall_at_k": {"n": 10, "ci95": [0.0, 0.95]}, "hit_at_k": {"n": 10, "ci95": [0.45, 0.55]}}
    found = differences(made, made["slices"]["slices"][0], ROWS)
    clear = {one["metric"]: one["clear"] for one in found}
    assert (clear["hit_at_k"], clear["recall_at_k"]) == (True, False)
    order = [one["metric"] for one in found]
    assert order.index("hit_at_k") < order.index("recall_at_k")


def test_a_fault_that_is_more_frequent_is_clear_where_the_whole_is_below_its_interval() -> None:
    numbers = {"context": "It is 25 days.", "answer": "It is 30 days.", "expected_answer": "It is 25 days."}
    fine = {**numbers, "answer": "It is 25 days."}
    made = report(questions("en", 60, 1, **fine), questions("de", 20, 1, **numbers))
    found = differences(made, made["slices"]["slices"][0], ROWS)
    (invented,) = (one for one in found if one["metric"] == "unsupported_number_rate")
    assert (invented["value"], invented["whole"], invented["clear"]) == (1.0, 0.25, True)


def test_only_slices_that_are_worse_than_all_questions_are_explained() -> None:
    shown = tables(report(questions("de", 10, 2), questions("en", 40, 1)), ROWS)
    assert sum("language = de" in text for text in shown) > 1
    assert sum("language = en" in text for text in shown) == 1


def test_what_a_tag_holds_stays_text() -> None:
    made = report(questions(BAD, 10, None), questions("en", 10, 1))
    shown = markdown(made)
    assert "<script>" not in shown
    assert not {"\x1b", "\u202e", "\ud800"} & set(shown)
    assert {text.count(" | ") for text in shown.splitlines() if text.startswith("| language = ")} <= {3, 6}
    (line, *_) = slice_lines(made)
    assert line.isprintable()


def test_a_report_without_slices_has_no_such_section() -> None:
    made = RAGEvaluator().evaluate(queries=questions("en", 3, 1))
    assert (tables(made, ROWS), slice_lines(made)) == ([], [])
    assert "## Slices" not in markdown(made)


def test_a_tag_that_nobody_carries_is_said() -> None:
    made = report(questions("en", 12, 1), by=("tenant",))
    assert tables(made, ROWS)[2:] == ["No question has the tag it was to be sliced by (tenant); the warnings say more."]
    assert slice_lines(made) == []


def test_the_lines_for_a_terminal() -> None:
    made = report(
        questions("en", 20, 1), questions("de", 12, None), questions("fr", 10, 2), questions("it", 9, 1),
        questions("nl", 4, 1),
    )  # fmt: skip
    first, then, pooled = slice_lines(made)
    assert first.startswith("Worst slice: language = de 0.0 (12 questions, 100% failed); all questions ")
    assert first.endswith(" (55 questions, 22% failed)")
    assert then.startswith("Then: language = fr ")
    assert pooled == "Pooled: language: 2 other values together 91.7 (13 questions, 0% failed)"


def test_slices_without_a_score_are_shown_by_their_failures() -> None:
    rows = [{"id": str(i), "tags": {"language": "de"}, "error": "timeout"} for i in range(10)]
    made = report(rows)
    made["slices"]["slices"][0]["score"] = made["slices"]["whole"]["score"] = None
    assert slice_lines(made) == [
        "Worst slice: language = de (10 questions, 100% failed); all questions (10 questions, 100% failed)"
    ]
    assert cells(tables(made, ROWS), "language = de")[1:] == ["10", "–", "10 (100%)"]


def test_a_tag_with_too_many_values_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slice_tallies, "MOST_VALUES", 3)
    made = report(*(questions(i, 3, 1) for i in range(4)))
    assert cells(tables(made, ROWS), "language: too many")[:2] == ["language: too many values, all together", "12"]
    assert slice_lines(made) == ["Pooled: language: too many values, all together 91.7 (12 questions, 0% failed)"]


def test_many_small_slices_are_counted() -> None:
    made = report(questions("en", 10, 1), *(questions(f"v{i}", 1, 1) for i in range(25)))
    (text,) = (text for text in tables(made, ROWS) if text.startswith("With fewer"))
    assert text.endswith(" and 5 more.")


def test_the_name_of_a_slice_without_a_value_is_not_that_of_an_empty_one() -> None:
    names = [slice_name({"tag": "t", "value": value}) for value in (None, "", "None")]
    assert names == ["no t", "t = (empty)", "t = None"]
