"""Arguments of a wrong type are refused with a sentence, in every public class that takes options."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rag_titan.evaluation import (
    Conventions,
    RAGEvaluator,
    RagTitanError,
    ReportManager,
    RootCauseAnalyzer,
    ScoreAggregator,
    SettingsError,
    collect_answers,
)
from rag_titan.evaluation.data.dataset import dataset_from
from rag_titan.integrations.pytest_plugin import Evaluation, assert_gates

WRONG: tuple[Any, ...] = (
    5, -1, 0.5, float("nan"), 10**400, "x", "", b"x", None, True, [], [5], ["a"], [["a"]], [None], (1, 2), {1, 2}, {},
    {"a": 5}, {5: 5}, {"retrieval": 5}, {"retrieval": {"recall_at_k": "x"}}, object(), Path("nowhere"), lambda *_: 1,
)  # fmt: skip
QUERIES = [{"id": "q", "expected_chunk_ids": ["a"], "retrieved_ids": ["b", "a"], "tags": {"a": 1}}]
REPORT = RAGEvaluator(k=3).evaluate(queries=QUERIES)
MANAGER = ReportManager()
USES: dict[str, tuple[Callable[..., Any], tuple[str, ...]]] = {
    "RAGEvaluator": (
        lambda **given: RAGEvaluator(**given).evaluate(queries=QUERIES),
        tuple(inspect.signature(RAGEvaluator).parameters),
    ),
    "ScoreAggregator": (
        lambda **given: ScoreAggregator(**given).aggregate(REPORT),
        tuple(inspect.signature(ScoreAggregator).parameters),
    ),
    "RootCauseAnalyzer": (lambda **given: RootCauseAnalyzer(**given).analyze(REPORT), ("thresholds", "rows")),
    "Conventions": (
        lambda **given: RAGEvaluator(conventions=Conventions(**given)).evaluate(queries=QUERIES),
        tuple(inspect.signature(Conventions).parameters),
    ),
    "ReportManager": (lambda **given: ReportManager(**given).compare(REPORT, REPORT), ("rows",)),
    "aggregate": (ScoreAggregator().aggregate, ("report",)),
    "analyze": (RootCauseAnalyzer().analyze, ("report",)),
    "compare": (
        lambda **given: MANAGER.compare(**{"report": REPORT, "baseline": REPORT, **given}),
        ("report", "baseline", "tolerance", "primary"),
    ),
    "diff": (
        lambda **given: MANAGER.diff(**{"reports": [REPORT, REPORT], **given}),
        ("reports", "tolerance", "names", "primary"),
    ),
    "trends": (MANAGER.trends, ("reports",)),
    "failed_queries": (MANAGER.failed_queries, ("report",)),
    "check": (MANAGER.check, ("report",)),
    "evaluate_dataset": (
        lambda **given: RAGEvaluator().evaluate_dataset(dataset_from(queries=QUERIES), **given),
        ("progress",),
    ),
    "collect_answers": (
        lambda **given: collect_answers([{"id": "q", "question": "Which?"}], lambda _: "a", **given),
        ("progress",),
    ),
    "assert_gates": (
        lambda **given: assert_gates(**{"report": REPORT, **given}),
        ("report", "baseline", "gates"),
    ),
    "fixture": (
        lambda **given: Evaluation(Path())(**{"data": {"queries": QUERIES}, **given}),
        ("data", "k", "by", "stages", "explorer", "redact"),
    ),
}


@pytest.mark.filterwarnings("ignore:rag-titan")  # a first run without its baseline
@pytest.mark.parametrize(("use", "argument"), [(use, name) for use, (_, names) in USES.items() for name in names])
def test_an_argument_of_a_wrong_type_gives_a_sentence(use: str, argument: str, tmp_path: Path) -> None:
    for value in WRONG:
        try:
            USES[use][0](**{argument: value})
        except (RagTitanError, AssertionError):
            pass
        except Exception as error:
            raise AssertionError(f"{use}({argument}={value!r}) gave {error!r}") from error


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"by": 5}, "by: must be a list of tags, got 5."),
        ({"by": "language"}, "by: must be a list of tags, got the text 'language'. Write ['language']."),
        ({"by": [["a"]]}, "by: must be a list of tags, got ['a'] in it."),
        ({"by": [""]}, "by: must be a list of tags, got '' in it."),
        ({"redact": "no"}, "redact: must be True or False, got 'no'."),
        ({"explorer": "x"}, "explorer: must be a whole number from 1 to 1,000,000,000, got 'x'."),
        ({"explorer": []}, "explorer: must be a whole number from 1 to 1,000,000,000, got []."),
        ({"also_at": 5}, "also_at: must be a list of whole numbers, got 5."),
        ({"stages": 5}, "stages: must be a list of stages, got 5."),
        ({"scorer": 5}, "scorer: must be a ScoreAggregator, got 5."),
        ({"thresholds": [1]}, "thresholds: must be a mapping {metric: limit}, got [1]."),
        ({"conventions": 5}, "conventions: must be the name of a preset, a mapping of changes or Conventions, got 5. "),
    ],
)
def test_the_evaluator_says_what_an_option_must_be(given: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingsError) as error:
        RAGEvaluator(**given)
    assert str(error.value).startswith(said)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"reports": None}, "reports: must be a list of reports, got None."),
        ({"reports": REPORT}, "reports: must be a list of reports, got {"),
        ({"reports": [REPORT]}, "diff: must have at least two reports, got 1. Name the oldest first."),
        ({"reports": [REPORT, 5]}, "reports[1]: must be a report, got 5."),
        ({"reports": [REPORT, REPORT], "names": ["a"]}, "names: must be as many as there are reports (2), got 1."),
        ({"reports": [REPORT, REPORT], "primary": 5}, "primary: must be a list of metrics, got 5."),
    ],
)
def test_the_comparison_says_what_its_reports_must_be(given: dict[str, Any], said: str) -> None:
    with pytest.raises(RagTitanError) as error:
        MANAGER.diff(**given)
    assert str(error.value).startswith(said)


def test_the_gates_of_a_test_must_be_a_mapping() -> None:
    with pytest.raises(SettingsError, match=r"gates: must be a mapping \{stage: \{metric: limit\}\}, got \[1\]\.$"):
        assert_gates(REPORT, gates=[1])  # type: ignore[arg-type]  # wrong on purpose
