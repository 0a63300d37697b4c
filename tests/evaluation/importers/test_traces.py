"""Spans -> queries: what becomes which key, and what is merged."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from tests.evaluation.importers.made_spans import (
    BIKES,
    KIND,
    LEAVE,
    SHARED,
    SICK,
    T0,
    documents,
    imported,
    llm,
    rag,
    retriever,
    root,
    span,
)

from rag_titan.evaluation import RAGEvaluator
from rag_titan.evaluation.importers.traces import read


def test_one_request(tmp_path: Path) -> None:
    result = imported(rag(), tmp_path)
    assert result.queries == [
        {
            "id": "t1",
            "question": "How long is leave?",
            "answer": "25 days.",
            "latency_ms": 100,
            "embedding_latency_ms": 4,
            "retrieval_latency_ms": 20,
            "rerank_latency_ms": 7,
            "generation_latency_ms": 50,
            "output_tokens": 5,
            "total_tokens": 35,
            "cost_usd": 0.25,
            "timestamp": "2023-11-14T22:13:20Z",
            "retrieved_ids": ["d1", "d2"],
            "retrieved_scores": [0.9, 0.8],
            "reranked_ids": ["d2"],
            "context_ids": ["d2"],
        }
    ]
    assert result.chunks == [{"id": "d1", "text": LEAVE}, {"id": "d2", "text": SICK}]
    assert result.notices.texts() == []


def test_neither_the_order_of_spans_nor_their_files_change_anything(tmp_path: Path) -> None:
    spans = [*rag("t1"), *rag("t2"), *rag("t3")]
    whole = imported(spans, tmp_path)
    random.Random(7).shuffle(spans)
    (tmp_path / "parts").mkdir()
    imported(spans[:7], tmp_path / "parts", "a.jsonl")
    imported(spans[7:], tmp_path / "parts", "b.jsonl")
    parted = read([tmp_path / "parts"])
    assert (parted.queries, parted.chunks, parted.notices.texts()) == (whole.queries, whole.chunks, [])
    assert [query["id"] for query in parted.queries] == ["t1", "t2", "t3"]


def test_several_retrievers_are_merged_in_the_order_of_their_start(tmp_path: Path) -> None:
    spans = [
        root(),
        retriever("second", "root", 20, 40, ("d2", SICK), ("d3", BIKES)),
        retriever("first", "root", 10, 30, ("d1", LEAVE), ("d2", SICK)),
    ]
    result = imported(spans, tmp_path)
    assert result.queries[0]["retrieved_ids"] == ["d1", "d2", "d3"]
    assert result.queries[0]["retrieval_latency_ms"] == 30  # side by side for ten of them
    [said] = result.notices.texts()
    assert said.startswith("the documents of several retriever spans were put one after another")


def test_of_retrievers_in_each_other_the_outermost_counts(tmp_path: Path) -> None:
    inner = [
        span("step", "outer", 11, 30, {KIND: "CHAIN"}),
        retriever("a", "step", 12, 20, ("d2", SICK)),
        retriever("b", "step", 20, 29, ("d1", LEAVE)),
    ]
    [query] = imported([root(), retriever("outer", "root", 10, 30, ("d1", LEAVE)), *inner], tmp_path).queries
    assert (query["retrieved_ids"], query["retrieval_latency_ms"]) == (["d1"], 20)
    silent = span("outer", "root", 10, 30, {KIND: "RETRIEVER"})
    [query] = imported([root(), silent, *inner], tmp_path).queries
    assert query["retrieved_ids"] == ["d2", "d1"]  # the outer one says nothing, so that the inner ones do


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({}, None),
        ({"output.value": '{"documents": []}'}, []),
        ({"output.value": "[]"}, []),
        ({"output.value": '["<NodeWithScore(...)>"]'}, None),
        ({"retrieval.documents": []}, []),
        ({"gen_ai.retrieval.documents": "[]"}, []),
    ],
)
def test_nothing_found_is_not_the_same_as_nothing_said(tmp_path: Path, attributes: Any, expected: Any) -> None:
    spans = [root(), span("find", "root", 10, 30, {KIND: "RETRIEVER"} | attributes)]
    assert imported(spans, tmp_path).queries[0].get("retrieved_ids") == expected


def test_documents_without_ids_are_texts(tmp_path: Path) -> None:
    found = retriever("find", "root", 10, 30, (None, LEAVE), ("d2", SICK), (None, LEAVE), (None, None))
    spans = [root(), found, llm("ask", "root", 40, 90, f"{LEAVE} {SICK}", "25 days.")]
    result = imported(spans, tmp_path)
    [query] = result.queries
    assert query["retrieved_texts"] == [LEAVE, SICK]
    assert query["retrieved_scores"] == [0.9, 0.8]
    assert "retrieved_ids" not in query
    assert "context_ids" not in query  # the prompt holds both, and one of them has no id
    assert [said.partition(":")[0][:40] for said in result.notices.texts()] == [
        "documents have no ids, so that their tex",
        "documents with neither an id nor a text ",
    ]


def test_ids_from_a_key_of_the_metadata(tmp_path: Path) -> None:
    attributes = documents("retrieval.documents", (None, LEAVE), (None, SICK))
    attributes |= {f"retrieval.documents.{i}.document.metadata": json.dumps({"chunk": i + 7}) for i in range(2)}
    spans = [root(), span("find", "root", 10, 30, {KIND: "RETRIEVER"} | attributes)]
    result = imported(spans, tmp_path, document_id="chunk")
    assert result.queries[0]["retrieved_ids"] == ["7", "8"]
    assert result.chunks == [
        {"id": "7", "text": LEAVE, "metadata": {"chunk": 7}},
        {"id": "8", "text": SICK, "metadata": {"chunk": 8}},
    ]


def test_ids_that_count_places_are_no_ids(tmp_path: Path) -> None:
    first = [root("t1"), retriever("find", "root", 10, 30, ("0", LEAVE), ("1", SICK), trace="t1")]
    second = [root("t2"), retriever("find", "root", 10, 30, ("0", BIKES), trace="t2")]
    result = imported([*first, *second], tmp_path)
    assert [query["retrieved_texts"] for query in result.queries] == [[LEAVE, SICK], [BIKES]]
    assert result.chunks is None
    assert any(said.startswith("ids of documents only count their places") for said in result.notices.texts())


def test_an_id_with_two_texts_is_reported(tmp_path: Path) -> None:
    first = [root("t1"), retriever("find", "root", 10, 30, ("d1", LEAVE), trace="t1")]
    second = [root("t2"), retriever("find", "root", 10, 30, ("d1", BIKES), trace="t2")]
    result = imported([*second, *first], tmp_path)
    assert result.chunks == [{"id": "d1", "text": LEAVE}]
    assert result.notices.texts() == [
        "an id of a document stands for different texts; the first one is in the chunk table: d1."
    ]


def test_the_reranker_says_what_was_retrieved_where_no_retriever_does(tmp_path: Path) -> None:
    result = imported([s for s in rag() if s["name"] not in ("find", "embed")], tmp_path)
    assert (result.queries[0]["retrieved_ids"], result.queries[0]["reranked_ids"]) == (["d1", "d2"], ["d2"])
    assert "retrieval_latency_ms" not in result.queries[0]
    assert len(result.notices.texts()) == 1


def test_context_from_the_template(tmp_path: Path) -> None:
    variables = json.dumps({"context": f"{SICK}\n\n{LEAVE}", "question": "How long is leave?"})
    prompt = span("prompt", "root", 35, 36, {KIND: "PROMPT", "llm.prompt_template.variables": variables})
    [query] = imported([*rag(), prompt], tmp_path).queries
    assert query["context"] == f"{SICK}\n\n{LEAVE}"
    assert query["context_ids"] == ["d2", "d1"]


def test_a_prompt_builder_that_calls_itself_a_model_is_none(tmp_path: Path) -> None:
    builder = {KIND: "LLM", "llm.prompt_template.template": "{{ x }}", "output.value": "the prompt"}
    result = imported([*rag(), span("builder", "root", 38, 39, builder)], tmp_path)
    assert result.queries[0]["generation_latency_ms"] == 50
    assert result.queries[0]["total_tokens"] == 35


def test_models_inside_each_other_count_once_and_those_after_each_other_add_up(tmp_path: Path) -> None:
    spans = [
        *rag(),
        llm("inner", "ask", 45, 85, "", "25 days."),
        llm("rewrite", "root", 1, 6, "Rewrite", "rewritten"),
    ]
    [query] = imported(spans, tmp_path).queries
    assert query["generation_latency_ms"] == 55
    assert (query["output_tokens"], query["total_tokens"], query["cost_usd"]) == (10, 70, 0.5)


def test_a_sum_with_a_part_missing_is_none(tmp_path: Path) -> None:
    silent = span("rewrite", "root", 1, 6, {KIND: "LLM", "llm.model_name": "m"})
    result = imported([*rag(), silent], tmp_path)
    assert not {"output_tokens", "total_tokens", "cost_usd"} & result.queries[0].keys()
    assert len(result.notices.texts()) == 3
    failed = silent | {"status": {"code": 2}}
    assert imported([*rag(), failed], tmp_path).queries[0]["total_tokens"] == 35


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"events": [{"name": "First Token Stream Event", "timeUnixNano": (T0 + 52) * 1_000_000}]}, 12),
        ({"attributes": {"gen_ai.response.time_to_first_chunk": 0.02}}, 20),
        ({"events": [{"name": "exception", "timeUnixNano": (T0 + 52) * 1_000_000}]}, None),
    ],
)
def test_time_to_first_token(tmp_path: Path, more: dict[str, Any], expected: float | None) -> None:
    spans = [root(), llm("ask", "root", 40, 90, "", "25 days.", **more)]
    assert imported(spans, tmp_path).queries[0].get("time_to_first_token_ms") == expected


def test_an_error_of_the_root_is_one_of_the_request(tmp_path: Path) -> None:
    failed = root() | {"status": {"code": 2, "message": "time-out"}}
    del failed["attributes"]["output.value"]
    [query] = imported([failed, rag()[1]], tmp_path).queries
    assert query["error"] == "time-out"
    assert "answer" not in query
    mended = rag()[1] | {"status": {"code": 2, "message": "first try"}}
    [query] = imported([root(), mended], tmp_path).queries
    assert "error" not in query  # there is an answer all the same


def test_tags(tmp_path: Path) -> None:
    more = {"session.id": "s1", "user.id": 7, "metadata": '{"language": "en", "parts": [1], "ls_provider": "x"}'}
    assert imported([root(**more), rag()[1]], tmp_path).queries[0]["tags"] == {
        "session_id": "s1", "user_id": 7, "language": "en"
    }  # fmt: skip


def test_spans_of_the_genai_conventions(tmp_path: Path) -> None:
    found = {
        "gen_ai.operation.name": "retrieval",
        "gen_ai.retrieval.query.text": "How long?",
        "gen_ai.retrieval.documents": json.dumps([{"id": "d1", "score": 0.5}, {"id": "d2", "score": 0.25}]),
    }
    messages = [
        {"role": "assistant", "parts": [{"type": "reasoning", "content": "Hm."}, {"type": "text", "content": "25."}]}
    ]
    chat = {
        "gen_ai.operation.name": "chat",
        "gen_ai.usage.input_tokens": 7,
        "gen_ai.usage.output_tokens": 2,
        "gen_ai.output.messages": json.dumps(messages),
    }
    agent = {"gen_ai.operation.name": "invoke_agent", "gen_ai.conversation.id": "s1"}
    spans = [span("a", None, 0, 9, agent), span("r", "a", 1, 2, found), span("c", "a", 3, 5, chat)]
    [query] = imported(spans, tmp_path).queries
    assert (query["question"], query["answer"]) == ("How long?", "25.")
    assert (query["retrieved_ids"], query["retrieved_scores"]) == (["d1", "d2"], [0.5, 0.25])
    assert (query["output_tokens"], query["total_tokens"], query["tags"]) == (2, 9, {"session_id": "s1"})


def test_spans_of_openllmetry(tmp_path: Path) -> None:
    workflow = {
        "traceloop.span.kind": "workflow",
        "traceloop.entity.input": '{"args": ["How long?"], "kwargs": {}}',
        "traceloop.entity.output": '"25 days."',
        "traceloop.association.properties.user_id": "u1",
    }
    hits = [
        {"name": "db.query.result", "attributes": {"db.query.result.id": i, "db.query.result.document": t}}
        for i, t in (("d1", LEAVE), ("d2", SICK))
    ]
    search = span("chroma.query", "w", 1, 3, {"db.system": "chroma"}, events=hits)
    chat = {
        "llm.request.type": "chat",
        "gen_ai.request.model": "m",
        "gen_ai.prompt.0.content": f"{LEAVE} How long?",
        "gen_ai.prompt.0.role": "user",
        "gen_ai.completion.0.content": "25 days.",
        "llm.usage.total_tokens": 40,
    }
    [query] = imported([span("w", None, 0, 9, workflow), search, span("c", "w", 4, 8, chat)], tmp_path).queries
    assert (query["question"], query["answer"], query["tags"]) == ("How long?", "25 days.", {"user_id": "u1"})
    assert (query["retrieved_ids"], query["context_ids"]) == (["d1", "d2"], ["d1"])
    assert (query["search_latency_ms"], query["generation_latency_ms"], query["total_tokens"]) == (2, 4, 40)


def test_an_embedding_before_the_retriever_is_part_of_the_retrieval(tmp_path: Path) -> None:
    spans = [root(), span("embed", "root", 2, 6, {KIND: "EMBEDDING"}), retriever("find", "root", 10, 30, ("d1", LEAVE))]
    [query] = imported(spans, tmp_path).queries
    assert (query["embedding_latency_ms"], query["retrieval_latency_ms"]) == (4, 24)


# --- tables and public data -------------------------------------------------------------------------------------------

ROWS = [
    {
        "context.trace_id": "t1", "context.span_id": "a", "name": "ask", "span_kind": "CHAIN", "parent_id": None,
        "start_time": "2023-11-14T22:13:20+00:00", "end_time": "2023-11-14T22:13:20.1+00:00",
        "attributes.input.value": "How long?", "attributes.output.value": "25 days.",
        "attributes.retrieval.documents": None, "attributes.llm.token_count.total": None,
    },
    {
        "context.trace_id": "t1", "context.span_id": "b", "name": "find", "span_kind": "RETRIEVER", "parent_id": "a",
        "start_time": "2023-11-14T22:13:20+00:00", "end_time": "2023-11-14T22:13:20.02+00:00",
        "attributes.input.value": "How long?", "attributes.output.value": None,
        "attributes.retrieval.documents": [{"document.id": "d1", "document.content": LEAVE, "document.score": 0.5}],
        "attributes.llm.token_count.total": None,
    },
    {
        "context.trace_id": "t1", "context.span_id": "c", "name": "say", "span_kind": "LLM", "parent_id": "a",
        "start_time": "2023-11-14T22:13:20.02+00:00", "end_time": "2023-11-14T22:13:20.09+00:00",
        "attributes.input.value": None, "attributes.output.value": "25 days.",
        "attributes.retrieval.documents": None, "attributes.llm.token_count.total": 40.0,
    },
]  # fmt: skip
OF_ROWS = {
    "id": "t1", "question": "How long?", "answer": "25 days.", "latency_ms": 100, "retrieval_latency_ms": 20,
    "generation_latency_ms": 70, "total_tokens": 40, "timestamp": "2023-11-14T22:13:20Z", "retrieved_ids": ["d1"],
    "retrieved_scores": [0.5],
}  # fmt: skip


def test_a_csv_of_phoenix(tmp_path: Path) -> None:
    import csv

    path = tmp_path / "spans.csv"
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, ROWS[0])
        writer.writeheader()
        writer.writerows(ROWS)
    result = read([path])
    assert (result.queries, result.chunks) == ([OF_ROWS], [{"id": "d1", "text": LEAVE}])


@pytest.mark.parquet
def test_a_parquet_file_of_phoenix(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    import datetime

    times = ("start_time", "end_time")
    rows = [row | {n: datetime.datetime.fromisoformat(str(row[n])) for n in times} for row in ROWS]
    pytest.importorskip("pyarrow.parquet").write_table(pa.Table.from_pylist(rows), tmp_path / "spans.parquet")
    result = read([tmp_path / "spans.parquet"])
    assert (result.queries, result.chunks) == ([OF_ROWS], [{"id": "d1", "text": LEAVE}])


@pytest.mark.skipif(not SHARED.exists(), reason="the shared data are not here")
def test_public_spans_of_trulens() -> None:
    result = read([SHARED / "trulens"])
    queries = {query["id"]: query for query in result.queries}
    coffee = queries["38285552113882235753580066402372722435"]
    assert coffee["question"] == "What is the best coffee?"
    assert coffee["expected_answer"] == "Like attention but with more heads."
    assert [len(coffee["retrieved_texts"]), coffee["output_tokens"], coffee["total_tokens"]] == [4, 93, 429 + 101]
    assert coffee["latency_ms"] == pytest.approx(2172.22)  # 19:55.993955 to 19:58.166175
    assert coffee["cost_usd"] == pytest.approx(420 + 0.0001062)
    assert len(queries) == 10
    assert sum("retrieved_texts" in query for query in result.queries) == 5
    record = queries["record_hash_ed06148a6a9e5153a97be3dac551aca4"]
    assert (record["question"], record["total_tokens"], record["cost_usd"]) == ("hello", 154, 0.0802)
    report = RAGEvaluator().evaluate_dataset(result.dataset())
    assert report["end_to_end"]["p50_latency_ms"] is not None
