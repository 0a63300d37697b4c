"""rag-titan compare: every combination of chunkers, retrievers and types of RAG on the golden questions."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rag_titan.cli.dataset_folder import check_folder
from rag_titan.cli.outcome import FINE, UNMEASURED
from rag_titan.cli.outputs import check_not_inside, check_writable
from rag_titan.cli.pipeline_options import ConfigFile, Sets, settings_of
from rag_titan.cli.settings import names_of
from rag_titan.cli.terminal import columns, complain, escaped, progress, say
from rag_titan.errors import SettingsError

if TYPE_CHECKING:
    from rag_titan.pipeline.comparison import Comparison

SOME_FAILED = 1
WIDTH = 100  # of the notes, where no terminal is narrower
WHAT, RESULT = "What is compared", "Results"

Files = Annotated[
    list[Path] | None,
    typer.Option("--files", metavar="FILE|FOLDER...", readable=False, help="The documents; several after one another."),
]
More = Annotated[  # --files a.md b.md, as shells write docs/*
    list[Path] | None,
    typer.Argument(metavar="[FILE]...", hidden=True, readable=False, help="Further files, after --files."),
]
Golden = Annotated[
    Path, typer.Option(metavar="FILE", readable=False, help="The golden questions, with quotes as expected_evidence.")
]
Chunkers = Annotated[str | None, typer.Option(metavar="A,B", rich_help_panel=WHAT, help="As sentence,paragraph.")]
Sizes = Annotated[
    str | None, typer.Option(metavar="N,M", rich_help_panel=WHAT, help="Chunk sizes, in the unit of each chunker.")
]
Retrievers = Annotated[str | None, typer.Option(metavar="A,B", rich_help_panel=WHAT, help="Of vectors,bm25,hybrid.")]
Rerankers = Annotated[str | None, typer.Option(metavar="A,B", rich_help_panel=WHAT, help="Of none,sentence.")]
RagTypes = Annotated[str | None, typer.Option(metavar="A,B", rich_help_panel=WHAT, help="Of simple,adaptive.")]
CutOff = Annotated[
    int | None, typer.Option(metavar="K", rich_help_panel=WHAT, help="Chunks in the context, and K of the metrics.")
]
Words = Annotated[
    int, typer.Option(metavar="N", min=1, rich_help_panel=WHAT, help="Words of retrieved text that all are judged by.")
]
Order = Annotated[
    str, typer.Option("--by", metavar="COLUMN", rich_help_panel=RESULT, help="The order, as token_f1 or answer_f1.")
]
Output = Annotated[
    Path, typer.Option(metavar="DIR", readable=False, rich_help_panel=RESULT, help="For comparison.json and .md.")
]
TraceFolder = Annotated[
    Path | None,
    typer.Option(
        "--trace", metavar="DIR", readable=False, rich_help_panel=RESULT,
        help="For every step of every question, as JSON Lines.",
    ),
]  # fmt: skip


def compare(
    golden: Golden,
    files: Files = None,
    more: More = None,
    chunkers: Chunkers = None,
    sizes: Sizes = None,
    retrievers: Retrievers = None,
    rerankers: Rerankers = None,
    rag_types: RagTypes = None,
    k: CutOff = None,
    words: Words = 500,
    by: Order = "recall_in_words",
    output: Output = Path("comparison"),
    trace: TraceFolder = None,
    sets: Sets = None,
    config: ConfigFile = None,
) -> None:
    """Ask the golden questions with every combination, and print a table, best first.

    What is not varied is as the settings have it.

    Exit codes: 0 fine, 1 some failed, 2 bad input, 3 nothing was measured.
    """
    documents = [*(files or ()), *(more or ())]
    _check_places(output, trace, golden, documents)
    settings = settings_of(sets or (), config, k=k)
    from rag_titan.pipeline.comparing import compare_pipelines, variants_of

    variants = variants_of(
        settings, chunkers=_listed("--chunkers", chunkers), sizes=_numbers(sizes),
        retrievers=_listed("--retrievers", retrievers), rerankers=_listed("--rerankers", rerankers),
        rag_types=_listed("--rag-types", rag_types),
    )  # fmt: skip
    with progress() as counter:
        comparison = compare_pipelines(documents, golden, variants, words=words, by=by, trace=trace, progress=counter)
    say(_lines(comparison))
    written = [*comparison.save(output), *([trace] if trace else [])]
    say([f"Written: {', '.join(escaped(file) for file in written)}"])
    raise typer.Exit(_exit_code(comparison))


def _check_places(output: Path, trace: Path | None, golden: Path, documents: Sequence[Path]) -> None:
    if not documents:
        raise SettingsError("--files: must be given, got none. Write it as --files docs/.")
    check_folder(output, [("the golden questions", golden)])
    if trace is not None and trace.exists() and not trace.is_dir():
        raise SettingsError(f"--trace: must be a folder, got the file {trace}. Choose another name.")
    for option, folder in (("--output", output), ("--trace", trace)):
        if folder is not None:
            check_not_inside(option, folder, documents)
            check_writable(option, folder, "folder")


def _listed(option: str, text: str | None) -> list[str]:
    return [] if text is None else [*names_of(option, text)]


def _numbers(text: str | None) -> list[int]:
    parts = _listed("--sizes", text)
    try:
        return [int(part) for part in parts]
    except ValueError:
        raise SettingsError(f"--sizes: must be whole numbers, got {text!r}. Write them as 100,200.") from None


def _lines(comparison: Comparison) -> Iterator[str]:
    width = min(columns() or WIDTH, WIDTH)
    for note in comparison.notes():
        yield from textwrap.wrap(escaped(note), width, break_long_words=False, break_on_hyphens=False)
    if comparison.measured:
        yield ""
        yield from _table(*comparison.cells(), names=1 + len(comparison.varied()), width=columns())
    yield ""
    yield from (f"Failed: {escaped(row.variant.name)}: {escaped(row.error)}" for row in comparison.failed)
    yield from (f"Errors: {escaped(text)}" for text in comparison.question_errors())
    for text in comparison.warnings:
        yield from textwrap.wrap(f"Note: {escaped(text)}", width, subsequent_indent="  ", break_long_words=False)


def _table(header: Sequence[str], rows: Sequence[Sequence[str]], names: int, width: int | None) -> Iterator[str]:
    """Names to the left, numbers to the right; what is wider than the terminal goes on below, after the same names."""
    padded = [_padded(column) for column in zip(header, *rows, strict=True)]
    shared, values = padded[:names], padded[names:]
    while values:
        fit = len(values)
        while width is not None and fit > 1 and sum(len(one[0]) + 2 for one in (*shared, *values[:fit])) - 2 > width:
            fit -= 1
        yield from ("  ".join(cells).rstrip() for cells in zip(*shared, *values[:fit], strict=True))
        values = values[fit:]
        if values:
            yield ""


def _padded(column: Sequence[str]) -> list[str]:
    """The cells of a column, of one width."""
    width = max(map(len, column))
    is_text = all(not cell[:1].isdigit() and cell[:1] not in "<>–" for cell in column[1:])
    return [cell.ljust(width) if is_text else cell.rjust(width) for cell in column]


def _exit_code(comparison: Comparison) -> int:
    if comparison.is_empty:
        complain("nothing was measured.")
        return UNMEASURED
    return SOME_FAILED if comparison.failed else FINE
