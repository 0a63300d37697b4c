"""LangChain: retrievers, compressors and chains, each with `invoke`, and Documents."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from rag_titan.pipeline.adapters.answers import Answer, Usage, answer_of
from rag_titan.pipeline.adapters.app import AppPipeline, Embed, Rerank, Respond, Run, Steps, method, whole_or_steps
from rag_titan.pipeline.adapters.passages import first, passage_of


class LangChainPipeline(AppPipeline):
    """A LangChain app, by its steps or as one chain (stages.txt, "With a rag-titan pipeline").

    retriever     has `invoke(question)`, or is a function of the question: Documents, or pairs (Document, score)
    answer        has `invoke({"question", "input", "context"})`, where the context is the list of Documents and prints
                  as their texts; or is a function of the question and the Documents. Returns text, a message, or a dict
    reranker      has `compress_documents(documents, query)`, or is a function of the question and the Documents
    chain         in the place of these: a chain that retrieves by itself. What its retriever finds and how long its
                  steps take is heard through callbacks
    question_key  the key of the chain's input that holds the question; without it the input is the question
    chunks        the Documents that are in the store, or a function files -> Documents
    documents     {id: text}, or the Documents that were split; without them the files are loaded
    embeddings    has `embed_documents(texts)` and `embed_query(text)`

    Raises SettingsError for a part that is none.
    """

    def __init__(
        self,
        retriever: Any = None,
        answer: Any = None,
        *,
        reranker: Any = None,
        chain: Any = None,
        question_key: str | None = None,
        chunks: Any = None,
        documents: Any = None,
        embeddings: Any = None,
    ) -> None:
        super().__init__(chunks, documents, _embed(embeddings))
        self._question_key = question_key
        self._chain = method(chain, "chain", "invoke") if whole_or_steps("chain", chain, retriever, answer) else None
        if self._chain is None:
            rerank = None if reranker is None else _rerank(reranker)
            self._steps = Steps(method(retriever, "retriever", "invoke"), _respond(answer), rerank)

    def _run(self, question: str) -> Run:
        if self._chain is None:
            return self._steps.run(question)
        listener = Listener()
        asked = question if self._question_key is None else {self._question_key: question}
        answer = answer_of(_heard(self._chain, asked, listener))
        retrieved = listener.documents if listener.documents is not None else answer.sources
        context = answer.sources if answer.sources is not None else retrieved
        return Run(listener.told(answer), retrieved, None, context, listener.times)


class Context(list[Any]):
    """Documents for a chain: a list to those that take documents, their texts to a prompt that prints them."""

    def __str__(self) -> str:
        return "\n\n".join(passage_of(document).text or "" for document in self)


class Listener:
    """Hears what happens in one call of a chain, as LangChain tells its callback handlers, whose names these are.

    documents  of the outermost retrievers, in the order in which they ended; None where none ran
    times      of the retrievers and of the models, each the sum of the runs
    """

    ignore_llm = ignore_chat_model = ignore_retriever = False
    ignore_chain = ignore_agent = ignore_retry = ignore_custom_event = True
    raise_error = run_inline = False

    def __init__(self) -> None:
        self.documents: list[Any] | None = None
        self.times: dict[str, float] = {}
        self.usage = Usage()
        self._starts: dict[Any, float] = {}
        self._retrieving: set[Any] = set()

    def on_retriever_start(self, *_: Any, run_id: Any = None, parent_run_id: Any = None, **__: Any) -> None:
        """A retriever within a retriever, as in an ensemble, is a part of the outer one."""
        self._retrieving.add(run_id)
        if parent_run_id not in self._retrieving:
            self._starts[run_id] = time.perf_counter()

    def on_retriever_end(self, documents: Sequence[Any], *, run_id: Any = None, **_: Any) -> None:
        """What it found."""
        if self._ended(run_id, "retrieval_latency_ms"):
            self.documents = [*(self.documents or ()), *documents]

    def on_retriever_error(self, *_: Any, **__: Any) -> None:
        """The chain raises it, or has something else to fall back on."""

    def on_llm_start(self, *_: Any, run_id: Any = None, **__: Any) -> None:
        """A model is asked."""
        self._starts[run_id] = time.perf_counter()

    on_chat_model_start = on_llm_start

    def on_llm_new_token(self, *_: Any, run_id: Any = None, **__: Any) -> None:
        """Only models that stream tell this."""
        if run_id in self._starts:
            since = (time.perf_counter() - self._starts[run_id]) * 1000
            self.times.setdefault("time_to_first_token_ms", since)

    def on_llm_end(self, response: Any, *, run_id: Any = None, **_: Any) -> None:
        """What it took."""
        self._ended(run_id, "generation_latency_ms")
        messages = [first(each, "message") for batch in first(response, "generations") or () for each in batch]
        told = [first(message, "usage_metadata") for message in messages] + [first(response, "llm_output")]
        used = [usage for usage in map(Usage.of, (each for each in told if each)) if usage != Usage()]
        self.usage += used[0] if used else Usage()

    def on_llm_error(self, *_: Any, **__: Any) -> None:
        """As with a retriever."""

    def told(self, answer: Answer) -> Answer:
        """The answer with the tokens of all models that were heard."""
        return answer if self.usage == Usage() else replace(answer, usage=self.usage)

    def _ended(self, run_id: Any, key: str) -> bool:
        start = self._starts.pop(run_id, None)
        if start is None:
            return False
        self.times[key] = self.times.get(key, 0.0) + (time.perf_counter() - start) * 1000
        return True


def _heard(call: Callable[..., Any], asked: Any, listener: Listener) -> Any:
    """Call it, with the listener where it takes one."""
    takes = inspect.signature(call).parameters
    told = {"config": {"callbacks": [listener]}} if "config" in takes else {}
    return call(asked, **told)


def _respond(answer: object) -> Respond:
    call = method(answer, "answer", "invoke")
    if call is answer:
        return call

    def respond(question: str, documents: list[Any]) -> Answer:
        listener = Listener()
        asked = {"question": question, "input": question, "context": Context(documents)}
        return listener.told(answer_of(_heard(call, asked, listener)))

    return respond


def _rerank(reranker: object) -> Rerank:
    call = method(reranker, "reranker", "compress_documents")
    if call is reranker:
        return call
    return lambda question, documents: call(documents=documents, query=question)


def _embed(embeddings: Any) -> Embed | None:
    if embeddings is None:
        return None
    if not hasattr(embeddings, "embed_documents"):
        return method(embeddings, "embeddings", "embed_documents")
    return lambda texts, query: (
        [embeddings.embed_query(text) for text in texts] if query else embeddings.embed_documents(list(texts))
    )
