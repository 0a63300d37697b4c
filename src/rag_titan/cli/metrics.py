"""rag-titan metrics: what every metric is, how to read it, and what it weighs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from rag_titan.cli.terminal import say

if TYPE_CHECKING:
    from rag_titan.evaluation import Metric

StageName = Annotated[str | None, typer.Argument(metavar="[STAGE]", help="Only this stage.")]


def metrics(stage: StageName = None) -> None:
    """List the metrics of a stage, or of all: key, weight, formula and advice."""
    from rag_titan.evaluation import CATALOGUE, Stage, UnknownMetricError

    if stage is not None and stage not in list(Stage):
        raise UnknownMetricError(stage, map(str, Stage), what="stage")
    lines: list[str] = []
    for wanted in Stage if stage is None else [found for found in Stage if found == stage]:
        lines += [f"{wanted.label} ({wanted})", ""]
        for row in CATALOGUE.values():
            if row.stage == wanted:
                lines += [*_lines(row), ""]
    say(lines[:-1])


def _lines(row: Metric) -> Iterator[str]:
    from rag_titan.evaluation.scoring.policy import default_weight

    weight = default_weight(row.stage, row.key)
    counted = f"weight {weight:g}" if weight else "not scored"
    if weight and row.kind.targeted:
        counted += " with a target"
    yield f"  {row.key}"
    yield f"    {row.title}, {counted}: {row.formula}"
    yield f"    {row.advice}"
    if row.needs:
        yield f"    Needs {', '.join(need.replace('|', ' or ') for need in row.needs)}."
