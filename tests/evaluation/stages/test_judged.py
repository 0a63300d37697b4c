"""Scores of stored verdicts: the whitepaper's example, RAGChecker's metrics against a slow twin, what is not said."""

from __future__ import annotations

from statistics import fmean
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_titan.errors import DatasetError
from rag_titan.evaluation import RAGEvaluator, ScoreAggregator

YES, NO, DENIED = "supported", "not_supported", "contradicted"
Claim = dict[str, Any]


def judged(*verdicts: dict[str, Any] | None, **more: Any) -> dict[str, Any]:
    queries = [
        {"id": f"q{i}", "retrieved_ids": ["a", "b", "c"], **more} | ({} if v is None else {"verdicts": v})
        for i, v in enumerate(verdicts)
    ]
    return RAGEvaluator(k=3).evaluate(queries=queries)


def summary(*verdicts: dict[str, Any] | None, **more: Any) -> dict[str, float | None]:
    values: dict[str, float | None] = judged(*verdicts, **more)["judge"]["summary"]
    return values


def test_the_example_of_the_whitepaper() -> None:
    """Section 4.1: founded in 1997 (yes), in Berlin (the context says Munich), makes turbines (yes)."""
    claims = [{"text": "1997", "context": YES}, {"text": "Berlin", "context": DENIED}, {"text": "t", "context": YES}]
    values = summary({"answer_claims": claims})
    assert values["faithfulness"] == 2 / 3
    assert values["contradicted_claim_rate"] == 1 / 3
    assert values["answer_claim_precision"] is None


def test_the_order_of_useful_chunks() -> None:
    """Useful at the ranks 1 and 3: (1/1 + 2/3) / 2."""
    values = summary({"useful_chunks": {"a": True, "b": False, "c": True}})
    assert values["context_precision"] == pytest.approx((1 + 2 / 3) / 2, abs=1e-15)
    assert values["context_precision_unranked"] is None  # nobody asked which statements a chunk bears out


def test_no_useful_chunk_is_undefined_and_no_zero() -> None:
    claims = [{"chunks": {"a": NO, "b": DENIED, "c": NO}, "answer": YES}]
    values = summary({"reference_claims": claims})
    assert values["context_precision"] is None
    assert values["context_precision_unranked"] == 0
    assert values["context_utilization"] is None
    assert values["claim_recall"] == values["context_recall"] == 0


def test_what_the_generator_was_given_is_what_is_ranked() -> None:
    useful = {"useful_chunks": {"a": True, "b": False, "c": False}}
    assert summary(useful, reranked_ids=["b", "a"])["context_precision"] == 1 / 2
    assert summary(useful, reranked_ids=["b", "a"], context_ids=["b", "c", "a"])["context_precision"] == 1 / 3


def test_grades_and_similarities() -> None:
    values = summary(
        {"chunk_relevance": {"a": 2, "b": 1, "c": 0}, "question_similarities": [0.5, 1], "noncommittal": True}
    )
    assert values["context_relevance"] == 0.5
    assert values["answer_relevance"] == 0.75
    assert values["noncommittal_rate"] == 1


def test_a_verdict_that_is_not_there_leaves_its_question_unmeasured() -> None:
    half = {"answer_claims": [{"context": YES}, {"text": "no verdict"}], "unjudged": {"faithfulness": "timed out"}}
    report = judged(half, {"answer_claims": [{"context": NO}]}, {"answer_claims": []}, None)
    judge = report["judge"]
    assert judge["summary"]["faithfulness"] == 0
    assert [row["faithfulness"] for row in judge["per_query"]] == [None, 0, None, None]
    assert (judge["detail"]["faithfulness"]["n"], judge["detail"]["faithfulness"]["of"]) == (1, 4)
    assert 'the judge gave no verdict ("timed out"): query q0.' in report["warnings"]


def test_a_reason_is_told_once_for_all_metrics_and_questions() -> None:
    """The words of the judge are no text of the data, others may be."""
    empty = {"unjudged": {"faithfulness": "empty answer", "hallucination": "empty answer"}}
    other = {"unjudged": {"faithfulness": "the boss said no", "hallucination": "empty answer"}}
    queries = [{"id": f"q{n}", "verdicts": each} for n, each in enumerate([empty, other, empty])]
    told = [
        "nothing to judge (empty answer): query q0, q1, q2.",
        'the judge gave no verdict ("the boss said no"): query q1.',
    ]
    assert RAGEvaluator().evaluate(queries=queries)["warnings"] == told
    redacted = RAGEvaluator(redact=True).evaluate(queries=queries)["warnings"]
    assert redacted[0] == told[0]
    assert redacted[1].startswith("the judge gave no verdict ([text: 18 characters, sha256 ")


def test_the_stage_is_there_only_with_verdicts_and_outside_the_overall_score() -> None:
    without = judged(None, answer="x", expected_answer="x")
    assert "judge" not in without
    assert "judge" not in without["scorecard"]["stages"]
    with_verdicts = judged({"answer_claims": [{"context": NO}], "judge": "m@1"}, answer="x", expected_answer="x")
    assert with_verdicts["scorecard"]["overall"] == without["scorecard"]["overall"]
    assert with_verdicts["meta"]["judges"] == {"m@1": 1}
    weighted = RAGEvaluator(scorer=ScoreAggregator(metric_weights={"judge": {"faithfulness": 1}})).evaluate(
        queries=[{"id": "q", "answer": "x", "expected_answer": "x", "verdicts": {"answer_claims": [{"context": NO}]}}]
    )
    assert weighted["scorecard"]["stages"]["judge"]["score"] == 0
    assert weighted["scorecard"]["overall"]["score"] < with_verdicts["scorecard"]["overall"]["score"]


def test_a_verdict_of_another_name_is_refused() -> None:
    rule = (
        r"queries\[0\].*verdicts.answer_claims\[0\].context: must be one of supported, contradicted, not_supported, got"
    )
    with pytest.raises(DatasetError, match=rule):
        judged({"answer_claims": [{"context": "yes"}]})


# --- against a twin -----------------------------------------------------------------------------------------------

VERDICTS = st.sampled_from([YES, NO, DENIED])
BY_CHUNK = st.fixed_dictionaries({"a": VERDICTS, "b": VERDICTS, "c": VERDICTS})
ANSWERS = st.lists(st.fixed_dictionaries({"chunks": BY_CHUNK, "reference": VERDICTS}), max_size=4)
REFERENCES = st.lists(st.fixed_dictionaries({"chunks": BY_CHUNK, "answer": VERDICTS}), max_size=4)
QUERIES = st.lists(
    st.fixed_dictionaries({"answer_claims": ANSWERS, "reference_claims": REFERENCES}), min_size=1, max_size=4
)


def share(flags: list[bool]) -> float | None:
    return fmean(flags) if flags else None


def twin(verdicts: dict[str, Any]) -> dict[str, float | None]:
    """RAGChecker's metrics, statement by statement (arXiv:2408.08067, section 3.3)."""
    answer, reference = verdicts["answer_claims"], verdicts["reference_claims"]

    def borne(claim: Claim, chunks: set[str]) -> bool:
        return any(claim["chunks"][chunk] == YES for chunk in chunks)

    all_chunks = {"a", "b", "c"}
    useful = {chunk for chunk in all_chunks if any(claim["chunks"][chunk] == YES for claim in reference)}
    right = [claim["reference"] == YES for claim in answer]
    values = {
        "faithfulness": share([borne(c, all_chunks) for c in answer]),
        "answer_claim_precision": share(right),
        "answer_claim_recall": share([c["answer"] == YES for c in reference]),
        "claim_recall": share([borne(c, all_chunks) for c in reference]),
        "context_utilization": share([c["answer"] == YES for c in reference if borne(c, all_chunks)]),
        "hallucination": share([not r and not borne(c, all_chunks) for c, r in zip(answer, right, strict=True)]),
        "self_knowledge": share([r and not borne(c, all_chunks) for c, r in zip(answer, right, strict=True)]),
    }
    if reference:
        values["context_precision_unranked"] = len(useful) / 3
        values["noise_sensitivity_in_relevant"] = share(
            [not r and borne(c, useful) for c, r in zip(answer, right, strict=True)]
        )
        values["noise_sensitivity_in_irrelevant"] = share(
            [
                not r and borne(c, all_chunks - useful) and not borne(c, useful)
                for c, r in zip(answer, right, strict=True)
            ]
        )
    return values


@given(QUERIES)
def test_the_same_as_statement_by_statement(queries: list[dict[str, Any]]) -> None:
    rows = judged(*queries)["judge"]["per_query"]
    for row, verdicts in zip(rows, queries, strict=True):
        for key, value in twin(verdicts).items():
            assert row[key] == (None if value is None else pytest.approx(value, abs=1e-12)), key
