"""LlamaIndex apps by things that behave as LlamaIndex's do; test_frameworks.py has the real ones."""

from __future__ import annotations

import threading
from types import SimpleNamespace as Thing
from typing import Any

import pytest
from tests.pipeline.adapters.clock import Clock

from rag_titan.errors import SettingsError
from rag_titan.evaluation import collect_dataset
from rag_titan.pipeline.adapters import LlamaIndexPipeline
from rag_titan.pipeline.adapters.llama_index import Listener

TEXT = "Annual leave is 25 days. Sick pay is full."
GOLDEN = [{"id": "g1", "question": "How long is leave?", "expected_evidence": ["leave is 25 days"]}]


def node(name: str, start: int, end: int) -> Thing:
    return Thing(node_id=name, text=TEXT[start:end], start_char_idx=start, ref_doc_id="d1", metadata={})


NODES = [node("n1", 0, 24), node("n2", 25, 42)]
FOUND = [Thing(node=each, node_id=each.node_id, score=score) for each, score in zip(NODES, (0.9, 0.5), strict=True)]
DOCUMENTS = [Thing(id_="d1", text=TEXT, metadata={"file_path": "hr.md"})]


class Manager:
    """Tells every handler what happens, as a callback manager does."""

    def __init__(self) -> None:
        self.handlers: list[Any] = []
        self.add_handler, self.remove_handler = self.handlers.append, self.handlers.remove

    def event(self, kind: str, payload: Any, clock: Clock, ms: float, name: str = "e", inside: Any = None) -> None:
        for handler in self.handlers:
            handler.on_event_start(kind, {}, event_id=name, parent_id="root")
        if inside is not None:
            inside()
        clock.tick(ms)
        for handler in self.handlers:
            handler.on_event_end(kind, payload, event_id=name)


class Engine:
    """Retrieves twice within one retriever, keeps the last, and writes."""

    def __init__(self, clock: Clock, shared: bool, streamed: bool = False) -> None:
        self.clock, self.streamed = clock, streamed
        self.callback_manager = Manager()
        self.retriever = Thing(callback_manager=self.callback_manager if shared else Manager())

    def query(self, question: str) -> Any:
        told, clock = self.retriever.callback_manager, self.clock
        told.event(
            "retrieve", {"nodes": FOUND}, clock, 5, "r", lambda: told.event("retrieve", {"nodes": FOUND[:1]}, clock, 20)
        )
        self.callback_manager.event("reranking", {"nodes": FOUND[1:]}, clock, 8)
        raw = {"usage": {"prompt_tokens": 20, "completion_tokens": 4}}
        self.callback_manager.event(
            "synthesize", None, clock, 100, "s",
            lambda: self.callback_manager.event("llm", {"response": Thing(raw=raw)}, clock, 300, "l"),
        )  # fmt: skip
        response = Thing(response="25 days", source_nodes=FOUND[1:], metadata={})

        def read() -> Any:
            clock.tick(50)
            return response

        return Thing(response_gen=iter([]), get_response=read) if self.streamed else response


@pytest.mark.parametrize("shared", [True, False])
def test_what_an_engine_does_inside_is_heard(clock: Clock, shared: bool) -> None:
    engine = Engine(clock, shared)
    run = LlamaIndexPipeline(query_engine=engine, chunks=NODES, documents=DOCUMENTS)
    run.index()
    assert run.ask("How long?") == {
        "retrieved_ids": ["n1", "n2"],
        "retrieved_scores": [0.9, 0.5],
        "reranked_ids": ["n2"],
        "context_ids": ["n2"],
        "answer": "25 days",
        "retrieval_latency_ms": pytest.approx(25),
        "rerank_latency_ms": pytest.approx(8),
        "generation_latency_ms": pytest.approx(400),
        "output_tokens": 4,
        "total_tokens": 24,
        "latency_ms": pytest.approx(433),
    }
    assert engine.callback_manager.handlers == engine.retriever.callback_manager.handlers == []


def test_an_answer_that_is_streamed_is_read_to_its_end(clock: Clock) -> None:
    record = LlamaIndexPipeline(query_engine=Engine(clock, True, streamed=True)).ask("?")
    assert (record["answer"], record["generation_latency_ms"]) == ("25 days", pytest.approx(450))


def test_no_handler_stays_behind_when_the_engine_fails(clock: Clock) -> None:
    engine = Engine(clock, True)
    engine.query = lambda question: 1 / 0  # type: ignore[method-assign]
    run = LlamaIndexPipeline(query_engine=engine, chunks=NODES, documents=DOCUMENTS)
    assert collect_dataset(run, None, GOLDEN)["queries"][0]["error"] == "ZeroDivisionError: division by zero"
    assert engine.callback_manager.handlers == []


def test_an_engine_without_managers_gives_its_source_nodes() -> None:
    engine = Thing(query=lambda question: Thing(response="25 days", source_nodes=FOUND, metadata={}))
    record = LlamaIndexPipeline(query_engine=engine).ask("?")
    assert record["retrieved_ids"] == record["context_ids"] == ["n1", "n2"]
    assert "reranked_ids" not in record


def test_what_happens_in_other_threads_is_not_heard(clock: Clock) -> None:
    listener, manager = Listener(), Manager()
    manager.add_handler(listener)
    thread = threading.Thread(target=manager.event, args=("retrieve", {"nodes": FOUND}, clock, 5))
    thread.start()
    thread.join()
    assert (listener.nodes, listener.times) == (None, {})


def test_an_app_by_its_steps(clock: Clock) -> None:
    class Turned:
        def postprocess_nodes(self, nodes: Any, query_str: str) -> Any:
            clock.tick(3)
            return nodes[::-1]

    run = LlamaIndexPipeline(
        Thing(retrieve=lambda question: FOUND),
        Thing(synthesize=lambda question, nodes: Thing(response="25 days [1].", source_nodes=nodes, metadata={})),
        reranker=[Turned(), lambda question, nodes: nodes[:1]],
        chunks=Thing(docstore=Thing(docs={each.node_id: each for each in NODES})),
        documents=DOCUMENTS,
    )
    dataset = collect_dataset(run, None, GOLDEN)
    assert [(c["id"], c["doc_id"], c["start"], c["end"]) for c in dataset["chunks"]] == [
        ("n1", "hr.md", 0, 24),
        ("n2", "hr.md", 25, 42),
    ]
    [query] = dataset["queries"]
    assert query["expected_chunk_ids"] == ["n1"]
    assert (query["retrieved_ids"], query["reranked_ids"], query["context_ids"]) == (["n1", "n2"], ["n2"], ["n2"])
    assert (query["citations"], query["rerank_latency_ms"]) == (["n2"], pytest.approx(3))


def test_an_index_that_keeps_its_nodes_elsewhere_is_refused() -> None:
    run = LlamaIndexPipeline(query_engine=print, chunks=Thing(docstore=Thing(docs={})), documents=DOCUMENTS)
    with pytest.raises(SettingsError, match=r"^chunks: must be the nodes themselves where the vector store keeps them"):
        run.index()


def test_embeddings() -> None:
    model = Thing(get_text_embedding_batch=lambda texts: [[1.0]] * len(texts), get_query_embedding=lambda text: [2.0])
    run = LlamaIndexPipeline(print, print, embeddings=model)
    assert run.embed is not None
    assert (run.embed(["a", "b"], query=False), run.embed(["a"], query=True)) == ([[1.0], [1.0]], [[2.0]])


@pytest.mark.parametrize(
    ("parts", "sentence"),
    [
        ({"answer": print}, "query_engine: must be given, or a retriever and an answer in its place, got an answer."),
        ({"query_engine": 3}, "query_engine: must be a function or have a method query, got int."),
        ({"retriever": 3, "answer": print}, "retriever: must be a function or have a method retrieve, got int."),
        (
            {"retriever": print, "answer": print, "reranker": [print, 3]},
            "reranker: must be a function or have a method postprocess_nodes, got int.",
        ),
    ],
)
def test_what_is_no_part_is_refused(parts: dict[str, Any], sentence: str) -> None:
    with pytest.raises(SettingsError) as raised:
        LlamaIndexPipeline(**parts)
    assert str(raised.value) == sentence
