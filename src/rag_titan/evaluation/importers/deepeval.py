"""DeepEval: the test cases of a test run, with their traces, and goldens -> one query a case."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rag_titan.errors import DatasetError
from rag_titan.evaluation.data.cleaning import clean_anything
from rag_titan.evaluation.data.files import File
from rag_titan.evaluation.data.notices import Notices
from rag_titan.evaluation.data.plain import Place, shown, without_surrogates
from rag_titan.evaluation.data.source import Source, form_of
from rag_titan.evaluation.importers.imported import Imported, Record
from rag_titan.evaluation.importers.parsing import json_value, records_before
from rag_titan.evaluation.importers.span_attributes import number
from rag_titan.evaluation.importers.spans import Span, spans_of
from rag_titan.evaluation.importers.traces import imported_spans

Case = Mapping[str, Any]

_RUNS = ("testRunData", "test_run_data", "testRun", "test_run")  # what a test run may be wrapped in
_CASES = ("testCases", "test_cases", "goldens")
_CONVERSATIONS = ("conversationalTestCases", "conversational_test_cases", "conversational_goldens")
_SPANS = ("baseSpans", "agentSpans", "llmSpans", "retrieverSpans", "toolSpans")
_KINDS = {"llm": "LLM", "retriever": "RETRIEVER", "agent": "AGENT", "tool": "TOOL"}
_ELIDED = ("{...}", "[...]", "...")  # what a viewer writes in place of a long value
_RULE = "must be a DeepEval test run, with testCases, or goldens, with input and expected_output"


def read(sources: Sequence[Path], context: str | None = None) -> Imported:
    """One query a test case, called by its name; scores of metrics stand under the key `deepeval`.

    sources  JSON of a test run (`testCases`), or test cases and goldens as JSON, JSON Lines or CSV
    context  "retrieved": the retrieval context is what went into the prompt

    What the case says counts before what its trace says: `retrievalContext` are the retrieved texts, `context`, which
    holds the ideal passages, is expected evidence. Times, tokens and cost come from the trace; the cost of the
    evaluation itself is no cost of the system. Conversations are left out, and counted. Raises DatasetError where no
    source holds a case.
    """
    notices = Notices()
    records: list[Record] = []
    names: set[str] = set()
    spans: list[Span] = []
    for path in sources:
        for where, case in _cases(File(path), notices):
            if not {"input", "actualOutput", "actual_output", "trace"} & case.keys():
                notices.add("records that are no test case were left out: {ids}.", [where])
                continue
            record = {"id": _name(case, len(records), names, notices)}
            record |= _of_case(case, where, record["id"], notices)
            if context == "retrieved" and "retrieved_texts" in record:
                record["context"] = "\n\n".join(record["retrieved_texts"])
            spans += _spans(record["id"], case.get("trace"))
            records.append(record)
    if not records:
        raise DatasetError(str(sources[0]), f"{_RULE}, got none. Check the file.")
    traced = imported_spans(spans, None, notices)
    known = {query["id"]: query for query in traced.queries}
    return Imported([_joined(record, known) for record in records], traced.chunks, notices=notices)


# --- cases in files ---------------------------------------------------------------------------------------------------


def _cases(file: File, notices: Notices) -> Iterator[tuple[str, Case]]:
    if form_of(file) != "json":
        yield from Source.of_file(file).records(notices)
        return
    try:
        value = json_value(file.path, notices)
    except DatasetError as error:
        yield from records_before(error, file, notices)
        return
    for key in _RUNS:
        value = value[key] if isinstance(value, dict) and isinstance(value.get(key), dict) else value
    if isinstance(value, list):
        yield from Source.of_list(value, file.name).records(notices)
        return
    talks = [key for key in _CONVERSATIONS if isinstance(value.get(key), list) and value[key]]
    notices.add("conversational test cases were left out: {ids}.", [f"{key} ({len(value[key])})" for key in talks])
    held = next((key for key in _CASES if isinstance(value.get(key), list)), None)
    if held is None:
        if not talks:
            raise DatasetError(file.name, f"{_RULE}, got {shown(value)} with neither. Check the file.")
        return
    yield from Source.of_list(value[held], held).records(notices)


def _name(case: Case, number: int, names: set[str], notices: Notices) -> str:
    """The name of the case if no other had it, else with its number behind it."""
    given = case.get("name")
    name = without_surrogates(given) if isinstance(given, str) and given.strip() else str(number + 1)
    if name in names:
        while name in names:
            name = f"{name}#{number + 1}"
        notices.add("names that came before got the number of the case behind them: {ids}.", [name])
    names.add(name)
    return name


# --- what a case says -------------------------------------------------------------------------------------------------


def _of_case(case: Case, where: str, name: str, notices: Notices) -> Record:
    record: Record = {}
    for key, names in (
        ("question", ("input",)),
        ("answer", ("actualOutput", "actual_output")),
        ("expected_answer", ("expectedOutput", "expected_output")),
    ):
        value = _first(case, names)
        if isinstance(value, str) and value.strip() in _ELIDED:
            notices.add("values that are shortened to {...} in the source were left out: {ids}.", [f"{name} ({key})"])
        elif isinstance(value, str):
            record[key] = value
    for key, names in (
        ("retrieved_texts", ("retrievalContext", "retrieval_context")),
        ("expected_evidence", ("context",)),
    ):
        texts = _texts(_first(case, names))
        if texts is not None and (texts or key == "retrieved_texts"):
            record[key] = texts
    for key, names, factor in (
        ("latency_ms", ("completionTime", "completion_time"), 1000),
        ("cost_usd", ("tokenCost", "token_cost"), 1),
    ):
        amount = number(_first(case, names))
        if amount is not None and amount >= 0:
            record[key] = amount * factor
    more = _more(case)
    record |= {"deepeval": more} if more else {}
    cleaned: Record = clean_anything(record, Place(where, notices=notices))
    return cleaned


def _more(case: Case) -> Record:
    """Scores of metrics by name, whether the case passed, its metadata: what judges said of it, no gold label."""
    metrics = _first(case, ("metricsData", "metrics_data"))
    listed = metrics if isinstance(metrics, list) else ()
    scores = {str(m.get("name")): m.get("score") for m in listed if isinstance(m, dict) and "name" in m}
    found = {
        "metrics": scores or None,
        "success": case.get("success"),
        "metadata": _first(case, ("additionalMetadata", "additional_metadata")),
        "comments": case.get("comments"),
    }
    return {key: value for key, value in found.items() if value is not None}


def _texts(value: Any) -> list[str] | None:
    """A list of texts; CSV divides them by a bar."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            value = value.split("|")
    return [text for text in value if isinstance(text, str) and text] if isinstance(value, list) else None


def _first(case: Case, names: Sequence[str]) -> Any:
    return next((case[name] for name in names if case.get(name) is not None), None)


# --- what its trace says ----------------------------------------------------------------------------------------------


def _joined(record: Record, known: Mapping[str, Record]) -> Record:
    """The case, and what only its trace says; one list of retrieved passages, never parts of two."""
    traced = {key: value for key, value in known.get(record["id"], {}).items() if key != "id"}
    if "retrieved_texts" in record:
        traced = {key: value for key, value in traced.items() if not key.startswith("retrieved_")}
    return record | {key: value for key, value in traced.items() if key not in record}


def _spans(name: str, trace: Any) -> Iterator[Span]:
    """The spans of a trace below one for the trace itself."""
    if not isinstance(trace, dict):
        return
    root = str(trace.get("uuid") or "trace")
    yield from spans_of({
        "trace_id": name, "span_id": root, "name": trace.get("name"), "start_time": trace.get("startTime"),
        "end_time": trace.get("endTime"), "attributes": {
            "openinference.span.kind": "CHAIN", "input.value": _json(trace.get("input")),
            "output.value": _json(trace.get("output")), "metadata": _tags(trace),
        },
    })  # fmt: skip
    for key in _SPANS:
        held = trace.get(key)
        for span in held if isinstance(held, list) else ():
            if isinstance(span, dict):
                yield from spans_of(_record(name, root, span))


def _record(name: str, root: str, span: Case) -> dict[str, Any]:
    error = span.get("error")
    read, written = number(span.get("inputTokenCount")), number(span.get("outputTokenCount"))
    prices = number(span.get("costPerInputToken")), number(span.get("costPerOutputToken"))
    kind = _KINDS.get(str(span.get("type")), "CHAIN")
    output = span.get("output")
    attributes: dict[str, Any] = {
        "openinference.span.kind": kind,
        "input.value": _json(span.get("input")),
        "output.value": _json({"documents": output} if kind == "RETRIEVER" and isinstance(output, list) else output),
        "llm.token_count.prompt": read,
        "llm.token_count.completion": written,
        "llm.token_count.total": None if read is None or written is None else read + written,
    }
    if kind == "RETRIEVER" and not isinstance(output, list):
        attributes["ai.observability.retrieval.retrieved_contexts"] = span.get("retrievalContext")
    if read is not None and written is not None and prices[0] is not None and prices[1] is not None:
        attributes["llm.cost.total"] = read * prices[0] + written * prices[1]
    record = {
        "trace_id": name,
        "span_id": span.get("uuid"),
        "parent_id": span.get("parentUuid") or root,
        "name": span.get("name"),
        "start_time": span.get("startTime"),
        "end_time": span.get("endTime"),
        "attributes": {key: value for key, value in attributes.items() if value is not None},
    }
    return record | ({"status_code": "ERROR", "status_message": str(error)} if error else {})


def _json(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else json.dumps(value)


def _tags(trace: Case) -> dict[str, Any]:
    tags, metadata = trace.get("tags"), trace.get("metadata")
    named = {str(tag): True for tag in (tags if isinstance(tags, list) else ())}
    return named | (metadata if isinstance(metadata, dict) else {})
