"""Golden questions put to a running app, or to a pipeline: what came back, as records of the dataset format."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from msgspec import to_builtins
from msgspec.json import Encoder

from rag_titan.errors import DatasetError, SettingsError
from rag_titan.evaluation.data.citations import read_markers
from rag_titan.evaluation.data.cleaning import clean_anything
from rag_titan.evaluation.data.corpus import Corpus
from rag_titan.evaluation.data.dataset import dataset_from
from rag_titan.evaluation.data.documents import Documents
from rag_titan.evaluation.data.notices import Notices
from rag_titan.evaluation.data.plain import Place, keys_of, shown
from rag_titan.evaluation.data.records import Chunk
from rag_titan.evaluation.preparation.asking import Ask, Pace, Reply, replies
from rag_titan.evaluation.preparation.gold_chunks import with_gold_chunks
from rag_titan.evaluation.preparation.golden_files import read_golden
from rag_titan.evaluation.preparation.journal import Entry, Journal
from rag_titan.evaluation.preparation.responses import OUTPUTS, Record, Responses, is_answered
from rag_titan.evaluation.writing import PathLike, write

Progress = Callable[[int], None]

FILE = "queries.jsonl"
_LINES = (".jsonl", ".ndjson")
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


@dataclass
class Collected:
    """What a run over the golden questions brought.

    queries  one record a question, in the order of the golden questions: its gold, and what came back or its `error`
    asked    how many questions were asked in this run
    kept     how many have what an earlier run brought
    notices  what was dropped, and which questions failed for which reason
    file     where the records were written
    """

    queries: list[Record]
    asked: int = 0
    kept: int = 0
    notices: Notices = field(default_factory=Notices)
    file: Path | None = None

    @property
    def answered(self) -> int:
        """Questions for which something came back that can be scored."""
        return sum(map(is_answered, self.queries))

    @property
    def errors(self) -> int:
        """Questions with an `error`; some may have come back in part."""
        return sum("error" in record for record in self.queries)


def output_file(output: PathLike) -> Path:
    """The file that the records of a run are written to.

    >>> str(output_file("run.jsonl")), output_file("run").as_posix()
    ('run.jsonl', 'run/queries.jsonl')
    """
    path = Path(output)
    return path if path.suffix.lower() in _LINES and not path.is_dir() else path / FILE


def journal_file(file: Path) -> Path:
    """The journal of a run: beside its records, under a name that no dataset is read from."""
    return file.with_name(f"{file.name}.journal")


def collect_answers(
    golden: Any,
    ask: Ask,
    *,
    map: Mapping[str, str] | None = None,
    output: PathLike | None = None,
    fresh: bool = False,
    retry_errors: bool = False,
    limit: int | None = None,
    pace: Pace | None = None,
    progress: Progress | None = None,
) -> Collected:
    """Put every golden question to an app and record what comes back; what goes wrong with one is its `error`.

    golden        a golden file, or its records
    ask           question -> text (the answer) or a dict: a function, which runs in threads; a coroutine function; an
                  `HttpApp`
    map           {key of a query: path in what `ask` returns}; without it a dict has keys of the dataset format
    output        a folder, for queries.jsonl in it, or a .jsonl file. A file .journal beside it keeps every reply as it
                  comes, and a later run asks only what is missing there
    fresh         ask everything anew
    retry_errors  ask again what failed in an earlier run
    limit         only the first questions
    progress      is called with the number of questions that are through

    `latency_ms` is measured from call to return unless it is mapped; questions asked side by side may slow each other
    down. Raises DatasetError for golden questions that cannot be asked, SettingsError for options, and for an output of
    a run with other ones.

    >>> golden = [{"id": "g1", "question": "How many days of leave?", "required_facts": ["25"]}]
    >>> [record] = collect_answers(golden, lambda question: {"text": "25 days"}, map={"answer": "text"}).queries
    >>> record["answer"], record["required_facts"], record["latency_ms"] >= 0
    ('25 days', ['25'], True)
    """
    run = _Collection(Responses.of(map), retry_errors, pace or Pace(), progress)
    run.read(golden, limit)
    return run.through(ask, None) if output is None else run.written(ask, output, golden, fresh)


class _Collection:
    """A run over the golden questions."""

    def __init__(self, responses: Responses, retry_errors: bool, pace: Pace, progress: Progress | None) -> None:
        self.responses = responses
        self.retry_errors = retry_errors
        self.pace = pace
        self.progress = progress
        self.questions: list[Record] = []
        self.outputs: dict[str, Record] = {}
        self.asked = 0
        self.notices = Notices()

    def read(self, golden: Any, limit: int | None) -> None:
        """Read the golden questions."""
        self.questions = _questions(golden, limit, self.notices)

    def written(self, ask: Ask, output: PathLike, golden: Any, fresh: bool) -> Collected:
        """Continue, or begin, the run of an output, and write its records."""
        file = output_file(output)
        if isinstance(golden, str | Path) and file.resolve() == Path(golden).resolve():
            raise SettingsError(f"output: must not be the golden file, got {file} as both. Choose another name.")
        if file.is_dir():
            raise SettingsError(f"output: must be a file, got the folder {file}. Choose another name.")
        if file.exists() and not journal_file(file).exists():
            rule = "must not take the place of records that another command wrote"
            raise SettingsError(f"output: {rule}, got {file}. Choose another name, or remove it.")
        settings = {**_identity(ask), "map": self.responses.spelled}
        with Journal(journal_file(file), settings, fresh=fresh) as journal:
            collected = self.through(ask, journal)
            write(file, Encoder().encode_lines(collected.queries))
        return replace(collected, file=file)

    def through(self, ask: Ask, journal: Journal | None) -> Collected:
        """Ask what is missing."""
        if journal is not None:
            self._continue(journal)
        kept = len(self.outputs)
        missing = [record for record in self.questions if record["id"] not in self.outputs]
        for reply in replies([record["question"] for record in missing], ask, self.pace):
            self._take(missing[reply.place], reply, journal)
            if self.progress is not None:
                self.progress(len(self.outputs))
        queries = [{**record, **self.outputs[record["id"]]} for record in self.questions]
        for record in queries:
            if "error" in record:
                self.notices.add(f"failed, {record['error']}: {{ids}}.", [record["id"]])
        return Collected(queries, self.asked, kept, self.notices)

    def _continue(self, journal: Journal) -> None:
        """Take over what an earlier run brought."""
        self.notices = self.notices.merge(journal.notices)
        changed = []
        for record in self.questions:
            entry = journal.entries.get(record["id"])
            if entry is not None and entry.question != record["question"]:
                changed.append(record["id"])
            elif entry is not None and not (self.retry_errors and "error" in entry.outputs):
                self.outputs[entry.id] = entry.outputs
        self.notices.add("these questions read otherwise than in the earlier run and were asked again: {ids}.", changed)

    def _take(self, record: Record, reply: Reply, journal: Journal | None) -> None:
        outputs = self._outputs(reply)
        self.outputs[record["id"]] = outputs
        self.asked += reply.asked
        if journal is not None and reply.asked:
            journal.add(Entry(record["id"], record["question"], outputs))

    def _outputs(self, reply: Reply) -> Record:
        if reply.error is not None:
            return {"error": clean_anything(reply.error, Place("error"))}
        outputs = self.responses.outputs(reply.value)
        return {"latency_ms": reply.latency_ms, **outputs} if is_answered(outputs) else outputs


def _questions(golden: Any, limit: int | None, notices: Notices) -> list[Record]:
    """The golden questions without what an earlier run brought."""
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 1):
        raise SettingsError(f"limit: must be a whole number from 1, got {limit!r}.")
    records: list[Record] = to_builtins(read_golden(golden, notices=notices))
    if not records:
        raise DatasetError("golden", "must hold at least one question, got none.")
    stale = [record["id"] for record in records if any(key in OUTPUTS for key in record)]
    notices.add("what the golden file holds of an earlier run was left out, as it is asked anew: {ids}.", stale)
    for record in records:
        if not record.get("question", "").strip():
            rule = "must be given, so that it can be asked, got none. Write it, or take the record out."
            raise DatasetError(f"golden question {record['id']}: question", rule)
    return [{key: value for key, value in record.items() if key not in OUTPUTS} for record in records[:limit]]


def _identity(ask: Ask) -> Mapping[str, str]:
    """What the app is, which must stay the same when a run is continued."""
    own = getattr(ask, "identity", None)
    if isinstance(own, Mapping):
        return own
    name = getattr(ask, "__qualname__", type(ask).__qualname__)
    return {"function": f"{getattr(ask, '__module__', '')}:{name}"}


# --- a pipeline -----------------------------------------------------------------------------------


def collect_dataset(
    pipeline: Pipeline,
    files: Any,
    golden: Any,
    include_embeddings: bool = False,
    *,
    progress: Progress | None = None,
    notices: Notices | None = None,
) -> dict[str, Any]:
    """Index files with a pipeline, ask it every golden question, and return the inputs of an evaluation.

    `RAGEvaluator().evaluate(**collect_dataset(...))` scores it. It holds the chunks with their offsets, the documents,
    and of every question its gold with the gold chunk ids, the ids of each step, the times, and the answer without its
    citation markers, which become `citations` if there are none. What a question raises becomes its `error`. Questions
    are asked in this thread, one after the other, without a time-out. With `include_embeddings` the chunks and the
    questions are embedded too. `notices` takes what is to be said about gold that is in no chunk. Stages.txt, "With a
    rag-titan pipeline".

    Raises DatasetError for chunks, documents or golden questions that break a rule, SettingsError for a pipeline
    without `embed` where it is needed.
    """
    embed = getattr(pipeline, "embed", None)
    if include_embeddings and embed is None:
        raise SettingsError("include_embeddings: must be False for a pipeline without a method embed, got True.")
    notices = notices if notices is not None else Notices()
    questions = _questions(golden, None, notices)
    index, chunks, documents = _indexed(pipeline, files)
    corpus = Corpus(chunks, Documents.of(documents), given=True)
    known = {chunk.id or "" for chunk in chunks}
    queries = []
    for record in with_gold_chunks(questions, corpus, notices):
        queries.append({**record, **_asked(pipeline, record["question"], known)})
        if progress is not None:
            progress(len(queries))
    records: list[Record] = list(to_builtins(chunks))
    dataset: dict[str, Any] = {"chunks": records, "documents": documents, "queries": queries}
    if include_embeddings:
        dataset["embeddings"] = _embedded(embed, records, questions, index.get("indexed_ids"))
    return dataset


def _indexed(pipeline: Pipeline, files: Any) -> tuple[Mapping[str, Any], tuple[Chunk, ...], dict[str, str]]:
    """What the pipeline made of the files, and its chunks and documents, checked."""
    index = pipeline.index(files)
    for key in ("chunks", "documents"):
        if not isinstance(index, Mapping) or index.get(key) is None:
            got = keys_of(index) if isinstance(index, Mapping) else shown(index)
            raise DatasetError("pipeline.index", f'must return {{"chunks": ..., "documents": ...}}, got {got}.')
    data = dataset_from(chunks=index["chunks"], documents=index["documents"])
    return index, data.chunks or (), data.documents or {}


def _asked(pipeline: Pipeline, question: str, known: set[str]) -> Record:
    begin = time.perf_counter()
    try:
        answer = pipeline.ask(question)
    except Exception as error:  # whatever the pipeline raises is the result of this question
        return {"error": clean_anything(f"{type(error).__name__}: {error}", Place("error"))}
    seconds = time.perf_counter() - begin
    outputs = {"latency_ms": seconds * 1000.0, **Responses.of(None).outputs(answer)}
    if "answer" in outputs:
        text, cited = read_markers(outputs["answer"], outputs.get("context_ids"), known)
        if cited is not None:
            outputs["answer"] = _GAP.sub(lambda gap: "" if gap[1] else " ", text).strip()
            outputs.setdefault("citations", cited)
    return outputs


def _embedded(embed: Any, chunks: Sequence[Record], questions: Sequence[Record], indexed: Any) -> Record:
    """The `embeddings` input. Chunks without a text have no vector."""
    texts = {chunk["id"]: chunk["text"] for chunk in chunks if "text" in chunk}
    asked = {record["id"]: record["question"] for record in questions}
    embeddings = {
        "vectors": _vectors(embed, texts, query=False),
        "query_vectors": _vectors(embed, asked, query=True),
    }
    return embeddings if indexed is None else {**embeddings, "indexed_ids": list(indexed)}


def _vectors(embed: Any, texts: Mapping[str, str], query: bool) -> dict[str, Any]:
    vectors = embed(list(texts.values()), query=query)
    if len(vectors) != len(texts):
        rule = f"must give one vector for each of {len(texts)} texts, got {len(vectors)}."
        raise DatasetError("pipeline.embed", rule)
    return dict(zip(texts, vectors, strict=True))
