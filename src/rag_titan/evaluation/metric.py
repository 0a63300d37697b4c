"""What a metric is: one frozen row that says everything the rest of the house needs to know about it.

Names, order, docs, the 0..1 score, the direction of "worse", coverage and the contract tests derive from these rows;
opinions (weights, gates, ratings) stand in `scoring/policy.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rag_titan.evaluation.measures.latency import Sample
from rag_titan.evaluation.measures.sums import Moments


class Stage(StrEnum):
    """The stages of a RAG system, in pipeline order, and what a judge said of the whole; `.label` is the name that a
    report shows."""

    label: str

    CHUNKING = "chunking", "Document preparation"
    EMBEDDING = "embedding", "Semantic indexing"
    RETRIEVAL = "retrieval", "Information search"
    RERANKING = "reranking", "Search ordering"
    AUGMENTATION = "augmentation", "Answer context"
    GENERATION = "generation", "Answer quality"
    END_TO_END = "end_to_end", "User experience"
    JUDGE = "judge", "Judge's verdicts"

    def __new__(cls, value: str, label: str) -> Stage:
        member = str.__new__(cls, value)
        member._value_ = value
        member.label = label
        return member

    @property
    def flat(self) -> bool:
        """True where the report keeps the values directly in the stage, without a `summary`."""
        return self in (Stage.CHUNKING, Stage.EMBEDDING, Stage.END_TO_END)

    @property
    def optional(self) -> bool:
        """True where the report has the stage only when the data hold something for it."""
        return self is Stage.JUDGE


@dataclass(frozen=True)
class Kind:
    """How a value reads: its range, which way is better, its 0..1 score, and how a change in it is counted.

    score      value -> 0..1; None for values that are scored against a target only, or never
    better     "up", "down", or None: it may change, but never gets worse
    low, high  the range that every value lies in
    relative   a change is a share of the baseline (latency, cost, tokens), else a difference
    targeted   scored only against a target (latency, cost, sizes have no universally good value)
    """

    name: str
    score: Callable[[float], float] | None
    better: Literal["up", "down"] | None
    low: float
    high: float
    relative: bool = False
    targeted: bool = False


RATE = Kind("higher is better", lambda v: v, "up", 0, 1)
FAULT_RATE = Kind("lower is better", lambda v: 1 - v, "down", 0, 1)
PENALTY = Kind("penalty ratio", lambda v: 1 / (1 + v), "down", 0, math.inf)
FRAGMENTATION = Kind("fragmentation", lambda v: 1 / max(1.0, v), "down", 0, math.inf)
COSINE = Kind("cosine, higher is better", lambda v: (1 + v) / 2, "up", -1, 1)
COSINE_LOWER = Kind("cosine, lower is better", lambda v: (1 - v) / 2, "down", -1, 1)
COSINE_DISTANCE = Kind("cosine distance", lambda v: v / 2, "up", 0, 2)
MARGIN = Kind("similarity margin", lambda v: min(1.0, max(0.0, 0.5 + v)), "up", -2, 2)
GAIN = Kind("gain (after - before)", lambda v: (1 + v) / 2, "up", -1, 1)
COST = Kind("target (lower is better)", None, "down", 0, math.inf, relative=True, targeted=True)
SIZE = Kind("target (a size)", None, None, 0, math.inf, relative=True, targeted=True)
SHIFT = Kind("not scored", None, None, -math.inf, math.inf)
AMOUNT = Kind("not scored (a size)", None, None, 0, math.inf)


@dataclass(frozen=True)
class Reduce:
    """How the values of the items become one number, from what can be merged over batches: moments or a sample."""

    name: str
    of_moments: Callable[[Moments], float | None] | None = None
    quantile: float | None = None

    def value(self, moments: Moments, sample: Sample | None) -> float | None:
        """The number, or None when nothing was measured."""
        if self.of_moments is not None:
            return self.of_moments(moments)
        if sample is None or self.quantile is None:
            return None
        return sample.quantile(self.quantile)


MEAN = Reduce("mean", Moments.mean)
LOWEST = Reduce("min", Moments.lowest)
HIGHEST = Reduce("max", Moments.highest)
VARIATION = Reduce("cv", Moments.variation)
P50, P95, P99 = (Reduce(f"p{round(q * 100)}", quantile=q) for q in (0.50, 0.95, 0.99))

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Metric:
    """One row of the catalogue.

    key      the name in the report and the scorecard
    stage    where it belongs
    title    the name that a person reads
    formula  plain text, as short as the definition allows
    advice   how to read and use it, a sentence or two
    kind     how its value reads (see Kind)
    per      what one item is: "query", "chunk", "vector", "span", "block", "boundary" or "corpus"
    needs    the inputs without which it is not measured; "a|b" means either
    compute  the stage's inputs object -> float64 array (n_items,), NaN where an item is not measured
    reduce   how the items become one number
    item     the key of the item's own value in `per_query`; default: `key`
    bound    the same as `compute`, of a mean of rates: the most that each item can have by its labels; default: 1. One
             gold chunk fills no more than a tenth of the first ten places
    """

    key: str
    stage: Stage
    title: str
    formula: str
    advice: str
    kind: Kind
    per: str
    needs: tuple[str, ...]
    compute: Callable[[Any], Floats]
    reduce: Reduce = MEAN
    item: str = field(default="")
    bound: Callable[[Any], Floats] | None = None

    @property
    def name(self) -> str:
        """Stage and key, as in "retrieval.recall_at_k"."""
        return f"{self.stage}.{self.key}"

    @property
    def item_key(self) -> str:
        """The key under which `per_query` shows the value of one query."""
        return self.item or self.key


def quantile_rows(
    stage: Stage,
    title: str,
    compute: Callable[[Any], Floats],
    advice: str,
    quantiles: Sequence[Reduce],
    *,
    item: str,
    prefix: str = "",
    needs: tuple[str, ...] = (),
) -> tuple[Metric, ...]:
    """A row for each quantile of one measured time, in milliseconds; they share one pass and one sample.

    item    the key of a query's own time in `per_query`
    prefix  of the key, where the stage has several times
    needs   default: `item`

    >>> [row.key for row in quantile_rows(Stage.RETRIEVAL, "Search", abs, "", (P50, P95), item="x_ms", prefix="x_")]
    ['x_p50_latency_ms', 'x_p95_latency_ms']
    """
    return tuple(
        Metric(
            key=f"{prefix}{quantile.name}_latency_ms",
            stage=stage,
            title=f"{title} {quantile.name.upper()} Latency",
            formula=f"{quantile.name.upper()}(t_1, ..., t_Q), linear interpolation",
            advice=advice,
            kind=COST,
            per="query",
            needs=needs or (item,),
            compute=compute,
            reduce=quantile,
            item=item,
        )
        for quantile in quantiles
    )
