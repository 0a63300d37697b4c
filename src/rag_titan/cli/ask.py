"""rag-titan ask: a question answered from an index, with the passages that the answer cites."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rag_titan.cli.evaluate_options import Form
from rag_titan.cli.pipeline_options import ConfigFile, Sets, StoreFile, settings_with_store
from rag_titan.cli.terminal import escaped, say
from rag_titan.errors import DatasetError, SettingsError

if TYPE_CHECKING:
    from rag_titan.pipeline.parts import Chunk
    from rag_titan.pipeline.tracing import Trace

LONGEST = 300  # characters of a passage
_MARKER = re.compile(r"\[(\d{1,6})\]")
_ENDS = " .;,"
_MARKUP = re.compile(r"\*\*|__|`")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")

Question = Annotated[str, typer.Argument(metavar="QUESTION", help="What you want to know.")]
RagType = Annotated[str, typer.Option("--type", metavar="simple|adaptive", help="How the index is searched.")]
Traced = Annotated[bool, typer.Option("--trace", help="Show every step as well.")]
Printed = Annotated[Form, typer.Option("--format", help="How the answer is printed.")]


def ask(
    question: Question,
    store: StoreFile = None,
    rag_type: RagType = "simple",
    trace: Traced = False,
    form: Printed = Form.TEXT,
    sets: Sets = None,
    config: ConfigFile = None,
) -> None:
    """Answer a question from an index, and show where the answer stands."""
    settings = settings_with_store(sets or (), config, store)
    if not Path(settings.store).is_file():
        raise SettingsError(
            f"--store: must be an index, got nothing at {settings.store}. Make it with: rag-titan index FILES."
        )
    if not question.strip():
        raise SettingsError("QUESTION: must be a question, got none.")
    from rag_titan.pipeline.titan import RAGTitan
    from rag_titan.pipeline.tracing import Trace

    titan = RAGTitan(rag_type, settings)
    watched = Trace(titan)
    try:
        record = watched.ask(question)
    except DatasetError:
        if titan.store.size():
            raise
        rule = "must be an index with chunks, got an empty one"
        raise SettingsError(f"--store: {settings.store}: {rule}. Fill it with: rag-titan index FILES.") from None
    sources = list(_sources(record, watched.context))
    say(
        [_json(question, record, sources, watched, trace)]
        if form is Form.JSON
        else _text(record, sources, watched, trace)
    )


def _sources(record: Mapping[str, Any], context: Sequence[Chunk]) -> Iterator[dict[str, Any]]:
    """The chunks that the answer cites, with the number that it cites them by."""
    cited = record.get("citations") or ()
    for number, chunk in enumerate(context, 1):
        if chunk.id in cited:
            yield {
                "number": number, "chunk_id": chunk.id, "source": chunk.metadata.get("source", chunk.doc_id),
                "page": chunk.metadata.get("page"), "headings": chunk.metadata.get("headings"),
                "start": chunk.start, "end": chunk.end, "text": chunk.text,
                "quotes": _quotes(record["answer"], number, chunk),
            }  # fmt: skip


def _quotes(answer: str, number: int, chunk: Chunk) -> list[str]:
    """What of the passage the answer says before its markers, a row of a table as its line; or else its beginning."""
    passage, plain, found, said = chunk.text, _plain(chunk.text), list[str](), ""
    rows = _rows(chunk)
    for part in re.split(r"(\[\d{1,6}\])", answer):
        marker = _MARKER.fullmatch(part)
        if marker is None:
            said = part.strip(_ENDS) or said
        elif int(marker[1]) == number:
            pieces = [" ".join(piece.split()) for piece in (said, *reversed(_SENTENCE_END.split(said)))]
            quoted = [rows.get(piece, piece) for piece in pieces if piece in rows or (piece and piece in plain)]
            found += [quote[:LONGEST] for quote in quoted[:1]]
    return list(dict.fromkeys(found)) or [passage if len(passage) <= LONGEST else f"{passage[: LONGEST - 1]}…"]


def _rows(chunk: Chunk) -> dict[str, str]:
    """{a row of a table as answers say it: its line}"""
    from rag_titan.pipeline.sentences import quotable

    return {one.text.strip(_ENDS): one.row for one in quotable(chunk) if one.row}


def _plain(passage: str) -> str:
    """A passage as answers quote it: without the marks of Markdown for bold and code, white space being one space."""
    return " ".join(_MARKUP.sub("", passage).split())


def _json(question: str, record: Mapping[str, Any], sources: Sequence[Any], watched: Trace, trace: bool) -> str:
    whole = {"question": question, **record, "sources": sources}
    if trace:
        whole["steps"] = watched.steps
    return json.dumps(whole, indent=2)


def _text(
    record: Mapping[str, Any], sources: Sequence[Mapping[str, Any]], watched: Trace, trace: bool
) -> Iterator[str]:
    yield from (escaped(line) for line in record["answer"].splitlines() or [""])
    if sources:
        yield ""
    for source in sources:
        yield f"[{source['number']}] {escaped(_place(source))}"
        yield from (f'    "{escaped(" ".join(quote.split()))}"' for quote in source["quotes"])
    yield ""
    yield _times(record)
    if trace:
        yield ""
        yield from _steps(record, watched)


def _place(source: Mapping[str, Any]) -> str:
    headings = source["headings"] or ()
    path = [headings] if isinstance(headings, str) else [str(heading) for heading in headings]
    page = [] if source["page"] is None else [f"page {source['page']}"]
    return ", ".join([str(source["source"]), *page, *([" > ".join(path)] if path else [])])


def _times(record: Mapping[str, Any]) -> str:
    parts = [
        f"{name} {record[key]:.1f} ms"
        for name in ("retrieval", "rerank", "generation")
        if (key := f"{name}_latency_ms") in record
    ]
    return " | ".join([f"Total {record['latency_ms']:.1f} ms", *parts])


def _steps(record: Mapping[str, Any], watched: Trace) -> Iterator[str]:
    route = record["route"]
    yield f"Route: {route['kind']}, decided by {route['by']}"
    for number, step in enumerate(watched.steps, 1):
        yield f"{number}. {step['step']}: {escaped(step['query'])} ({step['ms']:.1f} ms)"
        for one in step.get("found") or step.get("ranked") or ():
            yield f"     {one['score']:8.4f}  {escaped(one['id'])}"
        if step["step"] == "generate":
            yield f"     from {escaped(', '.join(step['context']) or 'nothing')}"
            yield f"     {'abstained: ' if step.get('abstained') else ''}{escaped(step.get('text', ''))}"
