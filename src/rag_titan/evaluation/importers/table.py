"""A log or a result in a table of any names (CSV, Parquet, JSON Lines, JSON, a workbook), by a column mapping."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rag_titan.errors import DatasetError, SettingsError
from rag_titan.evaluation.data.columns import Columns
from rag_titan.evaluation.data.normal import normal_text, question_key
from rag_titan.evaluation.data.notices import Notices
from rag_titan.evaluation.data.plain import keys_of
from rag_titan.evaluation.importers.imported import Imported, Record
from rag_titan.evaluation.importers.logs import LogRecord, latest, read_logs

_OF_QUESTION = "records without an id got one that is made from their question: {ids}."
_OF_PLACE = "records without an id and a question got their place as an id: {ids}."
_TWICE = "was logged several times, of which the latest by timestamp, else the last, was kept: query {ids}."
_TWO_TEXTS = "an id stands for several texts, so that no chunk table was made of them: {ids}."

_NOTHING = "must hold records with columns that a query has, got {got}. Say which is which, as --columns answer=output."


def read(sources: Sequence[str | Path], *, columns: Mapping[str, Any] | Columns | Iterable[str] = ()) -> Imported:
    """The records of tables: CSV, tab-separated text, a workbook, Parquet, JSON Lines or JSON.

    columns  {key of a query: path in a record} (see `Columns`), or texts "key=path"; "key=" leaves that key unread

    A column that is called as in the format needs no mapping. Rows of one passage each are joined (see `read_logs`).
    A record without an id gets one that is made from its question. Where passages have both ids and texts, they become
    the chunk table.

    Raises DatasetError where no record has any known key, SettingsError for columns.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "log.csv"
    ...     _ = path.write_text("qid,doc,text\\n7,c2,Two words\\n7,c1,One\\n")
    ...     names = ["id=qid", "retrieved_ids=doc", "retrieved_texts=text"]
    ...     imported = read([path], columns=names)
    >>> imported.queries
    [{'id': '7', 'retrieved_ids': ['c2', 'c1']}]
    >>> imported.chunks
    [{'id': 'c2', 'text': 'Two words'}, {'id': 'c1', 'text': 'One'}]
    """
    notices, mapping = Notices(), _mapping(columns)
    logs = [record for source in sources for record in read_logs(source, mapping, notices, str(source))]
    if not any(set(record.values) & _TELLING for record in logs):
        got = keys_of(logs[0].values) if logs else "no record that can be read"
        raise DatasetError(", ".join(Path(source).name for source in sources), _NOTHING.format(got=got))
    queries = [{"id": name, **values} for name, values in _by_id(logs, notices).items()]
    chunks = _chunks(queries, notices)
    if chunks is not None:
        queries = [{key: value for key, value in query.items() if key not in _TEXTS} for query in queries]
    return Imported(queries, chunks, None, notices)


_TEXTS = ("retrieved_texts", "reranked_texts")
_PAIRS = (("retrieved_ids", "retrieved_texts"), ("reranked_ids", "reranked_texts"))
_TELLING = frozenset(
    (
        "expected_chunk_ids", "relevance", "expected_evidence", "retrieved_ids", "retrieved_texts", "reranked_ids",
        "reranked_texts", "context_ids", "context", "answer", "expected_answer", "expected_answers", "required_facts",
        "verified_claims", "task_success", "latency_ms", "retrieval_latency_ms", "generation_latency_ms", "error",
    )
)  # fmt: skip


def _mapping(columns: Mapping[str, Any] | Columns | Iterable[str]) -> Columns:
    if isinstance(columns, Mapping | Columns):
        return Columns.of(columns)
    paths: dict[str, Any] = {}
    for text in [columns] if isinstance(columns, str) else columns:
        key, equals, path = str(text).partition("=")
        if not equals:
            raise SettingsError(f"columns: must be key=path, got {text!r}. Write retrieved_ids=docs[].id.")
        paths[key.strip()] = path.strip() or False
    return Columns.of(paths)


def _by_id(logs: Sequence[LogRecord], notices: Notices) -> dict[str, Record]:
    """{id: record without it}, each id once."""
    groups: dict[str, list[LogRecord]] = {}
    for record in logs:
        groups.setdefault(_id(record, notices), []).append(record)
    notices.add(_TWICE, [name for name, group in groups.items() if len(group) > 1])
    return {
        name: {key: value for key, value in latest(group).values.items() if key != "id"}
        for name, group in groups.items()
    }


def _id(record: LogRecord, notices: Notices) -> str:
    values = record.values
    if "id" in values:
        return str(values["id"])
    question = values.get("question")
    if isinstance(question, str):
        name = "question:" + hashlib.blake2b(question_key(question).encode(), digest_size=6).hexdigest()
        notices.add(_OF_QUESTION, [name])
        return name
    notices.add(_OF_PLACE, [record.where])
    return record.where


def _chunks(queries: Sequence[Record], notices: Notices) -> list[Record] | None:
    """The passages that have both an id and a text; None where there are none, or where an id has several texts."""
    texts: dict[str, str] = {}
    several = set()
    for query in queries:
        for ids, passages in ((query.get(a), query.get(b)) for a, b in _PAIRS):
            if passages and len(ids or ()) != len(passages):
                return None  # texts of which nobody knows the id stay with their query
            if not ids or not passages:
                continue
            for name, text in zip(ids, passages, strict=True):
                if normal_text(texts.setdefault(name, text)) != normal_text(text):
                    several.add(name)
    if several:
        notices.add(_TWO_TEXTS, several)
        return None
    return [{"id": name, "text": text} for name, text in texts.items()] or None
