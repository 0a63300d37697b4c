"""Documents as a loader gives them, before anybody looked at them: texts or bytes, some of them without any text."""

from __future__ import annotations

import math
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterable, Mapping
from typing import Any

from rag_titan.errors import DatasetError
from rag_titan.evaluation.data.cleaning import cleaners_of
from rag_titan.evaluation.data.decoding import DOCUMENTS, Intake
from rag_titan.evaluation.data.frames import is_table
from rag_titan.evaluation.data.notices import Notices
from rag_titan.evaluation.data.plain import Place, plain, quoted, shown
from rag_titan.evaluation.data.records import Document, Inputs
from rag_titan.evaluation.data.rows import ValueRows

UNREADABLE, ZERO = "\ufffd", "\0"  # what stands in a text where bytes could not be decoded, or were of another encoding
_ENCODINGS = ((BOM_UTF8, "utf-8"), (BOM_UTF16_LE, "utf-16-le"), (BOM_UTF16_BE, "utf-16-be"))


def documents_of(value: Any, notices: Notices | None = None) -> list[Document]:
    """The documents in the order given, each with an id and a text.

    value    {id: text}, a list of {"id" or "source", "text", "category"}, or a table with these columns. A text may be
             bytes (UTF-8, or UTF-16 with a byte order mark; what cannot be decoded becomes U+FFFD), or None: no text
    notices  where a key that is nearly a known one is told

    Raises DatasetError with the place: for what is no document, and for an id that comes twice.

    >>> [(d.id, d.text) for d in documents_of({"a.md": b"caf\\xc3\\xa9", 7: None})]
    [('a.md', 'café'), ('7', '')]
    """
    notices = notices if notices is not None else Notices()
    value = plain(value) if not is_table(value) else value
    if isinstance(value, Mapping):
        texts = {name: _readable(text) for name, text in value.items()}
        if all(_is_clean(name) and name and _is_clean(text) for name, text in texts.items()):
            return [Document(id=name, text=text) for name, text in texts.items()]
        clean = cleaners_of(Inputs)["documents"](texts, Place("documents", notices=notices))
        return [Document(id=name, text=text) for name, text in clean.items()]
    return _with_ids(ValueRows.of_list(DOCUMENTS, _records(value), "documents"), notices)


def is_blank(text: str) -> bool:
    """True where there is nothing but white space."""
    return not text or text.isspace()


def _is_clean(value: Any) -> bool:
    """True for a text of which the cleaner would say nothing, as nearly always."""
    return type(value) is str and value.isascii()


def _records(value: Any) -> list[Any]:
    if is_table(value):
        rows = _rows_of(value)
    elif isinstance(value, Iterable) and not isinstance(value, str | bytes):
        rows = list(value)
    else:
        rule = f'must be {{id: text}} or a list, got {shown(value)}; write {{"hr.pdf": "..."}}.'
        raise DatasetError("documents", rule)
    return [_with_text(plain(row)) for row in rows]


def _rows_of(table: Any) -> list[Any]:
    """The rows of an Arrow table, a polars or a pandas DataFrame."""
    for name, arguments in (("to_pylist", ()), ("to_dicts", ()), ("to_dict", ("records",))):
        if callable(getattr(table, name, None)):
            return list(getattr(table, name)(*arguments))
    return list(table)


def _with_text(row: Any) -> Any:
    return {**row, "text": _readable(row["text"])} if isinstance(row, dict) and "text" in row else row


def _readable(value: Any) -> Any:
    """The text of bytes and of nothing; anything else as it is, for the cleaner to judge."""
    if type(value) is str:
        return value
    if isinstance(value, bytes | bytearray | memoryview):
        data = bytes(value)
        for mark, encoding in _ENCODINGS:
            if data.startswith(mark):
                return data.removeprefix(mark).decode(encoding, "replace")
        return data.decode("utf-8", "replace")
    value = plain(value)
    return "" if value is None or (isinstance(value, float) and math.isnan(value)) else value


def _with_ids(rows: ValueRows[Document], notices: Notices) -> list[Document]:
    documents: list[Document] = []
    places: dict[str, int] = {}
    for numbers, block in rows.read(Intake(notices=notices)):
        for number, document in zip(numbers, block, strict=True):
            place = rows.naming.place(number, notices).field("id")
            name = document.id if document.id is not None else document.source
            if name is None:
                raise place.error('must be given (or "source"), got neither. Add one of them.')
            if name in places:
                also = rows.naming.where(places[name])
                raise place.error("duplicate id", f" {quoted(name)}, as in {also}. Document ids must be unique.")
            places[name] = number
            document.id = name
            documents.append(document)
    return documents
