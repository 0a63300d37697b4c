"""Every step of every question: what a part of the pipeline was given, what it made of it, and how long that took."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any, TypeVar

from rag_titan.pipeline.parts import Chunk, Found, Generated, Generator, Reranker, Retrieved, Retriever
from rag_titan.pipeline.reranking import FirstReranker
from rag_titan.pipeline.titan import RAGTitan

Step = dict[str, Any]
Made = TypeVar("Made")


class Trace:
    """Writes down the steps of a pipeline, whose parts it takes the place of.

    steps    those of the latest question, in order: {"step": "retrieve", "rerank" or "generate", what it was given,
             what came of it, "ms"}; a step that failed has its `error`. Chunks stand there by their ids
    context  the chunks that the latest answer was written from
    """

    def __init__(self, titan: RAGTitan) -> None:
        self.steps: list[Step] = []
        self.context: Sequence[Chunk] = ()
        self._titan = titan
        titan.retriever = _Retriever(titan.retriever, self)
        traced = _Unranked if isinstance(titan.reranker, FirstReranker) else _Reranker
        titan.reranker = traced(titan.reranker, self)
        titan.generator = _Generator(titan.generator, self)

    def ask(self, question: str) -> dict[str, Any]:
        """As the pipeline answers; the steps are those of this question afterwards."""
        self.steps, self.context = [], ()
        return self._titan.ask(question)

    def timed(self, step: Step, made: Callable[[], Made], told: Callable[[Made], Step]) -> Made:
        """Do the work of a step and write it down; what it raises goes on."""
        self.steps.append(step)
        begin = time.perf_counter()
        try:
            result = made()
        except Exception as error:
            step["error"] = f"{type(error).__name__}: {error}"
            raise
        finally:
            step["ms"] = (time.perf_counter() - begin) * 1000.0
        step.update(told(result))
        return result


class _Retriever:
    def __init__(self, inner: Retriever, trace: Trace) -> None:
        self._inner, self._trace = inner, trace

    def retrieve(self, question: str, k: int) -> Retrieved:
        return self._trace.timed(
            {"step": "retrieve", "query": question, "k": k},
            lambda: self._inner.retrieve(question, k),
            lambda made: {
                "found": _listed(made.found), "search_ms": made.search_ms, "embedding_ms": made.embedding_ms,
            },
        )  # fmt: skip


class _Reranker:
    def __init__(self, inner: Reranker, trace: Trace) -> None:
        self._inner, self._trace = inner, trace

    def rerank(self, question: str, found: Sequence[Found], k: int) -> list[Found]:
        return self._trace.timed(
            {"step": "rerank", "query": question, "given": [one.chunk.id for one in found], "k": k},
            lambda: self._inner.rerank(question, found, k),
            lambda made: {"ranked": _listed(made)},
        )


class _Unranked(_Reranker, FirstReranker):
    """The pipeline tells by the class that nothing is reranked."""


class _Generator:
    def __init__(self, inner: Generator, trace: Trace) -> None:
        self._inner, self._trace = inner, trace

    def generate(self, question: str, context: Sequence[Chunk]) -> Generated:
        self._trace.context = context
        return self._trace.timed(
            {"step": "generate", "query": question, "context": [chunk.id for chunk in context]},
            lambda: self._inner.generate(question, context),
            lambda made: {name: value for name, value in asdict(made).items() if value is not None},
        )


def _listed(found: Sequence[Found]) -> list[Step]:
    return [
        {
            "id": one.chunk.id, "score": one.score, "doc_id": one.chunk.doc_id, "start": one.chunk.start,
            "end": one.chunk.end,
        }
        for one in found
    ]  # fmt: skip
