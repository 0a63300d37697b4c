"""rag-titan import: a log, an evaluation result or a test collection of another tool becomes a dataset folder."""

from __future__ import annotations

import inspect
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from rag_titan.cli.dataset_folder import check_folder, check_strangers, what_to_know
from rag_titan.cli.outcome import FINE, UNMEASURED
from rag_titan.cli.terminal import counted, escaped, say
from rag_titan.evaluation import IMPORT_FORMATS, Imported, RAGEvaluator, import_run
from rag_titan.evaluation.catalogue import values_of

_WIDTH = 112


def _listed(wanted: bool) -> None:
    if wanted:
        say(_formats())
        raise typer.Exit


FormatName = Annotated[str, typer.Argument(metavar="FORMAT", help="Whose format it is; --list shows them all.")]
Sources = Annotated[
    list[Path], typer.Argument(metavar="SOURCE...", readable=False, help="Its files or folders, as --list shows.")
]
Output = Annotated[
    Path, typer.Option(metavar="DIR", readable=False, help="The folder for what was read: queries.jsonl and so on.")
]
List = Annotated[bool, typer.Option("--list", callback=_listed, is_eager=True, help="Show the formats and exit.")]


def import_(format: FormatName, sources: Sources, output: Output, list_: List = False, **options: Any) -> None:
    """Turn a log, an evaluation result or a test collection of another tool into a dataset folder.

    It says what was read, what was left out and why, and what can be measured. Exit codes: 0 fine, 2 bad input,
    3 nothing in it can be scored.
    """
    check_folder(output, (("the source", source) for source in sources))
    imported = import_run(format, *sources, **{name: value for name, value in options.items() if value})
    parts = {"queries": imported.queries, "chunks": imported.chunks, "documents": imported.documents}
    check_strangers(output, [name for name, part in parts.items() if part is not None])
    measured = _measured(imported)
    files = imported.write(output)
    say([*_read(format, imported), *what_to_know(imported.notices), *_measurable(measured)])
    say([f"Written: {', '.join(escaped(file) for file in files)}", *_next(output, _preset(format), bool(measured))])
    raise typer.Exit(FINE if measured else UNMEASURED)


def _with_options_of_formats() -> inspect.Signature:
    """The parameters of the command: its own, and one for every option of a format."""
    own = inspect.signature(import_, eval_str=True)
    meanings: dict[str, list[str]] = {}
    many: dict[str, bool] = {}
    for row in IMPORT_FORMATS:
        for option in row.options:
            meanings.setdefault(option.name, []).append(f"{row.name}: {option.meaning}.")
            many[option.name] = many.get(option.name, False) or option.many
    extra = []
    for name, said in meanings.items():
        settings = typer.Option(
            f"--{name.replace('_', '-')}", metavar="VALUE", help=" ".join(said), rich_help_panel="Options of formats"
        )
        kind: Any = list[str] | None if many[name] else str | None
        annotation = Annotated[kind, settings]
        extra.append(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation))
    kept = [p for p in own.parameters.values() if p.kind is not inspect.Parameter.VAR_KEYWORD]
    return own.replace(parameters=[*kept, *extra])


# The options stand in the rows of the formats, so that a new format needs no change here.
import_.__signature__ = _with_options_of_formats()  # type: ignore[attr-defined]  # what inspect.signature looks at first


def _formats() -> Iterator[str]:
    for row in IMPORT_FORMATS:
        yield f"{row.name}"
        yield f"    {row.reads}"
        yield f"    rag-titan import {row.name} {row.example} --output DIR"
        for option in row.options:
            yield f"    --{option.name.replace('_', '-')}: {option.meaning}"


# --- what is said -----------------------------------------------------------------------------------------------------


def _measured(imported: Imported) -> Mapping[str, Any]:
    """{stage.key: value} of what an evaluation measures of it; the error rate alone says nothing of a system."""
    report = RAGEvaluator().evaluate_dataset(imported.dataset(), per_query=None)
    return {name: value for name, value in values_of(report).items() if name != "end_to_end.error_rate"}


def _read(name: str, imported: Imported) -> Iterator[str]:
    counts = {"question": imported.queries, "chunk": imported.chunks, "document": imported.documents}
    held = [counted(len(part), what) for what, part in counts.items() if part is not None]
    yield f"Read as {name}: {', '.join(held)}"
    for what, records in (("Questions", imported.queries), ("Chunks", imported.chunks or [])):
        keys = Counter(key for record in records for key in record)
        if keys:
            total = len(records)
            texts = [escaped(key) if n == total else f"{escaped(key)} ({n:,})" for key, n in keys.items()]
            yield from _wrapped(f"{what} have", texts)


def _measurable(measured: Mapping[str, Any]) -> Iterator[str]:
    stages: dict[str, list[str]] = {}
    for name in measured:
        stage, _, key = name.partition(".")
        stages.setdefault(stage, []).append(key)
    if not stages:
        yield "Nothing in it can be scored: no metric has both the output and the gold label that it needs."
        return
    yield "Can be measured:"
    for stage, keys in stages.items():
        yield from _wrapped(f"  {stage}:", keys)


def _preset(format: str) -> str:
    return next((row.preset for row in IMPORT_FORMATS if row.name == format.replace("_", "-")), "")


def _next(output: Path, preset: str, measured: bool) -> Iterator[str]:
    folder = escaped(shlex.quote(str(output)))
    if not measured:
        yield "Next: it lacks outputs or gold labels; rag-titan build joins logs to golden questions"
        return
    conventions = f" --conventions {preset}" if preset else ""
    yield f"Next: rag-titan evaluate --input {folder}{conventions}"


def _wrapped(start: str, items: Sequence[str]) -> Iterator[str]:
    """The items behind the start, in lines of a readable width."""
    line = start
    for number, item in enumerate(items):
        piece = f" {item}" + ("," if number + 1 < len(items) else "")
        if len(line) + len(piece) > _WIDTH and line.strip():
            yield line
            line = "   "
        line += piece
    yield line
