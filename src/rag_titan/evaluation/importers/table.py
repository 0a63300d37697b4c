"""A log or a result in a table of any names (CSV, Parquet, JSON Lines, JSON, a workbook), by a column mapping."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rag_titan.errors import DatasetError, SettingsError
from rag_titan.evaluation.data.columns import Columns
from rag_titan.evaluation.data.normal import question_key
from rag_titan.evaluation.data.notices import Notices
from rag_titan.evaluation.data.plain import keys_of
from rag_titan.evaluation.importers.imported import Imported, Record
from rag_titan.evaluation.importers.logs import LogRecord, latest, read_logs
from rag_titan.evaluation.importers.passage_rows import ID_KEYS, POSITION
from rag_titan.evaluation.importers.passages import Passage, Passages

_OF_QUESTION = "records without an id got one that is made from their question: {ids}."
_OF_PLACE = "records without an id and a question got their place as an id: {ids}."
_TWICE = "was logged several times, of which the latest by timestamp, else the last, was kept: query {ids}."
_PLACES = "places such as [1] are no ids, and were left out: {ids}."

_NOTHING = "must hold records with columns that a query has, got {got}. Say which is which, as --columns answer=output."


def read(sources: Sequence[str | Path], *, columns: Mapping[str, Any] | Columns | Iterable[str] = ()) -> Imported:
    """The records of tables: CSV, tab-separated text, a workbook, Parquet, JSON Lines or JSON.

    columns  {key of a query: path in a record} (see `Columns`), or texts "key=path"; "key=" leaves that key unread

    A column that is called as in the format needs no mapping. Rows of one passage each are joined (see `joined`).
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
    queries, chunks = _with_chunks(queries, notices)
    return Imported(queries, chunks, None, notices)


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


# --- passages -------------------------------------------------------------------------------------


def _with_chunks(queries: list[Record], notices: Notices) -> tuple[list[Record], list[Record] | None]:
    """The queries, and the chunk table of the passages of which both ids and texts are known.

    Ids that mean another text in another query are local to theirs and get its id before them, and so do the ids of the
    query that refer to them. Texts without ids stay with their query; places ("[2]") without texts are left out.
    """
    complete = all(len(query.get(a) or ()) == len(query[b]) for query in queries for a, b in _PAIRS if query.get(b))
    if not complete or not any(query.get(b) for query in queries for _, b in _PAIRS):
        return [_without_places(query, notices) for query in queries], None
    passages = Passages(
        local=any(_is_place(name) for query in queries for a, _ in _PAIRS for name in query.get(a) or ())
    )
    for query in queries:
        passages.add(query["id"], [Passage(_bare(name), text) for name, text in _named(query)])
    passages.tell(notices)
    return [_renamed(query, passages) for query in queries], passages.chunks()


def _named(query: Record) -> Iterator[tuple[str, str | None]]:
    """The passages of a query, each with its id; a text is known of the ids that have texts beside them."""
    for ids, texts in _PAIRS:
        names = query.get(ids) or ()
        yield from zip(names, query.get(texts) or [None] * len(names), strict=True)


def _renamed(query: Record, passages: Passages) -> Record:
    def known(name: str) -> str:
        return f"{query['id']}/{_bare(name)}" if passages.local else name

    kept = {key: value for key, value in query.items() if key not in [texts for _, texts in _PAIRS]}
    ids = iter(passages.ids(query["id"]))  # in the order of the passages: one id may stand for two texts
    for key, _ in _PAIRS:
        if key in kept:
            kept[key] = [next(ids) for _ in kept[key]]
    for key in ("context_ids", "citations", "expected_chunk_ids", "expected_citations"):
        if key in kept:
            kept[key] = [known(name) for name in kept[key]]
    if "relevance" in kept:
        kept["relevance"] = {known(name): grade for name, grade in kept["relevance"].items()}
    return kept


def _is_place(name: str) -> bool:
    return POSITION.fullmatch(name) is not None


def _bare(name: str) -> str:
    """The number of a place, any other name as it is."""
    place = POSITION.fullmatch(name)
    return place[1] if place else name


def _without_places(query: Record, notices: Notices) -> Record:
    wrong = [key for key in ID_KEYS if any(_is_place(name) for name in query.get(key) or ())]
    notices.add(_PLACES, [f"{key} of query {query['id']}" for key in wrong])
    return {key: value for key, value in query.items() if key not in wrong}
