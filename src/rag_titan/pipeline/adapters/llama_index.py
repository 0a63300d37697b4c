"""LlamaIndex: retrievers, postprocessors, synthesizers and query engines, and nodes with scores."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from rag_titan.errors import SettingsError
from rag_titan.pipeline.adapters.answers import Usage, answer_of
from rag_titan.pipeline.adapters.app import AppPipeline, Embed, Rerank, Run, Steps, method, whole_or_steps
from rag_titan.pipeline.adapters.passages import documents_in, first, is_list


class LlamaIndexPipeline(AppPipeline):
    """A LlamaIndex app, by its steps or as one query engine (stages.txt, "With a rag-titan pipeline").

    retriever     has `retrieve(question)`, or is a function of the question: nodes with scores
    answer        has `synthesize(question, nodes)`, or is a function of the two. Returns text or a response
    reranker      has `postprocess_nodes(nodes, query_str=)`, or is a function of the question and the nodes; or several
    query_engine  in the place of these. What its retriever finds and how long its steps take is heard through its
                  callback manager; nodes that its postprocessors changed or dropped count as reranked
    chunks        the nodes, or an index that keeps them in its docstore, or a function files -> one of these
    documents     {id: text}, or the Documents that were parsed; without them the files are loaded
    embeddings    an embedding model: `get_text_embedding_batch(texts)` and `get_query_embedding(text)`

    Raises SettingsError for a part that is none.
    """

    def __init__(
        self,
        retriever: Any = None,
        answer: Any = None,
        *,
        reranker: Any = None,
        query_engine: Any = None,
        chunks: Any = None,
        documents: Any = None,
        embeddings: Any = None,
    ) -> None:
        super().__init__(chunks, documents, _embed(embeddings))
        whole = whole_or_steps("query_engine", query_engine, retriever, answer)
        self._engine = query_engine
        self._query = method(query_engine, "query_engine", "query") if whole else None
        if not whole:
            rerank = None if reranker is None else _rerank(reranker)
            retrieve = method(retriever, "retriever", "retrieve")
            self._steps = Steps(retrieve, method(answer, "answer", "synthesize"), rerank)

    def _listed(self, chunks: Any) -> Any:
        kept = first(first(chunks, "docstore"), "docs")
        if not isinstance(kept, Mapping):
            return chunks
        if not kept:
            rule = "must be the nodes themselves where the vector store keeps them, got an index with an empty docstore"
            raise SettingsError(f"chunks: {rule}.")
        return list(kept.values())

    def _run(self, question: str) -> Run:
        if self._query is None:
            return self._steps.run(question)
        listener = Listener()
        managers = _managers(self._engine)
        for manager in managers:
            manager.add_handler(listener)
        try:
            response = self._query(question)
            begin = time.perf_counter()
            answer = answer_of(response)
            if first(response, "response_gen") is not None:  # it was written only while it was read
                listener.add("generation_latency_ms", begin)
        finally:
            for manager in managers:
                manager.remove_handler(listener)
        context, retrieved = answer.sources, listener.nodes
        retrieved = context if retrieved is None else retrieved
        changed = _ids(context) != _ids(retrieved)
        answer = answer if listener.usage == Usage() else replace(answer, usage=listener.usage)
        return Run(answer, retrieved, context if changed else None, context, listener.times)


class Listener:
    """Hears the events of one query, as LlamaIndex tells its callback handlers, whose names these are.

    Managers are shared by all that run in a process, so it hears only what happens in the thread that made it.

    nodes  of the outermost retrievers; None where none ran
    """

    event_starts_to_ignore: Sequence[str] = ()
    event_ends_to_ignore: Sequence[str] = ()

    def __init__(self) -> None:
        self.nodes: list[Any] | None = None
        self.times: dict[str, float] = {}
        self.usage = Usage()
        self._thread = threading.get_ident()
        self._open: dict[str, tuple[str, float]] = {}  # event: its type and when it began

    def on_event_start(self, event_type: str, payload: Any = None, event_id: str = "", **_: Any) -> str:
        """Something begins. Told twice where engine and retriever have one manager, it is still one event."""
        if threading.get_ident() == self._thread:
            self._open[event_id] = (event_type, time.perf_counter())
        return event_id

    def on_event_end(self, event_type: str, payload: Any = None, event_id: str = "", **_: Any) -> None:
        """It is done."""
        if event_id not in self._open:
            return
        begin = self._open.pop(event_id)[1]
        outermost = all(kind != event_type for kind, _ in self._open.values())
        if event_type in _TIMES and outermost:
            self.add(_TIMES[event_type], begin)
        if event_type == "retrieve" and outermost and payload is not None:
            self.nodes = [*(self.nodes or ()), *(first(payload, "nodes") or ())]
        if event_type == "llm" and payload is not None:
            self.usage += _usage(first(payload, "response", "completion"))

    def start_trace(self, trace_id: str | None = None) -> None:
        """Told with every query."""

    def end_trace(self, trace_id: str | None = None, trace_map: Any = None) -> None:
        """Told with every query."""

    def add(self, key: str, begin: float) -> None:
        """The time since then belongs to that key."""
        self.times[key] = self.times.get(key, 0.0) + (time.perf_counter() - begin) * 1000


_TIMES = {
    "retrieve": "retrieval_latency_ms",
    "reranking": "rerank_latency_ms",
    "synthesize": "generation_latency_ms",
}


def _managers(engine: Any) -> list[Any]:
    """The callback managers of an engine and its retriever, which are often one and the same."""
    found = [first(engine, "callback_manager"), first(first(engine, "retriever"), "callback_manager")]
    return [manager for manager in found if callable(getattr(manager, "add_handler", None))]


def _usage(response: Any) -> Usage:
    for told in (first(response, "raw"), first(response, "additional_kwargs")):
        usage = Usage() if told is None else Usage.of(told)
        if usage != Usage():
            return usage
    return Usage()


def _ids(nodes: Sequence[Any] | None) -> list[Any]:
    return [first(node, "node_id", "id_") for node in nodes or ()]


def _rerank(reranker: Any) -> Rerank:
    steps = [_postprocess(each) for each in (reranker if is_list(reranker) else [reranker])]

    def rerank(question: str, nodes: list[Any]) -> list[Any]:
        for step in steps:
            nodes = documents_in(step(question, nodes), "reranker")
        return nodes

    return rerank


def _postprocess(part: object) -> Rerank:
    call: Callable[..., Any] = method(part, "reranker", "postprocess_nodes")
    if call is part:
        return call
    return lambda question, nodes: call(nodes, query_str=question)


def _embed(embeddings: Any) -> Embed | None:
    if embeddings is None:
        return None
    if not hasattr(embeddings, "get_text_embedding_batch"):
        return method(embeddings, "embeddings", "get_text_embedding_batch")
    return lambda texts, query: (
        [embeddings.get_query_embedding(text) for text in texts]
        if query
        else embeddings.get_text_embedding_batch(list(texts))
    )
