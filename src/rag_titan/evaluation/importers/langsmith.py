"""LangSmith runs, as its client lists them, its bulk export writes them or its SDK sends them -> one query a trace.

A run is a span under other names: it becomes one with the attributes of OpenInference, and is read as all traces are.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rag_titan.errors import DatasetError
from rag_titan.evaluation.data.files import File
from rag_titan.evaluation.data.notices import Notices
from rag_titan.evaluation.data.source import Source, form_of
from rag_titan.evaluation.importers.imported import Imported
from rag_titan.evaluation.importers.json_values import json_records
from rag_titan.evaluation.importers.span_attributes import number
from rag_titan.evaluation.importers.span_texts import answer_in
from rag_titan.evaluation.importers.spans import TRULENS, Span, spans_of, structured
from rag_titan.evaluation.importers.traces import imported_spans

Run = dict[str, Any]

_KINDS = {"retriever": "RETRIEVER", "llm": "LLM", "embedding": "EMBEDDING", "prompt": "CHAIN", "tool": "TOOL"}
_LISTS = ("runs", "post", "patch", "child_runs")  # keys under which runs stand
_SCORES = ("score", "relevance_score", "_score", "similarity")
_OTHERS = "{name}: records that are no runs were left out: {{ids}}."
_FEEDBACK = "feedback scores of runs were left out: trace {ids}."
_DEEPEST = 100


def read(sources: Sequence[Path], document_id: str | None = None) -> Imported:
    """The traces in files of runs, in the order of their start.

    sources      JSON (a list, {"runs": [...]}, or the {"post": [...], "patch": [...]} that the SDK sends), JSON Lines,
                 CSV or Parquet of runs; runs may hold their children as `child_runs`, and come in any order
    document_id  the key of the documents' metadata that holds the ids of chunks, where the documents have no ids

    Retriever and llm runs of one trace become one query with its timings, tokens and cost; several retrievers are put
    one after another, and a notice says so. Raises DatasetError where no source holds a run.
    """
    notices = Notices()
    runs: dict[str, Run] = {}
    for path in sources:
        for place, record in _records(File(path), notices):
            found = [run for run in _unfolded(record, None, 0) if _is_run(run)]
            if not found:
                notices.add(_OTHERS.format(name=path.name), [place])
            for run in found:
                _merge(runs, run)
    if not runs:
        said = notices.texts()
        rule = "must hold LangSmith runs, objects with id, run_type and inputs, got none"
        raise DatasetError(str(sources[0]), f"{rule}. {said[0] if said else 'Check the format.'}")
    rated = [_trace_of(run, runs) for run in runs.values() if structured(run.get("feedback_stats"))]
    notices.add(_FEEDBACK, sorted(set(rated)))
    return imported_spans(_spans(runs), document_id, notices)


# --- runs in files ----------------------------------------------------------------------------------------------------


def _records(file: File, notices: Notices) -> Iterator[tuple[str, Any]]:
    if form_of(file) in ("json", "lines"):
        yield from json_records(file, notices)
    else:
        yield from Source.of_file(file).records(notices)


def _unfolded(record: Any, parent: str | None, depth: int) -> Iterator[Run]:
    """The run, and the runs that it or a list around it holds; a child without a parent gets the one that holds it."""
    if not isinstance(record, dict) or depth > _DEEPEST:
        return
    run = {key: value for key, value in record.items() if key not in _LISTS}
    if parent is not None and not run.get("parent_run_id"):
        run["parent_run_id"] = parent
    if "id" in run:
        yield run
    for key in _LISTS:
        held = structured(record.get(key))
        for item in held if isinstance(held, list) else ():
            yield from _unfolded(item, str(run["id"]) if "id" in run else parent, depth + 1)


def _is_run(run: Run) -> bool:
    return bool(run.get("id")) and bool({"run_type", "inputs", "trace_id", "dotted_order"} & run.keys())


def _merge(runs: dict[str, Run], run: Run) -> None:
    """What comes later of the same run completes what came before."""
    known = runs.setdefault(str(run["id"]), {})
    known |= {key: value for key, value in run.items() if value not in (None, "", [], {}) or key not in known}


def _trace_of(run: Run, runs: Mapping[str, Run]) -> str:
    """The id of its trace: its own word, else the root above it."""
    seen: set[str] = set()
    while not run.get("trace_id"):
        parent = str(run.get("parent_run_id") or "")
        if parent not in runs or parent in seen:
            return parent or str(run["id"])
        seen.add(parent)
        run = runs[parent]
    return str(run["trace_id"])


# --- runs as spans ----------------------------------------------------------------------------------------------------


def _spans(runs: Mapping[str, Run]) -> Iterator[Span]:
    for name, run in runs.items():
        record: dict[str, Any] = {
            "trace_id": _trace_of(run, runs),
            "span_id": name,
            "parent_id": run.get("parent_run_id"),
            "name": run.get("name"),
            "start_time": run.get("start_time"),
            "end_time": run.get("end_time"),
            "attributes": _attributes(run),
            "events": [{"name": "first_token", "timestamp": time} for time in _first_tokens(run)],
        }
        if run.get("error"):
            record |= {"status_code": "ERROR", "status_message": str(run["error"])}
        yield from spans_of(record)


def _attributes(run: Run) -> dict[str, Any]:
    inputs, outputs = structured(run.get("inputs")), structured(run.get("outputs"))
    kind = str(run.get("run_type") or "chain").lower()
    attributes: dict[str, Any] = {"openinference.span.kind": _KINDS.get(kind, "CHAIN"), "input.value": _json(inputs)}
    attributes["output.value"] = _json(_documents(outputs) if kind == "retriever" else outputs)
    if kind == "llm":
        attributes["llm.input_messages"] = _messages(inputs)
        attributes["llm.prompts"] = inputs.get("prompts") if isinstance(inputs, dict) else None
    attributes |= _amounts(run, outputs, kind)
    extra = structured(run.get("extra"))
    metadata = structured(extra.get("metadata")) if isinstance(extra, dict) else None
    tags = structured(run.get("tags"))
    attributes["metadata"] = {
        **{str(tag): True for tag in (tags if isinstance(tags, list) else ())},
        **(metadata if isinstance(metadata, dict) else {}),
    }
    expected = answer_in(run.get("reference_outputs"))
    if expected is not None and not run.get("parent_run_id"):
        attributes[f"{TRULENS}record_root.ground_truth_output"] = expected
    return attributes


def _json(value: Any) -> str | None:
    """As the text that traces hold; None and {} are nothing."""
    if value is None or value == {}:
        return None
    return value if isinstance(value, str) else json.dumps(value, default=str)


def _documents(outputs: Any) -> Any:
    """The documents of a retriever with the scores that stand in their metadata."""
    listed = outputs.get("documents", outputs.get("output")) if isinstance(outputs, dict) else outputs
    if not isinstance(listed, list):
        return outputs
    return {"documents": [_document(item) if isinstance(item, dict) else item for item in listed]}


def _document(item: Mapping[str, Any]) -> dict[str, Any]:
    held = item.get("kwargs")
    document = dict(held) if isinstance(held, dict) and "page_content" in held else dict(item)
    metadata = document.get("metadata")
    if "score" not in document and isinstance(metadata, dict):
        document["score"] = next((metadata[name] for name in _SCORES if name in metadata), None)
    return document


def _messages(inputs: Any) -> list[dict[str, Any]]:
    """The messages that went into a model, with role and content."""
    listed = inputs.get("messages") if isinstance(inputs, dict) else inputs
    while isinstance(listed, list) and listed and isinstance(listed[0], list):
        listed = listed[0]  # LangChain sends a batch of one
    messages = []
    for item in listed if isinstance(listed, list) else ():
        known = item.get("kwargs", item) if isinstance(item, dict) else {}
        content = known.get("content") if isinstance(known, dict) else None
        if isinstance(content, list):
            content = "\n".join(str(part["text"]) for part in content if isinstance(part, dict) and "text" in part)
        if isinstance(content, str) and content:
            role = str(known.get("role") or known.get("type") or "")
            messages.append({"message.role": "user" if role == "human" else role, "message.content": content})
    return messages


def _amounts(run: Run, outputs: Any, kind: str) -> dict[str, Any]:
    """Tokens and cost; the 0 that LangSmith writes on runs that call no model says nothing."""
    usage = _usage(outputs)
    names = {
        "llm.token_count.prompt": (run.get("prompt_tokens"), usage.get("input_tokens", usage.get("prompt_tokens"))),
        "llm.token_count.completion": (
            run.get("completion_tokens"),
            usage.get("output_tokens", usage.get("completion_tokens")),
        ),
        "llm.token_count.total": (run.get("total_tokens"), usage.get("total_tokens")),
        "llm.cost.total": (run.get("total_cost"),),
    }
    read = {name: next((n for n in map(number, values) if n is not None), None) for name, values in names.items()}
    return {name: value for name, value in read.items() if value is not None and (value or kind == "llm")}


def _usage(outputs: Any) -> Mapping[str, Any]:
    """Where models say how many tokens they used: OpenAI's form, LangChain's message, its llm_output."""
    if not isinstance(outputs, dict):
        return {}
    llm = outputs.get("llm_output")
    found = [outputs.get("usage_metadata"), outputs.get("usage")]
    found += [llm.get("token_usage"), llm.get("usage")] if isinstance(llm, dict) else []
    generations = outputs.get("generations")
    while isinstance(generations, list) and generations:
        generations = generations[0]
    message = generations.get("message") if isinstance(generations, dict) else outputs.get("output")
    if isinstance(message, dict):
        held = message.get("kwargs")
        found.append(held.get("usage_metadata") if isinstance(held, dict) else message.get("usage_metadata"))
    return next((usage for usage in found if isinstance(usage, dict)), {})


def _first_tokens(run: Run) -> Iterator[Any]:
    if run.get("first_token_time"):
        yield run["first_token_time"]
        return
    events = structured(run.get("events"))
    for event in events if isinstance(events, list) else ():
        if isinstance(event, dict) and event.get("name") == "new_token":
            yield event.get("time")
            return
