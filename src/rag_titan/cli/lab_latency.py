"""rag-titan lab latency: which part takes the time, and does the embedding have two speeds?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rag_titan.cli.lab_input import ConfigFile, Input, LoggedRun
from rag_titan.cli.lab_outputs import AsJson, Output, aligned, check_places, show, with_interval
from rag_titan.evaluation.reports.figures import NOTHING, value_text

QUANTILES = ("p50", "p95", "p99")


def latency(input_: Input, as_json: AsJson = False, output: Output = None, config: ConfigFile = None) -> None:
    """Judge the times of a run: its parts, cold starts of the embedding, and whether there are enough of them.

    Exit codes: 0 fine, 2 bad input.
    """
    logged = LoggedRun(input_, None, config)
    check_places(output, None, logged.files())
    from rag_titan.lab.latency_parts import latency_parts

    result = latency_parts(logged.read()).as_dict()
    show(result, _lines(result), as_json, output)


def _lines(result: Mapping[str, Any]) -> Iterator[str]:
    yield from aligned(["Part", *QUANTILES, "n", "Share of the parts, 95 %"], [_cells(one) for one in result["parts"]])
    yield ""
    yield _dominant(result)
    embedding = result["embedding"]
    if embedding is not None:
        yield f"Embedding: {embedding['reason']}."
        if embedding["bimodal"]:
            yield f"Slow: {', '.join(embedding['slow']['ids'])}"
    yield from (f"Note: {text}" for text in result["warnings"])


def _cells(part: Mapping[str, Any]) -> list[str]:
    times = [value_text(None, "latency_ms", part[name]) for name in QUANTILES]
    share = NOTHING if part["share"] is None else with_interval(part["share"], "share")
    return [part["part"], *times, str(part["n"]), share]


def _dominant(result: Mapping[str, Any]) -> str:
    name = result["dominant"]
    if name is None:
        return "No part can dominate: fewer than two are measured for the same questions, or they take no time."
    share = next(part["share"] for part in result["parts"] if part["part"] == name)
    said = f"{with_interval(share, 'share')} of the time on average"
    if result["dominates"]:
        return f"Dominant: {name}, {said}."
    return f"Largest: {name}, {said}; whether it is more than half is not sure."
