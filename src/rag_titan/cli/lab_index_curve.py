"""rag-titan lab index-curve: what the parameter of an index buys, and how its time grows with the corpus."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from rag_titan.cli.lab_outputs import SHOWN, AsJson, Output
from rag_titan.cli.lab_result import GIVEN, IndexMetric, K, Metric, OnFinding, Places, Seed
from rag_titan.cli.terminal import counted, escaped, progress
from rag_titan.errors import SettingsError

INDEX = "The index"

Index = Annotated[
    str,
    typer.Option(
        metavar="NAME", rich_help_panel=INDEX,
        help="faiss-hnsw, faiss-ivf, faiss-flat, usearch-hnsw, exact, or module:function that builds one.",
    ),
]  # fmt: skip
Parameter = Annotated[
    str | None, typer.Option(metavar="NAME", rich_help_panel=INDEX, help="What the values are of, for module:function.")
]
Values = Annotated[
    str | None, typer.Option(metavar="N,M", rich_help_panel=INDEX, help="Of efSearch, nprobe or expansion.")
]
At = Annotated[int | None, typer.Option(metavar="N", rich_help_panel=INDEX, help="The value that is in use.")]
Build = Annotated[
    list[str] | None, typer.Option("--build", metavar="NAME=N", rich_help_panel=INDEX, help="How it is built: M=16.")
]
Sizes = Annotated[
    str | None,
    typer.Option(
        metavar="N,M", rich_help_panel=GIVEN,
        help="Corpus sizes. Without: 10000,100000, or a tenth and all of the vectors where they are fewer.",
    ),
]  # fmt: skip
Vectors = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", readable=False, rich_help_panel=GIVEN, help="Vectors to draw from. Without: made in clusters."
    ),
]
Queries = Annotated[
    Path | None, typer.Option(metavar="FILE", readable=False, rich_help_panel=GIVEN, help="Vectors of queries.")
]
Dimensions = Annotated[int, typer.Option(metavar="D", min=2, rich_help_panel=GIVEN, help="Of vectors that are made.")]
Asked = Annotated[int, typer.Option(metavar="N", min=1, rich_help_panel=GIVEN, help="How many queries are asked.")]
Rounds = Annotated[int, typer.Option(metavar="N", min=1, rich_help_panel=GIVEN, help="How often all is asked.")]
Least = Annotated[
    float, typer.Option(metavar="X", min=0, max=1, rich_help_panel=SHOWN, help="Recall below it is a finding.")
]
Plot = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", readable=False, rich_help_panel=SHOWN,
        help="Recall over latency, and latency over N: .html, .png or .svg.",
    ),
]  # fmt: skip


def index_curve(
    index: Index = "faiss-hnsw",
    parameter: Parameter = None,
    values: Values = None,
    at: At = None,
    build: Build = None,
    sizes: Sizes = None,
    vectors: Vectors = None,
    queries: Queries = None,
    dimensions: Dimensions = 128,
    asked: Asked = 200,
    metric: IndexMetric = Metric.COSINE,
    k: K = 10,
    rounds: Rounds = 10,
    seed: Seed = 0,
    min_recall: Least = 0.95,
    as_json: AsJson = False,
    output: Output = None,
    plot: Plot = None,
    fail_on_finding: OnFinding = False,
) -> None:
    """Measure recall and latency of an index over its parameter and over corpus sizes.

    Exit codes: 0 fine, 1 findings (with --fail-on-finding), 2 bad input.
    """
    places = Places(as_json, output, plot, fail_on_finding)
    places.check([vectors, queries])
    _find_module(index)
    from rag_titan.lab import IndexCurve

    curve = IndexCurve(
        index, parameter=parameter, values=_numbers("--values", values), at=at, k=k, metric=metric.value,
        least_recall=min_recall, rounds=rounds, seed=seed, options=_options(build or []),
    )  # fmt: skip
    matrix, asks = _matrices(vectors, queries)
    of_sizes = None if sizes is None else _numbers("--sizes", sizes)
    with progress("steps", at_once=True) as counter:
        result = curve.measure(of_sizes, matrix, asks, dimensions, asked, counter)
    places.show(result, _lines, _draw)


def _find_module(index: str) -> None:
    """The module of a function may lie in the current folder."""
    if ":" in index and os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())


def _matrices(vectors: Path | None, queries: Path | None) -> tuple[Any, Any]:
    """The vectors given and those of queries; None for none."""
    from rag_titan.lab import read_vectors

    stored = None if vectors is None else read_vectors(vectors)
    beside = None if stored is None else stored.queries
    beside = beside if queries is None else read_vectors(queries, queries=True)
    return None if stored is None else stored.rows, None if beside is None else beside.rows


def _numbers(option: str, text: str | None) -> list[int]:
    parts = [] if text is None else [part.strip() for part in text.split(",") if part.strip()]
    if not all(part.isdecimal() for part in parts):
        raise SettingsError(f"{option}: must be whole numbers divided by commas, got {text!r}. Write 16,64.")
    return [int(part) for part in parts]


def _options(pairs: list[str]) -> dict[str, int]:
    found = {}
    for pair in pairs:
        name, _, value = pair.partition("=")
        if not name or not value.isdecimal():
            raise SettingsError(f"--build: must be NAME=N, got {pair!r}. Write M=16.")
        found[name] = int(value)
    return found


def _lines(result: Mapping[str, Any]) -> Iterator[str]:
    made = "made in clusters" if result["generated"] else "as given"
    queries = f"{result['queries']:,} {'query' if result['queries'] == 1 else 'queries'}"
    clock = "CPU time" if result["clock"] == "cpu" else "wall time, since it waits"
    yield (
        f"{escaped(result['index'])}, {result['metric']}, top {result['k']} of vectors of {result['dimensions']} "
        f"({made}), {queries}, best of {counted(result['rounds'], 'round')} in {clock}"
    )
    yield (
        f"{'vectors':>12}{result['parameter'] or '':>12}{'recall':>9}{'95 %':>17}"
        f"{'best ms':>10}{'p50 ms':>10}{'p95 ms':>10}{'QPS':>9}{'build':>10}"
    )
    for row in result["rows"]:
        low, high = row["recall_ci95"] or (row["recall"], row["recall"])
        recall = f"{'':>26}" if row["recall"] is None else f"{row['recall']:>9.3f}{f'{low:.3f} to {high:.3f}':>17}"
        value = "" if row["value"] is None else row["value"]
        yield (
            f"{row['size']:>12,}{value:>12}{recall}{row['best_ms']:>10.3f}"
            f"{row['p50_ms']:>10.3f}{row['p95_ms']:>10.3f}{_rate(row['qps']):>9}{_span(row['build_seconds']):>10}"
        )
    for one in result["scaling"]:
        if one["slope"] is not None:
            named = "" if one["value"] is None else f" at {result['parameter']} {one['value']}"
            low, high = one["ci95"]
            said = "" if one["verdict"] is None else f": {one['verdict']}"
            yield f"time grows as N to the {one['slope']:.2f} [{low:.2f}, {high:.2f}]{named}{said}"
    for note in result["notes"]:
        yield f"note: {note}"
    for finding in result["findings"]:
        yield f"{finding['kind']}: {escaped(finding['text'])}. {finding['advice']}"
    yield f"{counted(len(result['findings']), 'finding')}."


def _span(seconds: float) -> str:
    return f"{seconds:,.1f} s"


def _rate(qps: float | None) -> str:
    return "" if qps is None else f"{qps:,.0f}"


def _draw(result: Mapping[str, Any], file: Path) -> None:
    from rag_titan.plots import Axis, curves, save

    rows = [{**row, "size": f"{row['size']:,} vectors", "n": row["size"]} for row in result["rows"]]
    rows = [{**row, "value": str(row["value"])} for row in rows]
    took = Axis("best_ms", "ms of a query", log=True)
    recall = curves(rows, took, Axis("recall", "recall"), title="Recall over latency", by="size")
    growth = curves(rows, Axis("n", "vectors", log=True), took, title="Latency over N", by="value",
                    legend=result["parameter"] or "")  # fmt: skip
    save([recall, growth], file, title=f"Index curve of {result['index']}")
