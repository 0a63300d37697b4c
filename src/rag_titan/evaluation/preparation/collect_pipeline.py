"""A RAG pipeline on the golden questions: its chunks, what it found and answered, and the gold, as one dataset."""

from __future__ import annotations

import io
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from msgspec import to_builtins
from msgspec.json import Encoder

from rag_titan.errors import DatasetError, SettingsError
from rag_titan.evaluation.data.citations import read_markers
from rag_titan.evaluation.data.corpus import Corpus
from rag_titan.evaluation.data.dataset import dataset_from
from rag_titan.evaluation.data.documents import Documents
from rag_titan.evaluation.data.fingerprint import chunk_fingerprint
from rag_titan.evaluation.data.notices import Notices
from rag_titan.evaluation.data.plain import keys_of, shown
from rag_titan.evaluation.data.records import Chunk
from rag_titan.evaluation.data.vectors import PLACE, sorted_vectors
from rag_titan.evaluation.preparation.asking import Reply
from rag_titan.evaluation.preparation.collect import (
    Collection,
    Progress,
    check_output,
    identity_of,
    journal_file,
    output_file,
)
from rag_titan.evaluation.preparation.gold_chunks import with_gold_chunks
from rag_titan.evaluation.preparation.responses import Record, Responses
from rag_titan.evaluation.writing import PathLike, write

EMBEDDINGS = "embeddings.npz"
_GAP = re.compile(r"[ \t]{2,}(?=([.,;:!?)])?)")  # what a marker between two words, or before a full stop, leaves


class Pipeline(Protocol):
    """What `collect_dataset` asks of a RAG pipeline. For embeddings it also needs

        def embed(self, texts: Sequence[str], *, query: bool) -> Sequence[Sequence[float]]

    which gives one vector for each text; `query` says whether they are questions or chunks.
    """

    def index(self, files: Any) -> Mapping[str, Any]:
        """Take in the files: {"chunks": [{"id", "text", "start", "end", "doc_id"}, ...], "documents": {doc_id: text}}.

        `indexed_ids` may stand beside them: the ids of the chunks that the vector index holds.
        """

    def ask(self, question: str) -> Mapping[str, Any]:
        """Answer a question: keys of a query record, such as retrieved_ids, reranked_ids, context_ids, answer,
        citations, search_latency_ms, generation_latency_ms, total_tokens and cost_usd."""


def collect_dataset(
    pipeline: Pipeline,
    files: Any,
    golden: Any,
    include_embeddings: bool = False,
    *,
    output: PathLike | None = None,
    fresh: bool = False,
    retry_errors: bool = False,
    progress: Progress | None = None,
    notices: Notices | None = None,
) -> dict[str, Any]:
    """Index files with a pipeline, ask it every golden question, and return the inputs of an evaluation.

    `RAGEvaluator().evaluate(**collect_dataset(...))` scores it. A question has its gold with the gold chunk ids, the
    ids of each step, the times, and the answer without its citation markers, which become `citations` if there are
    none; what it raises becomes its `error`. They are asked in this thread, one after the other, without a time-out.

    output    a folder, for queries.jsonl, chunks.jsonl, documents.jsonl and, with embeddings, embeddings.npz in it, or
              a .jsonl file for the queries alone. A file .journal beside it keeps every answer as it comes, and a later
              run asks only what is missing there: all with `fresh`, also what failed with `retry_errors`. A run without
              embeddings takes those of an earlier run away, which may be of other questions
    progress  is called with the number of questions that are through
    notices   takes what is to be said about failures and about gold that is in no chunk

    Raises DatasetError for chunks, documents or golden questions that break a rule; SettingsError for a pipeline
    without `embed` where it is needed, and for an output that cannot be or is that of another pipeline or of other
    chunks. What makes pipelines of one class differ is their `identity`, {name: text}. Stages.txt, "With a rag-titan
    pipeline".
    """
    _check_pipeline(pipeline, include_embeddings)
    _check_output(output, golden)
    run = _Run(pipeline, retry_errors, progress)
    run.read(golden)
    run.index(files)
    dataset = run.dataset(golden, output, fresh, include_embeddings)
    if notices is not None:
        notices.take(run.notices)
    return dataset


class _Run(Collection):
    """The questions put to a pipeline, and its index."""

    def __init__(self, pipeline: Pipeline, retry_errors: bool, progress: Progress | None) -> None:
        super().__init__(self._keys, retry_errors, progress)
        self.pipeline = pipeline
        self.chunks: tuple[Chunk, ...] = ()
        self.documents: dict[str, str] = {}
        self.indexed_ids: Any = None
        self._known: set[str] = set()

    def index(self, files: Any) -> None:
        """Let the pipeline take in the files, and find the gold chunks of the questions."""
        index = self.pipeline.index(files)
        for key in ("chunks", "documents"):
            if not isinstance(index, Mapping) or index.get(key) is None:
                got = keys_of(index) if isinstance(index, Mapping) else shown(index)
                raise DatasetError("pipeline.index", f'must return {{"chunks": ..., "documents": ...}}, got {got}.')
        data = dataset_from(chunks=index["chunks"], documents=index["documents"])
        self.chunks, self.documents = data.chunks or (), data.documents or {}
        self.indexed_ids = index.get("indexed_ids")
        self._known = {chunk.id or "" for chunk in self.chunks}
        corpus = Corpus(self.chunks, Documents.of(self.documents), given=True)
        self.questions = with_gold_chunks(self.questions, corpus, self.notices)

    def dataset(self, golden: Any, output: PathLike | None, fresh: bool, include_embeddings: bool) -> Record:
        """Put the questions, and return the inputs of an evaluation."""
        settings = {**identity_of(self.pipeline, "pipeline"), "chunks": chunk_fingerprint(self.chunks).text}
        queries = self.done(self._in_turn, golden, output, settings, fresh).queries
        chunks: list[Record] = list(to_builtins(self.chunks))
        dataset: Record = {"chunks": chunks, "documents": self.documents, "queries": queries}
        if include_embeddings:
            dataset["embeddings"] = _embedded(self.pipeline, chunks, self.questions, self.indexed_ids)
        if output is not None and output_file(output) != Path(output):
            _write_beside(output_file(output), dataset)
        return dataset

    def _in_turn(self, questions: Sequence[str]) -> Iterator[Reply]:
        for place, question in enumerate(questions):
            begin = time.perf_counter()
            try:
                answer = self.pipeline.ask(question)
            except Exception as error:  # whatever the pipeline raises is the result of this question
                yield Reply(place, error=f"{type(error).__name__}: {error}")
                continue
            yield Reply(place, answer, latency_ms=(time.perf_counter() - begin) * 1000.0)

    def _keys(self, answer: Any) -> Record:
        """Keys of a query record; the citation markers are taken out of the answer."""
        outputs = Responses.of(None).outputs(answer)
        if "answer" in outputs:
            text, cited = read_markers(outputs["answer"], outputs.get("context_ids"), self._known)
            if cited is not None:
                outputs["answer"] = _GAP.sub(lambda gap: "" if gap[1] else " ", text).strip()
                outputs.setdefault("citations", cited)
        return outputs


def _check_pipeline(pipeline: Any, include_embeddings: bool) -> None:
    for method in ("index", "ask"):
        if not callable(getattr(pipeline, method, None)):
            raise SettingsError(f"pipeline: must have the methods index and ask, got {pipeline!r} without {method}.")
    if include_embeddings and getattr(pipeline, "embed", None) is None:
        raise SettingsError("include_embeddings: must be False for a pipeline without a method embed, got True.")


def _check_output(output: PathLike | None, golden: Any) -> None:
    """Raises SettingsError for what cannot be written, before the work."""
    if output is None:
        return
    file = output_file(output)
    check_output(file, golden)
    if file == Path(output) or journal_file(file).exists():
        return
    for other in _beside(file):
        if other.exists():
            rule = "must not take the place of records that another command wrote"
            raise SettingsError(f"output: {rule}, got {other}. Choose another name, or remove it.")


def _beside(file: Path) -> tuple[Path, Path, Path]:
    """Where the chunks, the documents and the embeddings go."""
    return file.with_name("chunks.jsonl"), file.with_name("documents.jsonl"), file.with_name(EMBEDDINGS)


def _write_beside(file: Path, dataset: Record) -> None:
    chunk_file, document_file, embedding_file = _beside(file)
    documents = [{"id": name, "text": text} for name, text in dataset["documents"].items()]
    write(chunk_file, Encoder().encode_lines(dataset["chunks"]))
    write(document_file, Encoder().encode_lines(documents))
    if dataset.get("embeddings", {}).get("vectors"):
        write(embedding_file, _npz(dataset["embeddings"]))
    else:
        embedding_file.unlink(missing_ok=True)


def _npz(embeddings: Record) -> bytes:
    """The `embeddings` input as the arrays of a file, without objects, which are not read."""
    ids, vectors = sorted_vectors(f"{PLACE}.vectors", embeddings["vectors"])
    query_ids, query_vectors = sorted_vectors(f"{PLACE}.query_vectors", embeddings["query_vectors"])
    arrays: dict[str, Any] = {
        "ids": np.array(ids, dtype=str), "vectors": vectors,
        "query_ids": np.array(query_ids, dtype=str), "query_vectors": query_vectors,
    }  # fmt: skip
    if "indexed_ids" in embeddings:
        arrays["indexed_ids"] = np.array([str(name) for name in embeddings["indexed_ids"]], dtype=str)
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def _embedded(pipeline: Any, chunks: Sequence[Record], questions: Sequence[Record], indexed: Any) -> Record:
    """The `embeddings` input. Chunks without a text have no vector."""
    texts = {chunk["id"]: chunk["text"] for chunk in chunks if "text" in chunk}
    asked = {record["id"]: record["question"] for record in questions}
    embeddings = {
        "vectors": _vectors(pipeline.embed, texts, query=False),
        "query_vectors": _vectors(pipeline.embed, asked, query=True),
    }
    return embeddings if indexed is None else {**embeddings, "indexed_ids": list(indexed)}


def _vectors(embed: Any, texts: Mapping[str, str], query: bool) -> dict[str, Any]:
    vectors = embed(list(texts.values()), query=query)
    if len(vectors) != len(texts):
        rule = f"must give one vector for each of {len(texts)} texts, got {len(vectors)}."
        raise DatasetError("pipeline.embed", rule)
    return dict(zip(texts, vectors, strict=True))
