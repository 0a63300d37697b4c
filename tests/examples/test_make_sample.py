"""The sample: up to date, every metric of the catalogue measured, and a failed question at every stage."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from rag_titan.evaluation import CATALOGUE, RAGEvaluator, ReportManager, Stage

EXAMPLES = Path(__file__).parents[2] / "examples"
SAMPLE = EXAMPLES / "rag_evaluation_sample.json"


@pytest.fixture(scope="module")
def report() -> dict[str, Any]:
    return RAGEvaluator(k=5).evaluate_path(SAMPLE)


def test_the_file_is_what_its_script_writes() -> None:
    spec = importlib.util.spec_from_file_location("make_sample", EXAMPLES / "make_sample.py")
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    assert SAMPLE.read_text(encoding="utf-8") == script.laid_out(script.sample()) + "\n"


def test_every_metric_is_measured(report: dict[str, Any]) -> None:
    values = {
        (stage, key): value
        for stage in (str(stage) for stage in Stage if not stage.optional)
        for key, value in (report[stage].get("summary") or report[stage]).items()
    }
    assert [place for place in CATALOGUE if place in values and values[place] is None] == []


def test_the_report_has_no_warning(report: dict[str, Any]) -> None:
    assert report["warnings"] == []


def test_a_question_fails_at_every_stage(report: dict[str, Any]) -> None:
    lost = {row["query_id"]: row["stage"] for row in ReportManager().failed_queries(report)}
    assert lost == {
        "q04": "chunking",
        "q05": "embedding",
        "q06": "retrieval",
        "q07": "reranking",
        "q08": "augmentation",
        "q09": "generation",
        "q10": "generation",
        "q12": "end_to_end",
    }


def test_each_rule_of_correctness_and_each_scenario_occurs(report: dict[str, Any]) -> None:
    assert {row["correct_by"] for row in report["queries"]} >= {
        "task_success", "verified_claims", "required_facts", "abstention", "error",
    }  # fmt: skip
    assert all(report["diagnosis"]["scenarios"].values())
