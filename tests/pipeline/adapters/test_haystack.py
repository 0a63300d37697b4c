"""Haystack apps by things that behave as Haystack's do; test_frameworks.py has the real ones."""

from __future__ import annotations

from types import SimpleNamespace as Thing
from typing import Any

import pytest
from tests.pipeline.adapters.clock import Clock

from rag_titan.errors import SettingsError
from rag_titan.evaluation import collect_dataset
from rag_titan.pipeline.adapters import HaystackPipeline

TEXT = "Annual leave is 25 days. Sick pay is full."
GOLDEN = [{"id": "g1", "question": "How long is leave?", "expected_evidence": ["leave is 25 days"]}]
SOURCE = Thing(id="d1", content=TEXT, meta={"file_path": "hr.md"})


def document(name: str, start: int, end: int, score: float | None = None) -> Thing:
    return Thing(id=name, content=TEXT[start:end], score=score, meta={"source_id": "d1", "split_idx_start": start})


STORED = [document("h1", 0, 24), document("h2", 25, 42)]
FOUND = [document("h2", 25, 42, 3.5), document("h1", 0, 24, 1.5)]
REPLY = {"replies": ["25 days [1]."], "meta": [{"usage": {"completion_tokens": 4, "total_tokens": 24}}]}


class Component:
    """Has `run` alone."""

    def __init__(self, clock: Clock, ms: float, **outputs: Any) -> None:
        self.clock, self.ms, self.outputs = clock, ms, outputs
        self.inputs: list[Any] = []

    def run(self, **inputs: Any) -> Any:
        self.inputs.append(inputs)
        self.clock.tick(self.ms)
        return self.outputs


class Ranker(Component):
    """Says that it wants the question."""

    def run(self, documents: Any, query: str) -> Any:  # type: ignore[override]
        return super().run(documents=documents, query=query)


class Sorter(Component):
    """Wants the documents alone."""

    def run(self, documents: Any) -> Any:  # type: ignore[override]
        return super().run(documents=documents)


def test_a_ranker_that_takes_no_question_gets_none(clock: Clock) -> None:
    sorter = Sorter(clock, 6, documents=FOUND[1:])
    run = HaystackPipeline(
        lambda q: FOUND, lambda q, documents: "x", reranker=sorter, chunks=STORED, documents=[SOURCE]
    )
    run.index()
    assert run.ask("?")["reranked_ids"] == ["h1"]
    assert sorter.inputs == [{"documents": FOUND}]


def test_an_app_by_its_steps(clock: Clock) -> None:
    def answer(question: str, documents: list[Any]) -> Any:
        clock.tick(400)
        return REPLY

    retriever, ranker = Component(clock, 20, documents=FOUND), Ranker(clock, 6, documents=FOUND[1:])
    store = Thing(filter_documents=lambda: STORED)
    run = HaystackPipeline(retriever, answer, reranker=ranker, chunks=store, documents=[SOURCE])
    dataset = collect_dataset(run, None, GOLDEN)
    assert [(c["id"], c["doc_id"], c["start"]) for c in dataset["chunks"]] == [("h1", "hr.md", 0), ("h2", "hr.md", 25)]
    [query] = dataset["queries"]
    assert {key: query[key] for key in query if key not in GOLDEN[0]} == {
        "expected_chunk_ids": ["h1"],
        "retrieved_ids": ["h2", "h1"],
        "retrieved_scores": [3.5, 1.5],
        "reranked_ids": ["h1"],
        "context_ids": ["h1"],
        "answer": "25 days.",
        "citations": ["h1"],
        "retrieval_latency_ms": pytest.approx(20),
        "rerank_latency_ms": pytest.approx(6),
        "generation_latency_ms": pytest.approx(400),
        "output_tokens": 4,
        "total_tokens": 24,
        "latency_ms": pytest.approx(426),
    }
    assert retriever.inputs == [{"query": "How long is leave?"}]
    assert ranker.inputs == [{"query": "How long is leave?", "documents": FOUND}]


class Whole:
    """A pipeline of which the outputs that are asked for come back."""

    def __init__(self, **outputs: Any) -> None:
        self.outputs = outputs
        self.asked: list[Any] = []

    def run(self, data: Any, include_outputs_from: set[str]) -> Any:
        self.asked.append((data, include_outputs_from))
        return self.outputs


def test_an_app_as_one_pipeline() -> None:
    pipeline = Whole(search={"documents": FOUND}, rank={"documents": FOUND[:1]}, llm=REPLY)
    run = HaystackPipeline(
        "search", "llm", reranker="rank", pipeline=pipeline, inputs=lambda q: {"search": {"query": q}},
        chunks=STORED, documents=[SOURCE],
    )  # fmt: skip
    run.index()
    record = run.ask("How long?")
    assert (record["retrieved_ids"], record["reranked_ids"], record["context_ids"]) == (["h2", "h1"], ["h2"], ["h2"])
    assert (record["answer"], record["total_tokens"]) == ("25 days [1].", 24)
    assert [key for key in record if key.endswith("_ms")] == ["latency_ms"]
    assert pipeline.asked == [({"search": {"query": "How long?"}}, {"search", "rank", "llm"})]


def test_documents_that_the_answer_refers_to_are_its_citations() -> None:
    documents = [Thing(**{**vars(each), "meta": {"referenced": i == 1}}) for i, each in enumerate(FOUND)]
    generated = Thing(data="25 days", documents=documents, meta={})
    pipeline = Whole(search={"documents": FOUND}, builder={"answers": [generated]})
    run = HaystackPipeline(
        "search", "builder", pipeline=pipeline, inputs=lambda q: {}, chunks=STORED, documents=[SOURCE]
    )
    run.index()
    assert run.ask("?")["citations"] == ["h1"]


def test_a_component_that_did_not_run_is_the_error_of_the_question() -> None:
    run = HaystackPipeline(
        "search", "llm", pipeline=Whole(llm=REPLY), inputs=lambda q: {}, chunks=STORED, documents=[SOURCE]
    )
    assert collect_dataset(run, None, GOLDEN)["queries"][0]["error"] == (
        "DatasetError: retriever: must have run in the pipeline, got outputs of llm and none of search."
    )


def test_a_text_embedder_embeds_both(clock: Clock) -> None:
    run = HaystackPipeline(print, print, embeddings=Component(clock, 0, embedding=[1.0, 2.0]))
    assert run.embed is not None
    assert run.embed(["a", "b"], query=False) == [[1.0, 2.0], [1.0, 2.0]]


@pytest.mark.parametrize(
    ("parts", "sentence"),
    [
        ({}, "retriever: must be a function or have a method run, got none."),
        ({"retriever": print}, "answer: must be a function, got none."),
        ({"retriever": print, "answer": 3}, "answer: must be a function, got int."),
        (
            {"retriever": "r", "answer": "a", "pipeline": 1},
            "inputs: must be a function of the question that returns what the pipeline is run with, got NoneType.",
        ),
        (
            {"retriever": "r", "answer": print, "pipeline": 1, "inputs": print},
            "answer: must be the name of a component of the pipeline, got builtin_function_or_method.",
        ),
    ],
)
def test_what_is_no_part_is_refused(parts: dict[str, Any], sentence: str) -> None:
    with pytest.raises(SettingsError) as raised:
        HaystackPipeline(**parts)
    assert str(raised.value) == sentence
