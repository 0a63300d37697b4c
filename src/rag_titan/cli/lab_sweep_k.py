"""rag-titan lab sweep-k: how many chunks should go into the prompt?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rag_titan.cli.lab_input import Chunks, ConfigFile, Input, LoggedRun
from rag_titan.cli.lab_outputs import (
    AsJson,
    Output,
    Plot,
    aligned,
    check_places,
    numbers,
    show,
    with_interval,
)
from rag_titan.cli.terminal import counted
from rag_titan.errors import SettingsError
from rag_titan.evaluation import CATALOGUE

if TYPE_CHECKING:
    from rag_titan.lab.k_sweep import KSweep

WHAT = "What is compared"
CONTEXT = ("augmentation", "mean_context_tokens")
SHOWN_AS = {"recall_at_k": "Recall", "precision_at_k": "Precision", "f1_at_k": "F1", "ndcg_at_k": "nDCG"}


class Ranking(StrEnum):
    """Which list is cut at K."""

    RETRIEVED = "retrieved"
    RERANKED = "reranked"


Ks = Annotated[str, typer.Option("--k", metavar="K,K", rich_help_panel=WHAT, help="The cut-offs.")]
Runs = Annotated[
    list[str] | None,
    typer.Option(
        "--run", metavar="K=FILE", rich_help_panel=WHAT,
        help="A run of the same questions, answered from K chunks; once for each K.",
    ),
]  # fmt: skip
Which = Annotated[
    Ranking,
    typer.Option("--ranking", rich_help_panel=WHAT, help="Which list is cut: reranked, if the prompt gets that."),
]


def sweep_k(
    input_: Input,
    chunks: Chunks = None,
    k: Ks = "3,5,8,10,15",
    run: Runs = None,
    ranking: Which = Ranking.RETRIEVED,
    as_json: AsJson = False,
    output: Output = None,
    plot: Plot = None,
    config: ConfigFile = None,
) -> None:
    """Evaluate a run at several K: where does recall stop rising, and where are the answers best?

    Exit codes: 0 fine, 2 bad input.
    """
    runs, logged = _runs(run or ()), LoggedRun(input_, chunks, config)
    check_places(output, plot, logged.files(runs.values()))
    from rag_titan.lab.sweep_k import sweep_k as swept

    answered = {cutoff: logged.read_another(file) for cutoff, file in runs.items()}
    sweep = swept(logged.read(), ks=numbers("--k", k), runs=answered, ranking=ranking.value)
    show(sweep.as_dict(), _lines(sweep.as_dict()), as_json, output)
    if plot is not None:
        _draw(sweep, plot)


def _runs(given: Iterable[str]) -> dict[int, Path]:
    runs: dict[int, Path] = {}
    for text in given:
        k, equals, file = text.partition("=")
        if not equals or not k.strip().isdecimal() or not file:
            raise SettingsError(f"--run: must be K=FILE, got {text!r}. Write it as 5=run5.jsonl.")
        if int(k) in runs:
            raise SettingsError(f"--run: must give each K once, got {int(k)} twice. Take one out.")
        runs[int(k)] = Path(file)
    return runs


def _lines(result: Mapping[str, Any]) -> Iterator[str]:
    ranking = "" if result["ranking"] == "retrieved" else ", of the reranked chunks"
    yield f"{counted(result['questions'], 'question')}{ranking}; means with their interval of 95 %."
    yield ""
    header = ["K", *SHOWN_AS.values(), "n", "Context tokens", "n"]
    yield from aligned(header, [_cells(row) for row in result["rows"]])
    yield ""
    yield result["knee"]["reason"]
    answers = result["answers"]
    if answers is not None:
        keys = [key for key in answers["rows"][0] if key != "k"]
        rows = [
            [str(row["k"]), *(f"{with_interval(row[key], key)} of {row[key]['n']}" for key in keys)]
            for row in answers["rows"]
        ]
        yield ""
        yield from aligned(["K", *keys], rows)
        yield ""
        yield answers["reason"]
    yield from (f"Note: {text}" for text in result["warnings"])


def _cells(row: Mapping[str, Any]) -> list[str]:
    found, context = row["retrieval"], row["context_tokens"]
    values = [with_interval(found[key], key) for key in SHOWN_AS]
    tokens = with_interval(context, CONTEXT[1], CATALOGUE[CONTEXT])
    return [str(row["k"]), *values, str(found["recall_at_k"]["n"]), tokens, str(context["n"])]


def _draw(sweep: KSweep, plot: Path) -> None:
    from rag_titan.plots import Axis, Mark, curves, save

    knee = None if sweep.knee.k is None else Mark(sweep.knee.k, f"knee at {sweep.knee.k}")
    x = Axis("k", "K", zero=True, ticked=True)
    points = [point | {"metric": SHOWN_AS.get(point["metric"], point["metric"])} for point in sweep.points()]
    pictures = [
        curves(
            points,
            x,
            Axis("value", "mean, and its interval of 95 %", zero=True),
            by="metric",
            title="Sweep of K",
            knee=knee,
        )
    ]
    rows = [{"k": row.k, "tokens": row.context_tokens.value} for row in sweep.rows]
    if any(row["tokens"] is not None for row in rows):
        tokens = Axis("tokens", "context tokens", zero=True)
        pictures.append(curves(rows, x, tokens, title="What goes into the prompt", knee=knee))
    save(pictures, plot, title="Sweep of K")
