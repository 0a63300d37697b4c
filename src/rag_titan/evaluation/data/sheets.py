"""CSV, tab-separated text and spreadsheets -> rows of named cells; the only file that imports openpyxl.

A table that people made by hand is read to its end whatever is odd about it: what could not be kept is in the notices.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime, time
from itertools import chain
from pathlib import Path
from typing import IO, Any

from rag_titan.errors import DatasetError, MissingExtraError
from rag_titan.evaluation.data.files import File
from rag_titan.evaluation.data.notices import Notices, Private
from rag_titan.evaluation.data.plain import quoted

SHEETS = (".csv", ".tsv", ".tab", ".xlsx", ".xlsm")
"""The endings of the files that `read_sheet` is for."""

_DELIMITERS = ("\t", ";", ",")  # of several that are as frequent, the one that text holds least is meant
_ZIP, _OLE = b"PK\x03\x04", b"\xd0\xcf\x11\xe0"
_END = "\0the end of the table\0"  # a line of its own, unless a quoted cell is still open when the file ends
_REPAIRS = 10  # cells that never end, after which quotes are taken as characters: each costs a pass over the rest
_LONGEST_CELL = 2**31 - 1


def read_sheet(path: str | Path, notices: Notices) -> Iterator[tuple[int, dict[str, str]]]:
    """The rows of a table, each with its number as a spreadsheet program counts: the row of the names is 1.

    path     CSV (cells divided by comma, semicolon or tab: by the first row), also compressed with gzip, or "-" for
             standard input; or an .xlsx workbook (extra `spreadsheet`), of which the first sheet is read
    notices  what was odd: rows that are too long or too short, names that are there twice, text that is no UTF-8

    A row is {name of the column: text of the cell}; an empty cell is not given, so its name is absent. Numbers, dates
    and truth values of a workbook become text as JSON writes them. A further column of the same name is called name_2.
    Text that is no UTF-8 is read as Windows-1252, line by line.

    Raises DatasetError for what is no table (with the first row that is asked for), and MissingExtraError for a
    workbook without openpyxl.

    >>> from tempfile import TemporaryDirectory
    >>> notices = Notices()
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "golden.csv"
    ...     _ = path.write_bytes(b'id;question\\ng1;"How long,\\nand when?"\\ng2;;left over')
    ...     list(read_sheet(path, notices))
    [(2, {'id': 'g1', 'question': 'How long,\\nand when?'}), (3, {'id': 'g2'})]
    >>> notices.texts()
    ['golden.csv: cells beyond the last name of the first row were not read: row 3 ("left over").']
    """
    file = File(path)
    with file.open() as stream:
        start = stream.read(1024)
        stream.seek(0)
        if start.startswith(_OLE):
            raise DatasetError.without_data(
                file.name, "must be CSV or .xlsx, got an old or locked workbook. Save it as .xlsx."
            )
        if start.startswith(_ZIP):
            yield from _named(_workbook(stream, file.name, notices), file.name, notices, even=False)
        else:
            _, cells = _cells(stream, start, file.name, notices)
            yield from _named(cells, file.name, notices, even=True)


@dataclass
class TextTable:
    """A table of text as it was written, so that it can be changed and written again.

    rows       every row from that of the names on, each a list of cells; an empty line is an empty list
    names      of the columns, "" where there is none
    delimiter  what divides the cells
    stated     the file says so in a line of its own ("sep=;")
    marked     the file began with a byte order mark, or needs one to be read as it was
    line_end   of the first line
    """

    rows: list[list[str]]
    names: list[str]
    delimiter: str
    stated: bool
    marked: bool
    line_end: str

    @classmethod
    def read(cls, path: str | Path) -> TextTable:
        """The table of a CSV or tab-separated file; DatasetError for what is none."""
        file, notices = File(path), Notices()
        with file.open() as stream:
            start = stream.read(1024)
            stream.seek(0)
            if start.startswith((_ZIP, _OLE)):
                raise DatasetError.without_data(file.name, "must be CSV to be written, got a workbook. Save it as CSV.")
            layout, cells = _cells(stream, start, file.name, notices)
            rows = [list(row) for _, row in cells]
        while rows and not any(cell.strip() for cell in rows[0]):
            rows.pop(0)
        if not rows:
            raise DatasetError.without_data(
                file.name, "must have the names of the columns in its first row, got an empty table."
            )
        marked = start.startswith(codecs.BOM_UTF8) or any("UTF" in sentence for sentence in notices.counts)
        line_end = "\r\n" if b"\r\n" in start else "\n"
        names = _names(rows[0], file.name, notices)
        return cls(
            rows, names, layout["delimiter"], start.removeprefix(codecs.BOM_UTF8)[:4] == b"sep=", marked, line_end
        )

    def text(self) -> str:
        """What the file holds."""
        written = io.StringIO(newline="")
        if self.stated:
            written.write(f"sep={self.delimiter}{self.line_end}")
        csv.writer(written, delimiter=self.delimiter, lineterminator=self.line_end).writerows(self.rows)
        return ("\ufeff" if self.marked else "") + written.getvalue()

    def named(self, number: int) -> dict[str, str]:
        """{name: cell} of a row; the row of the names is number 0."""
        cells = zip(self.names, self.rows[number], strict=False)
        return {name: cell for name, cell in cells if name and cell.strip()}

    def put(self, number: int, name: str, cell: str) -> None:
        """Change a cell; a name that is new gets a column behind the others, and every row a cell there.

        Empty lines stay empty.
        """
        if name not in self.names:
            if not cell:
                return
            width = max(map(len, self.rows))  # behind the cells of rows that are too long, which stay as they are
            self.names += ["" for _ in range(width - len(self.names))] + [name]
            self.rows[0] += ["" for _ in range(width - len(self.rows[0]))] + [name]
            for other in self.rows:
                other.extend([""] * (width + 1 - len(other)) if other else ())
        column, row = self.names.index(name), self.rows[number]
        row.extend([""] * (column + 1 - len(row)))
        row[column] = cell


# --- rows of cells -> rows of named cells ---------------------------------------------------------


def _named(
    rows: Iterator[tuple[int, Sequence[str]]], where: str, notices: Notices, even: bool
) -> Iterator[tuple[int, dict[str, str]]]:
    """The rows below the first one, as {name: text}; `even`: a row that ends early is worth a word."""
    header = next(((number, row) for number, row in rows if any(cell.strip() for cell in row)), None)
    if header is None:
        raise DatasetError.without_data(
            where, "must have the names of the columns in its first row, got an empty table."
        )
    names = _names(header[1], where, notices)
    for number, row in rows:
        filled = [(i, cell) for i, cell in enumerate(row) if cell and not cell.isspace()]
        if not filled:
            continue
        beyond = [cell for i, cell in filled if i >= len(names)]
        if beyond:
            sentence = f"{where}: cells beyond the last name of the first row were not read: row {{ids}}."
            notices.add(sentence, [f"{number} ({', '.join(map(quoted, beyond[:3]))})"], Private(ids=True))
        if even and len(row) < len(names):
            sentence = f"{where}: rows have fewer cells than the first row; what they lack is not given: row {{ids}}."
            notices.add(sentence, [str(number)])
        nameless = [str(i + 1) for i, _ in filled if i < len(names) and not names[i]]
        if nameless:
            notices.add(f"{where}: columns without a name in the first row were not read; in how many cells: "
                        "column {ids}.", nameless)  # fmt: skip
        yield number, {names[i]: cell for i, cell in filled if i < len(names) and names[i]}


def _names(header: Sequence[str], where: str, notices: Notices) -> list[str]:
    """The names of the columns, "" where there is none; each other one differs from all before it."""
    cells = [cell.strip() for cell in header]
    while cells and not cells[-1]:
        cells.pop()
    names: list[str] = []
    taken = set(cells)
    for cell in cells:
        name = cell
        if name and name in names:
            turn = 2
            while (name := f"{cell}_{turn}") in taken:
                turn += 1
            taken.add(name)
            notices.add(
                f"{where}: further columns of the same name are called {{ids}}.", [quoted(name)], Private(ids=True)
            )
        names.append(name)
    return names


# --- text -----------------------------------------------------------------------------------------


def _cells(
    stream: IO[bytes], start: bytes, where: str, notices: Notices
) -> tuple[dict[str, Any], Iterator[tuple[int, Sequence[str]]]]:
    """How the cells are divided, and the numbered rows."""
    lines = _lines(stream, start, where, notices)
    empty = 0
    while (first := next(lines, "\0")).isspace():
        empty += 1
    stated = re.fullmatch(r'sep=([^\s"]|\t)\s*', first)  # how a spreadsheet program is told the delimiter
    delimiter = stated[1] if stated else _delimiter(first)
    before = empty + 1 if stated else empty
    layout = {"delimiter": delimiter, "skipinitialspace": delimiter != "\t"}
    rest = lines if stated or first == "\0" else chain([first], lines)
    return layout, enumerate(_records(rest, layout, where, notices, before), before + 1)


def _lines(stream: IO[bytes], start: bytes, where: str, notices: Notices) -> Iterator[str]:
    """The lines with their ends: of UTF-8, where a line is none of Windows-1252, or of UTF-16 with its mark."""
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        notices.add(f"{where}: is UTF-16 text.")
        yield from io.StringIO(stream.read().decode("utf-16", "replace"), newline="")
        return
    if b"\0" in start:
        raise DatasetError.without_data(
            where, "must be text (CSV) or .xlsx, got zero bytes: binary data. Export it as CSV."
        )
    stream.seek(len(codecs.BOM_UTF8) if start.startswith(codecs.BOM_UTF8) else 0)
    for number, raw in enumerate(stream, 1):
        try:
            line = raw.decode()
        except UnicodeDecodeError:
            sentence = f"{where}: lines that are no UTF-8 were read as Windows-1252: line {{ids}}. Save it as UTF-8."
            notices.add(sentence, [str(number)])
            line = _windows_1252(raw)
        yield from io.StringIO(line, newline="") if "\r" in line.rstrip("\r\n") else (line,)


def _windows_1252(raw: bytes) -> str:
    """The text; the five bytes that Windows-1252 leaves open are the control characters of the same number."""
    try:
        return raw.decode("cp1252")
    except UnicodeDecodeError:
        return "".join(bytes([b]).decode("cp1252", "ignore") or chr(b) for b in raw)


def _delimiter(header: str) -> str:
    """The delimiter that the first row has most often outside of quotes."""
    bare = re.sub(r'"[^"]*"?', "", header)
    return max(_DELIMITERS, key=bare.count)


def _watched(lines: Iterable[str], passed: list[str]) -> Iterator[str]:
    """The same lines; each is noted in `passed`."""
    for line in lines:
        passed.append(line)
        yield line


def _records(
    lines: Iterable[str], layout: dict[str, Any], where: str, notices: Notices, before: int
) -> Iterator[list[str]]:
    """The records of the table. A quote that opens a cell and is never closed is taken as a character of it."""
    number, repairs = before, 0
    lines = chain(lines, [_END])
    while True:
        passed: list[str] = []  # the lines of the record that is being read
        layout["quoting"] = csv.QUOTE_NONE if repairs > _REPAIRS else csv.QUOTE_MINIMAL
        for row in _reading(csv.reader(_watched(lines, passed), **layout)):
            if passed[-1] is _END:
                break
            number += 1
            passed.clear()
            yield row
        if len(passed) == 1:
            return
        number += 1
        repairs += 1
        sentence = f"{where}: a cell begins with a quote that is never closed: row {{ids}}; it ends with its line."
        notices.add(sentence, [str(number)])
        yield next(_reading(csv.reader(passed[:1], **{**layout, "quoting": csv.QUOTE_NONE})), [])
        lines = passed[1:]


def _reading(reader: Iterator[list[str]]) -> Iterator[list[str]]:
    """The same records; the limit on a cell, which Python keeps for the whole process, is lifted for each alone."""
    while True:
        limit = csv.field_size_limit(_LONGEST_CELL)
        try:
            row = next(reader)
        except StopIteration:
            return
        finally:
            csv.field_size_limit(limit)
        yield row


# --- workbooks ------------------------------------------------------------------------------------


def _workbook(stream: IO[bytes], where: str, notices: Notices) -> Iterator[tuple[int, Sequence[str]]]:
    """The cells of the first sheet as text."""
    try:
        import openpyxl
    except ImportError:
        raise MissingExtraError("openpyxl", "spreadsheet") from None
    with _explained(where):
        book = openpyxl.load_workbook(stream, read_only=True, data_only=True)
    sheets = book.worksheets
    if not sheets:
        raise DatasetError.without_data(where, "must have a sheet with cells, got none.")
    if len(sheets) > 1:
        titles = [quoted(sheet.title) for sheet in sheets[1:]]
        notices.add(f"{where}: the first sheet is read; not read: {{ids}}.", titles, Private(ids=True))
    sheets[0].reset_dimensions()  # what a file says of its size is often wrong
    rows = sheets[0].iter_rows(values_only=True)
    number = 0
    while True:
        with _explained(where):
            row = next(rows, None)
        if row is None:
            return
        number += 1
        yield number, [_text(cell) for cell in row]


@contextmanager
def _explained(where: str) -> Iterator[None]:
    """What openpyxl refuses as a DatasetError."""
    from zipfile import BadZipFile  # here, as loading it takes longer than all of this file

    try:
        yield
    except MemoryError:
        raise
    except (BadZipFile, OSError, ValueError, KeyError, TypeError, AttributeError, SyntaxError) as error:
        reason = str(error).partition("\n")[0]
        raise DatasetError(where, f"must be an .xlsx workbook ({reason}). Save it again, or as CSV.") from None


_WRITERS: tuple[tuple[Any, Callable[[Any], str]], ...] = (
    (str, str),
    (bool, lambda value: "true" if value else "false"),
    (float, lambda value: str(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(value)),
    ((datetime, date, time), lambda value: value.isoformat()),
)


def _text(cell: Any) -> str:
    """A cell as text, "" where it is empty."""
    if cell is None:
        return ""
    return next((write(cell) for kind, write in _WRITERS if isinstance(cell, kind)), str(cell))
