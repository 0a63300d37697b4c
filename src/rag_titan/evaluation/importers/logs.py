"""Logs of another system -> records under the names of the format: mapped, cleaned, rows of one passage each joined.

Nothing that can be read is lost because something beside it cannot: a record that is no record and a value that breaks
a rule are left out alone, and named in the notices.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
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
from rag_titan.evaluation.data.notices import Notices
from rag_titan.evaluation.data.plain import Place, plain
from rag_titan.evaluation.data.records import Query
from rag_titan.evaluation.data.sheet_cells import typed_cells
from rag_titan.evaluation.data.source import Source
from rag_titan.evaluation.importers.passage_rows import ID_KEYS, PASSAGE_KEYS, POSITION, Row, is_nan, joined

SEPARATOR = "||"  # of several gold labels in a cell of a sheet, as in golden files

_LEFT_OUT = "these values break a rule and were left out: {ids}."


@dataclass(frozen=True)
class LogRecord:
    """One logged request: its place in the source, and what was logged, clean."""

    where: str
    values: dict[str, Any]


def read_logs(
    source: Any, columns: Mapping[str, Any] | Columns | None, notices: Notices, name: str = "logs"
) -> list[LogRecord]:
    """The records of a list, a table or a file (JSON Lines, JSON, Parquet, CSV, a workbook), in order.

    columns  {key of a query: path in the source} (see `Columns`)
    notices  what could not be read, and what was joined

    Where lists hold single values (`retrieved_ids` is "c7", not ["c7"]), the source has one row a passage, and the rows
    of one request become one record (see `joined`).

    Raises DatasetError for a source that cannot be read at all, SettingsError for columns.

    >>> rows = [{"id": 1, "answer": "yes", "retrieved_ids": chunk} for chunk in ("c3", "c1")]
    >>> read_logs(rows, None, Notices())[0].values
    {'id': '1', 'answer': 'yes', 'retrieved_ids': ['c3', 'c1']}
    """
    read = Source.of(source, name)
    records = list(read.records(notices))
    mapping, said = Columns.of(columns).fitted(record for _, record in records)
    if said is not None:
        notices.add(said)
    tally = PathTally(mapping)
    mapped = [(where, tally.mapped(record)) for where, record in records]
    for sentence, private in tally.sentences():
        notices.add(sentence, private=private)
    positions = _positions([values for _, values in mapped])
    rows = [Row.of(where, _cells(values, positions, read.sheet)) for where, values in mapped]
    if any(row.passage for row in rows):
        rows = joined(rows, Path(source).name if isinstance(source, str | Path) else name, notices)
    joint = read.naming.joint
    clean = [LogRecord(row.where, _clean(row.values, Place(row.where, joint, notices), mapping)) for row in rows]
    return [record for record in clean if record.values]


def _positions(records: Sequence[Mapping[str, Any]]) -> frozenset[str]:
    """The keys of ids that hold nothing but texts such as "[2]": places among passages, and no lists of one number."""
    found = set()
    for key in ID_KEYS:
        values = [plain(record.get(key)) for record in records]
        texts = [value for value in values if value not in (None, "", [])]
        if texts and all(isinstance(text, str) and POSITION.fullmatch(text) for text in texts):
            found.add(key)
    return frozenset(found)


def _cells(values: dict[str, Any], positions: frozenset[str], sheet: bool) -> dict[str, Any]:
    """The record with the texts of its cells as what their keys want."""
    kept = {key: value for key, value in values.items() if key in positions}
    rest = {key: value for key, value in values.items() if key not in positions}
    return {**(_listed(typed_cells(Query, rest)) if sheet else records_of(Query, [rest])[0]), **kept}


def _listed(cells: dict[str, Any]) -> dict[str, Any]:
    """The row of a sheet, in which a text that is several pieces or one, as for gold labels, stands for a list."""
    lists = containers(Query)[0] - set(PASSAGE_KEYS)
    return {
        key: [piece.strip() for piece in value.split(SEPARATOR)] if key in lists and isinstance(value, str) else value
        for key, value in cells.items()
    }


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


# --- cleaning -------------------------------------------------------------------------------------


def _clean(values: Mapping[str, Any], place: Place, columns: Columns) -> dict[str, Any]:
    """The clean values of the keys that are given and right; unknown keys are kept."""
    cleaners = cleaners_of(Query)
    kept: dict[str, Any] = {}
    for key, value in values.items():
        if value is None or (is_nan(value) and key not in numbers_of(Query)):
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
