"""RAGTitan: documents in, answers with citations out, and every step written down so that it can be evaluated."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rag_titan.errors import DatasetError, SettingsError, nearest
from rag_titan.evaluation import RAGEvaluator, collect_dataset
from rag_titan.pipeline.chunking.chunkers import chunker_of, chunking_of
from rag_titan.pipeline.embedding.embedders import Remembering, embedder_of
from rag_titan.pipeline.generation import generator_of
from rag_titan.pipeline.indexing import index_documents
from rag_titan.pipeline.loading.load import Loading, load_documents
from rag_titan.pipeline.parts import (
    Chunk,
    Chunker,
    Embedder,
    Found,
    Generated,
    Generator,
    Reranker,
    Retriever,
    Store,
    Vectors,
)
from rag_titan.pipeline.reranking import FirstReranker, reranker_of
from rag_titan.pipeline.retrieval import retriever_of
from rag_titan.pipeline.routing import NONE, ONE, Route, merged, rewritten, route
from rag_titan.pipeline.settings import Settings
from rag_titan.pipeline.stores.stores import store_of

TYPES = ("simple", "adaptive")


def check_type(rag_type: Any) -> None:
    """Raises SettingsError for what is no type of RAG."""
    if rag_type not in TYPES:
        close = nearest(rag_type, TYPES, named=True) if isinstance(rag_type, str) else ""
        raise SettingsError(f"rag_type: must be simple or adaptive, got {rag_type!r:.80}{close}.")


PARTS = {  # and what each must be able to do
    "chunker": ("chunks",),
    "embedder": ("embed", "name"),
    "store": ("replace", "chunks", "nearest", "matching", "frequencies", "size"),
    "retriever": ("retrieve",),
    "reranker": ("rerank",),
    "generator": ("generate",),
}
SMALL_TALK = "I answer questions about the documents. What would you like to know?"


class RAGTitan:
    """A small RAG pipeline (stages.txt, "With a rag-titan pipeline").

    rag_type  "simple": retrieve, rerank, generate. "adaptive": small talk is not searched, a question of several parts
              is searched part by part, and where the answer is not found the search is tried again in other words, by
              rules, `settings.tries` times at most
    settings  {name: value}, or a Settings; what is left out comes from the environment (see `Settings`)
    parts     parts of your own in the place of those that the settings name: chunker, embedder, store, retriever,
              reranker, generator (see `pipeline.parts`)

    Raises SettingsError for a type or a setting that there is not, MissingExtraError without the extra `pipeline`.
    """

    def __init__(
        self, rag_type: str = "simple", settings: Mapping[str, Any] | Settings | None = None, **parts: Any
    ) -> None:
        check_type(rag_type)
        self.rag_type = rag_type
        self.settings = Settings.of(settings)
        _check_parts(parts)
        settings_, own = self.settings, _Own(parts)
        self.chunker: Chunker = own.part("chunker", lambda: chunker_of(settings_))
        self.embedder: Embedder = own.part("embedder", lambda: embedder_of(settings_))
        remembering = Remembering(self.embedder)
        chunking = chunking_of(self.chunker)
        self.store: Store = own.part("store", lambda: store_of(settings_, self.embedder, chunking))
        self.retriever: Retriever = own.part("retriever", lambda: retriever_of(settings_, self.store, self.embedder))
        self.reranker: Reranker = own.part("reranker", lambda: reranker_of(settings_, remembering))
        self.generator: Generator = own.part("generator", lambda: generator_of(settings_, remembering))
        self.documents: dict[str, str] = {}
        self.warnings: list[str] = []
        self._own = sorted(parts)

    def index(self, files: str | Path | Sequence[str | Path] | Loading) -> dict[str, Any]:
        """Load files or folders, cut them into chunks, and put these into the store; a file again replaces its chunks.

        What the store has already as it would be now is not embedded again. `files` may be what was loaded already.

        Returns {"chunks", "documents", "indexed_ids"} as `evaluate` takes them: everything that is in the store now.
        The text of a document that an earlier process indexed is put together from its chunks. What could not be loaded
        stands in `warnings`.

        Raises SettingsError for what is no path, and for a store whose other documents are cut otherwise; DatasetError
        where nothing of the files can be loaded, and where no text is in the store then.
        """
        loading = files if isinstance(files, Loading) else load_documents(files)
        self.warnings = [*loading.warnings, *loading.notes()]
        if self.warnings and not loading.documents:
            raise self._nothing_to_index()
        index_documents(loading.documents, self.chunker, self.embedder, self.store)
        self.documents |= loading.texts()
        chunks = list(self.store.chunks())
        if not chunks and loading.documents:
            raise self._nothing_to_index()
        if chunks:  # what libraries load at a first search is in no question's time
            self.retriever.retrieve(chunks[0].text[:100], 1)
        return {
            "chunks": [chunk.record() for chunk in chunks],
            "documents": {**put_together(chunks), **self.documents},
            "indexed_ids": [chunk.id for chunk in chunks],
        }

    def _nothing_to_index(self) -> DatasetError:
        reason = f" ({self.warnings[0]})" if self.warnings else ""
        return DatasetError("files", f"must hold at least one document with text, got none{reason}.")

    def ask(self, question: str) -> dict[str, Any]:
        """Answer a question from what was indexed.

        Returns a query record: answer (which cites [1], [2], ... by the place in the context), citations, abstained,
        retrieved_ids (with their scores where they are of one search), reranked_ids unless the reranker is none,
        context_ids, the time of each step in ms, tokens and cost where the model says them; and `route`: how it was
        searched, and who decided that. Of an answer to small talk there is the answer alone.

        Raises DatasetError for a question that is no text, and where nothing is indexed that could be searched.
        """
        if not isinstance(question, str):
            raise DatasetError("question", f"must be text, got {question!r:.80}.")
        clock = _Clock()
        way = route(question) if self.rag_type == "adaptive" else Route(ONE, (question,), by="settings")
        if way.kind == NONE:
            return {"answer": SMALL_TALK, "route": _told(way, 0), "latency_ms": clock.total_ms}
        search = self._searched(question, way, clock)
        answer, context = search.answers[-1], [one.chunk for one in search.ranked]
        ranked = [] if isinstance(self.reranker, FirstReranker) else [("reranked_ids", [chunk.id for chunk in context])]
        scores = [("retrieved_scores", [one.score for one in search.found])] if len(search.lists) == 1 else []
        return {
            "answer": answer.text,
            "citations": cited(answer.text, context),
            "abstained": answer.abstained,
            "retrieved_ids": [one.chunk.id for one in search.found],
            **dict(scores),
            **dict(ranked),
            "context_ids": [chunk.id for chunk in context],
            **clock.times,
            "latency_ms": clock.total_ms,
            **search.told_by_the_model(),
            "route": _told(way, len(search.answers)),
        }

    def _searched(self, question: str, way: Route, clock: _Clock) -> _Search:
        """Search, answer, and where the answer is not found search again."""
        asked, search = list(way.queries), _Search()
        while True:
            with clock.step("retrieval_latency_ms"):
                for query in asked:
                    retrieved = self.retriever.retrieve(query, self.settings.candidates)
                    clock.add("search_latency_ms", retrieved.search_ms)
                    clock.add("embedding_latency_ms", retrieved.embedding_ms)
                    search.lists.append(retrieved.found)
                search.found = merged(search.lists)
            if not search.found and "retriever" not in self._own and not self.store.size():
                raise DatasetError("index", "must hold at least one chunk, got an empty one. Call index(files) first.")
            with clock.step("rerank_latency_ms"):
                search.ranked = self.reranker.rerank(question, search.found, self.settings.k)
            search.before_ms = clock.times.get("generation_latency_ms", 0.0)
            with clock.step("generation_latency_ms"):
                search.answers.append(self.generator.generate(question, [one.chunk for one in search.ranked]))
            again, tries = rewritten(question), 1 if self.rag_type == "simple" else self.settings.tries
            if not search.answers[-1].abstained or len(search.answers) >= tries or again in asked:
                return search
            asked = [again]

    def embed(self, texts: Sequence[str], *, query: bool) -> Vectors:
        """One vector for each text, as the index has them."""
        return self.embedder.embed(texts, query=query)

    def evaluate_stages(
        self,
        files: str | Path | Sequence[str | Path],
        golden: Any,
        *,
        include_embeddings: bool = False,
        k: int | None = None,
        **inputs: Any,
    ) -> dict[str, Any]:
        """Index the files, ask every golden question, and evaluate all that came back.

        golden  a golden file, or its records; a file among the documents is not indexed
        k       the cut-off of the metrics; `settings.k` unless given
        inputs  further inputs of `RAGEvaluator.evaluate`, such as size_limits

        What could not be loaded is among the warnings of the report.
        """
        evaluator = RAGEvaluator(k=self.settings.k if k is None else k)  # refuses before the work
        loading = load_documents(files, golden=golden)
        dataset = collect_dataset(self, loading, golden, include_embeddings=include_embeddings)
        report = evaluator.evaluate(**dataset, **inputs)
        return {**report, "warnings": [*self.warnings, *report["warnings"]]}

    @property
    def identity(self) -> dict[str, str]:
        """What makes two pipelines differ: a collection is continued with the same one only."""
        told = {name: str(value) for name, value in self.settings.as_dict().items()}
        return {"rag_type": self.rag_type, **told, "own parts": ", ".join(self._own)}


def _check_parts(parts: Mapping[str, Any]) -> None:
    for name, part in parts.items():
        if name not in PARTS:
            raise SettingsError(f"{name}: must be a part of the pipeline{nearest(name, PARTS)}.")
        missing = [f".{method}" for method in PARTS[name] if part is not None and not hasattr(part, method)]
        if missing:
            rule = f"must be an object with {' and '.join(missing)}, got {part!r:.80}"
            raise SettingsError(f"{name}: {rule}. One of ours is named in settings={{{name!r}: ...}}.")


class _Own:
    """The parts that the caller gave."""

    def __init__(self, parts: Mapping[str, Any]) -> None:
        self._parts = parts

    def part(self, name: str, of_settings: Callable[[], Any]) -> Any:
        """The caller's, or that of the settings, which is made only then."""
        given = self._parts.get(name)
        return of_settings() if given is None else given


@dataclass
class _Search:
    """What came of a question.

    lists      what each search found
    found      all of that
    ranked     what of it is the context
    answers    of each try
    before_ms  how long the tries before the last generated
    """

    lists: list[list[Found]] = field(default_factory=list)
    found: list[Found] = field(default_factory=list)
    ranked: list[Found] = field(default_factory=list)
    answers: list[Generated] = field(default_factory=list)
    before_ms: float = 0.0

    def told_by_the_model(self) -> dict[str, Any]:
        """What is known of its work, nothing of what is not: cost and tokens of all tries, the output of the last."""
        last = self.answers[-1]
        first_ms = last.time_to_first_token_ms
        told = {
            "time_to_first_token_ms": None if first_ms is None else self.before_ms + first_ms,
            "output_tokens": last.output_tokens,
            "total_tokens": _sum([answer.total_tokens for answer in self.answers]),
            "cost_usd": _sum([answer.cost_usd for answer in self.answers]),
        }
        return {name: value for name, value in told.items() if value is not None}


class _Clock:
    """How long the steps of one question took; a step that comes again adds to its time."""

    def __init__(self) -> None:
        self.times: dict[str, float] = {}
        self._start = time.perf_counter()

    @property
    def total_ms(self) -> float:
        return (time.perf_counter() - self._start) * 1000

    def add(self, name: str, ms: float | None) -> None:
        if ms is not None:
            self.times[name] = self.times.get(name, 0.0) + ms

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        self.add(name, (time.perf_counter() - start) * 1000)


def cited(answer: str, context: Sequence[Chunk]) -> list[str]:
    """The chunks that the markers [1], [2], ... of an answer name, each once, in the order of the answer.

    >>> cited("25 days [2], paid [2][9].", [Chunk("a", "", 0, 0, "d"), Chunk("b", "", 0, 0, "d")])
    ['b']
    """
    places = [int(digits) for digits in re.findall(r"\[(\d{1,6})\]", answer)]
    return list(dict.fromkeys(context[place - 1].id for place in places if 1 <= place <= len(context)))


def _told(way: Route, tries: int) -> dict[str, Any]:
    return {"kind": way.kind, "by": way.by, "queries": list(way.queries), "tries": tries}


def _sum(amounts: Sequence[int | None] | Sequence[float | None]) -> float | None:
    known = [amount for amount in amounts if amount is not None]
    return sum(known) if len(known) == len(amounts) else None


def put_together(chunks: Sequence[Chunk]) -> dict[str, str]:
    """{document id: text} from the chunks, by offset; what stands between two, which holds no word, is white space.

    >>> put_together([Chunk("1", "Hi Bob", 1, 7, "d"), Chunk("2", "Bob!", 4, 8, "d"), Chunk("3", "Yes", 10, 13, "d")])
    {'d': '\\nHi Bob!\\n\\nYes'}
    """
    pieces: dict[str, list[str]] = {}
    ends: dict[str, int] = {}
    for chunk in chunks:
        end = ends.setdefault(chunk.doc_id, 0)
        text = "\n" * (chunk.start - end) + chunk.text[max(0, end - chunk.start) :]
        pieces.setdefault(chunk.doc_id, []).append(text)
        ends[chunk.doc_id] = max(end, chunk.end)
    return {name: "".join(texts) for name, texts in pieces.items()}
