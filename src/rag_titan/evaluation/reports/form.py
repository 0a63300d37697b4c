"""Whether what somebody passes as a report has a report's form: asked once, at the door, so that nobody inside must.

The JSON Schema of a report (schema.py) says which type each place holds. What a report does not have is no fault, as an
older one has less and one made by hand often has a single stage; what it has must be of its type. Whole reports pass
through msgspec at full speed; only what it refuses is walked through here, for the place and a sentence.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Mapping, Sequence
from functools import cache, reduce
from operator import or_
from types import GenericAlias
from typing import Annotated, Any

import numpy as np
from msgspec import UNSET, Meta, UnsetType, ValidationError, convert, defstruct

from rag_titan.errors import HIDDEN, DatasetError
from rag_titan.evaluation.catalogue import ROWS, Rows
from rag_titan.evaluation.limits import MOST_COUNTED, listed
from rag_titan.evaluation.metric import Metric
from rag_titan.evaluation.reports.schema import Schema, comparison_schema, report_schema

AGAIN = "Write the report anew with rag-titan evaluate."

_CALLED = {
    "object": "an object", "array": "a list", "string": "text", "boolean": "true or false",
    "integer": "a whole number", "number": "a finite number", "null": "null",
}  # fmt: skip
_NEEDED: Mapping[str, Sequence[str]] = {
    "gates": ("stage", "metric", "value", "status"),
    "queries": ("id",),
    "detail": (),
}  # of the entries of these; of others all that the schema requires
_WHOLE = ("slices", "explorer")  # parts that are written all at once
_FAILING: Schema = {
    "type": "object",
    "properties": {key: {"type": "string"} for key in ("rule", "name", "text")},
    "required": ["rule", "name", "text"],
}
_FINITE = Annotated[float, Meta(ge=-sys.float_info.max, le=sys.float_info.max)]
_LONGEST = 40  # characters of a value that an error names


def check_report(report: Any, where: str = "report", rows: Rows | None = None) -> None:
    """Raises DatasetError with the place of the first value that a report cannot hold there.

    where  what the report is called: its file, or "report"

    >>> check_report({"retrieval": {"summary": {"recall_at_k": 0.5}}})
    >>> check_report({"scorecard": {"gates": 5}}, "report.json")
    Traceback (most recent call last):
    rag_titan.errors.DatasetError: report.json: scorecard.gates: must be a list, got 5. Write the report anew with \
rag-titan evaluate.
    """
    check_mapping(report, where)
    _check(report, _report_form(tuple(ROWS if rows is None else rows)), where, AGAIN)


def check_mapping(report: Any, where: str = "report") -> None:
    """The same for what is no mapping at all."""
    if not isinstance(report, Mapping):
        raise DatasetError(where, f"must be a report, got {_got(report)}. Pass what RAGEvaluator or load_json returns.")


def check_reports(reports: Any, rows: Rows | None = None) -> list[Mapping[str, Any]]:
    """Several reports as a list, each of them checked."""
    found = listed(reports, "reports", "reports")
    for i, report in enumerate(found):
        check_report(report, f"reports[{i}]", rows)
    return found


def check_comparison(comparison: Any, where: str = "comparison") -> None:
    """The same for what `compare` returns; None, no comparison at all, passes."""
    if comparison is None:
        return
    again = "Pass what ReportManager.compare returns."
    if not isinstance(comparison, Mapping):
        raise DatasetError(where, f"must be a comparison of reports, got {_got(comparison)}. {again}")
    _check(comparison, _comparison_form(), where, again)


def check_explorer(explorer: Any, where: str = "explorer") -> None:
    """The same for the rows of the query explorer; None passes."""
    if explorer is None:
        return
    again = "Pass what stands in report['explorer']."
    if not isinstance(explorer, Mapping):
        raise DatasetError(where, f"must be the rows of the explorer, got {_got(explorer)}. {again}")
    _check(explorer, _explorer_form(), where, again)


def check_failing(failures: Any, where: str = "failures") -> None:
    """The same for what makes a run fail: [{"rule", "name", "text"}]."""
    for i, one in enumerate(listed(failures, where, "failures")):
        broken = _broken(one, _FAILING, f"{where}[{i}]")
        if broken is not None:
            raise DatasetError(broken[0], f"{broken[1]}. Write rule, name and text of each.")


def _check(value: Mapping[str, Any], form: tuple[Schema, Any], where: str, again: str) -> None:
    schema, kind = form
    if _fits(value, kind):
        return
    broken = _broken(value, schema, "")  # none where only numpy's numbers, or keys that nobody reads, are strange
    if broken is not None:
        place, rule = broken
        part = re.split(r"[.\[]", place)[0]  # deeper, keys of the data may stand in a place
        told = f"{where}: {part}" if part else where
        redacted = f"{told}: must have the form that its schema says{HIDDEN}"
        raise DatasetError(f"{where}: {place}" if place else where, f"{rule}. {again}", redacted)


def _fits(value: Any, kind: Any) -> bool:
    try:
        convert(value, kind)
    except (ValidationError, RecursionError, UnicodeEncodeError):  # the last: a lone surrogate, which the walk takes
        return False
    return True


@cache
def _report_form(rows: tuple[Metric, ...]) -> tuple[Schema, Any]:
    schema = report_schema(rows)
    parts = {
        key: _nullable(part if key in _WHOLE else _lenient(part, key))  # null is a part without data
        for key, part in schema["properties"].items()
    }
    return _formed({**schema, "properties": parts, "required": []})


@cache
def _comparison_form() -> tuple[Schema, Any]:
    return _formed(comparison_schema())


@cache
def _explorer_form() -> tuple[Schema, Any]:
    return _formed(report_schema()["properties"]["explorer"])


def _formed(schema: Schema) -> tuple[Schema, Any]:
    return schema, _type_of(schema)


def _lenient(schema: Any, name: str = "", entry: bool = False) -> Any:
    """The schema with no more keys required than a reader cannot do without: those of the entries of lists and maps."""
    if not isinstance(schema, Mapping):
        return schema
    named = {key: _lenient(value, key) for key, value in schema.get("properties", {}).items()}
    inner = {key: _lenient(schema[key], name, True) for key in ("items", "additionalProperties") if key in schema}
    if not named:
        return {**schema, **inner}
    needed = _NEEDED.get(name, schema["required"]) if entry else ()
    return {**schema, **inner, "properties": named, "required": list(needed)}


def _nullable(schema: Schema) -> Schema:
    return {**schema, "type": list(dict.fromkeys([*_types(schema), "null"]))}


def _types(schema: Schema) -> list[str]:
    """The types that a place may hold; none where it may hold anything."""
    if "enum" in schema:  # which words there are has changed between versions and is no matter of form
        return ["string", "null"] if None in schema["enum"] else ["string"]
    kinds = schema.get("type", [])
    return [kinds] if isinstance(kinds, str) else list(kinds)


# --- as a type of msgspec -------------------------------------------------------------------------


def _type_of(schema: Schema) -> Any:
    kinds = [_one_type(kind, schema) for kind in _types(schema)]
    return reduce(or_, kinds) if kinds else Any


def _one_type(kind: str, schema: Schema) -> Any:
    if kind == "object" and "properties" in schema:
        return _struct(schema["properties"], _required(schema))
    if kind == "object":
        return GenericAlias(dict, (str, _type_of(schema.get("additionalProperties", {}))))
    if kind == "array":
        items = GenericAlias(list, (_type_of(schema.get("items", {})),))
        return Annotated[items, Meta(min_length=_length(schema), max_length=_length(schema))]
    if kind == "integer":
        return Annotated[int, Meta(ge=schema.get("minimum", -MOST_COUNTED), le=MOST_COUNTED)]
    return {"number": _FINITE, "string": str, "boolean": bool, "null": None}[kind]


def _struct(properties: Schema, required: list[str]) -> Any:
    """A record; its fields are numbered, as a key need not be a name of Python's."""
    names = {f"field_{i}": key for i, key in enumerate(properties)}
    fields: list[Any] = []
    for name, key in names.items():
        kind = _type_of(properties[key])
        fields.append((name, kind) if key in required else (name, kind | UnsetType if kind is not Any else Any, UNSET))
    return defstruct("Part", fields, rename=names, kw_only=True, gc=False)


def _length(schema: Schema) -> int | None:
    """How many items a list must have, where the schema says."""
    return schema.get("minItems")


def _required(schema: Schema) -> list[str]:
    return list(schema.get("required", ()))


# --- in words -------------------------------------------------------------------------------------


def _broken(value: Any, schema: Schema, place: str) -> tuple[str, str] | None:
    """(place, what must hold and what came) of the first value that is of no type of its place."""
    kinds = _types(schema)
    if kinds and not any(_is(value, kind, schema) for kind in kinds):
        named = " or ".join(_CALLED[kind] for kind in kinds)
        least = f" from {schema['minimum']} to {MOST_COUNTED:,}" if "integer" in kinds and "minimum" in schema else ""
        return place, f"must be {named}{least}, got {_got(value)}"
    if isinstance(value, Mapping) and "object" in kinds:
        return _broken_object(value, schema, place)
    if isinstance(value, list | tuple) and "array" in kinds:
        if _length(schema) not in (None, len(value)):
            return place, f"must be a list of {_length(schema)}, got {len(value)} in it"
        return _broken_list(value, schema.get("items", {}), place)
    return None


def _broken_list(items: Sequence[Any], schema: Schema, place: str) -> tuple[str, str] | None:
    kind = _type_of(schema)
    strange = (i for i, item in enumerate(items) if not _fits(item, kind))  # the others need no walk
    found = (_broken(items[i], schema, f"{place}[{i}]") for i in strange)
    return next((broken for broken in found if broken), None)


def _broken_object(value: Mapping[Any, Any], schema: Schema, place: str) -> tuple[str, str] | None:
    known, rest = schema.get("properties"), schema.get("additionalProperties", {})
    for key in _required(schema):
        if key not in value:
            return place, f"must have the key {key!r}, got none"
    for key, inner in value.items():
        if not isinstance(key, str):
            return place, f"must have keys that are text, got {_got(key)}"
        at = f"{place}.{key}" if place else key
        broken = _broken(inner, rest if known is None else known.get(key, {}), at)
        if broken:
            return broken
    return None


def _is(value: Any, kind: str, schema: Schema) -> bool:
    if kind == "number":
        return _number(value)
    if kind == "integer":
        whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
        return whole and schema.get("minimum", -MOST_COUNTED) <= value <= MOST_COUNTED
    types: dict[str, Any] = {
        "object": Mapping,
        "array": list | tuple,
        "string": str,
        "boolean": bool,
        "null": type(None),
    }
    return isinstance(value, types[kind])


def _number(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number of hundreds of digits
        return False


def _got(value: Any) -> str:
    """A value as an error names it, cut when it is long."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, Mapping | list | tuple):
        return "an object" if isinstance(value, Mapping) else "a list"
    if isinstance(value, int) and abs(value) >= 10**_LONGEST:
        return f"a number of more than {_LONGEST} digits"
    if isinstance(value, str | int | float):
        said = repr(value)
        return said if len(said) <= _LONGEST else f"{said[:_LONGEST]}…"
    return f"a {type(value).__name__}"
