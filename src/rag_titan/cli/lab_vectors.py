"""rag-titan lab vectors: are the vectors of an index healthy?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from rag_titan.cli.lab_outputs import SHOWN, AsJson, Output
from rag_titan.cli.lab_result import GIVEN, IndexMetric, K, Metric, OnFinding, Places, Seed
from rag_titan.cli.terminal import counted, escaped
from rag_titan.errors import SettingsError

NAMED = 5  # ids that are printed; --json has 20

Vectors = Annotated[
    Path,
    typer.Option(
        metavar="FILE", readable=False, rich_help_panel=GIVEN,
        help="A matrix .npy (read a block at a time), an embeddings.npz, rows of id and vector as .jsonl, .parquet or "
        ".csv, or a dataset that holds embeddings.",
    ),
]  # fmt: skip
Queries = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", readable=False, rich_help_panel=GIVEN,
        help="Vectors of queries, in the same forms. Usually those that the file or the dataset has.",
    ),
]  # fmt: skip
Again = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", readable=False, rich_help_panel=GIVEN,
        help="The same texts embedded again as queries are, row by row, .npy: for the self-retrieval test.",
    ),
]  # fmt: skip
Sample = Annotated[
    int, typer.Option(metavar="N", min=10, rich_help_panel=GIVEN, help="Rows that are drawn for the costly tests.")
]
Plot = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", readable=False, rich_help_panel=SHOWN,
        help="The similarity gap over corpus sizes: .html, .png or .svg.",
    ),
]  # fmt: skip


def vectors(
    vectors: Vectors,
    queries: Queries = None,
    reembedded: Again = None,
    metric: IndexMetric = Metric.COSINE,
    k: K = 10,
    sample: Sample = 2000,
    seed: Seed = 0,
    as_json: AsJson = False,
    output: Output = None,
    plot: Plot = None,
    fail_on_finding: OnFinding = False,
) -> None:
    """Find the silent faults of vectors: lengths, metrics, duplicates, hubs, two models in one index.

    Exit codes: 0 fine, 1 findings (with --fail-on-finding), 2 bad input.
    """
    places = Places(as_json, output, plot, fail_on_finding)
    places.check([vectors, queries, reembedded])
    from rag_titan.lab import VectorHealth, read_vectors

    stored = read_vectors(vectors)
    asked = stored.queries if queries is None else read_vectors(queries, queries=True)
    again = None if reembedded is None else read_vectors(reembedded)
    health = VectorHealth(metric=metric.value, k=k, sample=sample, seed=seed)
    places.show(health.check(stored, asked, reembedded=again), _lines, _draw)


def _draw(result: Mapping[str, Any], file: Path) -> None:
    from rag_titan.plots import Axis, curves, save

    gap = result.get("similarity_gap")
    if gap is None:
        raise SettingsError("--plot: must have a similarity gap to draw, got too few vectors. Leave it out.")
    axis = Axis("gap", f"cosine of rank 1 less that of rank {gap['rank']}", zero=True)
    save([curves(gap["sizes"], Axis("size", "vectors", log=True), axis, title="Similarity gap")], file,
         title="Vector health")  # fmt: skip


def _lines(result: Mapping[str, Any]) -> Iterator[str]:
    of, asked = result["vectors"], result["queries"]
    queries = "" if asked is None else f"; {counted(asked['count'], 'query vector')}, {asked['dtype']}"
    yield f"{escaped(of['where'])}: {counted(of['count'], 'vector')} of {of['dimensions']}, {of['dtype']}{queries}"
    yield from (f"  {name:<22}{said}" for name, said in _measured(result) if said)
    for note in result["notes"]:
        yield f"note: {escaped(note)}"
    for finding in result["findings"]:
        yield f"{finding['kind']}: {escaped(finding['text'])}. {finding['advice']}"
        if finding["ids"]:
            more = f" and {finding['count'] - NAMED:,} more" if finding["count"] > NAMED else ""
            yield f"  ids: {', '.join(escaped(name) for name in finding['ids'][:NAMED])}{more}"
    yield f"{counted(len(result['findings']), 'finding')}."


def _measured(result: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What was measured, by name."""
    for what, norms in result["norms"].items():
        if norms is not None and norms["median"] is not None:
            said = f"{norms['not_unit']:,} of {norms['count']:,} beyond {norms['tolerance']:.0e}"
            yield "not of length 1", f"{said} ({what}; median {norms['median']:.6g})"
    if metrics := result.get("metrics"):
        shared = [value for value in metrics["shared"].values() if value is not None]
        yield "metrics agree", f"{min(shared):.1%} of the top {metrics['k']}" if shared else ""
    if own := result.get("self_retrieval"):
        yield "nearest to itself", f"{own['first_share']:.1%} of {own['n']:,} by {own['metric']}"
        yield "similarity about 1", f"{own['similarity_about_1_share']:.1%}" if own["reembedded"] else ""
    if copies := result.get("duplicates"):
        near = "" if copies["near"] is None else f", {copies['near']:,} of {copies['near_of']:,} with a near-duplicate"
        yield "equal vectors", f"{copies['equal']:,} of {copies['of']:,}{near}"
    if (hubs := result.get("hubness")) and hubs["skewness"] is not None:
        largest = f"largest hub in {hubs['largest_hub_share']:.1%} of the top {hubs['k']}"
        yield "hubness", f"skewness {hubs['skewness']:.2f}, {largest}"
    if gap := result.get("similarity_gap"):
        yield "similarity gap", ", ".join(f"{row['gap']:.4f} ({row['size']:,})" for row in gap["sizes"])
    if contrast := result.get("contrast"):
        yield "farthest : nearest", f"{contrast['ratio']:.2f}"
    if models := result.get("two_models"):
        yield "models", _models(models)


def _models(models: Mapping[str, Any]) -> str:
    if not models["decided"]:
        return "cannot be told: too few vectors, or vectors without structure"
    sizes = [f"{size:,}" for size in models["families"]]
    return "one" if len(sizes) == 1 else f"at least {' and '.join(sizes)} of {models['n']:,} looked at"
