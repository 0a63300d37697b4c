"""Golden questions in whatever people keep them: a list, JSON, JSON Lines, Parquet, CSV or a workbook -> records."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, get_args, get_origin, get_type_hints

from msgspec import DecodeError, Raw
from msgspec.json import decode

from rag_titan.errors import DatasetError, SettingsError
from rag_titan.evaluation.data.cleaning import build, clean_fields
from rag_titan.evaluation.data.decoding import from_json
from rag_titan.evaluation.data.malformed import utf8
from rag_titan.evaluation.data.notices import Notices
from rag_titan.evaluation.data.plain import Place, plain, quoted, shown
from rag_titan.evaluation.data.records import Query
from rag_titan.evaluation.data.repeats import refuse_repeated
from rag_titan.evaluation.data.sheet_cells import typed_cells
from rag_titan.evaluation.data.source import Source

SEPARATOR = "||"
"""What divides several quotes, facts or references in one cell of a sheet."""

_TRUE, _FALSE = ("x", "ok", "y", "✓", "✔"), ("n", "-", "✗")
_PAIRS = (("true", "false"), ("yes", "no"), ("1", "0"), ("y", "n"), ("x", "-"), ("ok", "-"), ("✓", "✗"), ("✔", "✗"))


@dataclass(frozen=True)
class Entry:
    """One golden question as it was written.

    where  its place: "golden[3]", "golden.csv row 4"
    value  the object; None where there is none
    fault  why there is none
    """

    where: str
    value: dict[str, Any] | None
    fault: str | None = None
    joint: str = "."

    @property
    def name(self) -> str:
        """The id as it was written, or the place of a question that has none."""
        name = (self.value or {}).get("id")
        if isinstance(name, float) and name.is_integer():
            name = int(name)
        return str(name) if isinstance(name, str | int) and name != "" and not isinstance(name, bool) else self.where

    def query(self, notices: Notices | None = None) -> Query:
        """The record; DatasetError says what is wrong with it, the notices what is odd inside it."""
        place = Place(self.where, self.joint, notices)
        if self.value is None:
            raise place.error(self.fault or "must be an object.")
        try:
            query: Query = build(Query, clean_fields(Query, self.value, place), place)
        except RecursionError:
            raise place.error("must not be nested so deep that Python cannot follow. Take out some levels.") from None
        return query


def read_golden(source: Any, *, separator: str = SEPARATOR, notices: Notices | None = None) -> list[Query]:
    """The golden questions as records, each id once.

    source     a list of dicts or records, a table, or the path of a file: JSON (a list, or an object with "questions"
               or "queries"), JSON Lines, Parquet, CSV, tab-separated text or an .xlsx workbook
    separator  what divides several quotes, facts or references in a cell of a sheet; a cell may also be a JSON list,
               and a quote in it a JSON object, as {"quote": "25 days", "occurrence": 2}
    notices    what was odd about a sheet

    Raises DatasetError at the first question that breaks a rule; `check_golden` names them all.

    >>> read_golden([{"id": 1, "question": "How long?", "expected_evidence": ["25 days"]}])[0].expected_evidence
    ['25 days']
    >>> read_golden([{"id": 1}, {"id": "1"}])
    Traceback (most recent call last):
    rag_titan.errors.DatasetError: golden[1].id: duplicate id "1", as in golden[0]. Query ids must be unique.
    """
    queries: dict[str, Query] = {}
    places: dict[str, str] = {}
    for entry in entries_of(source, notices if notices is not None else Notices(), separator):
        query = entry.query(notices)
        if query.id in places:
            came = f" {quoted(query.id)}, as in {places[query.id]}. Query ids must be unique."
            raise Place(entry.where, entry.joint).field("id").error("duplicate id", came)
        places[query.id] = entry.where
        queries[query.id] = query
    return list(queries.values())


def entries_of(source: Any, notices: Notices, separator: str = SEPARATOR) -> Iterator[Entry]:
    """Every golden question of a source (see `read_golden`), also those that cannot be read.

    Raises DatasetError for what holds no questions at all, SettingsError for an empty separator.
    """
    if not separator.strip():
        raise SettingsError("separator: must be text that divides the quotes in a cell, got none. Write ||.")
    if isinstance(source, Mapping) and not hasattr(source, "schema"):
        source = _listed(source)
    records = Source.of(source, "golden")
    naming = records.naming
    for pairs in records.read(notices):
        for number, raw in pairs:
            where = naming.where(number)
            if isinstance(raw, bytes | Raw):
                yield _of_json(raw, where, naming.joint)
                continue
            value = plain(raw)
            if not isinstance(value, dict):
                yield Entry(where, None, f"must be an object, got {shown(value)}.", naming.joint)
            else:
                yield Entry(where, of_row(value, separator) if records.sheet else value, joint=naming.joint)


def _listed(value: Mapping[Any, Any]) -> Any:
    """The list in an object, as a JSON file may be."""
    for key in ("questions", "queries"):
        if key in value:
            return value[key]
    raise DatasetError("golden", 'must be a list of questions, or {"questions": [...]}, got an object without them.')


def _of_json(raw: bytes | Raw, where: str, joint: str) -> Entry:
    try:
        refuse_repeated(bytes(raw), Place(where, joint))
    except DatasetError as error:
        return Entry(error.where, None, error.rule, joint)
    try:
        value = decode(raw)
    except (DecodeError, RecursionError):
        try:
            value = from_json(utf8(bytes(raw), where), Place(where))
        except DatasetError as error:
            return Entry(where, None, error.rule, joint)
        except RecursionError:
            return Entry(where, None, "must not be nested so deep that Python cannot follow.", joint)
    if not isinstance(value, dict):
        return Entry(where, None, f"must be an object, got {shown(value)}.", joint)
    return Entry(where, value, joint=joint)


# --- cells ----------------------------------------------------------------------------------------


def of_row(row: Mapping[str, Any], separator: str = SEPARATOR) -> dict[str, Any]:
    """A question from a row of a sheet: its cells as the keys want them. A cell that is no such thing stays a text.

    Lists are divided by the separator, objects are written id=grade (or name=value for tags), the names of columns are
    those of the format in any case ("Expected answer").

    >>> of_row({"ID": "g1", "expected evidence": "25 days||10 days", "relevance": "c1=3||c2=1", "validated": "x"})
    {'id': 'g1', 'expected_evidence': ['25 days', '10 days'], 'relevance': {'c1': 3.0, 'c2': 1.0}, 'validated': True}
    """
    named = {key_of(name): cell.strip() if isinstance(cell, str) else cell for name, cell in row.items()}
    if len(named) < len(row):  # two columns would be one: each keeps its own name
        named = dict(row)
    forms = _forms()
    return {
        key: _cell(value, forms.get(key, ""), separator) if isinstance(value, str) else value
        for key, value in typed_cells(Query, named).items()
    }


def key_of(name: str) -> str:
    """The key of the format that a column's name means; a name that means none as it is.

    >>> key_of("Expected-Answer"), key_of("Remark")
    ('expected_answer', 'Remark')
    """
    normal = name.strip().lower().replace("-", "_").replace(" ", "_")
    return normal if normal in Query.__struct_fields__ else name


def _cell(text: str, form: str, separator: str) -> Any:
    if form == "list":
        return [_piece(piece) for piece in text.split(separator) if piece.strip()]
    if form == "map":
        pairs = [piece.rpartition("=") for piece in text.split(separator) if piece.strip()]
        return {name.strip(): _number(value.strip()) for name, _, value in pairs} if all(p[1] for p in pairs) else text
    if form == "flag":
        return True if text.lower() in _TRUE else False if text.lower() in _FALSE else text
    return text


def flag_words(cell: str) -> tuple[str, str] | None:
    """The words for true and for false of which a cell holds one, in its case; None where it holds none.

    >>> flag_words("no"), flag_words("TRUE"), flag_words("Yes"), flag_words("perhaps")
    (('yes', 'no'), ('TRUE', 'FALSE'), ('Yes', 'No'), None)
    """
    text = cell.strip()
    pair = next((pair for pair in _PAIRS if text.lower() in pair), None)
    if pair is None or text.islower():
        return pair
    upper = text.isupper() and (len(text) > 1 or len(pair[0]) == 1)
    return (pair[0].upper(), pair[1].upper()) if upper else (pair[0].capitalize(), pair[1].capitalize())


def flag_keys() -> set[str]:
    """The keys of a question that are true or false."""
    return {key for key, form in _forms().items() if form == "flag"}


def _piece(text: str) -> Any:
    """A piece of a list: an object where it is written as one, else the text."""
    text = text.strip()
    if text.startswith("{"):
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            return text
        return value if isinstance(value, dict) else text
    return text


def _number(text: str) -> Any:
    try:
        return float(text)
    except ValueError:
        return text


@cache
def _forms() -> dict[str, str]:
    """{key: "list", "map" or "flag"} of the keys of a question that are one of these."""
    forms = {}
    for name, hint in get_type_hints(Query).items():
        parts = (hint, *get_args(hint))
        origins = [get_origin(part) for part in parts]
        for form, there in (("list", list in origins), ("map", dict in origins), ("flag", bool in parts)):
            if there:
                forms[name] = form
                break
    return forms
