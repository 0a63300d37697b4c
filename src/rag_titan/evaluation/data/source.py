"""Records as they were written, before anything is known of their keys: from a list, a table or a file of any form."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from msgspec import DecodeError, Raw
from msgspec.json import decode

from rag_titan.errors import DatasetError
from rag_titan.evaluation.data.files import File, checked_start, decoded, is_lines, read_json
from rag_titan.evaluation.data.frames import blocks_of, is_table
from rag_titan.evaluation.data.malformed import not_json
from rag_titan.evaluation.data.notices import Notices
from rag_titan.evaluation.data.parquet import parquet_cells
from rag_titan.evaluation.data.plain import keys_of, plain, quoted, shown
from rag_titan.evaluation.data.rows import BLOCK, Naming

_FORMS = {".json": "json", ".jsonl": "lines", ".ndjson": "lines", ".parquet": "parquet"} | dict.fromkeys(
    (".csv", ".tsv", ".tab", ".xlsx", ".xlsm"), "sheet"
)
_OTHERS = (".yaml", ".yml", ".txt", ".npz", ".zip", ".xls")
_START = 1 << 17
_RECORDS = "queries"  # the list of records in the object of a JSON file

Pairs = Sequence[tuple[int, Any]]


def form_of(file: File) -> str:
    """json, lines, parquet or sheet (CSV and spreadsheets): by the name, else by the first line."""
    suffixes = [suffix.lower() for suffix in file.path.suffixes if suffix.lower() != ".gz"]
    suffix = suffixes[-1] if suffixes else ""
    if suffix in _FORMS:
        return _FORMS[suffix]
    if suffix in _OTHERS:
        known = ", ".join(_FORMS)
        raise DatasetError.without_data(
            file.name, f"must be one of {known} (or .gz of them), got {quoted(suffix)}. Convert it first."
        )
    return "lines" if is_lines(file) else "json"


@dataclass(frozen=True)
class Source:
    """Numbered records that can be read again and again; a record is a Python value, or the text (bytes) of a JSON one.

    naming  how errors call the record of a number
    read    a pass over them, in blocks; what is odd about the whole goes into the notices
    sheet   its cells are texts, whatever they mean
    """

    naming: Naming
    read: Callable[[Notices], Iterator[Pairs]]
    sheet: bool = False

    @classmethod
    def of(cls, value: Any, name: str) -> Source:
        """From a path, a list of records, an Arrow table or a DataFrame; `name` is what errors call a list.

        In a JSON file the records are its list, or the list under "queries", or the only list of objects in its object.
        Raises DatasetError for anything else.
        """
        if isinstance(value, str | Path):
            return cls.of_file(File(value))
        if is_table(value):
            return cls._of_values(Naming(f"{name}[", "]"), lambda: (row for block in blocks_of(value) for row in block))
        if isinstance(value, Iterable) and not isinstance(value, bytes | dict):
            return cls.of_list(value if isinstance(value, Sequence) else list(value), name)
        raise DatasetError(name, f"must be a list of records, a table or the path of a file, got {shown(value)}.")

    @classmethod
    def of_file(cls, file: File) -> Source:
        """The records of a file; errors call them "data.jsonl line 3"."""
        form = form_of(file)
        if form == "lines":
            return cls(Naming(f"{file.name} line ", joint=": ", first=1), lambda _: _line_blocks(file))
        if form == "parquet":
            return cls._of_values(Naming(f"{file.name} row ", joint=": ", first=1), lambda: parquet_cells(file))
        if form == "sheet":
            naming = Naming(f"{file.name} row ", joint=": ", first=1)
            return cls(naming, lambda notices: _blocks(_sheet_rows(file, notices)), sheet=True)
        value, encoded = read_json(file, unique=True)
        return cls._of_json(file, value, encoded)

    @classmethod
    def _of_json(cls, file: File, value: Any, encoded: bool) -> Source:
        if isinstance(value, list):
            return cls.of_list(value, file.name)
        if not isinstance(value, dict):
            raise DatasetError(file.name, f"must hold a list of records, got {shown(value)}. Write [{{...}}].")
        opened = {key: decoded(part, key) if encoded else part for key, part in value.items()}
        lists = [
            key for key, part in opened.items() if isinstance(part, list) and any(isinstance(r, dict) for r in part)
        ]
        chosen = _RECORDS if _RECORDS in lists else lists[0] if len(lists) == 1 else None
        if chosen is None:
            got = f"lists under {', '.join(lists)}" if lists else f"an object with {keys_of(opened)}"
            rule = f"must hold a list of records, got {got}. Write [{{...}}], or one list alone in the object."
            raise DatasetError(file.name, rule)
        return cls.of_list(opened[chosen], f"{file.name} {chosen}")

    @classmethod
    def of_list(cls, values: Sequence[Any], name: str) -> Source:
        """The records of a list, named name[0], name[1], ..."""
        return cls(Naming(f"{name}[", "]"), lambda _: _blocks(enumerate(values)))

    @classmethod
    def _of_values(cls, naming: Naming, values: Callable[[], Iterator[Any]]) -> Source:
        return cls(naming, lambda _: _blocks(enumerate(values(), naming.first)))

    def records(self, notices: Notices) -> Iterator[tuple[str, dict[str, Any]]]:
        """Every record that can be read, with its place; what cannot be read is named in the notices.

        A line that is no UTF-8 is read as Windows-1252, and noticed too.
        """
        for pairs in self.read(notices):
            for number, raw in pairs:
                where = self.naming.where(number)
                value = _read_loosely(raw, where, notices) if isinstance(raw, bytes | Raw) else plain(raw)
                if isinstance(value, dict):
                    yield where, value
                elif value is not _BROKEN:
                    notices.add(_LEFT_OUT, [f"{where} (must be an object, got {shown(value)})"])


_LEFT_OUT = "these records could not be read and were left out: {ids}."
_BROKEN = object()


def _read_loosely(raw: bytes | Raw, where: str, notices: Notices) -> Any:
    """The value of a JSON text; _BROKEN, with a notice, where there is none."""
    try:
        return decode(raw)
    except (DecodeError, RecursionError):
        pass
    try:
        text = bytes(raw).decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        text = bytes(raw).decode("cp1252", "replace")
        notices.add("lines that are no UTF-8 were read as Windows-1252: {ids}. Save the file as UTF-8.", [where])
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        rule = not_json(text, error).removesuffix(".")
    except (ValueError, RecursionError):
        rule = "must be JSON of a depth and of numbers that Python can hold"
    notices.add(_LEFT_OUT, [f"{where} ({rule})"])
    return _BROKEN


def _blocks(pairs: Iterable[tuple[int, Any]]) -> Iterator[Pairs]:
    block = []
    for pair in pairs:
        block.append(pair)
        if len(block) == BLOCK:
            yield block
            block = []
    if block:
        yield block


def _line_blocks(file: File) -> Iterator[Pairs]:
    """The lines that are not empty, each with its number."""
    with file.open() as stream:
        yield from _blocks((number, line) for number, line in enumerate(_lines(stream, file.name), 1) if line.strip())


def _lines(stream: IO[bytes], name: str) -> Iterator[bytes]:
    start = stream.read(_START)
    start = checked_start(start, name, zeros=True) + (b"" if start.endswith(b"\n") else stream.readline())
    yield from start.splitlines() if b"\r" not in start else start.split(b"\n")
    yield from stream


def _sheet_rows(file: File, notices: Notices) -> Iterator[tuple[int, dict[str, str]]]:
    from rag_titan.evaluation.data.sheets import read_sheet  # which brings along what only sheets need

    rows = read_sheet("-" if file.is_stdin else file.path, notices)
    first = next(rows, None)
    if first is None:
        raise DatasetError.without_data(file.name, "must have rows below the names of its columns, got none.")
    yield first
    yield from rows
