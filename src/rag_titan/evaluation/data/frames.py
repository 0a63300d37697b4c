"""Tables (Arrow, pandas, polars) -> records. None of these libraries is imported: a table is known by its methods."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

import numpy as np
from msgspec import Struct

from rag_titan.errors import DatasetError
from rag_titan.evaluation.data.decoding import RecordKind
from rag_titan.evaluation.data.plain import plain
from rag_titan.evaluation.data.rows import BLOCK, Naming, ValueRows

T = TypeVar("T", bound=Struct)

_KEYS = ("key", "id", "chunk_id", "doc_id", "name")
_VALUES = ("value", "grade", "relevance", "score", "text")


def is_table(value: Any) -> bool:
    """True for an Arrow table or batch, a pandas or a polars DataFrame."""
    return any(callable(getattr(value, name, None)) for name in ("to_pylist", "to_dicts", "iterrows")) and (
        hasattr(value, "columns")
    )


def rows_of_table(kind: RecordKind[T], table: Any, name: str) -> ValueRows[T]:
    """The rows of a table as records; a missing cell is a key that is not given."""
    columns = [str(column) for column in getattr(table, "column_names", table.columns)]
    twice = {column for column in columns if columns.count(column) > 1}
    if twice:
        raise DatasetError(name, f"must have every column once, got {min(twice)!r} twice. Rename one of them.")

    def blocks() -> Iterator[Sequence[Any]]:
        for block in blocks_of(table):
            yield records_of(kind.record, block)

    return ValueRows(kind, Naming(f"{name}[", "]"), blocks, len(table) if hasattr(table, "__len__") else None)


def blocks_of(table: Any) -> Iterator[list[dict[str, Any]]]:
    """The rows of a table as they are, in blocks."""
    if hasattr(table, "to_batches"):
        for batch in table.to_batches(max_chunksize=BLOCK):
            yield arrow_records(batch)
    elif hasattr(table, "to_pylist"):
        yield arrow_records(table)
    elif hasattr(table, "to_dicts"):
        for start in range(0, len(table), BLOCK):
            yield table.slice(start, BLOCK).to_dicts()
    else:
        for start in range(0, len(table), BLOCK):
            part = table.iloc[start : start + BLOCK]
            yield part.astype(object).where(part.notna(), None).to_dict("records")


def arrow_records(batch: Any) -> list[dict[str, Any]]:
    """The rows of an Arrow record batch. Texts and lists of texts, the bulk of a log, are turned column by column."""
    names = batch.schema.names
    columns = [_arrow_values(batch.column(i)) for i in range(len(names))]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def _arrow_values(column: Any) -> list[Any]:
    kind = str(column.type)
    if kind in ("string", "large_string"):
        texts: list[Any] = column.to_numpy(zero_copy_only=False).tolist()
        return texts
    if not kind.startswith(("list<", "large_list<")) or str(column.type.value_type) not in ("string", "large_string"):
        values: list[Any] = column.to_pylist()
        return values
    flat = column.flatten().to_numpy(zero_copy_only=False).tolist()  # a list that is null has nothing in it
    given = column.is_valid().to_pylist()
    ends = np.cumsum(column.value_lengths().fill_null(0).to_numpy(zero_copy_only=False)).tolist()
    return [flat[start:end] if here else None for start, end, here in zip([0, *ends], ends, given, strict=False)]


def records_of(record: type[Struct], rows: Sequence[Mapping[Any, Any]]) -> list[dict[Any, Any]]:
    """The same rows, with cells that tables write in their own ways (JSON texts, pairs, structs) as lists and objects.

    >>> from rag_titan.evaluation.data.records import Query
    >>> records_of(Query, [{"id": 1, "relevance": [("c1", 3.0)]}, {"id": 2, "retrieved_ids": '["c1", "c2"]'}])
    [{'id': 1, 'relevance': {'c1': 3.0}}, {'id': 2, 'retrieved_ids': ['c1', 'c2']}]
    """
    lists, objects = containers(record)
    return [{key: _cell(key, value, lists, objects) for key, value in row.items()} for row in rows]


def _cell(key: Any, value: Any, lists: frozenset[str], objects: frozenset[str]) -> Any:
    if key not in lists and key not in objects:
        return value
    value = plain(value)
    if isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
        value = _parsed(value)
    return _object(value) if key in objects else value


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text  # the cleaner says what must stand here


def _object(value: Any) -> Any:
    """A mapping from the forms that Arrow gives it: a struct with a field for every key, pairs, or structs of two."""
    if isinstance(value, dict):
        return {key: item for key, item in value.items() if item is not None}
    if not isinstance(value, list):
        return value
    if all(isinstance(item, tuple) and len(item) == 2 and _may_be_key(item[0]) for item in value):
        return dict(value)
    if value and all(isinstance(item, dict) and len(item) == 2 for item in value):
        key = next((name for name in _KEYS if name in value[0]), None)
        item = next((name for name in _VALUES if name in value[0]), None)
        if key and item and all(key in row and item in row and _may_be_key(row[key]) for row in value):
            return {row[key]: row[item] for row in value}
    return value


def _may_be_key(value: Any) -> bool:
    """False for what Python takes for no key; the cleaner then says what must stand there."""
    return not isinstance(value, list | dict)


@cache
def containers(record: type[Struct]) -> tuple[frozenset[str], frozenset[str]]:
    """The keys of a record type that hold lists, and those that hold objects."""
    lists, objects = set(), set()
    for name, hint in get_type_hints(record).items():
        origins = [get_origin(part) for part in (hint, *get_args(hint))]
        lists |= {name} if list in origins else set()
        objects |= {name} if dict in origins else set()
    return frozenset(lists), frozenset(objects)
