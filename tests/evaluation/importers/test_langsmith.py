"""LangSmith runs: a trace of chain, retriever and llm runs becomes one query."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.oracles.test_public_results import path_of

from rag_titan.errors import DatasetError
from rag_titan.evaluation import Imported, RAGEvaluator, import_run

DAY = "2026-03-01T10:00:"
DOCUMENTS = [
    {"page_content": "Leave is 25 days a year.", "metadata": {"score": 0.75, "chunk": "c1"}, "type": "Document"},
    {"page_content": "Sick pay is full for a month.", "metadata": {"score": 0.5, "chunk": "c2"}, "type": "Document"},
]


def run(name: str, kind: str, start: str, end: str, parent: str | None = "root", **more: Any) -> dict[str, Any]:
    return {"id": name, "trace_id": "t1", "parent_run_id": parent, "run_type": kind, "name": name,
            "start_time": f"{DAY}{start}", "end_time": f"{DAY}{end}", **more}  # fmt: skip


def trace() -> list[dict[str, Any]]:
    prompt = {"lc": 1, "type": "constructor", "id": ["HumanMessage"],
              "kwargs": {"type": "human", "content": "Leave is 25 days a year.\n\nHow long is leave?"}}  # fmt: skip
    return [
        run("root", "chain", "00.000", "02.000", None, inputs={"question": "How long is leave?"},
            outputs={"answer": "25 days."}, total_tokens=120, completion_tokens=20, total_cost="0.0012",
            tags=["beta"], extra={"metadata": {"tenant": "a", "ls_method": "traceable"}},
            reference_outputs={"answer": "25 days"}),
        run("find", "retriever", "00.100", "00.400", inputs={"query": "leave"}, outputs={"documents": DOCUMENTS},
            total_tokens=0),
        run("ask", "llm", "00.500", "01.500", first_token_time=f"{DAY}00.750", inputs={"messages": [[prompt]]},
            outputs={"generations": [[{"text": "25 days."}]]}, total_tokens=120),
    ]  # fmt: skip


def imported(folder: Path, content: Any, name: str = "runs.json", **options: str) -> Imported:
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return import_run("langsmith", path, **options)


def test_a_trace_is_one_query(tmp_path: Path) -> None:
    result = imported(tmp_path, trace(), document_id="chunk")
    assert result.queries == [
        {
            "id": "t1", "question": "How long is leave?", "answer": "25 days.", "expected_answer": "25 days",
            "latency_ms": 2000.0, "retrieval_latency_ms": 300.0, "generation_latency_ms": 1000.0,
            "time_to_first_token_ms": 250.0, "output_tokens": 20.0, "total_tokens": 120.0, "cost_usd": 0.0012,
            "timestamp": "2026-03-01T10:00:00", "tags": {"beta": True, "tenant": "a"},
            "retrieved_ids": ["c1", "c2"], "retrieved_scores": [0.75, 0.5], "context_ids": ["c1"],
        }
    ]  # fmt: skip
    assert result.chunks is not None
    assert [(chunk["id"], chunk["text"]) for chunk in result.chunks] == [
        ("c1", "Leave is 25 days a year."),
        ("c2", "Sick pay is full for a month."),
    ]
    assert result.notices.texts() == []


def test_every_form_is_the_same(tmp_path: Path) -> None:
    wanted = imported(tmp_path, trace()).queries
    root, *parts = trace()
    bare = [{key: value for key, value in part.items() if key != "parent_run_id"} for part in parts]
    posts = [{**part, "outputs": {}, "end_time": None} for part in trace()]
    forms = {
        "a.json": {"runs": trace()},
        "b.jsonl": "".join(json.dumps(part) + "\n" for part in reversed(trace())),
        "c.json": {**root, "child_runs": bare},
        "d.json": {"post": posts, "patch": [{**part, "inputs": {}} for part in trace()]},
        "e.json": [{k: v for k, v in part.items() if k != "trace_id"} for part in trace()],
    }
    for name, content in forms.items():
        found = imported(tmp_path, content, name).queries
        assert [{**query, "id": "t1"} for query in found] == wanted, name


def test_zero_tokens_of_a_run_that_calls_no_model_say_nothing(tmp_path: Path) -> None:
    root, find, ask = trace()
    root |= {"total_tokens": 0, "completion_tokens": 0, "total_cost": None}
    ask |= {"outputs": {"generations": [[{"text": "25 days."}]], "llm_output": {"token_usage": {"total_tokens": 70}}}}
    del ask["total_tokens"]
    [query] = imported(tmp_path, [root, find, ask]).queries
    assert query["total_tokens"] == 70.0
    assert not {"output_tokens", "cost_usd"} & query.keys()


def test_documents_without_ids_are_texts(tmp_path: Path) -> None:
    [query] = imported(tmp_path, trace()).queries
    assert query["retrieved_texts"] == [document["page_content"] for document in DOCUMENTS]
    assert "retrieved_ids" not in query


def test_two_retrievers_are_put_one_after_another(tmp_path: Path) -> None:
    again = run("more", "retriever", "00.300", "00.600", inputs={"query": "leave"}, outputs={"documents": [
        {"page_content": "A third text.", "metadata": {"chunk": "c3"}}, DOCUMENTS[0]]})  # fmt: skip
    result = imported(tmp_path, [again, *trace()], document_id="chunk")
    [query] = result.queries
    assert query["retrieved_ids"] == ["c1", "c2", "c3"]
    assert query["retrieval_latency_ms"] == 500.0
    assert "several retriever spans were put one after another" in result.notices.texts()[0]


def test_an_empty_result_is_a_miss_and_an_error_is_kept(tmp_path: Path) -> None:
    root, find, _ = trace()
    root |= {"outputs": None, "error": "RateLimitError"}
    find |= {"outputs": {"documents": []}}
    [query] = imported(tmp_path, [root, find]).queries
    assert (query["retrieved_ids"], query["error"]) == ([], "RateLimitError")
    assert "answer" not in query


def test_without_its_root_a_trace_is_read_and_told(tmp_path: Path) -> None:
    result = imported(tmp_path, trace()[1:])
    [query] = result.queries
    assert "latency_ms" not in query
    assert (query["answer"], query["retrieval_latency_ms"]) == ("25 days.", 300.0)
    assert any("root span is not in the source" in text for text in result.notices.texts())


def test_a_cut_off_file_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    text = "".join(json.dumps(part) + "\n" for part in trace())
    result = imported(tmp_path, text[:-40], "runs.jsonl")
    assert result.queries[0]["answer"] == "25 days."
    assert "cut off" in "\n".join(result.notices.texts())


def test_feedback_is_left_out_and_told(tmp_path: Path) -> None:
    root, *parts = trace()
    result = imported(tmp_path, [{**root, "feedback_stats": {"helpful": {"n": 1, "avg": 1}}}, *parts])
    assert result.notices.texts()[-1] == "feedback scores of runs were left out: trace t1."


@pytest.mark.parametrize("content", [[{"question": "?"}], {"a": 1}, [1, 2]])
def test_what_is_no_run_is_one_sentence(tmp_path: Path, content: Any) -> None:
    with pytest.raises(DatasetError, match="must hold LangSmith runs, objects with id, run_type and inputs, got none"):
        imported(tmp_path, content)


@pytest.mark.parametrize(("name", "first"), [("openai_", False), ("openai_stream", True)])
def test_public_payloads(name: str, first: bool) -> None:
    result = import_run("langsmith", path_of(f"traces/langsmith/langsmith_py_wrap_{name}.json"))
    [query] = result.queries
    assert (query["question"], query["answer"]) == ("howdy", "Howdy! How can I assist you today?")
    assert (query["total_tokens"], query["output_tokens"]) == (18.0, 9.0)
    assert ("time_to_first_token_ms" in query) == first
    report = RAGEvaluator().evaluate_dataset(result.dataset())
    assert report["end_to_end"]["mean_total_tokens"] == 18.0
