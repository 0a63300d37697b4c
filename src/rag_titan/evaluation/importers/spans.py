"""Records of tracing tools -> spans of one form: OTLP, the OpenTelemetry SDK, Phoenix, TruLens events and records."""

from __future__ import annotations

import json
import math
import re
from ast import literal_eval
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from rag_titan.evaluation.data.plain import plain

EVALUATION = "evaluation"
TRULENS = "ai.observability."

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DEEPEST = 24
_VECTORS = (".vector", ".embeddings", "_embedding", "_embeddings")
_UNUSED = ("llm.tools", "llm.invocation_parameters", "gen_ai.tool", "db.query.embeddings")
_TRACE_IDS = ("traceId", "trace_id", "traceID", "context.trace_id", "trace.trace_id")
_SPAN_IDS = ("spanId", "span_id", "spanID", "context.span_id", "trace.span_id")
_PARENTS = ("parentSpanId", "parent_span_id", "parent_id", "parentId", "trace.parent_id", "record.parent_span_id")
_STARTS = ("startTimeUnixNano", "start_time_unix_nano", "start_time", "startTime", "start_timestamp")
_ENDS = ("endTimeUnixNano", "end_time_unix_nano", "end_time", "endTime", "end_timestamp", "timestamp")
_STRANGE_ESCAPE = re.compile(r"\\[^'\"abfnrtvxuUN0-3\n]")
_RETRIEVING = re.compile(r"retriev|relevant_documents|similarity_search", re.IGNORECASE)


@dataclass(slots=True)
class Event:
    """Something that happened during a span; its time in nanoseconds."""

    name: str
    time: int | None
    attributes: dict[str, Any]


@dataclass(slots=True)
class Span:
    """One operation of a request.

    parent       the span that it is part of; None for a root
    start, end   nanoseconds since 1970; None where not given
    zoned        False where the source says its times without a time zone
    error        why it failed, where its status is an error
    attributes   flat, by dotted names: {"retrieval.documents.0.document.id": "d3"}
    """

    trace: str
    id: str
    parent: str | None
    name: str
    start: int | None
    end: int | None
    error: str | None
    attributes: dict[str, Any]
    events: list[Event] = field(default_factory=list)
    zoned: bool = True


def spans_of(record: Any) -> list[Span]:
    """The spans that a record stands for: one, or those of a TruLens record; none where it is something else.

    >>> [span] = spans_of({"traceId": "a1", "spanId": "b2", "name": "ask", "startTimeUnixNano": "1000000",
    ...                    "attributes": [{"key": "user.id", "value": {"intValue": "7"}}]})
    >>> span.trace, span.start, span.attributes
    ('a1', 1000000, {'user.id': 7})
    >>> spans_of({"question": "How long?"})
    []
    """
    if not isinstance(record, dict):
        return []
    if "RECORD_ATTRIBUTES" in record or "TRACE" in record:
        record = {str(key).lower(): value for key, value in record.items()}
    if "record_id" in record and ("record_json" in record or "calls" in record):
        return list(_of_trulens_record(record))
    known = _with_parts(record)
    trace, span = _first(known, _TRACE_IDS), _first(known, _SPAN_IDS)
    attributes = _attributes(known)
    if not any(name in known for name in _TRACE_IDS) or (span is None and not attributes):
        return []
    return [_span(known, _id(trace), _id(span), attributes)]


def _span(known: Mapping[str, Any], trace: str, span: str, attributes: dict[str, Any]) -> Span:
    parent = _id(_first(known, _PARENTS))
    start, zoned = _time_of(known, _STARTS)
    events = list(_events(known.get("events")))
    return Span(
        trace,
        span,
        parent or None,
        str(_first(known, ("name", "span_name", "record.name")) or ""),
        start,
        _time_of(known, _ENDS)[0],
        _error(known, attributes, events),
        attributes,
        events,
        zoned,
    )


def _with_parts(record: Mapping[str, Any]) -> dict[str, Any]:
    """The record, and what stands in its objects under dotted names."""
    known = dict(record)
    for name in ("context", "trace", "record", "status"):
        part = structured(record.get(name))
        if isinstance(part, dict):
            known |= {f"{name}.{key}": value for key, value in part.items()}
    return known


def _first(record: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    for name in names:
        value = record.get(name)
        if value is not None and value != "":
            return value
    return None


def _id(value: Any) -> str:
    value = plain(value)
    if value is None or (isinstance(value, float) and math.isnan(value)) or isinstance(value, list | dict | bool):
        return ""
    text = str(int(value)) if isinstance(value, float) and value.is_integer() else str(value).strip()
    return text.removeprefix("0x")


# --- attributes -------------------------------------------------------------------------------------------------------


def structured(value: Any) -> Any:
    """A text that is a JSON object or list, or Python's way of writing one, as its value; anything else as it is.

    >>> structured('{"a": 1}'), structured("{'a': None}"), structured("[1] Leave is 25 days.")
    ({'a': 1}, {'a': None}, '[1] Leave is 25 days.')
    """
    value = plain(value)
    if not isinstance(value, str) or value.lstrip()[:1] not in ("{", "["):
        return value
    try:
        return json.loads(value, strict=False)
    except (ValueError, RecursionError):
        pass
    if _STRANGE_ESCAPE.search(value.replace("\\\\", "")):
        return value  # Python never writes it, and warns when it reads it
    try:
        parsed = literal_eval(value)
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return value
    return parsed if isinstance(parsed, dict | list) else value


def _attributes(known: Mapping[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name in ("attributes", "record_attributes"):
        part = structured(known.get(name))
        if isinstance(part, list):
            part = _of_otlp(part)
        if isinstance(part, dict):
            for key, value in part.items():
                _flatten(str(key), value, flat)
    for key, value in known.items():
        if isinstance(key, str) and key.startswith("attributes."):
            _flatten(key.removeprefix("attributes."), value, flat)
    if known.get("span_kind") and "openinference.span.kind" not in flat:
        flat["openinference.span.kind"] = known["span_kind"]
    return flat


def _flatten(name: str, value: Any, flat: dict[str, Any], depth: int = 0) -> None:
    """Put a value under its name; objects, and lists of them, under the names of what they hold."""
    value = plain(value)
    if value is None or name.endswith(_VECTORS) or name.startswith(_UNUSED):
        return
    if isinstance(value, str) and name.endswith(("documents", "messages", "_contexts", "_texts", "_scores", "_ranks")):
        value = structured(value)
    if isinstance(value, list):
        value = [plain(item) for item in value]
        if any(isinstance(item, dict) for item in value):
            value = dict(enumerate(value))
    if isinstance(value, dict) and depth < _DEEPEST and value:
        for key, item in value.items():
            _flatten(f"{name}.{key}", item, flat, depth + 1)
    elif not isinstance(value, float) or math.isfinite(value):
        flat[name] = value


def _of_otlp(pairs: list[Any]) -> dict[str, Any]:
    """The attributes of OTLP, a list of keys and typed values."""
    return {
        str(pair["key"]): _of_any_value(pair.get("value")) for pair in pairs if isinstance(pair, dict) and "key" in pair
    }


def _of_any_value(value: Any, depth: int = 0) -> Any:
    if not isinstance(value, dict) or depth > _DEEPEST:
        return value
    for key, item in value.items():
        kind = key.replace("_", "").lower()
        if kind == "intvalue" and isinstance(item, str):
            return int(item) if re.fullmatch(r"-?\d{1,20}", item) else item
        if kind in ("arrayvalue", "kvlistvalue"):
            items = item.get("values") if isinstance(item, dict) else None
            items = items if isinstance(items, list) else []
            if kind == "kvlistvalue":
                return {
                    str(i.get("key")): _of_any_value(i.get("value"), depth + 1) for i in items if isinstance(i, dict)
                }
            return [_of_any_value(i, depth + 1) for i in items]
        if kind.endswith("value"):
            return item
    return None


def _events(value: Any) -> Iterator[Event]:
    value = structured(value)
    for item in value if isinstance(value, list) else ():
        item = structured(item)
        if not isinstance(item, dict):
            continue
        time, _ = _time_of(item, ("timeUnixNano", "time_unix_nano", "timestamp", "time"))
        yield Event(str(item.get("name") or ""), time, _attributes(item))


# --- times and errors -------------------------------------------------------------------------------------------------


def _time_of(record: Mapping[str, Any], names: tuple[str, ...]) -> tuple[int | None, bool]:
    """The first time that is given under one of the names, in nanoseconds, and whether its time zone was given."""
    name = next((name for name in names if record.get(name) not in (None, "")), "")
    value = plain(record.get(name))
    if name.lower().endswith("nano") and isinstance(value, str | int) and re.fullmatch(r"\d{1,20}", str(value)):
        return int(value), True
    return _time(value)


def _time(value: Any) -> tuple[int | None, bool]:
    """Nanoseconds since 1970, and whether the time zone was given; a number is s, ms, µs or ns by its size."""
    value = plain(value)
    if isinstance(value, str):
        if not re.fullmatch(r"\s*\d+(\.\d*)?\s*", value):
            return _of_iso(value)
        value = int(value) if value.strip().isdigit() and len(value) < 40 else float(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e20:
        return None, True
    factor = next((f for least, f in ((1e17, 1), (1e14, 1000), (1e11, 10**6)) if value >= least), 10**9)
    return (value * factor if isinstance(value, int) else round(value * factor)), True


def _of_iso(text: str) -> tuple[int | None, bool]:
    try:
        time = datetime.fromisoformat(text.strip().removesuffix(" UTC"))
    except ValueError:
        return None, True
    zoned = time.tzinfo is not None or text.endswith(" UTC")
    try:
        since = (time if time.tzinfo is not None else time.replace(tzinfo=UTC)) - _EPOCH
    except OverflowError:
        return None, True
    return since // timedelta(microseconds=1) * 1000, zoned


def time_text(nanoseconds: int, zoned: bool) -> str | None:
    """A time as ISO 8601, in UTC where its zone is known.

    >>> time_text(1_500_000_000_250_000_000, True)
    '2017-07-14T02:40:00.250000Z'
    """
    try:
        time = _EPOCH + timedelta(microseconds=nanoseconds // 1000)
    except OverflowError:
        return None
    return time.replace(tzinfo=None).isoformat() + ("Z" if zoned else "")


def _error(known: Mapping[str, Any], attributes: Mapping[str, Any], events: list[Event]) -> str | None:
    """The message of a span whose status is an error."""
    code = _first(known, ("status.status_code", "status.code", "status_code", "statusCode", "record.status", "status"))
    if isinstance(code, dict):
        code = None
    if str(code).upper().rpartition(".")[2] not in ("2", "ERROR", "STATUS_CODE_ERROR"):
        return None
    said = _first(known, ("status.description", "status.message", "status_message", "statusMessage"))
    for event in reversed(events):
        said = said or event.attributes.get("exception.message") or event.attributes.get("exception.type")
    said = said or _first(attributes, (f"{TRULENS}call.error", "exception.message", "error.message", "error.type"))
    return str(said) if said else "the span has the status ERROR and says nothing more"


# --- TruLens records --------------------------------------------------------------------------------------------------


def _of_trulens_record(row: Mapping[str, Any]) -> Iterator[Span]:
    """A record of TruLens's database, as a root span and one for every call that retrieves."""
    held = structured(row.get("record_json"))
    record = {**row, **(held if isinstance(held, dict) else {})}
    name = str(record["record_id"])
    cost = structured(record.get("cost", row.get("cost_json")))
    attributes = {
        f"{TRULENS}span_type": "record_root",
        f"{TRULENS}record_root.input": record.get("main_input", record.get("input")),
        f"{TRULENS}record_root.output": record.get("main_output", record.get("output")),
        f"{TRULENS}app_id": record.get("app_id"),
    }
    if isinstance(cost, dict) and cost.get("n_requests") != 0:
        counts = {"cost": "cost", "cost_currency": "cost_currency", "num_tokens": "n_tokens"}
        counts |= {"num_completion_tokens": "n_completion_tokens"}
        attributes |= {f"{TRULENS}cost.{ours}": cost.get(theirs) for ours, theirs in counts.items()}
    known = {"name": "record", "error": record.get("main_error")}
    yield _timed(known, name, "root", None, structured(record.get("perf", row.get("perf_json"))), attributes)
    calls = structured(record.get("calls"))
    for number, call in enumerate(calls if isinstance(calls, list) else ()):
        stack = call.get("stack") if isinstance(call, dict) else None
        method = stack[-1].get("method") if isinstance(stack, list) and stack and isinstance(stack[-1], dict) else None
        called = str(method.get("name")) if isinstance(method, dict) else ""
        if _RETRIEVING.search(called):
            attributes = {
                f"{TRULENS}span_type": "retrieval",
                f"{TRULENS}retrieval.retrieved_contexts": call.get("rets"),
            }
            known = {"name": called, "error": call.get("error")}
            yield _timed(known, name, str(number), "root", call.get("perf"), attributes)


def _timed(
    known: Mapping[str, Any], trace: str, span: str, parent: str | None, perf: Any, attributes: Mapping[str, Any]
) -> Span:
    times = perf if isinstance(perf, dict) else {}
    (start, zoned), (end, _) = _time(times.get("start_time")), _time(times.get("end_time"))
    flat: dict[str, Any] = {}
    for key, value in attributes.items():
        _flatten(key, value, flat)
    error = str(known["error"]) if known["error"] else None
    return Span(trace, span, parent, str(known["name"]), start, end, error, flat, zoned=zoned)
