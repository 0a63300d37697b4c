"""The parts of the latency judged: which one dominates, and whether the embedding has two speeds (cold starts)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rag_titan.errors import DatasetError
from rag_titan.evaluation import CATALOGUE, RAGEvaluator
from rag_titan.lab.dip import bimodality
from rag_titan.lab.estimates import Data, Estimate, Floats, Report, floats, inputs_of, mean_of, per_question, summary_of

# {part: its stage, and its key among the values of a question}
COLUMNS: Mapping[str, tuple[str, str]] = {
    "embedding": ("retrieval", "embedding_latency_ms"),
    "search": ("retrieval", "search_latency_ms"),
    "retrieval": ("retrieval", "latency_ms"),
    "rerank": ("reranking", "rerank_latency_ms"),
    "generation": ("generation", "latency_ms"),
    "total": ("end_to_end", "latency_ms"),
}
HALVES = ("embedding", "search")
FEW = 20  # below, the 95th percentile is the largest value but one at best
FEW_FOR_P99 = 100
_STAGES = ("retrieval", "reranking", "generation", "end_to_end")


@dataclass(frozen=True)
class Part:
    """One part of the time of a question.

    quantiles  {"p50": ms, "p95": ms, "p99": ms}, as the report has them
    share      its mean share of all parts, on the questions that have all of them; None for the total and for what the
               other parts hold already
    """

    name: str
    n: int
    quantiles: Mapping[str, float | None]
    share: Estimate | None

    def as_dict(self) -> dict[str, Any]:
        """Plain values."""
        share = None if self.share is None else self.share.as_dict()
        return {"part": self.name, "n": self.n, **self.quantiles, "share": share}


@dataclass(frozen=True)
class LatencyParts:
    """The latency of a run, part by part.

    dominant   the part with the largest mean share; None where fewer than two parts are measured
    dominates  whether it has more than half for sure: its whole interval is above 0.5
    embedding  what the dip test says of the time of the embedding, see `bimodality`; None where it is not measured
    """

    parts: list[Part]
    dominant: str | None
    dominates: bool
    embedding: Mapping[str, Any] | None
    warnings: list[str]

    def as_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "parts": [part.as_dict() for part in self.parts], "dominant": self.dominant, "dominates": self.dominates,
            "embedding": None if self.embedding is None else dict(self.embedding), "warnings": self.warnings,
        }  # fmt: skip


def latency_parts(data: Data) -> LatencyParts:
    """Judge the `*_latency_ms` columns of a dataset (whitepaper, section 5).

    data  a path, or the inputs of `RAGEvaluator.evaluate`. Where the embedding and the search are both measured they
          are the parts; else the whole retrieval is

    Raises DatasetError where no time is given.

    >>> times = {"embedding_latency_ms": 10, "search_latency_ms": 20, "generation_latency_ms": 170}
    >>> found = latency_parts({"queries": [{"id": str(i), **times} for i in range(3)]})
    >>> found.dominant, round(found.parts[2].share.value, 3)
    ('generation', 0.85)
    """
    report = RAGEvaluator(stages=_STAGES).evaluate(**inputs_of(data))
    columns = {name: per_question(report, *place) for name, place in COLUMNS.items()}
    ids = list(dict.fromkeys(name for column in columns.values() for name in column))
    values = {name: floats(column, ids) for name, column in columns.items()}
    measured = {name: column for name, column in values.items() if not np.isnan(column).all()}
    if not measured:
        raise DatasetError("queries", "must have times such as embedding_latency_ms or latency_ms, got none. Log them.")
    shares = _shares({name: measured[name] for name in _additive(measured)})
    parts = [_part(report, name, column, shares.get(name)) for name, column in measured.items()]
    dominant = max(shares, key=lambda name: shares[name].value or 0.0) if shares else None
    ends = shares[dominant].ci95 if dominant else None
    embedding = bimodality(measured["embedding"], ids) if "embedding" in measured else None
    warnings = [*_left_out(report), *_warnings(parts, shares)]
    return LatencyParts(parts, dominant, bool(ends and ends[0] > 0.5), embedding, warnings)


def _additive(measured: Mapping[str, Floats]) -> list[str]:
    """The parts that add up: never the retrieval beside its halves."""
    whole = "retrieval" in measured and not all(half in measured for half in HALVES)
    left_out = {"total", *(HALVES if whole else ("retrieval",))}
    return [name for name in measured if name not in left_out]


def _shares(parts: Mapping[str, Floats]) -> dict[str, Estimate]:
    """{part: its mean share of the sum}, on the questions that have all parts and took any time at all."""
    if len(parts) < 2:
        return {}
    table = np.stack(list(parts.values()), axis=1)
    table /= np.maximum(table.max(axis=1, keepdims=True), 1e-300)  # the longest counts as 1: no sum leaves float64
    total = table.sum(axis=1)  # NaN where one is missing
    table = table[total > 0]
    if not len(table):
        return {}
    shares = table / total[total > 0][:, None]
    return {name: mean_of(shares[:, i]) for i, name in enumerate(parts)}


def _part(report: Report, name: str, column: Floats, share: Estimate | None) -> Part:
    stage, item = COLUMNS[name]
    summary = summary_of(report[stage])
    rows = [row for row in CATALOGUE.values() if row.stage == stage and row.item_key == item and row.reduce.quantile]
    quantiles = {row.reduce.name: summary[row.key] for row in sorted(rows, key=lambda row: row.reduce.name)}
    return Part(name, int(np.count_nonzero(~np.isnan(column))), quantiles, share)


def _left_out(report: Report) -> Iterator[str]:
    """What the evaluation says of times that are none."""
    yield from (text for text in report["warnings"] if "latency_ms" in text.split(" must ")[0])


def _warnings(parts: Sequence[Part], shares: Mapping[str, Estimate]) -> Iterator[str]:
    few = [f"{part.name} ({part.n})" for part in parts if part.n < FEW]
    if few:
        yield f"fewer than {FEW} times: {', '.join(few)}; their p95 and p99 are about the largest value. Log more."
    some = [f"{part.name} ({part.n})" for part in parts if FEW <= part.n < FEW_FOR_P99]
    if some:
        yield f"fewer than {FEW_FOR_P99} times: {', '.join(some)}; their p99 is about the largest value."
    most = max((part.n for part in parts), default=0)
    n = min((share.n for share in shares.values()), default=most)
    if n < most:
        yield f"shares stand on the {n} questions of {most} that have all parts and take any time."
