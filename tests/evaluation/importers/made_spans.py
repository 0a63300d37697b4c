"""Spans and files of spans for the tests of traces, with times in milliseconds after one moment."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from rag_titan.evaluation.importers.imported import Imported
from rag_titan.evaluation.importers.traces import read

SHARED = Path(__file__).parents[4] / "shared" / "data" / "traces"
T0 = 1_700_000_000_000  # 2023-11-14T22:13:20Z in milliseconds
LEAVE, SICK, BIKES = "Annual leave is 25 days.", "Sick pay is full for weeks.", "Every second bike is free."
KIND = "openinference.span.kind"

Spans = list[dict[str, Any]]


def span(
    name: str, parent: str | None, begin: float, end: float, attributes: dict[str, Any], trace: str = "t1", **more: Any
) -> dict[str, Any]:
    """A span whose times are milliseconds after T0, and whose id is its name."""
    times = {"startTimeUnixNano": int((T0 + begin) * 1_000_000), "endTimeUnixNano": int((T0 + end) * 1_000_000)}
    return {
        "traceId": trace,
        "spanId": name,
        "parentSpanId": parent,
        "name": name,
        "attributes": attributes,
        **times,
        **more,
    }


def documents(prefix: str, *pairs: tuple[str | None, str | None], scores: bool = True) -> dict[str, Any]:
    """Attributes of documents by id and text; the scores fall from 0.9 in steps of 0.1."""
    attributes: dict[str, Any] = {}
    for i, (name, text) in enumerate(pairs):
        known = {"id": name, "content": text, "score": round(0.9 - i / 10, 1) if scores else None}
        attributes |= {f"{prefix}.{i}.document.{key}": v for key, v in known.items() if v is not None}
    return attributes


def retriever(name: str, parent: str | None, begin: float, end: float, *pairs: Any, **more: Any) -> dict[str, Any]:
    attributes = {KIND: "RETRIEVER", "input.value": "rewritten"} | documents("retrieval.documents", *pairs)
    return span(name, parent, begin, end, attributes, **more)


def llm(
    name: str, parent: str | None, begin: float, end: float, prompt: str, answer: str, **more: Any
) -> dict[str, Any]:
    attributes = {
        KIND: "LLM",
        "llm.model_name": "m",
        "llm.input_messages.0.message.role": "user",
        "llm.input_messages.0.message.content": prompt,
        "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.content": answer,
        "llm.token_count.prompt": 30,
        "llm.token_count.completion": 5,
        "llm.cost.total": 0.25,
    }
    return span(name, parent, begin, end, attributes | more.pop("attributes", {}), **more)


def root(trace: str = "t1", **attributes: Any) -> dict[str, Any]:
    said = {KIND: "CHAIN", "input.value": '{"question": "How long is leave?"}', "output.value": "25 days."}
    return span("root", None, 0, 100, said | attributes, trace)


def rag(trace: str = "t1") -> Spans:
    """One request: embedding, retrieval, reranking, generation."""
    reranking = {KIND: "RERANKER"} | documents("reranker.input_documents", ("d1", LEAVE), ("d2", SICK))
    reranking |= documents("reranker.output_documents", ("d2", SICK))
    return [
        root(trace),
        retriever("find", "root", 10, 30, ("d1", LEAVE), ("d2", SICK), trace=trace),
        span("embed", "find", 10, 14, {KIND: "EMBEDDING"}, trace),
        span("rerank", "root", 30, 37, reranking, trace),
        llm("ask", "root", 40, 90, f"Use this.\n{SICK}\nHow long is leave?", "25 days.", trace=trace),
    ]


def imported(spans: Any, folder: Path, name: str = "spans.jsonl", **options: Any) -> Imported:
    path = folder / name
    path.write_text("".join(json.dumps(item) + "\n" for item in spans))
    return read([path], **options)
