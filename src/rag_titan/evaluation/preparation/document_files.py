"""Source documents from wherever they are kept: a folder of text files, one text file, or the file of a dataset."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from msgspec import Raw

from rag_titan.errors import DatasetError, MissingExtraError
from rag_titan.evaluation.data.dataset import Dataset, assembled
from rag_titan.evaluation.data.decoding import CHUNKS, DOCUMENTS, RecordKind
from rag_titan.evaluation.data.files import File, LineRows, decoded, read_json
from rag_titan.evaluation.data.notices import Notices
from rag_titan.evaluation.data.parquet import parquet_rows
from rag_titan.evaluation.data.plain import shown
from rag_titan.evaluation.data.read import open_dataset
from rag_titan.evaluation.data.rows import ValueRows
from rag_titan.evaluation.data.source import form_of
from rag_titan.evaluation.limits import checked_path

TEXTS = (".txt", ".md", ".markdown", ".rst", ".html", ".htm")
"""The endings of files that are read as text, as they are: HTML keeps its tags."""

_KINDS: dict[str, RecordKind[Any]] = {"documents": DOCUMENTS, "chunks": CHUNKS}
_DATA = (".json", ".jsonl", ".ndjson", ".parquet", ".gz")
_TABLES = tuple(f"documents{suffix}{packed}" for suffix in _DATA[:4] for packed in ("", ".gz"))


PAPERS = (".pdf", ".docx")
"""The endings of files whose text only a loader knows."""

Load = Callable[[Path, str], str]


def read_documents(path: str | Path, notices: Notices | None = None, load: Load | None = None) -> dict[str, str]:
    """{document id: text}

    path     a folder of text files, of which the id is the path inside the folder ("hr/leave.md"); a text file, whose
             id is its name; or what `read_table` reads
    notices  which files are no UTF-8 or were not read
    load     the path and the id of a PDF or a Word file -> its text; without it these are not read

    Names that begin with a dot are passed over. Raises DatasetError where there is no document, and what `load` raises
    where nothing else is read: DatasetError or MissingExtraError.
    """
    notices = notices if notices is not None else Notices()
    place = checked_path(path, "documents")
    if not is_source(place):
        return read_table("documents", path, notices).documents or {}
    if place.is_dir():
        return _folder(place, notices, load)
    if place.suffix.lower() in TEXTS:
        return {place.name: _text(place, place.name, notices)}
    return {place.name: _loaded(place, place.name, load)}


def is_source(path: Path) -> bool:
    """True for a folder of documents and for one document, False for what holds documents as records."""
    if path.is_dir():
        return not any((path / name).exists() for name in (*_TABLES, "dataset.json"))
    return path.suffix.lower() in (*TEXTS, *PAPERS)


def read_table(name: str, path: str | Path, notices: Notices | None = None) -> Dataset:
    """The documents, or the chunks, that a file or folder holds, as a dataset of these alone.

    name  "documents" or "chunks"
    path  a file of them in JSON ({id: text} or a list), JSON Lines, Parquet, CSV or a workbook; the JSON file of a
          whole dataset; or the folder of one

    Raises DatasetError where there are none.
    """
    notices = notices if notices is not None else Notices()
    file = File(path)
    if not file.is_stdin and file.path.is_dir():
        dataset = open_dataset(path)
        given = {key: dataset[key] for key in _inputs(name) if key in dataset.keys()}  # noqa: SIM118
    else:
        given = _in_file(name, file, notices)
    if not given:
        raise DatasetError(str(path), f"must hold {name}, got none.")
    dataset = assembled(given)
    for sentence, ids in dataset.notices.ids.items():
        notices.add(sentence, ids)
    return dataset


def _in_file(name: str, file: File, notices: Notices) -> dict[str, Any]:
    kind, form = _KINDS[name], form_of(file)
    if form == "json":
        return _in_json(name, file)
    if form == "lines":
        return {name: LineRows(kind, file)}
    if form == "parquet":
        return {name: parquet_rows(kind, file)}
    from rag_titan.evaluation.data.sheets import read_sheet  # which brings along what only sheets need

    return {name: ValueRows.of_list(kind, [row for _, row in read_sheet(file.path, notices)], name)}


def _in_json(name: str, file: File) -> dict[str, Any]:
    """The table in a JSON file: its list, its {id: text}, or that part of the dataset that it is."""
    value, encoded = read_json(file)
    if isinstance(value, list):
        return {name: ValueRows.of_list(_KINDS[name], value, name, encoded)}
    if not isinstance(value, dict):
        raise DatasetError(file.name, f"must hold a list of {name}, got {shown(value)}.")
    if not (_is_table(value.get(name)) or {"queries", "chunks", "document_text"} & value.keys()):
        return {name: {key: decoded(text, f"{file.name}: {key}") if encoded else text for key, text in value.items()}}
    parts = {key: value[key] for key in _inputs(name) if key in value}
    opened = {key: decoded(part, key) if encoded else part for key, part in parts.items()}
    return {key: part for key, part in opened.items() if part is not None}


def _inputs(name: str) -> tuple[str, ...]:
    """The inputs of a dataset that such a table may come as."""
    return ("documents", "document_text") if name == "documents" else (name,)


def _is_table(value: Any) -> bool:
    """True for a list or an object, be it JSON text still."""
    return bytes(memoryview(value)[:1]) in (b"[", b"{") if isinstance(value, Raw) else isinstance(value, list | dict)


def _folder(folder: Path, notices: Notices, load: Load | None) -> dict[str, str]:
    documents, others, refused = {}, [], list[Exception]()
    for name, file in sorted(_files(folder, notices)):
        if file.suffix.lower() in TEXTS:
            documents[name] = _text(file, name, notices)
        elif load is None or file.suffix.lower() not in PAPERS:
            others.append(name)
        else:
            try:
                documents[name] = load(file, name)
            except MissingExtraError as error:
                refused.append(error)
                notices.add(f"these files of the folder were not read: {{ids}}; {error}", [name])
            except DatasetError as error:
                refused.append(error)
                notices.add(str(error))
    notices.add("documents without text: {ids}.", [name for name, text in documents.items() if not text.strip()])
    kinds = " ".join(TEXTS)
    notices.add(f"these files of the folder were not read: {{ids}}; what is read as text is {kinds}.", others)
    if refused and not documents:
        raise refused[0]
    if not documents:
        raise DatasetError(str(folder), f"must hold text files ({kinds}) or documents.jsonl, got none of them.")
    return documents


def _loaded(file: Path, name: str, load: Load | None) -> str:
    if load is None:
        rule = f"must be a file of text ({' '.join(TEXTS)}) or of records, got {file.suffix.lower()}"
        raise DatasetError(name, f"{rule}. Save it as text, or pass the texts of rag_titan.pipeline.load_documents.")
    return load(file, name)


def _files(folder: Path, notices: Notices) -> Iterator[tuple[str, Path]]:
    """The files in a folder and the folders in it, each with its name there."""
    whole, leading_out = Path(os.path.realpath(folder)), []
    for file in sorted(folder.rglob("*")):
        inside = file.relative_to(folder)
        if any(part.startswith(".") for part in inside.parts) or not file.is_file():
            continue
        if Path(os.path.realpath(file)).is_relative_to(whole):
            yield inside.as_posix(), file
        else:
            leading_out.append(inside.as_posix())
    notices.add("links that lead out of the folder were not followed: {ids}.", leading_out)


def _text(file: Path, name: str, notices: Notices) -> str:
    """The text of a file; where it is no UTF-8, as Windows-1252, with what that leaves open as U+FFFD."""
    with File(file).open() as stream:
        data = stream.read()
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        notices.add("files that are no UTF-8 were read as Windows-1252: {ids}. Save them as UTF-8.", [name])
        return data.decode("cp1252", "replace")
