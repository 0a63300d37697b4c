"""The spans that OpenTelemetry, OpenInference, Phoenix, OpenLLMetry and TruLens write -> one query a request."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rag_titan.errors import DatasetError
from rag_titan.evaluation.data.files import File
from rag_titan.evaluation.data.notices import Notices
from rag_titan.evaluation.data.plain import without_surrogates
from rag_titan.evaluation.data.sheets import SHEETS, read_sheet
from rag_titan.evaluation.importers.imported import Imported, Record
from rag_titan.evaluation.importers.json_values import json_records
from rag_titan.evaluation.importers.span_attributes import Passage, kind_of
from rag_titan.evaluation.importers.spans import EVALUATION, Span, spans_of
from rag_titan.evaluation.importers.trace_records import ROOTLESS, Request, add_documents, is_request, request_of
from rag_titan.evaluation.importers.trace_trees import trees_of

_SUFFIXES = (".json", ".jsonl", ".ndjson", ".parquet", *SHEETS)
OTHERS = "{name}: records that are no spans were left out: {{ids}}."
SPANLESS = "sources without any span were left out: {ids}."
UNTRACED = "{name}: spans without a trace id were left out: {{ids}}."
REPEATED = "spans that came before with the same id and the same content were counted once: trace {ids}."
TWINS = "different spans of one trace have the same id; both were kept: trace {ids}."
SEVERAL = "several requests have one trace id; the later ones got the id of their root span behind it: trace {ids}."
ORPHANS = "the parents of some spans are not in the source; these spans were read as parts of the request: query {ids}."
IDLE = "traces with neither a retrieval nor a call of a model were left out: {ids}."
JUDGES = "spans of evaluations were left out: trace {ids}."
PLACES = "ids of documents only count their places (0, 1, 2, ...) and stand for different texts, so the documents go \
without: an example is {ids}."
CONFLICTS = "an id of a document stands for different texts; the first one is in the chunk table: {ids}."
NAMELESS = "documents have no ids, so that their texts are in retrieved_texts and reranked_texts: query {ids}. \
`build_dataset` finds their chunks; where a key of their metadata holds the id, name it as document_id."


@dataclass
class _Traces:
    """The spans by their trace, each id once."""

    notices: Notices
    spans: dict[str, dict[str, Span]] = field(default_factory=dict)
    told: dict[str, set[str]] = field(default_factory=dict)

    def add(self, span: Span) -> None:
        trace = self.spans.setdefault(span.trace, {})
        name = span.id or f"without id {len(trace)}"
        earlier = trace.get(name)
        if earlier == span:
            self.tell(REPEATED, span.trace)
            return
        if earlier is not None:
            self.tell(TWINS, span.trace)
            name = f"{name} again {len(trace)}"
        span.id = name
        trace[name] = span

    def tell(self, sentence: str, trace: str) -> None:
        """Say something of a trace once, however many of its spans it is true of."""
        told = self.told.setdefault(sentence, set())
        if trace not in told:
            told.add(trace)
            self.notices.add(sentence, [trace])


def read(sources: Sequence[Path], document_id: str | None = None) -> Imported:
    """The requests in files, or folders of files, of spans; every trace becomes one query, in the order of their start.

    sources      OTLP JSON, spans as the OpenTelemetry SDK prints them, Phoenix exports (JSON, CSV, Parquet), TruLens
                 records and events; JSON of any size, one value a line or over many, also compressed with gzip
    document_id  the key of the documents' metadata that holds the ids of chunks, where the spans have no document ids

    Spans of a trace may come in any order and from several files. docs/importing.md says which attribute becomes which
    key. Raises DatasetError where no source holds a span.
    """
    notices = Notices()
    traces = _Traces(notices)
    problems: list[DatasetError] = []
    for path in _files(sources):
        try:
            for span in _spans(path, traces):
                traces.add(span)
        except DatasetError as error:
            problems.append(error)
    if not traces.spans:
        if problems:
            raise problems[0]
        said = notices.texts()
        raise DatasetError(str(sources[0]), f"must hold spans, got none. {said[0] if said else 'Check the format.'}")
    notices.add("could not be read further: {ids}", [str(problem) for problem in problems])
    return _imported(traces, document_id, notices)


def _files(sources: Iterable[Path]) -> Iterator[Path]:
    for source in sources:
        if source.is_dir():
            yield from sorted(path for path in source.rglob("*") if path.is_file() and _suffix(path) in _SUFFIXES)
        else:
            yield source


def _suffix(path: Path) -> str:
    return Path(path.name.lower().removesuffix(".gz")).suffix


def _spans(path: Path, traces: _Traces) -> Iterator[Span]:
    notices, others, found = traces.notices, Notices(), False
    for place, record in _records(path, notices):
        spans = spans_of(record)
        found |= bool(spans)
        if not spans:
            others.add(OTHERS.format(name=path.name), [place])
        for span in spans:
            if span.trace:
                yield span
            elif kind_of(span) == EVALUATION:
                traces.tell(JUDGES, "without an id")
            else:
                notices.add(UNTRACED.format(name=path.name), [place])
    if found:
        merged = notices.merge(others)
        notices.counts, notices.ids = merged.counts, merged.ids
    elif others.counts:
        notices.add(SPANLESS, [path.name])


def _records(path: Path, notices: Notices) -> Iterator[tuple[str, Any]]:
    """The records of a file, each with its place."""
    suffix = _suffix(path)
    if suffix in SHEETS:
        yield from ((f"row {number}", row) for number, row in read_sheet(path, notices))
    elif suffix == ".parquet":
        from rag_titan.evaluation.data.parquet import parquet_cells

        yield from ((f"row {number}", row) for number, row in enumerate(parquet_cells(File(path)), 1))
    else:
        yield from json_records(File(path), notices)


# --- requests ---------------------------------------------------------------------------------------------------------


def _imported(traces: _Traces, document_id: str | None, notices: Notices) -> Imported:
    requests: list[Request] = []
    for trace in list(traces.spans):
        spans = list(traces.spans.pop(trace).values())  # so that a trace is held once, as spans or as a request
        requests += _requests(trace, spans, document_id, notices)
    requests.sort(key=lambda request: (request.start, request.record["id"]))
    chunks = _chunks(requests, notices)
    for request in requests:
        add_documents(request)
    lost = [r.record["id"] for r in requests if {"retrieved_texts", "reranked_texts"} & r.record.keys()]
    notices.add(NAMELESS, lost)
    queries: list[Record] = [_encodable(request.record) for request in requests]
    return Imported(queries, chunks=_encodable(chunks) or None, notices=notices)


def _requests(trace: str, spans: list[Span], document_id: str | None, notices: Notices) -> Iterator[Request]:
    trees = trees_of(trace, spans)
    if any(kind_of(span) == EVALUATION for span in spans):
        notices.add(JUDGES, [trace])
    kept = [tree for tree in trees if is_request(tree)]
    if trees and not kept:
        notices.add(IDLE, [trace])
    if len(kept) > 1:
        notices.add(SEVERAL, [trace])
    for tree in kept:
        if not tree.rooted:
            notices.add(ROOTLESS, [tree.id])
        elif tree.orphans:
            notices.add(ORPHANS, [tree.id])
        yield request_of(tree, document_id, notices)


def _chunks(requests: Sequence[Request], notices: Notices) -> list[Record]:
    """The documents that have an id and a text, each id once, sorted; takes ids away that are no ids."""
    texts: dict[str, Passage] = {}
    conflicts: set[str] = set()
    for request in requests:
        for passage in request.passages:
            known = passage.id is not None and passage.text is not None
            if known and texts.setdefault(str(passage.id), passage).text != passage.text:
                conflicts.add(str(passage.id))
    if conflicts and all(_counts(request.retrieved) for request in requests):
        notices.add(PLACES, [min(conflicts)])
        for request in requests:
            _take_ids(request)
        return []
    notices.add(CONFLICTS, conflicts)
    return [
        {"id": name, "text": passage.text} | ({"metadata": dict(passage.metadata)} if passage.metadata else {})
        for name, passage in sorted(texts.items())
    ]


def _counts(passages: Sequence[Passage] | None) -> bool:
    """True where the ids are 0, 1, 2, ... or 1, 2, 3, ..."""
    ids = [passage.id for passage in passages or ()]
    return any(ids == [str(number) for number in range(first, first + len(ids))] for first in (0, 1))


def _take_ids(request: Request) -> None:
    for name in ("retrieved", "reranked", "passages"):
        passages = getattr(request, name)
        if passages is not None:
            bare = [Passage(None, p.text, p.score, p.metadata) for p in passages if p.text is not None]
            setattr(request, name, bare)


def _encodable(value: Any) -> Any:
    """The same without lone surrogates, which no file can hold."""
    if isinstance(value, str):
        return value if value.isascii() else without_surrogates(value)
    if isinstance(value, list):
        return [_encodable(item) for item in value]
    if isinstance(value, dict):
        return {_encodable(key): _encodable(item) for key, item in value.items()}
    return value


def imported_spans(spans: Iterable[Span], document_id: str | None, notices: Notices) -> Imported:
    """The queries of spans that another format's importer made; see `read`."""
    traces = _Traces(notices)
    for span in spans:
        traces.add(span)
    return _imported(traces, document_id, notices)
