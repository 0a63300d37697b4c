"""rag-titan judge counterfactual: a test set with other facts, and whether answers follow it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from rag_titan.cli.lab_outputs import AsJson, aligned, listed, show, with_interval
from rag_titan.cli.outputs import check_file
from rag_titan.cli.terminal import counted, escaped, say
from rag_titan.errors import SettingsError

NAMED = 5

Input = Annotated[
    Path,
    typer.Option(
        "--input", metavar="FILE|FOLDER", readable=False, help="A dataset with gold answers; with --score the test set."
    ),
]
Output = Annotated[
    Path | None,
    typer.Option(metavar="FILE", readable=False, help="Where the test set is written, the map of its facts beside it."),
]
Kinds = Annotated[
    str, typer.Option(metavar="A,B", help="Which facts are changed: numbers, dates (months, weekdays), names.")
]
Seed = Annotated[int, typer.Option(metavar="N", help="Another seed, other facts.")]
Score = Annotated[
    Path | None,
    typer.Option(metavar="FILE|FOLDER", readable=False, help="Answers to the test set: say what they follow."),
]


def counterfactual(
    input_: Input,
    output: Output = None,
    kinds: Kinds = "numbers,dates,names",
    seed: Seed = 0,
    score: Score = None,
    as_json: AsJson = False,
) -> None:
    """Change the facts of gold answers in all texts, to find a model that answers from memory.

    With --score, say how many answers have the changed facts, how many the original ones. Exit codes: 0 fine, 2 bad
    input.
    """
    if output is None and score is None:
        raise SettingsError("--output: must be given, or --score with answers to a test set, got neither.")
    if output is not None:
        for file in (output, map_of(output)) if score is None else (output,):
            check_file("--output", file, [path for path in (input_, score) if path is not None])
    if score is not None:
        _score(input_, score, as_json, output)
    elif output is not None:
        _make(input_, output, listed(kinds), seed, as_json)


def map_of(output: Path) -> Path:
    """Where the map of a test set stands.

    >>> map_of(Path("cf.json")).name
    'cf.map.json'
    """
    return output.with_name(f"{output.stem}.map.json")


def _make(input_: Path, output: Path, kinds: list[str], seed: int, as_json: bool) -> None:
    from rag_titan.evaluation.writing import write
    from rag_titan.judge.counterfactual_dataset import counterfactual as make

    made = make(input_, kinds=kinds, seed=seed)
    told = made.as_dict()
    for file, value in ((output, made.inputs), (map_of(output), told)):
        write(file, json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n")
    say([json.dumps(told, indent=2, ensure_ascii=False)] if as_json else map(escaped, _made_lines(told, output)))


def _made_lines(told: Mapping[str, Any], output: Path) -> Iterator[str]:
    changed, unchanged = len(told["changed"]), told["unchanged"]
    asked = counted(changed + len(unchanged), "question")
    yield f"Changed {counted(len(told['facts']), 'fact')} of {changed} of {asked}"
    shown = [[f["kind"], f["original"], f["replacement"]] for f in told["facts"][: 2 * NAMED]]
    if shown:
        yield from aligned(["Kind", "Was", "Is"], shown)
    if len(told["facts"]) > len(shown):
        yield f"and {len(told['facts']) - len(shown)} more"
    reasons: dict[str, list[str]] = {}
    for name, reason in unchanged.items():
        reasons.setdefault(reason, []).append(name)
    for reason, names in reasons.items():
        more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
        yield f"Unchanged: {', '.join(names[:NAMED])}{more} ({reason})"
    if told["left_out"]:
        yield f"Left out, as it is of the texts as they were: {', '.join(told['left_out'])}"
    yield f"Test set saved: {output} and {map_of(output)}"


def _score(input_: Path, score: Path, as_json: bool, output: Path | None) -> None:
    from rag_titan.judge.counterfactual_score import counterfactual_score, read_answers, read_counterfactual

    result = counterfactual_score(read_counterfactual(input_), read_answers(score))
    show(result, _score_lines(result), as_json, output)


def _score_lines(result: Mapping[str, Any]) -> Iterator[str]:
    yield f"{counted(result['answered'], 'answer')} to {counted(result['questions'], 'changed question')}"
    words = {
        "context": "follow the context",
        "original": "say what was there before",
        "both": "say both",
        "neither": "say neither",
    }
    rows = [[text, str(result[name]["count"]), with_interval(result[name], name)] for name, text in words.items()]
    yield from aligned(["Answers that", "n", "Share, 95 %"], rows)
    named = [row["id"] for row in result["per_query"] if row["follows"] == "original"]
    if named:
        more = f" and {len(named) - NAMED} more" if len(named) > NAMED else ""
        yield f"Not from the context: {', '.join(named[:NAMED])}{more}"
