"""Logs of another system -> records under the names of the format: mapped, cleaned, rows of one passage each joined.

Nothing that can be read is lost because something beside it cannot: a record that is no record and a value that breaks
a rule are left out alone, and named in the notices.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from msgspec import to_builtins

from rag_titan.errors import DatasetError
from rag_titan.evaluation.data.cleaning import NEAR_KEY, clean_anything, cleaners_of, near_name, numbers_of
from rag_titan.evaluation.data.column_rows import PathTally
from rag_titan.evaluation.data.columns import Columns
from rag_titan.evaluation.data.frames import containers, records_of
from rag_titan.evaluation.data.normal import question_key
from rag_titan.evaluation.data.notices import Notices
from rag_titan.evaluation.data.plain import Place, plain
from rag_titan.evaluation.data.records import Query
from rag_titan.evaluation.data.sheet_cells import typed_cells
from rag_titan.evaluation.data.source import Source

# The lists of which a row may hold one element; those of one group stand side by side.
_GROUPS = (
    ("retrieved_ids", "retrieved_scores", "retrieved_texts"),
    ("reranked_ids", "reranked_texts"),
    ("context_ids",),
    ("citations",),
)
SEPARATOR = "||"  # of several gold labels in a cell of a sheet, as in golden files
PASSAGE_KEYS = tuple(key for group in _GROUPS for key in group)

_SCORES = "retrieved_scores"

_LEFT_OUT = "these values break a rule and were left out: {ids}."
_BY_PASSAGE = (
    "{name}: has one row a passage; {rows} rows became {records} records, each of the rows that have the same id (else "
    "question), timestamp and answer."
)
_DIFFER = "the rows of one question differ in {key}, of which the first was kept: {{ids}}."


@dataclass(frozen=True)
class LogRecord:
    """One logged request: its place in the source, and what was logged, clean."""

    where: str
    values: dict[str, Any]


@dataclass(frozen=True)
class _Row:
    where: str
    values: dict[str, Any]
    passage: bool


def read_logs(
    source: Any, columns: Mapping[str, Any] | Columns | None, notices: Notices, name: str = "logs"
) -> list[LogRecord]:
    """The records of a list, a table or a file (JSON Lines, JSON, Parquet, CSV, a workbook), in order.

    columns  {key of a query: path in the source} (see `Columns`)
    notices  what could not be read, and what was joined

    Where lists hold single values (`retrieved_ids` is "c7", not ["c7"]), the source has one row a passage: such rows
    become one record if their id (else their question), their timestamp and their answer are the same. The lists are
    put together in the order of the rows.

    Raises DatasetError for a source that cannot be read at all, SettingsError for columns.

    >>> rows = [{"id": 1, "answer": "yes", "retrieved_ids": chunk} for chunk in ("c3", "c1")]
    >>> read_logs(rows, None, Notices())[0].values
    {'id': '1', 'answer': 'yes', 'retrieved_ids': ['c3', 'c1']}
    """
    mapping = Columns.of(columns)
    read, tally = Source.of(source, name), PathTally(mapping)
    rows = []
    for where, record in read.records(notices):
        mapped = tally.mapped(record)
        cells = typed_cells(Query, mapped) if read.sheet else records_of(Query, [mapped])[0]
        rows.append(_row(where, _listed(cells) if read.sheet else cells))
    for sentence in tally.sentences():
        notices.add(sentence)
    if any(row.passage for row in rows):
        rows = _joined(rows, Path(source).name if isinstance(source, str | Path) else name, notices)
    joint = read.naming.joint
    records = [LogRecord(row.where, _clean(row.values, Place(row.where, joint, notices), mapping)) for row in rows]
    return [record for record in records if record.values]


def _listed(cells: dict[str, Any]) -> dict[str, Any]:
    """The row of a sheet, in which a text that is several pieces or one, as for gold labels, stands for a list."""
    lists = containers(Query)[0] - set(PASSAGE_KEYS)
    return {
        key: [piece.strip() for piece in value.split(SEPARATOR)] if key in lists and isinstance(value, str) else value
        for key, value in cells.items()
    }


def _row(where: str, values: dict[str, Any]) -> _Row:
    """The row with its single passages as lists."""
    single = {key for key in PASSAGE_KEYS if _is_single(values.get(key))}
    if isinstance(values.get(_SCORES), str):
        values = {**values, _SCORES: _number(values[_SCORES])}
    return _Row(where, {k: [v] if k in single else v for k, v in values.items()}, bool(single))


def _number(cell: str) -> Any:
    """The number in the cell of a sheet; a text that is none stays, to be complained of."""
    try:
        return float(cell)
    except ValueError:
        return cell


def _is_single(value: Any) -> bool:
    value = plain(value)
    return isinstance(value, str | int | float) and not isinstance(value, bool) and not _is_nan(value)


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def latest(records: Sequence[LogRecord]) -> LogRecord:
    """The record with the latest timestamp; where one has none that can be read, or two have the same, the last.

    >>> logs = [LogRecord("a", {"timestamp": "2026-11-05T10:00:00Z"}), LogRecord("b", {"timestamp": 1762300000})]
    >>> latest(logs).where
    'a'
    """
    moments = [moment(record.values.get("timestamp")) for record in records]
    known = [value for value in moments if value is not None]
    if len(known) < len(moments):
        return records[-1]
    last = max(known)
    return next(record for record, value in zip(reversed(records), reversed(moments), strict=True) if value == last)


def moment(value: Any) -> float | None:
    """A timestamp as seconds since 1970: a number of seconds, milli-, micro- or nanoseconds, or an ISO date and time
    (UTC where it names no zone). None where it is neither.

    >>> moment("2026-11-05T10:00:00+01:00"), moment(1793869200000), moment("yesterday")
    (1793869200.0, 1793869200.0, None)
    """
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return _moment_of_date(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    while abs(value) > _LATEST_SECOND:
        value /= 1000
    return float(value)


_LATEST_SECOND = 10**11  # in the year 5138; a larger number counts smaller units


def _moment_of_date(text: str) -> float | None:
    try:
        date = datetime.fromisoformat(text.strip())
        return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


# --- one row a passage ----------------------------------------------------------------------------


def _joined(rows: list[_Row], name: str, notices: Notices) -> list[_Row]:
    groups: dict[Hashable, list[_Row]] = {}
    for number, row in enumerate(rows):
        whole = any(isinstance(row.values.get(key), list) for key in PASSAGE_KEYS) and not row.passage
        key = _request(row.values)
        groups.setdefault(number if whole or key is None else key, []).append(row)
    notices.add(_BY_PASSAGE.format(name=name, rows=len(rows), records=len(groups)))
    return [_merged(group, notices) for group in groups.values()]


def _request(values: Mapping[str, Any]) -> Hashable | None:
    """What the rows of one request have in common; None where nothing tells."""
    name, question = values.get("id"), values.get("question")
    if name is None and not isinstance(question, str):
        return None
    first = ("id", str(name)) if name is not None else ("question", question_key(str(question)))
    return (*first, str(values.get("timestamp")), str(values.get("answer")))


def _merged(rows: list[_Row], notices: Notices) -> _Row:
    if len(rows) == 1:
        return rows[0]
    values: dict[str, Any] = {}
    for row in rows:
        for key, value in row.values.items():
            known = values.setdefault(key, value)
            if known is None:
                values[key] = value
            elif value is not None and known != value and key in cleaners_of(Query) and key not in PASSAGE_KEYS:
                notices.add(_DIFFER.format(key=key), [rows[0].where])
    for group in _GROUPS:
        there = [row.values for row in rows if any(row.values.get(key) for key in group)]
        for key in group:
            if any(row.get(key) for row in there):
                values[key] = [item for row in there for item in (row.get(key) or [None])]
    return _Row(rows[0].where, values, passage=True)


# --- cleaning -------------------------------------------------------------------------------------


def _clean(values: Mapping[str, Any], place: Place, columns: Columns) -> dict[str, Any]:
    """The clean values of the keys that are given and right; unknown keys are kept."""
    cleaners = cleaners_of(Query)
    kept: dict[str, Any] = {}
    for key, value in values.items():
        if value is None or (_is_nan(value) and key not in numbers_of(Query)):
            continue
        try:
            if key in cleaners:
                clean = cleaners[key](value, place.field(key))
                kept[key] = _finite(clean, place.field(key)) if key in numbers_of(Query) else to_builtins(clean)
            else:
                kept[str(key)] = clean_anything(value, place)
        except DatasetError as error:
            where = columns.renamed(error.where, place.where)
            place.notices.add(_LEFT_OUT, [f"{where} ({error.rule.partition('. ')[0].removesuffix('.')})"])
        except RecursionError:
            place.notices.add(_LEFT_OUT, [f"{place.where}: {key} (must not be nested so deep)"])
    for key in values.keys() - cleaners.keys():
        near = near_name(key, cleaners)
        if near is not None:
            place.notices.add(NEAR_KEY.format(key=key, near=near), [place.where])
    return kept


def _finite(value: Any, place: Place) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        raise place.error("must be a finite number, got NaN or an infinite one.")
    return value
