"""Traces of real packages: what their instrumentation writes is imported, and comes out right in an evaluation."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("opentelemetry.sdk", exc_type=ImportError)

from tests.evaluation.importers.traced_apps import (
    ANSWER,
    LEAVE,
    QUESTION,
    TEXTS,
    haystack_app,
    langchain_app,
    llama_index_app,
    traced,
)

from rag_titan.evaluation import RAGEvaluator, build_dataset
from rag_titan.evaluation.data.dataset import dataset_from
from rag_titan.evaluation.importers.imported import Imported
from rag_titan.evaluation.importers.traces import read

pytestmark = [
    pytest.mark.traces,
    # The instrumentation of LlamaIndex calls it, and loses its span where that raises.
    pytest.mark.filterwarnings("ignore:The `json` method is deprecated:DeprecationWarning"),
]


ROUNDED = 0.0021  # the file has times to the microsecond
ROOT = "RunnableSequence"  # LangChain calls inner sequences so too


def imported(spans: Sequence[Any], folder: Path) -> Imported:
    """The spans as the SDK's file exporter writes them, read back."""
    path = folder / "spans.jsonl"
    path.write_text("".join(span.to_json(indent=None) + "\n" for span in spans))
    return read([path])


def milliseconds(spans: Sequence[Any], name: str) -> float:
    """How long the span of that name took, by the times that it has in memory."""
    [span] = [span for span in spans if span.name == name and (name != ROOT or span.parent is None)]
    return (span.end_time - span.start_time) / 1e6


def report_of(run: Imported, k: int) -> dict[str, Any]:
    """With the gold labels that a person would add: the passage on leave answers the question."""
    golden = {"expected_chunk_ids": ["leave"], "expected_evidence": [LEAVE]}
    queries = [query | golden for query in run.queries]
    dataset = dataset_from(queries=queries, chunks=run.chunks, documents=TEXTS)
    report: dict[str, Any] = RAGEvaluator(k=k).evaluate_dataset(dataset)
    return report


def test_langchain(tmp_path: Path) -> None:
    instrumentation = pytest.importorskip("openinference.instrumentation.langchain")
    with traced(instrumentation.LangChainInstrumentor()) as run:
        spans = run(langchain_app())
    result = imported(spans, tmp_path)
    [query] = result.queries
    assert (query["question"], query["answer"]) == (QUESTION, ANSWER)
    assert query["retrieved_ids"] == ["leave", "sick"]  # the ensemble's, and not those of the retrievers in it
    assert query["context_ids"] == ["leave", "sick"]
    assert query["tags"] == {"session_id": "s1", "language": "en"}
    assert result.chunks is not None
    assert result.chunks[0] == {"id": "leave", "text": LEAVE, "metadata": {"source": "hr.pdf"}}
    assert query["latency_ms"] == pytest.approx(milliseconds(spans, ROOT), abs=ROUNDED)
    assert query["retrieval_latency_ms"] == pytest.approx(milliseconds(spans, "Ensemble"), abs=ROUNDED)
    assert query["generation_latency_ms"] == pytest.approx(milliseconds(spans, "FakeListChatModel"), abs=ROUNDED)
    assert result.notices.texts() == []
    report = report_of(result, k=1)
    assert report["retrieval"]["summary"]["recall_at_k"] == 1
    assert report["augmentation"]["summary"]["context_sufficient"] == 1
    assert report["augmentation"]["summary"]["context_recall"] == 1
    assert report["end_to_end"]["p50_latency_ms"] == pytest.approx(query["latency_ms"])


def test_langchain_without_ids_of_documents_is_joined_to_golden_questions(tmp_path: Path) -> None:
    instrumentation = pytest.importorskip("openinference.instrumentation.langchain")
    with traced(instrumentation.LangChainInstrumentor()) as run:
        spans = run(langchain_app(ids=False))
    result = imported(spans, tmp_path)
    assert result.queries[0]["retrieved_texts"] == [LEAVE, TEXTS["sick"]]
    golden = [{"id": "g1", "question": QUESTION.lower(), "expected_evidence": ["25 days"], "expected_answer": ANSWER}]
    chunks = [{"id": name, "text": text} for name, text in TEXTS.items()]
    built = build_dataset(result.queries, golden, chunks=chunks, documents=TEXTS)
    report = RAGEvaluator(k=1).evaluate(**built)
    assert report["retrieval"]["summary"]["recall_at_k"] == 1
    assert report["augmentation"]["summary"]["context_sufficient"] == 1
    latency = pytest.approx(milliseconds(spans, ROOT), abs=ROUNDED)
    assert report["end_to_end"]["p50_latency_ms"] == latency


def test_llama_index(tmp_path: Path) -> None:
    instrumentation = pytest.importorskip("openinference.instrumentation.llama_index")
    with traced(instrumentation.LlamaIndexInstrumentor()) as run:
        app = llama_index_app()
        spans = run(app)
    result = imported(spans, tmp_path)
    [query] = result.queries
    assert (query["question"], query["answer"]) == (QUESTION, "text text text text text")
    assert query["retrieved_ids"] == ["leave", "sick", "bikes"]
    assert query["reranked_ids"] == query["context_ids"] == ["bikes", "sick"]
    assert query["retrieved_scores"] == pytest.approx([1, 0.75 / (0.5 * 1.25) ** 0.5, 0.5**0.5])  # the cosines
    assert query["latency_ms"] == pytest.approx(milliseconds(spans, "RetrieverQueryEngine.query"), abs=ROUNDED)
    assert query["retrieval_latency_ms"] == pytest.approx(
        milliseconds(spans, "VectorIndexRetriever.retrieve"), abs=ROUNDED
    )
    assert query["rerank_latency_ms"] == pytest.approx(milliseconds(spans, "Turning._postprocess_nodes"), abs=ROUNDED)
    embedding = milliseconds(spans, "MockEmbedding.get_query_embedding")
    assert query["embedding_latency_ms"] == pytest.approx(embedding, abs=ROUNDED)
    report = report_of(result, k=3)
    assert report["retrieval"]["summary"]["recall_at_k"] == 1
    assert report["augmentation"]["summary"]["context_recall"] == 0  # the reranker threw it out
    assert report["queries"][0]["lost_at"] == "reranking"


def test_llama_index_streams(tmp_path: Path) -> None:
    instrumentation = pytest.importorskip("openinference.instrumentation.llama_index")
    with traced(instrumentation.LlamaIndexInstrumentor()) as run:
        app = llama_index_app(streaming=True)
        spans = run(app)
    [query] = imported(spans, tmp_path).queries
    waited = [
        (event.timestamp - span.start_time) / 1e6
        for span in spans
        for event in span.events
        if event.name == "First Token Stream Event" and "MockLLM" in span.name
    ]
    assert waited
    assert query["time_to_first_token_ms"] in [pytest.approx(time, abs=ROUNDED) for time in waited]
    assert 0 <= query["time_to_first_token_ms"] <= query["generation_latency_ms"]


def test_haystack(tmp_path: Path) -> None:
    instrumentation = pytest.importorskip("openinference.instrumentation.haystack")
    with traced(instrumentation.HaystackInstrumentor()) as run:
        spans = run(haystack_app())
    result = imported(spans, tmp_path)
    [query] = result.queries
    assert (query["question"], query["answer"]) == (QUESTION, ANSWER)
    assert query["retrieved_ids"][0] == query["context_ids"][0] == "leave"
    assert query["context_ids"] == query["retrieved_ids"]
    assert (query["output_tokens"], query["total_tokens"]) == (4, 24)
    assert query["latency_ms"] == pytest.approx(milliseconds(spans, "Pipeline.run"), abs=ROUNDED)
    assert query["retrieval_latency_ms"] == pytest.approx(milliseconds(spans, "InMemoryBM25Retriever.run"), abs=ROUNDED)
    assert query["generation_latency_ms"] == pytest.approx(milliseconds(spans, "FakeGenerator.run"), abs=ROUNDED)
    report = report_of(result, k=1)
    assert report["retrieval"]["summary"]["recall_at_k"] == 1
    assert report["augmentation"]["summary"]["context_sufficient"] == 1
    assert report["end_to_end"]["mean_total_tokens"] == 24
