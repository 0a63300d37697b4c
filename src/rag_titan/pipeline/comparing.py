"""Which combination of chunker, retriever, reranker and type of RAG serves the golden questions best."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby, product
from pathlib import Path
from typing import Any

from rag_titan.errors import DatasetError, SettingsError
from rag_titan.evaluation import RAGEvaluator, collect_dataset, read_golden
from rag_titan.evaluation.limits import callback
from rag_titan.evaluation.writing import PathLike, write
from rag_titan.pipeline.chunking.chunkers import chunker_of
from rag_titan.pipeline.comparison import Comparison, Row, Variant, check_order
from rag_titan.pipeline.embedding.embedders import embedder_of
from rag_titan.pipeline.equal_text import count_words, with_equal_text
from rag_titan.pipeline.indexing import index_documents
from rag_titan.pipeline.loading.load import load_documents
from rag_titan.pipeline.parts import Document, Embedder, Store
from rag_titan.pipeline.retrieval import HybridRetriever
from rag_titan.pipeline.settings import Settings
from rag_titan.pipeline.stores.memory import MemoryStore
from rag_titan.pipeline.titan import RAGTitan, check_type
from rag_titan.pipeline.tracing import Trace

Progress = Callable[[int, int, str], None]
Record = dict[str, Any]

WORDS = 500
_OF_THE_INDEX = (
    "chunker", "chunk_size", "chunk_overlap", "embedder", "embedding_model", "embedding_url", "query_prefix",
    "passage_prefix",
)  # fmt: skip
_CHUNK_IDS = ("expected_chunk_ids", "relevance", "expected_citations")
_RULES = {"no_relevant": "zero"}


def variants_of(
    settings: Mapping[str, Any] | Settings | None = None,
    *,
    chunkers: Iterable[str] = (),
    sizes: Iterable[int] = (),
    retrievers: Iterable[str] = (),
    rerankers: Iterable[str] = (),
    rag_types: Iterable[str] = (),
) -> list[Variant]:
    """Every combination; what is not given is as the settings have it, and the type "simple".

    The default overlap keeps its share of the size for each of the sizes, and so does another one for a size that it
    does not fit into.

    Raises SettingsError for what there is not.

    >>> [one.name for one in variants_of({"reranker": "none"}, chunkers=["page"], retrievers=["bm25", "hybrid"])]
    ['page 120/20, bm25, reranker none, simple', 'page 120/20, hybrid, reranker none, simple']
    >>> [one.settings.chunk_overlap for one in variants_of(sizes=[20, 60, 240])]
    [3, 10, 40]
    """
    base, types = Settings.of(settings), list(rag_types) or ["simple"]
    axes: dict[str, list[Any]] = {
        "chunker": list(chunkers) or [base.chunker],
        "chunk_size": list(sizes) or [base.chunk_size],
        "retriever": list(retrievers) or [base.retriever],
        "reranker": list(rerankers) or [base.reranker],
    }
    found = [
        Variant(rag_type, _fitting(base, dict(zip(axes, values, strict=True))))
        for values in product(*axes.values())
        for rag_type in types
    ]
    for rag_type in types:
        check_type(rag_type)
    return list(dict.fromkeys(found))


def _fitting(base: Settings, changes: Mapping[str, Any]) -> Settings:
    """The settings with these changes, and with an overlap that fits the size."""
    size, overlap = changes["chunk_size"], base.chunk_overlap
    is_set = overlap != Settings.chunk_overlap
    if isinstance(size, int) and not (is_set and overlap < size):
        overlap = overlap * size // base.chunk_size
    return base.but(**changes, chunk_overlap=overlap)


def compare_pipelines(
    files: str | Path | Sequence[str | Path] | Sequence[Document],
    golden: Any,
    variants: Sequence[Variant],
    *,
    k: int | None = None,
    words: int = WORDS,
    by: str = "recall_in_words",
    trace: PathLike | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Index the files and ask the golden questions with every combination, and rank what was measured.

    files     files or folders, or documents that were loaded
    golden    a golden file, or its records; gold labels must be quotes or spans, since chunk ids change
    variants  see `variants_of`
    k         the cut-off of the metrics; the largest k of the settings unless given
    words     how much retrieved text `recall_in_words` looks at
    by        the column of the order
    trace     a folder for a file of JSON Lines of each combination, a question a line with all its steps
    progress  is called with (questions that are through, of how many, name of the combination)

    Combinations of one chunker, size and embedder share an index, which is made once, in memory. A combination that
    fails has an `error`, and the others go on.

    Raises DatasetError without documents or golden questions, SettingsError for options.
    """
    if not variants:
        raise SettingsError("variants: must be at least one combination, got none.")
    check_order(by)
    callback(progress, "progress")
    depth = max(variant.settings.k for variant in variants) if k is None else k
    run = _Comparing(_from_one("k", depth), _from_one("words", words), trace, progress)
    run.read(files, golden)
    rows = run.rows(variants)
    return Comparison(rows, run.k, words, by, len(run.golden), len(run.documents), run.warnings)


def _from_one(name: str, value: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise SettingsError(f"{name}: must be a whole number from 1, got {value!r}.")
    return value


@dataclass
class _Comparing:
    """One comparison: the documents, the questions, and how they are looked at."""

    k: int
    words: int
    trace: PathLike | None
    progress: Progress | None
    documents: list[Document] = field(default_factory=list)
    golden: list[Any] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def read(self, files: Any, golden: Any) -> None:
        """Load the documents and the golden questions."""
        if not isinstance(files, str | Path) and files and all(isinstance(file, Document) for file in files):
            self.documents = list(files)
        else:
            loading = load_documents(files, golden=golden)
            self.documents = loading.documents
            self.warnings += [*loading.warnings, *loading.notes()]
        if not any(document.text.strip() for document in self.documents):
            reason = f" ({self.warnings[0]})" if self.warnings else ""
            raise DatasetError("files", f"must hold at least one document with text, got none{reason}.")
        self.golden = [copy.copy(query) for query in read_golden(golden)]
        known = [query.id for query in self.golden if any(getattr(query, key) for key in _CHUNK_IDS)]
        for query in self.golden:
            for key in _CHUNK_IDS:
                setattr(query, key, None)
        if known:
            more = f" and {len(known) - 20} more" if len(known) > 20 else ""
            said = "gold chunk ids were left out, since ids change with the chunker"
            self.warnings.append(f"{said}: {', '.join(known[:20])}{more}.")
        if not any(query.expected_evidence for query in self.golden):
            self.warnings.append("no golden question has expected_evidence, so that no retrieval can be compared.")
        count = sum(count_words(document.text) for document in self.documents)
        if count <= self.words:
            said = f"recall in {self.words} words looks at all that was retrieved, since the documents have"
            self.warnings.append(f"{said} {count} words together. Take fewer to tell rankings apart.")

    def rows(self, variants: Sequence[Variant]) -> list[Row]:
        """One row a combination, in the order of the indexes that they share."""
        order = {_index_of(variant): place for place, variant in reversed(list(enumerate(variants)))}
        rows: list[Row] = []
        for _, same in groupby(sorted(variants, key=lambda one: order[_index_of(one)]), key=_index_of):
            rows += self._of_one_index(list(same), len(rows), len(variants))
        return rows

    def _of_one_index(self, variants: list[Variant], done: int, of: int) -> Iterator[Row]:
        self._tell(done, of, 0, variants[0], "indexing")
        try:
            index = _Index.of(self.documents, variants[0].settings)
        except Exception as error:  # one combination that cannot be is no reason to lose the others
            yield from (_failed(variant, error) for variant in variants)
            return
        for place, variant in enumerate(variants, done):
            try:
                row = self._row(variant, index, place, of)
            except Exception as error:
                row = _failed(variant, error)
            yield row

    def _row(self, variant: Variant, index: _Index, place: int, of: int) -> Row:
        asked = _Asked(variant, index, traced=self.trace is not None)
        dataset = collect_dataset(
            asked, (), self.golden, progress=lambda done: self._tell(place, of, done, variant)
        )  # fmt: skip
        if self.trace is not None:
            write(Path(self.trace) / f"{place + 1:02d}-{_slug(variant.name)}.jsonl", "".join(asked.lines))
        dataset["queries"] = [_with_missed(query) for query in dataset["queries"]]
        report = RAGEvaluator(k=self.k, conventions=_RULES).evaluate(**dataset)
        cut, depth = with_equal_text(dataset, self.words)
        equal = RAGEvaluator(k=depth, conventions=_RULES, stages=["retrieval"]).evaluate(**cut)
        return _measured(variant, report, equal, dataset["queries"])

    def _tell(self, place: int, of: int, done: int, variant: Variant, doing: str = "asking") -> None:
        if self.progress is not None:
            count = len(self.golden)
            self.progress(place * count + done, of * count, f"{doing} {place + 1} of {of}: {variant.name}")


@dataclass(frozen=True)
class _Index:
    """The documents in a store, for all combinations that share it."""

    store: Store
    embedder: Embedder
    inputs: Mapping[str, Any]

    @classmethod
    def of(cls, documents: Sequence[Document], settings: Settings) -> _Index:
        embedder, store = embedder_of(settings), MemoryStore()
        index_documents(documents, chunker_of(settings), embedder, store)
        chunks = store.chunks()
        if chunks:  # what libraries load at a first search is in the times of no combination
            HybridRetriever(store, embedder, 0.5).retrieve(chunks[0].text[:100], 1)
        inputs = {
            "chunks": [chunk.record() for chunk in chunks],
            "documents": {document.id: document.text for document in documents},
        }
        return cls(store, embedder, inputs)


class _Asked:
    """A combination as `collect_dataset` asks it; its index is there already."""

    def __init__(self, variant: Variant, index: _Index, traced: bool) -> None:
        self._inputs = index.inputs
        self._titan = RAGTitan(variant.rag_type, variant.settings, store=index.store, embedder=index.embedder)
        self._trace = Trace(self._titan) if traced else None
        self.lines: list[str] = []

    def index(self, files: Any) -> Mapping[str, Any]:
        return self._inputs

    def ask(self, question: str) -> Mapping[str, Any]:
        if self._trace is None:
            return self._titan.ask(question)
        line: Record = {"question": question}
        try:
            line["result"] = self._trace.ask(question)
        except Exception as error:
            line["error"] = f"{type(error).__name__}: {error}"
            raise
        finally:
            self.lines.append(json.dumps({**line, "steps": self._trace.steps}) + "\n")
        return dict(line["result"])


def _index_of(variant: Variant) -> tuple[Any, ...]:
    return tuple(getattr(variant.settings, name) for name in _OF_THE_INDEX)


def _with_missed(query: Record) -> Record:
    """A question whose quotes no chunk holds whole has gold all the same, which cannot be found."""
    if query.get("expected_evidence") and "expected_chunk_ids" not in query:
        return {**query, "expected_chunk_ids": []}
    return query


def _failed(variant: Variant, error: Exception) -> Row:
    return Row(variant, error=f"{type(error).__name__}: {error}")


def _measured(variant: Variant, report: Record, equal: Record, queries: Sequence[Record]) -> Row:
    errors = [str(query["error"]) for query in queries if "error" in query]
    row = Row(variant, questions=len(queries), errors=len(errors), first_error=errors[0] if errors else None)
    retrieval = {"recall_at_k", "mrr_at_k", "ndcg_at_k", "token_recall", "token_precision", "token_iou"}
    taken = [(name, "retrieval", name) for name in sorted(retrieval)]
    taken += [("context_recall", "augmentation", "context_recall"), ("answer_f1", "end_to_end", "answer_f1")]
    taken += [("p95_latency_ms", "end_to_end", "p95_latency_ms")]
    for name, stage, key in taken:
        row.values[name], row.n[name] = _value(report, stage, key)
    row.values["recall_in_words"], row.n["recall_in_words"] = _value(equal, "retrieval", "token_recall")
    pairs = zip(_questions(report), _questions(equal), strict=True)
    row.per_query = [_of_question(one, cut["token_recall"]) for one, cut in pairs]
    f1 = [one["token_f1"] for one in row.per_query if one["token_f1"] is not None]
    row.values["token_f1"], row.n["token_f1"] = (sum(f1) / len(f1) if f1 else None), len(f1)
    row.values["answered"] = sum(map(_is_answered, queries)) / len(queries)
    row.n["answered"] = len(queries)
    chunking = report["chunking"] or {}
    row.chunks, row.mean_chunk_tokens = report["meta"]["counts"]["chunks"], chunking.get("mean_chunk_tokens")
    row.warnings = [*report["warnings"]]
    return row


def _questions(report: Record) -> list[Record]:
    return list((report["retrieval"] or {}).get("per_query", ()))


def _of_question(measured: Record, recall_in_words: float | None) -> Record:
    """What the retrieval of one question is worth, its token F1 among it."""
    overlap = measured["token_iou"]  # F1 = 2 |R and G| / (|R| + |G|) = 2 IoU / (1 + IoU)
    return {
        **{key: measured[key] for key in ("id", "token_recall", "token_precision", "token_iou", "f1_at_k")},
        "recall_in_words": recall_in_words,
        "token_f1": None if overlap is None else 2 * overlap / (1 + overlap),
    }


def _value(report: Record, stage: str, key: str) -> tuple[float | None, int]:
    part = report[stage]
    if part is None:
        return None, 0
    detail = part["detail"].get(key) or {}
    return part.get("summary", part).get(key), detail.get("n") or 0


def _is_answered(query: Record) -> bool:
    return bool(query.get("answer", "").strip()) and not query.get("abstained") and "error" not in query


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
