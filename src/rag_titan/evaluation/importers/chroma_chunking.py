"""Chroma's chunking evaluation: questions whose references are spans of a corpus, and the corpora as Markdown.

https://github.com/brandonstarxel/chunking_evaluation
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from rag_titan.errors import DatasetError, SettingsError, nearest
from rag_titan.evaluation.data.decoding import from_json
from rag_titan.evaluation.data.files import File
from rag_titan.evaluation.data.malformed import utf8
from rag_titan.evaluation.data.notices import Notices
from rag_titan.evaluation.data.plain import Place
from rag_titan.evaluation.data.records import Id, Offset
from rag_titan.evaluation.data.sheets import read_sheet
from rag_titan.evaluation.importers.imported import Imported, Record
from rag_titan.evaluation.importers.parsing import readable

_NO_CORPUS = "a corpus has no file NAME.md, so its references are quotes without a place: {ids}."
_MOVED = "references that do not stand at their start_index are quotes without a place: question {ids}."
_EMPTY = "references without words are no evidence: question {ids}."
_UNKNOWN = "files that are neither questions (.csv) nor a corpus (.md, .txt) were not read: {ids}."


class Reference(Struct, kw_only=True):
    """A span of the corpus that answers the question."""

    content: str
    start_index: Offset | None = None
    end_index: Offset | None = None


class Row(Struct, kw_only=True):
    """A question."""

    question: str
    references: list[Reference]
    corpus_id: Id


def read(sources: Sequence[Path], *, corpus: str | None = None) -> Imported:
    """The questions, with their references as evidence and the corpora as documents.

    sources  folders, or files: .csv holds questions, NAME.md is the corpus of that id
    corpus   the questions about this corpus alone

    A question is called CORPUS-NUMBER by its row, from 0. Raises DatasetError without questions, SettingsError for a
    corpus of which there are none.
    """
    notices = Notices()
    files = [file for path in sources for file in (sorted(path.iterdir()) if path.is_dir() else [path])]
    texts = {file.stem: file for file in files if file.suffix in (".md", ".txt")}
    tables = [file for file in files if file.suffix == ".csv"]
    notices.add(_UNKNOWN, [file.name for file in files if file.suffix not in (".md", ".txt", ".csv")])
    if not tables:
        raise DatasetError(str(sources[0]), "must hold the questions as .csv, got none. Name the file.")
    rows = [row for table in tables for row in readable(Row, _rows(table, notices), notices)]
    names = list(dict.fromkeys(row.corpus_id for _, row in rows))
    if corpus is not None and corpus not in names:
        raise SettingsError(f"corpus: {corpus!r} has no questions{nearest(corpus, names)}.")
    chosen = names if corpus is None else [corpus]
    documents = {name: _text(texts[name]) for name in chosen if name in texts}
    notices.add(_NO_CORPUS, [name for name in chosen if name not in texts])
    queries = [
        _query(f"{row.corpus_id}-{number}", row, documents, notices)
        for number, (_, row) in enumerate(rows)
        if row.corpus_id in chosen
    ]
    return Imported(queries, documents=documents or None, notices=notices)


def _rows(table: Path, notices: Notices) -> Iterator[tuple[str, Any]]:
    for number, row in read_sheet(table, notices):
        where = f"{table.name} row {number}"
        yield where, row | _references(row, where)


def _references(row: dict[str, str], where: str) -> Record:
    """The references, which stand in their cell as JSON; text that is none is left for the check of the record."""
    try:
        return {"references": from_json(row["references"], Place(where))}
    except (KeyError, DatasetError, RecursionError):
        return {}


def _text(path: Path) -> str:
    """The corpus with its line ends as they are: the references count them."""
    file = File(path)
    with file.open() as stream:
        return utf8(stream.read(), file.name)


def _query(name: str, row: Row, documents: dict[str, str], notices: Notices) -> Record:
    evidence: list[Any] = []
    for reference in row.references:
        if not reference.content.strip():
            notices.add(_EMPTY, [name])
            continue
        start, end = reference.start_index, reference.end_index
        text = documents.get(row.corpus_id)
        if text is not None and start is not None and start >= 0 and text[start:end] == reference.content:
            evidence.append({"start": start, "end": end, "doc_id": row.corpus_id})
            continue
        if text is not None:
            notices.add(_MOVED, [name])
        evidence.append(reference.content)
    return {"id": name, "question": row.question, "tags": {"corpus": row.corpus_id}, "expected_evidence": evidence}
