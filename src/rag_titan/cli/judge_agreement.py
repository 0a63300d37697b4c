"""rag-titan judge agreement: the verdicts of a judge beside those of people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from rag_titan.cli.lab_outputs import AsJson, Output, aligned, check_places, show, with_interval
from rag_titan.cli.terminal import counted
from rag_titan.evaluation.reports.figures import NOTHING, value_text

Judged = Annotated[
    Path, typer.Option(metavar="FILE|FOLDER", readable=False, help="A dataset with the verdicts of a judge.")
]
Human = Annotated[
    Path,
    typer.Option(
        metavar="FILE|FOLDER", readable=False, help="The same questions with verdicts, or verified_claims, by people."
    ),
]
Seed = Annotated[int, typer.Option(metavar="N", help="Of the resamples that the intervals stand on.")]


def agreement(judged: Judged, human: Human, seed: Seed = 0, as_json: AsJson = False, output: Output = None) -> None:
    """Say how far a judge agrees with people: kappa, precision and recall by label, correlations of the scores.

    Intervals are those of 95 %, from resamples of whole questions. Exit codes: 0 fine, 2 bad input.
    """
    check_places(output, None, [judged, human])
    from rag_titan.judge.agreement import agreement as agree

    result = agree(judged, human, seed=seed)
    show(result, _lines(result), as_json, output)


def _lines(result: Mapping[str, Any]) -> Iterator[str]:
    asked = result["questions"]
    yield f"{_names(result['judges'])} against {_names(result['people'])} on {counted(asked['shared'], 'question')}"
    if not (result["labels"] or result["scores"]):
        yield "Nothing to compare: no question has verdicts of the same kind on both sides."
        return
    if result["labels"]:
        yield ""
        yield from _labels(result["labels"])
        yield from _unmatched(result["labels"])
    if result["scores"]:
        yield ""
        yield from _scores(result["scores"])
    if asked["shared"] < _FEW:
        yield ""
        yield f"Of {counted(asked['shared'], 'question')} the intervals are a rough guide; label {_FEW} or more."


_FEW = 30  # percentile intervals of fewer are too narrow


def _names(who: Mapping[str, int]) -> str:
    return ", ".join(who) if who else "people"


def _labels(entries: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    header = ["Verdicts", "n", "Same", "Kappa, 95 %"]
    yield from aligned(
        header,
        [[e["title"], f"{e['n']:,}", value_text(None, "agreement", e["agreement"]["value"]), _figure(e["kappa"])]
         for e in entries],
    )  # fmt: skip
    yield ""
    header = ["Label", "Judge", "People", "Precision, 95 %", "Recall, 95 %"]
    rows = []
    for entry in entries:
        rows.append([entry["title"], "", "", "", ""])
        rows += [
            [f"  {c['label']}", f"{c['judge']:,}", f"{c['human']:,}", _figure(c["precision"]), _figure(c["recall"])]
            for c in entry["classes"]
        ]
    yield from aligned(header, rows)
    for entry in entries:
        if "kappa_quadratic" in entry:
            yield ""
            yield from _grades(entry)


def _grades(entry: Mapping[str, Any]) -> Iterator[str]:
    """Grades that are near each other count as partly the same."""
    names = {
        "kappa_linear": "Kappa, linear weights",
        "kappa_quadratic": "Kappa, quadratic weights",
        "pearson": "Pearson",
        "spearman": "Spearman",
    }
    yield from aligned([entry["title"], "95 %"], [[name, _figure(entry[key])] for key, name in names.items()])


def _unmatched(entries: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    told = {entry["what"].partition(".")[0]: entry["unmatched"] for entry in entries}
    for what, sides in told.items():
        if sides["judge"] or sides["human"]:
            said = f"{sides['judge']:,} of the judge's and {sides['human']:,} of the people's"
            yield f"Not compared: {said} {what.replace('_', ' ')} have no partner on the other side."


def _scores(entries: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    header = ["Score of a question", "n", "Judge", "People", "Pearson, 95 %", "Spearman, 95 %"]
    rows = []
    for entry in entries:
        means = [value_text(None, entry["metric"], entry[f"{side}_mean"]) for side in ("judge", "human")]
        rows.append([entry["title"], f"{entry['n']:,}", *means, _figure(entry["pearson"]), _figure(entry["spearman"])])
    yield from aligned(header, rows)


def _figure(found: Mapping[str, Any]) -> str:
    return NOTHING if found["value"] is None else with_interval(found, "kappa")
