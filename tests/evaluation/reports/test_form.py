"""A report that something broke is refused with the place, whatever is done with it; a whole one passes."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rag_titan.evaluation import RAGEvaluator, RagTitanError, ReportManager, RootCauseAnalyzer, ScoreAggregator
from rag_titan.evaluation.catalogue import ROWS
from rag_titan.evaluation.reports import form, manager
from rag_titan.evaluation.reports.form import check_comparison, check_explorer, check_failing, check_report
from rag_titan.integrations.pytest_plugin import assert_gates

ROOT = Path(__file__).parents[3]
GONE = object()
BREAKS: dict[str, Any] = {
    "null": None, "number": 5, "text": "x", "list": [], "object": {}, "nan": float("nan"), "negative": -1,
    "great": 1e308, "greater": 10**400, "missing": GONE, "true": True, "list of a number": [5], "odd object": {"x": 5},
    "surrogate": "\ud800",
}  # fmt: skip

Place = tuple[str | int, ...]


@pytest.fixture(scope="module")
def whole() -> dict[str, Any]:
    """A report with every part, and with few questions, through JSON as a file has it."""
    data = json.loads((ROOT / "examples" / "rag_evaluation_sample.json").read_text(encoding="utf-8"))
    for i, query in enumerate(data["queries"]):
        query["tags"] = {"language": "de" if i % 2 else "en"}
    report = RAGEvaluator(k=3, also_at=(1,), by=["language"], explorer=True).evaluate(**data)
    report["explorer"]["queries"] = report["explorer"]["queries"][:3]
    for stage in report.values():
        if isinstance(stage, dict) and "per_query" in stage and "summary" in stage:
            stage["per_query"] = stage["per_query"][:2]
    read: dict[str, Any] = json.loads(json.dumps(report))
    return read


def places(value: Any, at: Place = ()) -> Iterator[Place]:
    """Every place in a report, of a list the first two entries."""
    if at:
        yield at
    entries = value.items() if isinstance(value, dict) else enumerate(value[:2]) if isinstance(value, list) else ()
    for key, inner in entries:
        yield from places(inner, (*at, key))


def broken(report: dict[str, Any], at: Place, value: Any) -> dict[str, Any]:
    """The report with another value at one place; only what leads there is copied."""
    result = copy.copy(report)
    node: Any = result
    for key in at[:-1]:
        node[key] = copy.copy(node[key])
        node = node[key]
    if value is GONE:
        del node[at[-1]]
    else:
        node[at[-1]] = value
    return result


def uses(whole: dict[str, Any], path: Path) -> dict[str, Callable[[dict[str, Any]], Any]]:
    """Everything that somebody does with a report."""
    does = ReportManager()
    return {
        "html": lambda report: does.save_html(report, path),
        "junit": lambda report: does.save_junit(report, path, per_query=True),
        "markdown": lambda report: does.save_markdown(report, path),
        "current": lambda report: does.save_html(whole, path, does.compare(report, whole)),
        "baseline": lambda report: does.save_markdown(whole, path, does.compare(whole, report)),
        "regressions": lambda report: does.regressions(report, whole),
        "diff": lambda report: does.diff([report, whole, report]),
        "trends": lambda report: does.trends([whole, report]),
        "failed": does.failed_queries,
        "json": lambda report: does.save_json(report, path),
        "gates": lambda report: assert_gates(report, whole, gates={"retrieval": {"recall_at_k": 0.5}}),
        "hints": RootCauseAnalyzer().analyze,
        "scores": ScoreAggregator().aggregate,
    }


def try_all(whole: dict[str, Any], path: Path, cases: list[tuple[Place, str]]) -> None:
    for at, name in cases:
        report = broken(whole, at, BREAKS[name])
        for use, do in uses(whole, path).items():
            try:
                do(report)
            except (RagTitanError, AssertionError):
                pass
            except Exception as error:
                raise AssertionError(f"{use} of a report with {name} at {at} gave {error!r}") from error


@pytest.fixture
def in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is written, but everything is encoded: a disk is slow."""
    monkeypatch.setattr(manager, "write", lambda path, text: text.encode())


@pytest.mark.usefixtures("in_memory")
def test_a_broken_report_gives_a_sentence_and_no_traceback(whole: dict[str, Any]) -> None:
    cases = [(at, name) for at in places(whole) for name in BREAKS]
    parts = [(at, name) for at, name in cases if len(at) == 1]
    chosen = random.Random(5)
    try_all(whole, Path("report"), [*chosen.sample(parts, 5), *chosen.sample(cases, 8)])


@pytest.mark.slow
@pytest.mark.usefixtures("in_memory")
def test_breaks_at_many_places_give_no_traceback(whole: dict[str, Any]) -> None:
    cases = [(at, name) for at in places(whole) for name in BREAKS]
    shallow = [(at, name) for at, name in cases if len(at) <= 2]
    deep = [(at, name) for at, name in cases if len(at) > 2]
    chosen = random.Random(7)
    try_all(whole, Path("report"), [*chosen.sample(shallow, 60), *chosen.sample(deep, 30)])


def test_the_fast_check_and_the_walk_agree(whole: dict[str, Any]) -> None:
    schema, kind = form._report_form(tuple(ROWS))
    assert form._fits(whole, kind)
    assert form._broken(whole, schema, "") is None
    found = set()
    cases = [(at, name) for at in places(whole) for name in BREAKS]
    for at, name in random.Random(9).sample(cases, 300):
        report = {at[0]: broken(whole, at, BREAKS[name]).get(str(at[0]))}
        passes = form._fits(report, kind)
        assert passes is (form._broken(report, schema, "") is None), (at, name)
        found.add(passes)
    assert found == {True, False}


@pytest.mark.parametrize(
    ("report", "said"),
    [
        (5, "report: must be a report, got 5. "),
        (None, "report: must be a report, got null. "),
        ({"scorecard": []}, "report: scorecard: must be an object or null, got a list. "),
        ({"scorecard": {"gates": 5}}, "report: scorecard.gates: must be a list, got 5. "),
        ({"scorecard": {"gates": [{}]}}, "report: scorecard.gates[0]: must have the key 'stage', got none. "),
        ({"meta": {"k": 0}}, "report: meta.k: must be a whole number from 1 to 1,000,000,000,000,000, got 0. "),
        ({"warnings": ["a", None]}, "report: warnings[1]: must be text, got null. "),
        (
            {"retrieval": {"summary": {"recall_at_k": float("nan")}}},
            "report: retrieval.summary.recall_at_k: must be a finite number or null, got nan. ",
        ),
        (
            {"retrieval": {"detail": {"recall_at_k": {"ci95": [0.5]}}}},
            "report: retrieval.detail.recall_at_k.ci95: must be a list of 2, got 1 in it. ",
        ),
        (
            {"queries": [{"id": "x" * 99, "why": "x" * 99}]},
            f"report: queries[0].why: must be a list, got '{'x' * 39}…. ",
        ),
        ({"queries": [{"id": "q", "tags": {5: 1}}]}, "report: queries[0].tags: must have keys that are text, got 5. "),
        ({"meta": {"counts": {"queries": 10**99}}}, "got a number of more than 40 digits. "),
    ],
)
def test_the_sentence_names_the_place_and_what_came(report: Any, said: str) -> None:
    with pytest.raises(RagTitanError) as error:
        check_report(report)
    assert said in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("report", [{}, {"retrieval": None}, {"scorecard": None}, {"of_a_later_version": [None]}])
def test_what_a_report_lacks_is_no_fault(report: dict[str, Any]) -> None:
    check_report(report)


def test_numbers_of_numpy_pass(whole: dict[str, Any]) -> None:
    check_report({"retrieval": {"summary": {"recall_at_k": np.float32(0.5)}}, "meta": {"k": np.int64(5)}})
    with pytest.raises(RagTitanError, match=r"recall_at_k: must be a finite number or null, got a float32"):
        check_report({"retrieval": {"summary": {"recall_at_k": np.float32("nan")}}})


def test_a_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_text('{"scorecard": {"gates": 5}}', encoding="utf-8")
    with pytest.raises(RagTitanError, match=r"report\.json: scorecard\.gates: must be a list, got 5\. Write the rep"):
        ReportManager().load_json(path)


@pytest.mark.parametrize("wrong", [5, "x", [], {}, {"comparable": 1}, {"comparable": True, "regressions": None}])
def test_what_is_no_comparison_is_refused(wrong: Any, whole: dict[str, Any], tmp_path: Path) -> None:
    does = ReportManager()
    for save in (does.save_html, does.save_markdown, does.save_junit):
        with pytest.raises(RagTitanError, match=r"^comparison"):
            save(whole, tmp_path / "out", wrong)
    check_comparison(does.compare(whole, whole))


@pytest.mark.parametrize("wrong", [5, "x", [], {"queries": 5}, {"queries": [{}]}])
def test_what_are_no_rows_of_the_explorer_is_refused(wrong: Any, whole: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(RagTitanError, match=r"^explorer"):
        ReportManager().save_html(whole, tmp_path / "out", explorer=wrong)
    check_explorer(whole["explorer"])


@pytest.mark.parametrize("wrong", [5, "x", {}, [5], [{}], [{"rule": 1, "name": "x", "text": "x"}]])
def test_what_are_no_failures_is_refused(wrong: Any, tmp_path: Path) -> None:
    with pytest.raises(RagTitanError, match=r"^failures"):
        ReportManager().save_junit({}, tmp_path / "out", failures=wrong)
    check_failing([{"rule": "gate", "name": "x", "text": "x"}])
