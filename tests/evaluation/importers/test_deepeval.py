"""DeepEval's test cases: what the case says, and what its trace says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.oracles.test_public_results import path_of

from rag_titan.errors import DatasetError
from rag_titan.evaluation import Imported, RAGEvaluator, import_run
from rag_titan.evaluation.catalogue import values_of

CASE = {
    "name": "leave",
    "input": "How long is leave?",
    "actualOutput": "25 days.",
    "expectedOutput": "25 days",
    "retrievalContext": ["Leave is 25 days.", "Sick pay is full."],
    "context": ["25 days."],
    "completionTime": 1.5,
    "tokenCost": 0.002,
    "success": True,
    "metricsData": [{"name": "Faithfulness", "score": 0.5}],
}
RECORD = {
    "id": "leave",
    "question": "How long is leave?",
    "answer": "25 days.",
    "expected_answer": "25 days",
    "retrieved_texts": ["Leave is 25 days.", "Sick pay is full."],
    "expected_evidence": ["25 days."],
    "latency_ms": 1500.0,
    "cost_usd": 0.002,
    "deepeval": {"metrics": {"Faithfulness": 0.5}, "success": True},
}


def imported(folder: Path, content: Any, name: str = "run.json", **options: str) -> Imported:
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return import_run("deepeval", path, **options)


def test_a_case_is_a_query(tmp_path: Path) -> None:
    result = imported(tmp_path, {"testCases": [CASE], "evaluationCost": 9, "runDuration": 8})
    assert result.queries == [RECORD]
    values = values_of(RAGEvaluator().evaluate_dataset(result.dataset()))
    assert (values["retrieval.complete_evidence_recall"], values["generation.answer_f1"]) == (1.0, 1.0)
    assert (values["end_to_end.p50_latency_ms"], values["end_to_end.mean_cost_usd"]) == (1500.0, 0.002)


def test_every_form_is_the_same(tmp_path: Path) -> None:
    names = {
        "actualOutput": "actual_output",
        "expectedOutput": "expected_output",
        "tokenCost": "token_cost",
        "retrievalContext": "retrieval_context",
        "completionTime": "completion_time",
        "metricsData": "metrics_data",
    }
    snake = {names.get(key, key): value for key, value in CASE.items()}  # fmt: skip
    forms = {
        "a.json": [snake],
        "b.jsonl": json.dumps(CASE) + "\n",
        "c.json": {"testRunData": {"testCases": [CASE]}},
        "d.json": {"goldens": [snake]},
    }
    for name, content in forms.items():
        assert imported(tmp_path, content, name).queries == [RECORD], name


def test_csv_divides_contexts_by_a_bar(tmp_path: Path) -> None:
    table = "input,actual_output,retrieval_context\nHow long?,25 days,Leave is 25 days.|Sick pay is full.\n"
    [query] = imported(tmp_path, table, "cases.csv", context="retrieved").queries
    assert query["retrieved_texts"] == ["Leave is 25 days.", "Sick pay is full."]
    assert query["context"] == "Leave is 25 days.\n\nSick pay is full."


def test_what_is_empty_is_kept_and_what_is_not_given_is_not(tmp_path: Path) -> None:
    case = {"input": "Q?", "actualOutput": "", "retrievalContext": [], "context": None, "completionTime": None}
    assert imported(tmp_path, [case]).queries == [{"id": "1", "question": "Q?", "answer": "", "retrieved_texts": []}]


def trace() -> dict[str, Any]:
    day = "2026-03-01T10:00:0"
    llm = {
        "uuid": "b",
        "type": "llm",
        "startTime": f"{day}1Z",
        "endTime": f"{day}2Z",
        "inputTokenCount": 100,
        "outputTokenCount": 10,
        "costPerInputToken": 0.001,
        "costPerOutputToken": 0.01,
        "output": "25 days.",
    }
    found = {"uuid": "a", "type": "retriever", "startTime": f"{day}0Z", "endTime": f"{day}1Z", "input": "leave",
             "retrievalContext": ["Leave is 25 days."]}  # fmt: skip
    return {"uuid": "t", "startTime": f"{day}0Z", "endTime": f"{day}4Z", "output": {"answer": "25 days."},
            "input": {"query": "How long?"}, "llmSpans": [llm], "retrieverSpans": [found]}  # fmt: skip


def test_the_trace_says_what_the_case_does_not(tmp_path: Path) -> None:
    [query] = imported(tmp_path, [{"input": "How long is leave?", "actualOutput": "{...}", "trace": trace()}]).queries
    assert query == {
        "id": "1", "question": "How long is leave?", "answer": "25 days.", "retrieved_texts": ["Leave is 25 days."],
        "latency_ms": 4000.0, "retrieval_latency_ms": 1000.0, "generation_latency_ms": 1000.0, "output_tokens": 10.0,
        "total_tokens": 110.0, "cost_usd": pytest.approx(0.2), "timestamp": "2026-03-01T10:00:00Z",
    }  # fmt: skip


def test_the_case_counts_before_its_trace(tmp_path: Path) -> None:
    scored = trace()
    scored["retrieverSpans"][0]["output"] = [{"text": "Leave is 25 days.", "score": 0.5}]
    [query] = imported(tmp_path, [{**CASE, "trace": scored}]).queries
    assert {key: query[key] for key in RECORD} == RECORD
    assert "retrieved_scores" not in query


def test_a_failed_call_is_the_error_where_no_answer_came(tmp_path: Path) -> None:
    broken = trace()
    broken["output"] = None
    broken["llmSpans"][0] |= {"output": None, "error": "RateLimitError"}
    [query] = imported(tmp_path, [{"input": "How long?", "trace": broken}]).queries
    assert query["error"] == "RateLimitError"


def test_what_cannot_be_read_is_named_and_the_rest_kept(tmp_path: Path) -> None:
    lines = [json.dumps(CASE), json.dumps({"a": 1}), json.dumps(CASE), '{"input": "cut']
    result = imported(tmp_path, "\n".join(lines), "cases.jsonl")
    assert [query["id"] for query in result.queries] == ["leave", "leave#2"]
    said = "\n".join(result.notices.texts())
    assert "records that are no test case were left out: cases.jsonl line 2." in said
    assert "names that came before got the number of the case behind them: leave#2." in said
    assert "cases.jsonl line 4 (" in said


def test_a_list_that_is_cut_off_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    result = imported(tmp_path, json.dumps([CASE, CASE])[:-30])
    assert result.queries == [RECORD]
    assert "run.json: is cut off" in result.notices.texts()[0]
    with pytest.raises(DatasetError, match=r"cut off|ends in the middle"):
        imported(tmp_path, json.dumps({"testCases": [CASE]})[:-30])


def test_conversations_are_left_out_and_counted(tmp_path: Path) -> None:
    result = imported(tmp_path, {"testCases": [CASE], "conversationalTestCases": [{}, {}]})
    assert result.notices.texts() == ["conversational test cases were left out: conversationalTestCases (2)."]


@pytest.mark.parametrize("content", [{"a": 1}, [{"a": 1}], {"testCases": []}, {"conversationalTestCases": [{}]}])
def test_what_is_no_test_run_is_one_sentence(tmp_path: Path, content: Any) -> None:
    with pytest.raises(DatasetError, match="must be a DeepEval test run, with testCases, or goldens"):
        imported(tmp_path, content)


def test_a_public_test_run() -> None:
    """Times, tokens and scores as the file states them, span by span."""
    [query] = import_run("deepeval", path_of("deepeval/test_run_sample.json")).queries
    assert query["question"].startswith("What is CECL forecasting")
    assert query["answer"].startswith("CECL (Current Expected Credit Losses)")
    assert query["retrieved_scores"] == [0.93, 0.87, 0.71]
    assert query["citations"] == ["chunk_a", "chunk_b"]
    assert (query["latency_ms"], query["retrieval_latency_ms"]) == (11420.0, 2050.0)
    assert query["total_tokens"] == 1200 + 48 + 2200 + 540 + 180 + 880 + 64
    assert query["deepeval"]["metrics"] == {"Answer Relevancy": 0.92, "Faithfulness": 0.45}
    assert "cost_usd" not in query  # two calls name no price


def test_parts_of_a_wrong_type_cost_nothing_else(tmp_path: Path) -> None:
    odd = {**CASE, "name": "odd\ud800", "metricsData": 7}
    result = imported(tmp_path, {"testCases": [odd, CASE], "conversationalTestCases": 3})
    assert [query["id"] for query in result.queries] == ["odd\ufffd", "leave"]
    assert result.queries[1] == RECORD
    result.write(tmp_path / "data")


def test_the_number_behind_a_name_makes_no_other_name(tmp_path: Path) -> None:
    result = imported(tmp_path, [{**CASE, "name": name} for name in ("a#3", "a", "a")])
    assert [query["id"] for query in result.queries] == ["a#3", "a", "a#3#3"]
