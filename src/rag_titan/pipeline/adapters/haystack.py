"""Haystack: components and pipelines, each with `run`, and Documents."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from rag_titan.errors import DatasetError, SettingsError
from rag_titan.pipeline.adapters.answers import answer_of
from rag_titan.pipeline.adapters.app import AppPipeline, Embed, Rerank, Run, Steps, method
from rag_titan.pipeline.adapters.passages import documents_in


class HaystackPipeline(AppPipeline):
    """A Haystack app, by its steps or as one pipeline (stages.txt, "With a rag-titan pipeline").

    retriever  has `run(query=)`, or is a function of the question: {"documents": [...]} or the list
    answer     a function of the question and the Documents: text, a message, or what a generator returns
    reranker   has `run(documents=)`, perhaps with `query=`, or is a function of the question and the Documents
    pipeline   then `retriever`, `answer` and `reranker` are the names of its components. Of its time only the whole is
               known, as its components do not say theirs
    inputs     what the pipeline is run with: a function of the question
    chunks     the Documents in the store, or the store itself, or a function files -> one of these
    documents  {id: text}, or the Documents that were split; without them the files are loaded
    embeddings a text embedder, which has `run(text=)`, or a function (texts, query=) -> vectors

    Raises SettingsError for a part that is none.
    """

    def __init__(
        self,
        retriever: Any = None,
        answer: Any = None,
        *,
        reranker: Any = None,
        pipeline: Any = None,
        inputs: Callable[[str], Mapping[str, Any]] | None = None,
        chunks: Any = None,
        documents: Any = None,
        embeddings: Any = None,
    ) -> None:
        super().__init__(chunks, documents, _embed(embeddings))
        self._pipeline = pipeline
        if pipeline is None:
            rerank = None if reranker is None else _rerank(reranker)
            self._steps = Steps(_retrieve(retriever), method(answer, "answer"), rerank)
            return
        if not callable(inputs):
            rule = "must be a function of the question that returns what the pipeline is run with"
            raise SettingsError(f"inputs: {rule}, got {type(inputs).__name__}.")
        self._inputs = inputs
        self._names = {"retriever": retriever, "reranker": reranker, "answer": answer}
        for part, name in self._names.items():
            if not isinstance(name, str) and not (part == "reranker" and name is None):
                rule = "must be the name of a component of the pipeline"
                raise SettingsError(f"{part}: {rule}, got {type(name).__name__}.")

    def _listed(self, chunks: Any) -> Any:
        stored = getattr(chunks, "filter_documents", None)
        return stored() if callable(stored) else chunks

    def _run(self, question: str) -> Run:
        if self._pipeline is None:
            return self._steps.run(question)
        names = {name for name in self._names.values() if name is not None}
        outputs = self._pipeline.run(dict(self._inputs(question)), include_outputs_from=names)
        retrieved = documents_in(self._output(outputs, "retriever"), "retriever")
        reranked = None
        if self._names["reranker"] is not None:
            reranked = documents_in(self._output(outputs, "reranker"), "reranker")
        answer = answer_of(self._output(outputs, "answer"))
        return Run(answer, retrieved, reranked, retrieved if reranked is None else reranked)

    def _output(self, outputs: Mapping[str, Any], part: str) -> Any:
        name = self._names[part]
        if name not in outputs:
            there = ", ".join(outputs)
            raise DatasetError(part, f"must have run in the pipeline, got outputs of {there} and none of {name}.")
        return outputs[name]


def _retrieve(part: object) -> Callable[[str], Any]:
    call = method(part, "retriever", "run")
    return call if call is part else lambda question: call(query=question)


def _rerank(part: object) -> Rerank:
    call = method(part, "reranker", "run")
    if call is part:
        return call
    takes_question = "query" in inspect.signature(call).parameters  # those that sort by metadata do not
    return lambda question, documents: call(documents=documents, **({"query": question} if takes_question else {}))


def _embed(embeddings: object) -> Embed | None:
    if embeddings is None:
        return None
    call = method(embeddings, "embeddings", "run")
    if call is embeddings:
        return call
    return lambda texts, query: [call(text=text)["embedding"] for text in texts]
