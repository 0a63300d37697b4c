"""Reports made of the values of questions, and what a noisy system would measure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag_titan.evaluation.catalogue import find
from rag_titan.evaluation.measures.latency import Sample
from rag_titan.evaluation.measures.sums import Moments
from rag_titan.evaluation.metric import Stage

Values = Mapping[str, Sequence[float | None]]


def report_of(values: Values, ids: Sequence[str] | None = None, **meta: Any) -> dict[str, Any]:
    """{"stage.key": a value a question} as a report with lists per query, its summaries taken from them."""
    made: dict[str, Any] = {"meta": meta}
    for name, column in values.items():
        row = find(name)
        names = [f"q{i}" for i in range(len(column))] if ids is None else ids
        node = made.setdefault(str(row.stage), {"per_query": [{"id": query} for query in names]})
        for item, value in zip(node["per_query"], column, strict=True):
            item[row.item_key] = value
        array = np.array(column, dtype=np.float64)
        summary = node if Stage(row.stage).flat else node.setdefault("summary", {})
        summary[row.key] = row.reduce.value(Moments.of(array), Sample.of(array))
    return made


def noisy(rng: np.random.Generator, chances: NDArray[np.float64], drop: float = 0.0) -> dict[str, list[float]]:
    """What a run measures of questions that succeed by chance, each half of its evidence by itself."""
    n, chance = len(chances), np.clip(chances - drop, 0, 1)
    recall = rng.binomial(2, chance) / 2
    return {
        "retrieval.recall_at_k": recall.tolist(),
        "retrieval.hit_at_k": (recall > 0).astype(float).tolist(),
        "augmentation.context_sufficient": (recall == 1).astype(float).tolist(),
        "generation.answer_f1": np.where(recall == 1, rng.beta(4, 2, n), 0.0).tolist(),
        "end_to_end.task_success_rate": (rng.random(n) < chance).astype(float).tolist(),
        "end_to_end.p95_latency_ms": rng.lognormal(6, 0.5, n).tolist(),
        "end_to_end.mean_cost_usd": rng.gamma(3, 0.001, n).tolist(),
    }


def chances(rng: np.random.Generator, n: int) -> NDArray[np.float64]:
    """How likely each question is answered."""
    return rng.beta(4, 1.2, n)
