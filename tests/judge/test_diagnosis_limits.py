"""The limits of the judge's diagnosis: whose vectors that of answer relevance is one of, and limits of one's own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.evaluation.diagnosis.test_judged import Record, query

from rag_titan.evaluation import RAGEvaluator
from rag_titan.evaluation.scoring.policy import ON_SCALE, USUAL_EMBEDDER

OTHER = "vectors of somebody else"


def of_embedder(name: str | None, cosine: float = 0.1, query_id: str = "q") -> Record:
    """All is well but for the cosine."""
    record = query(query_id)
    record["verdicts"]["question_similarities"] = [cosine]
    record["verdicts"] |= {} if name is None else {"embedder": name}
    return record


def diagnosis(record: Record, **options: Any) -> Any:
    (row,) = RAGEvaluator(k=3, **options).evaluate(queries=[record])["queries"]
    return row["judge"]


@pytest.mark.parametrize(
    ("embedder", "cosine", "said", "unmeasured"),
    [
        (USUAL_EMBEDDER, 0.1, "question_not_answered", []),
        (None, 0.1, "question_not_answered", []),
        (OTHER, 0.1, "undetermined", [ON_SCALE]),
        (OTHER, 0.9, "undetermined", [ON_SCALE]),
    ],
)
def test_the_limit_is_not_used_for_vectors_of_another_scale(
    embedder: str | None, cosine: float, said: str, unmeasured: list[str]
) -> None:
    found = diagnosis(of_embedder(embedder, cosine))
    assert (found["diagnosis"], found["unmeasured"]) == (said, unmeasured)


@pytest.mark.parametrize("name", ["judge.answer_relevance", "answer_relevance"])
def test_a_limit_of_ones_own_is_used_for_all(name: str) -> None:
    for embedder in (USUAL_EMBEDDER, OTHER, None):
        limited = {"thresholds": {name: 0.8}}
        assert diagnosis(of_embedder(embedder, 0.75), **limited)["diagnosis"] == "question_not_answered"
        assert diagnosis(of_embedder(embedder, 0.85), **limited)["diagnosis"] == "healthy"
    report = RAGEvaluator(k=3, thresholds={name: 0.8}).evaluate(queries=[of_embedder(OTHER, 0.75)])
    assert report["judge"]["diagnosis"]["limits"]["answer_relevance"] == 0.8
    assert report["root_causes"]["failures"][-1]["metric"] == "answer_relevance"


def test_a_score_without_a_limit_says_nothing() -> None:
    found = diagnosis(query("q", faithful=False), thresholds={"judge.faithfulness": None})
    assert (found["diagnosis"], found["unmeasured"], found["low"]) == ("undetermined", ["faithfulness"], {})


def test_the_score_itself_is_measured_with_all_embedders() -> None:
    records = [of_embedder(OTHER, 0.5, "a"), of_embedder(USUAL_EMBEDDER, 0.7, "b")]
    report = RAGEvaluator(k=3).evaluate(queries=records)
    assert report["judge"]["summary"]["answer_relevance"] == pytest.approx(0.6)
    assert report["judge"]["diagnosis"]["signs"]["answer_relevance"] == {"low": 0, "measured": 1}


def test_several_processes_use_the_same_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rag_titan.evaluation.evaluator.LEAST", 1)
    records = [of_embedder(OTHER, n / 40, f"q{n:02}") for n in range(40)]
    (tmp_path / "data.jsonl").write_text("".join(f"{json.dumps(record)}\n" for record in records))
    found = []
    for processes in (1, 2):
        evaluator = RAGEvaluator(k=3, thresholds={"judge.answer_relevance": 0.5})
        report = evaluator.evaluate_path(tmp_path / "data.jsonl", per_query=None, processes=processes)
        found.append(report["judge"]["diagnosis"])
    assert found[0] == found[1]
    assert found[0]["rows"]["question_not_answered"] == 20


@pytest.mark.pipeline
def test_the_usual_embedder_is_that_of_the_command_line() -> None:
    from rag_titan.pipeline.embedding.wordllama import WordLlamaEmbedder

    assert WordLlamaEmbedder().name == USUAL_EMBEDDER
