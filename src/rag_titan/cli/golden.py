"""rag-titan golden: check the golden questions, go through them with a person, begin a new set."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from rag_titan.cli.config import read_config
from rag_titan.cli.settings import columns_of
from rag_titan.cli.terminal import complain, counted, escaped, say

NOT_READY = 1
_PRINTED = 200  # problems; --format json has them all


class Form(StrEnum):
    """How the result is printed."""

    TEXT = "text"
    JSON = "json"


app = typer.Typer(
    name="golden",
    no_args_is_help=True,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="The golden questions: check them, go through them, begin a new set.",
)

Golden = Annotated[
    Path, typer.Argument(metavar="GOLDEN", readable=False, help="JSON, JSON Lines, CSV or .xlsx of golden questions.")
]
Documents = Annotated[
    Path | None,
    typer.Option(metavar="FOLDER|FILE", readable=False, help="Text, PDF and Word files, or a dataset's documents."),
]
Chunks = Annotated[
    Path | None, typer.Option(metavar="FILE", readable=False, help="The chunks, to look up gold chunk ids.")
]
Separator = Annotated[str, typer.Option(metavar="TEXT", help="What divides several quotes in one cell of a sheet.")]
Printed = Annotated[Form, typer.Option("--format", help="How the result is printed.")]
Again = Annotated[bool, typer.Option("--again", help="Ask also about what was rejected.")]
Logs = Annotated[
    Path | None,
    typer.Option("--input", metavar="LOGS", readable=False, help="Logs to draw questions from. Without: one example."),
]
Output = Annotated[
    Path, typer.Option(metavar="FILE", readable=False, help="A new file: .json, .jsonl or .csv, by its name.")
]
Size = Annotated[int, typer.Option(metavar="N", min=1, help="How many questions to draw.")]
By = Annotated[str | None, typer.Option(metavar="TAG", help="Draw in proportion to the values of this tag.")]
Seed = Annotated[int, typer.Option(metavar="N", help="The same seed draws the same questions.")]

ConfigFile = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", readable=False, help="Has [columns], where the logs have other names. Usually rag-titan.toml."
    ),
]


@app.command()
def check(
    golden: Golden,
    documents: Documents = None,
    chunks: Chunks = None,
    separator: Separator = "||",
    form: Printed = Form.TEXT,
) -> None:
    """Say what is wrong with the golden questions, and whether they can be used.

    Exit codes: 0 ready, 1 problems or questions that nobody validated, 2 bad input.
    """
    from rag_titan.cli.source_documents import source_documents
    from rag_titan.evaluation import check_golden

    texts, notes = source_documents(documents, golden)
    result = check_golden(golden, texts, chunks, separator=separator)
    result["warnings"] = [*notes, *result["warnings"]]
    printed = json.dumps(result, indent=2, ensure_ascii=False)
    say([printed] if form is Form.JSON else _lines(golden, result))
    raise typer.Exit(0 if result["ready"] else NOT_READY)


def _lines(golden: Path, result: Mapping[str, Any]) -> Iterator[str]:
    problems: Sequence[Mapping[str, Any]] = result["problems"]
    for name, its in _by_id(problems[:_PRINTED]):
        yield escaped(name)
        for problem in its:
            yield f"  {escaped(problem['problem'])}"
            if "detail" in problem:
                yield f"    {escaped(problem['detail'])}"
    if len(problems) > _PRINTED:
        yield f"and {len(problems) - _PRINTED:,} more problems; --format json lists them all"
    for warning in result["warnings"]:
        yield f"note: {escaped(warning)}"
    share = result["validated_share"]
    validated = "" if share is None else f", {round(share * result['question_count']):,} of them validated"
    count = f"{counted(result['question_count'], 'question')}{validated}, {counted(len(problems), 'problem')}"
    yield f"{escaped(golden.name)}: {count}. {'Ready.' if result['ready'] else 'Not ready.'}"


def _by_id(problems: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, list[Mapping[str, Any]]]]:
    """Problems that follow each other and have one id, together."""
    name: Any = None
    its: list[Mapping[str, Any]] = []
    for problem in problems:
        if its and problem["id"] != name:
            yield str(name), its
            its = []
        name = problem["id"]
        its.append(problem)
    if its:
        yield str(name), its


@app.command()
def review(golden: Golden, documents: Documents = None, separator: Separator = "||", again: Again = False) -> None:
    """Go through the questions that nobody has validated: yes, no, edit, skip or quit.

    Every answer is saved at once; the same command goes on where it was stopped. From a pipe, answers are read line by
    line.
    """
    from rag_titan.cli.reviewing import Review

    Review(golden, documents, separator).run(again)


@app.command()
def template(
    output: Output = Path("golden.json"),
    input: Logs = None,
    size: Size = 50,
    by: By = None,
    seed: Seed = 0,
    config: ConfigFile = None,
) -> None:
    """Begin a set of golden questions: from logs, or with one example. An existing file is left alone."""
    from rag_titan.evaluation.preparation.golden_template import write_template

    columns = None if input is None else columns_of(read_config(config, Path()))
    count, notices = write_template(output, input, size=size, by=by, seed=seed, columns=columns)
    for notice in notices:
        complain(f"note: {notice}")
    name = escaped(output)
    say([f"{name}: {counted(count, 'question')} to fill in; then: rag-titan golden review {name}"])
