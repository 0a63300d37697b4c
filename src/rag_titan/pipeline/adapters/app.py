"""What the adapters of all frameworks share: chunks with ids and places, steps with times, records of the dataset."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from rag_titan.errors import SettingsError
from rag_titan.pipeline.adapters.answers import Answer, answer_of
from rag_titan.pipeline.adapters.chunk_table import ChunkTable
from rag_titan.pipeline.adapters.passages import documents_in, is_list, passage_of, without_scores
from rag_titan.pipeline.adapters.sources import Sources

Retrieve = Callable[[str], Any]
Rerank = Callable[[str, list[Any]], Any]
Respond = Callable[[str, list[Any]], Any]
Embed = Callable[..., Any]


@dataclass
class Run:
    """What the app did for one question; documents are as the framework holds them, None stands for "not seen".

    times  {key of a query record: milliseconds}
    """

    answer: Answer
    retrieved: Sequence[Any] | None = None
    reranked: Sequence[Any] | None = None
    context: Sequence[Any] | None = None
    times: dict[str, float] = field(default_factory=dict)


class AppPipeline(ABC):
    """An app of the user, as `collect_dataset` wants it.

    chunks     what went into the store, as the framework holds it; a function gets the files and returns them, which is
               the place for an app that indexes. None: the app can be asked (`collect_answers(golden, app.ask)`), but
               not be measured against quotes
    documents  {id: text} or the framework's documents, from which the chunks were cut; None: the files are loaded
    embed      (texts, query=) -> vectors; None where the app gives none

    `warnings` says, after `index`, which files could not be loaded.
    """

    def __init__(self, chunks: Any, documents: Any, embed: Embed | None) -> None:
        self.embed = embed
        self.warnings: list[str] = []
        self._chunks = chunks
        self._documents = documents
        self._table: ChunkTable | None = None

    def index(self, files: Any = None) -> dict[str, Any]:
        """The chunks and documents of the app: {"chunks": [...], "documents": {...}}.

        A chunk has an offset where its document has it there, else none: the evaluation then looks for its text.
        Raises SettingsError without chunks, and without documents and files.
        """
        chunks = self._listed(self._chunks(files) if callable(self._chunks) else self._chunks)
        if not is_list(chunks):
            rule = "must be the list of what is in the store, so that it can be measured against quotes"
            instead = "Without it use collect_answers(golden, app.ask)."
            raise SettingsError(f"chunks: {rule}, got {type(chunks).__name__}. {instead}")
        sources = Sources.of(self._documents, files)
        self.warnings = list(sources.warnings)
        self._table = ChunkTable([passage_of(chunk) for chunk in chunks], sources)
        return {"chunks": self._table.records, "documents": sources.texts()}

    def ask(self, question: str) -> dict[str, Any]:
        """Answer a question, as a query record; what the app raises is raised."""
        start = time.perf_counter()
        run = self._run(question)
        total = (time.perf_counter() - start) * 1000
        return {**self._record(run), "latency_ms": total}

    def _listed(self, chunks: Any) -> Any:
        """The list of chunks in what was given for them."""
        return chunks

    @abstractmethod
    def _run(self, question: str) -> Run:
        """Put the question to the app."""

    def _record(self, run: Run) -> dict[str, Any]:
        answer = run.answer
        record = {
            **self._ranked("retrieved", run.retrieved),
            **self._ranked("reranked", run.reranked),
            **self._packed(run.context),
            "answer": answer.text,
            "citations": None if answer.citations is None else self._cited(answer.citations),
            "abstained": answer.abstained,
            **run.times,
            "output_tokens": answer.usage.output,
            "total_tokens": answer.usage.total,
        }
        return {key: value for key, value in record.items() if value is not None}

    def _ranked(self, kind: str, documents: Sequence[Any] | None) -> dict[str, Any]:
        """The ids of a list where all are known; its texts where some are not, or where there is no table of chunks."""
        if documents is None:
            return {}
        passages = [passage_of(document) for document in documents]
        found: dict[str, Any] = {}
        ids = [self._id(document) for document in documents]
        if None not in ids:
            found[f"{kind}_ids"] = ids
        if (self._table is None or None in ids) and all(passage.text is not None for passage in passages):
            found[f"{kind}_texts"] = [passage.text for passage in passages]
        scores = [passage.score for passage in passages]
        if kind == "retrieved" and any(score is not None for score in scores):
            found["retrieved_scores"] = scores
        return found

    def _packed(self, documents: Sequence[Any] | None) -> dict[str, Any]:
        """The context by ids where it can be, and as text where a chunk of it is not in the table."""
        if documents is None:
            return {}
        ids = [self._id(document) for document in documents]
        texts = [passage_of(document).text for document in documents]
        known = {} if self._table is None else {record["id"] for record in self._table.records}
        packed: dict[str, Any] = {} if None in ids else {"context_ids": ids}
        if not all(name in known for name in ids) and None not in texts:
            packed["context"] = "\n\n".join(text or "" for text in texts)
        return packed

    def _cited(self, citations: Sequence[Any]) -> list[str]:
        """Ids stay as they are; documents are named as the chunks that they are."""
        names = [cited if isinstance(cited, str | int) else self._id(cited) for cited in citations]
        return [str(name) for name in names if name is not None]

    def _id(self, document: Any) -> str | None:
        passage = passage_of(document)
        known = None if self._table is None else self._table.id_of(passage)
        return known or passage.id


@dataclass(frozen=True)
class Steps:
    """The steps of an app that are called one after the other, each with its time."""

    retrieve: Retrieve
    respond: Respond
    rerank: Rerank | None = None

    def run(self, question: str) -> Run:
        """Retrieve, rerank, answer."""
        times: dict[str, float] = {}
        with timed(times, "retrieval_latency_ms"):
            retrieved = documents_in(self.retrieve(question), "retriever")
        context, reranked = without_scores(retrieved), None
        if self.rerank is not None:
            with timed(times, "rerank_latency_ms"):
                reranked = documents_in(self.rerank(question, context), "reranker")
            context = without_scores(reranked)
        with timed(times, "generation_latency_ms"):
            answer = answer_of(self.respond(question, context))
        return Run(answer, retrieved, reranked, context, times)


@contextmanager
def timed(times: dict[str, float], key: str) -> Iterator[None]:
    """Write down how long something took, in milliseconds."""
    start = time.perf_counter()
    yield
    times[key] = (time.perf_counter() - start) * 1000


def method(part: Any, where: str, *names: str) -> Callable[..., Any]:
    """The first of these methods that a part has, or the part itself if it is a function.

    >>> method(object(), "retriever", "invoke")
    Traceback (most recent call last):
    rag_titan.errors.SettingsError: retriever: must be a function or have a method invoke, got object.
    """
    for name in names:
        if callable(getattr(part, name, None)):
            found: Callable[..., Any] = getattr(part, name)
            return found
    if callable(part):
        return part  # type: ignore[no-any-return]  # a function of the user
    rule = f"must be a function{''.join(f' or have a method {name}' for name in names)}"
    raise SettingsError(f"{where}: {rule}, got {'none' if part is None else type(part).__name__}.")


def whole_or_steps(name: str, whole: Any, retriever: Any, answer: Any) -> bool:
    """True for an app that is given whole, False for one by its steps; SettingsError for both or neither.

    >>> whole_or_steps("chain", None, print, None)
    Traceback (most recent call last):
    rag_titan.errors.SettingsError: chain: must be given, or a retriever and an answer in its place, got a retriever.
    """
    parts = {name: whole, "retriever": retriever, "answer": answer}
    given = [part for part, value in parts.items() if value is not None]
    if given not in ([name], ["retriever", "answer"]):
        articles = ("an" if part == "answer" else "a" for part in given)
        got = " and ".join(f"{article} {part}" for article, part in zip(articles, given, strict=True)) or "none of them"
        raise SettingsError(f"{name}: must be given, or a retriever and an answer in its place, got {got}.")
    return given == [name]
