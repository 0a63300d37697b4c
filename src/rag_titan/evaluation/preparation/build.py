"""Logs and golden questions -> the inputs of an evaluation, and what of them did not match."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from msgspec import to_builtins

from rag_titan.errors import DatasetError
from rag_titan.evaluation.data.cleaning import cleaners_of
from rag_titan.evaluation.data.columns import Columns
from rag_titan.evaluation.data.corpus import Corpus
from rag_titan.evaluation.data.dataset import Dataset, dataset_from
from rag_titan.evaluation.data.documents import Documents
from rag_titan.evaluation.data.notices import Notices
from rag_titan.evaluation.data.plain import quoted
from rag_titan.evaluation.data.records import GOLD, Query
from rag_titan.evaluation.importers.imported import Imported
from rag_titan.evaluation.importers.logs import LogRecord, read_logs
from rag_titan.evaluation.preparation.chunk_files import read_chunks
from rag_titan.evaluation.preparation.document_files import read_documents
from rag_titan.evaluation.preparation.gold_chunks import with_gold_chunks
from rag_titan.evaluation.preparation.golden_files import read_golden
from rag_titan.evaluation.preparation.joining import Joined, join
from rag_titan.evaluation.preparation.logged_passages import with_chunk_ids

Record = dict[str, Any]

ABSENT = "absent from the logs"
_WRITTEN = frozenset(("id", "question", "tags", "validated", *GOLD))  # what a golden question itself may say
_LABELS = frozenset(("expected_chunk_ids", "relevance"))
_OUTPUTS = ("retrieved_ids", "retrieved_texts", "answer")
_ALL = 4096

_EARLIER = "what the golden questions hold of an earlier run was left out: {ids}."
_STRANGERS = "logged requests that answer no golden question were left out: {ids}."
_ABSENT = f"golden questions that are {ABSENT} are records with an error: {{ids}}."


@dataclass(frozen=True)
class BuiltDataset(Mapping[str, Any]):
    """The inputs of an evaluation, `RAGEvaluator().evaluate(**built)`, and how they came together.

    queries    one record a golden question, in their order
    chunks     the chunk table, None where none was passed
    documents  {doc_id: text}, None where none were passed
    by         {golden id: "id" or "question"}: how its logged request was found
    unmatched  {"golden": ids that the logs do not have, "logs": places of requests that answer no golden question}
    counts     how many golden questions, logs, matches by id and by question, superseded logs, records with gold chunks
    notices    what was left out, decided between several, or did not match, with examples
    strange    the keys of the logs that the format does not know, where no log has retrieved ids or texts or an answer
    """

    queries: list[Record]
    chunks: list[Record] | None
    documents: dict[str, str] | None
    by: dict[str, str]
    unmatched: dict[str, list[str]]
    counts: dict[str, int]
    notices: Notices = field(default_factory=Notices)
    strange: list[str] = field(default_factory=list)

    @cached_property
    def _given(self) -> dict[str, Any]:
        inputs = {"queries": self.queries, "chunks": self.chunks, "documents": self.documents}
        return {name: value for name, value in inputs.items() if value is not None}

    def __getitem__(self, name: str) -> Any:
        return self._given[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._given)

    def __len__(self) -> int:
        return len(self._given)

    def write(self, folder: str | Path) -> list[Path]:
        """Write queries.jsonl, chunks.jsonl and documents.jsonl into a folder, each whole or not at all.

        `rag-titan evaluate --input FOLDER` reads them. Returns what was written.
        """
        return Imported(self.queries, self.chunks, self.documents).write(folder)


def build_dataset(
    logs: Any,
    golden: Any,
    chunks: Any = None,
    documents: Any = None,
    columns: Mapping[str, Any] | Columns | None = None,
) -> BuiltDataset:
    """Join logged requests to golden questions, and name gold and retrieved chunks by the ids of the chunk table.

    logs       records, a table, or a file: JSON Lines, JSON, Parquet, CSV, a workbook; also one row a passage
    golden     a list, a table or a file (see `read_golden`)
    chunks     the chunks of the index: a list, a table, or a file
    documents  the source texts: {doc_id: text}, a list, a file, or a folder of text files
    columns    where the keys of a query stand in the logs: {key: path} (see `Columns`)

    A request belongs to the golden question of its id, else to the one with the same words (`question_key`). Of several
    the latest counts; a golden question without one becomes a record with an `error`. Gold chunk ids come from the
    first that the question has of `expected_chunk_ids` or `relevance`, quotes, `required_evidence_ids` (stages.txt).

    Raises DatasetError for sources that cannot be read and golden questions that break a rule, NothingMatchedError
    where no request belongs to any golden question, SettingsError for columns.

    >>> logs = [{"id": "7f", "question": "How long is leave?", "retrieved_texts": ["Leave is 25 days."]}]
    >>> golden = [{"id": "g1", "question": "how long is leave", "expected_evidence": ["25 days"]}, {"id": "g2"}]
    >>> built = build_dataset(logs, golden, chunks=[{"id": "c1", "text": "Leave is 25 days."}])
    >>> built.queries[0]["retrieved_ids"], built.queries[0]["expected_chunk_ids"]
    (['c1'], ['c1'])
    >>> built.unmatched, built.queries[1]["error"]
    ({'golden': ['g2'], 'logs': []}, 'absent from the logs')
    """
    notices = Notices()
    data = _passed(chunks, documents, notices)
    questions = _golden(golden, notices)
    requests = read_logs(logs, columns, notices)
    if not requests:
        raise DatasetError("logs", "must hold at least one record that can be read, got none.")
    return _built(questions, requests, data, notices)


def _built(questions: Sequence[Record], requests: Sequence[LogRecord], data: Dataset, notices: Notices) -> BuiltDataset:
    joined = join(questions, requests, notices)
    corpus = Corpus(data.chunks or (), Documents.of(data.documents), data.chunks is not None)
    queries = with_chunk_ids([_record(question, joined) for question in questions], corpus, notices)
    queries = with_gold_chunks(queries, corpus, notices)
    _tell(joined, notices)
    _check(queries)
    table = None if data.chunks is None else to_builtins(data.chunks)
    unmatched = {"golden": joined.absent, "logs": [log.where for log in joined.strangers]}
    return BuiltDataset(
        queries,
        table,
        data.documents,
        joined.by,
        unmatched,
        _counts(queries, requests, joined),
        notices,
        _strange(requests),
    )


def _strange(requests: Sequence[LogRecord]) -> list[str]:
    """The keys that are none of the format, where no request has any output that could be judged."""
    if any(key in request.values for request in requests for key in _OUTPUTS):
        return []
    return list(dict.fromkeys(key for request in requests for key in request.values if key not in cleaners_of(Query)))


def _passed(chunks: Any, documents: Any, notices: Notices) -> Dataset:
    """The chunks and documents, checked."""
    if isinstance(chunks, str | Path):
        chunks = read_chunks(chunks, notices)
    if isinstance(documents, str | Path):
        documents = read_documents(documents, notices)
    dataset = dataset_from(chunks=chunks, documents=documents)
    merged = notices.merge(dataset.notices)
    notices.counts, notices.ids = merged.counts, merged.ids
    return dataset


def _golden(source: Any, notices: Notices) -> list[Record]:
    """The golden questions, without what they hold of an earlier run."""
    records: list[Record] = to_builtins(read_golden(source, notices=notices))
    if not records:
        raise DatasetError("golden", "must hold at least one question, got none.")
    notices.add(_EARLIER, sorted({key for record in records for key in record} - _WRITTEN))
    return [{key: value for key, value in record.items() if key in _WRITTEN} for record in records]


def _record(golden: Record, joined: Joined) -> Record:
    """A golden question with what was logged; what the log says of the gold is kept where the question says nothing."""
    log = joined.logs.get(golden["id"])
    if log is None:
        return {**golden, "error": ABSENT}
    labelled = bool(_LABELS & golden.keys())
    outputs = {
        key: value for key, value in log.values.items() if key not in golden and not (labelled and key in _LABELS)
    }
    record = {**golden, **outputs}
    if "tags" in golden and "tags" in log.values:
        record["tags"] = {**log.values["tags"], **golden["tags"]}
    own = log.values.get("id", golden["id"])
    return record if own == golden["id"] else {**record, "log_id": own}


def _tell(joined: Joined, notices: Notices) -> None:
    notices.add(_STRANGERS, [_named(log) for log in joined.strangers])
    notices.add(_ABSENT, joined.absent)


def _named(log: LogRecord) -> str:
    words = log.values.get("question", log.values.get("id"))
    return log.where if words is None else f"{log.where} ({quoted(str(words))})"


def _check(queries: Sequence[Record]) -> None:
    """Raises DatasetError for gold that contradicts itself."""
    for _ in dataset_from(queries=queries).queries.batches(_ALL):
        pass


def _counts(queries: Sequence[Record], requests: Sequence[LogRecord], joined: Joined) -> dict[str, int]:
    ways = list(joined.by.values())
    return {
        "golden": len(queries),
        "logs": len(requests),
        "by_id": ways.count("id"),
        "by_question": ways.count("question"),
        "absent": len(joined.absent),
        "superseded": len(joined.superseded),
        "strangers": len(joined.strangers),
        "with_gold_chunks": sum(bool(q.get("expected_chunk_ids") or q.get("relevance")) for q in queries),
    }
