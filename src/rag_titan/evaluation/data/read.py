"""Paths -> Dataset: a JSON file, JSON Lines or Parquet of queries, standard input, or a folder of these."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from msgspec import Raw, Struct
from msgspec.json import decode

from rag_titan.errors import DatasetError
from rag_titan.evaluation.data.columns import Columns
from rag_titan.evaluation.data.dataset import Dataset, assembled
from rag_titan.evaluation.data.decoding import CHUNKS, DOCUMENTS, QUERIES, RecordKind
from rag_titan.evaluation.data.files import File, LineRows, decoded, read_json
from rag_titan.evaluation.data.parquet import parquet_rows
from rag_titan.evaluation.data.plain import Place, shown
from rag_titan.evaluation.data.queries import QuerySource, ReadyRows
from rag_titan.evaluation.data.rows import Rows, ValueRows
from rag_titan.evaluation.data.source import Source, form_of
from rag_titan.evaluation.data.vectors import load_npz
from rag_titan.evaluation.limits import checked_path, switch

T = TypeVar("T", bound=Struct)

_SUFFIXES = (".json", ".jsonl", ".ndjson", ".parquet")
_IGNORED = (".jsonl", ".ndjson", ".parquet", ".npz")
_LOOKED = "queries.jsonl, chunks.jsonl, documents.jsonl (or .json, .parquet), embeddings.npz, dataset.json"
_KINDS: dict[str, RecordKind[Any]] = {"queries": QUERIES, "chunks": CHUNKS, "documents": DOCUMENTS}
_BATCH = 4096


def open_dataset(
    path: str | Path,
    *,
    chunks: str | Path | None = None,
    documents: str | Path | None = None,
    columns: Mapping[str, Any] | Columns | None = None,
    skip_bad_records: bool = False,
) -> Dataset:
    """A dataset of which the queries are read in batches, so that it may be larger than memory.

    path              the JSON file of `evaluate()`'s inputs (or a list of queries); JSON Lines (.jsonl, .ndjson) or
                      Parquet of queries; "-" for standard input; or a folder of queries, chunks and documents
                      (.jsonl, .ndjson, .json or .parquet), embeddings.npz, and dataset.json for everything else;
                      queries also as CSV or a workbook, a list in a cell written as JSON
    chunks            a file of chunks, instead of those that `path` has
    documents         a file of documents, instead of those that `path` has
    columns           where the queries do not have the names of the format: {key: path in a record} (see `Columns`)
    skip_bad_records  leave out, count and list bad records instead of stopping at the first

    Any of these but .npz may be compressed with gzip. Raises DatasetError with the place: the line, the row or the
    element, and the key. Raises SettingsError for a mapping that is none.
    """
    _check_options({"path": path, "chunks": chunks, "documents": documents}, skip_bad_records)
    mapping = None if columns is None else Columns.of(columns)
    folder = str(path) != "-" and Path(path).is_dir()
    inputs = _folder(Path(path), mapping) if folder else _single(File(path), mapping)
    ignored = _ignored(Path(path), [Path(other) for other in (chunks, documents) if other]) if folder else []
    if "queries" not in inputs and any(".npz" not in name for name in ignored):
        rule = f"must hold the queries as queries.jsonl (or .json, .parquet), got {', '.join(ignored[:8])}. Rename it."
        raise DatasetError.without_data(str(path), rule)
    for name, other in (("chunks", chunks), ("documents", documents)):
        if other is not None:
            inputs[name] = _records(name, File(other))
            inputs |= {"document_text": None} if name == "documents" else {}
    dataset = assembled(inputs, skip_bad_records)
    dataset.intake.notices.add(f"these files of the folder were not read: {{ids}}; what is read is {_LOOKED}.", ignored)
    return dataset


def _check_options(paths: Mapping[str, Any], skip_bad_records: Any) -> None:
    for name, value in paths.items():
        if value is not None or name == "path":
            checked_path(value, name)
    switch(skip_bad_records, "skip_bad_records")


def read_dataset(
    path: str | Path,
    *,
    chunks: str | Path | None = None,
    documents: str | Path | None = None,
    columns: Mapping[str, Any] | Columns | None = None,
    skip_bad_records: bool = False,
) -> Dataset:
    """Everything that a file or folder holds, checked and in memory; see `open_dataset` for what it may be.

    `RAGEvaluator().evaluate(**read_dataset(path))` evaluates it.
    """
    dataset = open_dataset(path, chunks=chunks, documents=documents, columns=columns, skip_bad_records=skip_bad_records)
    if not dataset.queries.given:
        return dataset
    queries = [query for batch in dataset.queries.batches(_BATCH) for query in batch]
    notices, skipped = dataset.notices, dataset.skipped
    intake = replace(dataset.intake, notices=notices, skipped=skipped)
    return replace(dataset, queries=QuerySource(ReadyRows(queries)), intake=intake)


def _single(file: File, columns: Columns | None) -> dict[str, Any]:
    """The inputs in one file."""
    form = form_of(file)
    if form == "sheet" or (columns is not None and form != "json"):
        return {"queries": _mapped(Source.of_file(file), columns)}
    if form == "lines":
        return {"queries": LineRows(QUERIES, file)}
    if form == "parquet":
        return {"queries": parquet_rows(QUERIES, file)}
    value, encoded = read_json(file, unique=True)
    if isinstance(value, list):
        return {"queries": _listed("queries", value, encoded, columns)}
    return _inputs(file, value, encoded, columns)


def _mapped(source: Source, columns: Columns | None) -> Rows[Any]:
    from rag_titan.evaluation.data.column_rows import ColumnRows

    return ColumnRows(source, columns or Columns())


def _listed(name: str, values: list[Any], encoded: bool, columns: Columns | None) -> Rows[Any]:
    """The records of a list in a JSON file."""
    if name == "queries" and columns is not None:
        return _mapped(Source.of_list(values, name), columns)
    return ValueRows.of_list(_KINDS[name], values, name, encoded)


def _inputs(file: File, value: Any, encoded: bool, columns: Columns | None) -> dict[str, Any]:
    """The inputs in the object of a JSON file."""
    rule = 'must hold an object of inputs, as {"queries": [...]}'
    if not isinstance(value, dict):
        raise Place(file.name).error(rule, f", got {shown(value)}.")
    if "id" in value and "queries" not in value:
        raise DatasetError.without_data(file.name, f"{rule}, got a single query. Write [{{...}}], or name it .jsonl.")
    inputs = {name: _input(name, part, encoded, columns) for name, part in value.items() if name != "$schema"}
    return {name: part for name, part in inputs.items() if part is not None}


def _input(name: str, part: Any, encoded: bool, columns: Columns | None) -> Any:
    """A part of the object: lists of records stay JSON text until they are decoded one by one."""
    if not encoded:
        mapped = name == "queries" and columns is not None and isinstance(part, list)
        return _listed(name, part, encoded, columns) if mapped else part
    if name in _KINDS and bytes(memoryview(part)[:1]) == b"[":
        return _listed(name, decode(part, type=list[Raw]), True, columns)
    return decoded(part, name)


def _folder(folder: Path, columns: Columns | None) -> dict[str, Any]:
    """The inputs in the files of a folder."""
    inputs: dict[str, Any] = {}
    options = _only(folder, "dataset", (".json",))
    if options is not None:
        inputs |= _inputs(File(options), *read_json(File(options), unique=True), columns)
    sources: list[tuple[str, Path | None, Callable[[str, File], Any]]] = [
        (name, _only(folder, name, _SUFFIXES), partial(_records, columns=columns)) for name in _KINDS
    ]
    sources.append(("embeddings", _only(folder, "embeddings", (".npz",)), lambda _, file: load_npz(file.path)))
    for name, path, read in sources:
        if path is None:
            continue
        if name in inputs:
            raise DatasetError.without_data(
                name, f"must be given once, got it in dataset.json and in {path.name}. Remove one of them."
            )
        inputs[name] = read(name, File(path))
    if not inputs and not _ignored(folder):
        raise DatasetError.without_data(str(folder), f"must be a folder with {_LOOKED}; got none of them.")
    return inputs


def _ignored(folder: Path, passed: Sequence[Path] = ()) -> list[str]:
    """The data files of a folder that are not read, for their names; any .json may be something else, as a report."""
    read = {f"{stem}{suffix}" for stem in _KINDS for suffix in _SUFFIXES} | {"embeddings.npz"}
    elsewhere = {path.resolve() for path in passed}
    return sorted(
        path.name
        for path in folder.iterdir()
        if (name := path.name.removesuffix(".gz")) not in read
        and Path(name).suffix in _IGNORED
        and path.is_file()
        and path.resolve() not in elsewhere
    )


def _only(folder: Path, stem: str, suffixes: tuple[str, ...]) -> Path | None:
    """The one file of that name, whatever its form."""
    names = [f"{stem}{suffix}{packed}" for suffix in suffixes for packed in ("", ".gz")]
    found = [folder / name for name in names if (folder / name).exists()]
    if len(found) > 1:
        rule = f"must be there once, got {' and '.join(path.name for path in found)}. Remove all but one."
        raise DatasetError.without_data(str(folder / stem), rule)
    return found[0] if found else None


def _records(name: str, file: File, columns: Columns | None = None) -> Any:
    """The records of one file of queries, chunks or documents."""
    kind, form = _KINDS[name], form_of(file)
    if name == "queries" and columns is not None and form != "json":
        return _mapped(Source.of_file(file), columns)
    if form == "lines":
        return LineRows(kind, file)
    if form == "parquet":
        return parquet_rows(kind, file)
    if form == "sheet":
        raise DatasetError.without_data(
            file.name, f"must be one of {', '.join(_SUFFIXES)} (or .gz of them), got a sheet. Convert it."
        )
    value, encoded = read_json(file, unique=True)
    if isinstance(value, list):
        return _listed(name, value, encoded, columns)
    if name == "documents" and isinstance(value, dict):
        return {key: decoded(text, f"{file.name}: {key}") for key, text in value.items()} if encoded else value
    raise Place(file.name).error(f"must hold a list of {name}", f", got {shown(value)}.")
