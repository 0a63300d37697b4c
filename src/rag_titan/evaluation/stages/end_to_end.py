"""End to end (metrics.txt, section 7): what the user got and how long it took, from request to answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rag_titan.evaluation.data.tables import QueryTable
from rag_titan.evaluation.measures.latency import unexplained_ms
from rag_titan.evaluation.metric import (
    COST,
    FAULT_RATE,
    P50,
    P95,
    P99,
    RATE,
    SHIFT,
    Floats,
    Kind,
    Metric,
    Reduce,
    Stage,
    quantile_rows,
)

PRESENT = ("answer", "task_success", "latency_ms", "cost_usd", "total_tokens", "error")


@dataclass(frozen=True)
class EndToEndInputs:
    """The answers and the telemetry of n queries; each method that a row names gives one value a query."""

    table: QueryTable

    def exact_match(self) -> Floats:
        return self.table.answers.exact_match

    def f1(self) -> Floats:
        return self.table.answers.f1

    def task_success(self) -> Floats:
        return self.table.flags("task_success")

    def time(self) -> Floats:
        return self.table.amounts("latency_ms")

    def cost(self) -> Floats:
        return self.table.amounts("cost_usd")

    def tokens(self) -> Floats:
        return self.table.amounts("total_tokens")

    def failed(self) -> Floats:
        return self.table.given("error").astype(np.float64)

    def unexplained(self) -> Floats:
        """Parts that do not overlap: the whole retrieval where it was timed, else its two halves; then the others."""
        times = self.table.amounts
        retrieval = times("retrieval_latency_ms")
        halves = [
            np.where(np.isnan(retrieval), times(half), np.nan) for half in ("embedding_latency_ms", "search_latency_ms")
        ]
        others = [times("rerank_latency_ms"), times("generation_latency_ms")]
        return unexplained_ms(self.time(), [retrieval, *halves, *others])


Compute = Callable[[EndToEndInputs], Floats]
REFERENCE = ("answer", "expected_answer|expected_answers")
PARTS = "|".join(f"{part}_latency_ms" for part in ("retrieval", "embedding", "search", "rerank", "generation"))


def _row(
    key: str, title: str, compute: Compute, formula: str, advice: str, kind: Kind, needs: tuple[str, ...]
) -> Metric:
    return Metric(key, Stage.END_TO_END, title, formula, advice, kind, "query", needs, compute)


def _time(advice: str, *quantiles: Reduce) -> tuple[Metric, ...]:
    return quantile_rows(
        Stage.END_TO_END, "End-to-End", EndToEndInputs.time, advice, quantiles, item="latency_ms"
    )  # fmt: skip


def _unexplained(quantile: Reduce) -> Metric:
    name = quantile.name
    return Metric(
        f"unexplained_{name}_latency_ms", Stage.END_TO_END, f"Unexplained {name.upper()} Latency",
        f"{name.upper()} of (whole request - its recorded parts)",
        "Time that no recorded part accounts for: network, queues, code in between. Below 0, parts ran side by side.",
        SHIFT, "query", ("latency_ms", PARTS), EndToEndInputs.unexplained, quantile, "unexplained_latency_ms",
    )  # fmt: skip


METRICS: tuple[Metric, ...] = (
    _row(
        "answer_exact_match", "Exact Match", EndToEndInputs.exact_match, "1 if norm(A) = norm(Y), else 0",
        "Whether a short factual answer is right. Free text fails it without fault.", RATE, REFERENCE,
    ),
    _row(
        "answer_f1", "Answer F1", EndToEndInputs.f1, "2PR / (P + R)",
        "The words that the final answer shares with the reference.", RATE, REFERENCE,
    ),
    _row(
        "task_success_rate", "Task Success Rate", EndToEndInputs.task_success, "#successful tasks / #labelled tasks",
        "Whether users got what they needed.", RATE, ("task_success",),
    ),
    *_time("The waiting that users remember.", P95),
    *_time("The usual waiting.", P50),
    _row(
        "mean_cost_usd", "Mean Cost", EndToEndInputs.cost, "sum of the costs / Q",
        "What one request costs, in US dollars.", COST, ("cost_usd",),
    ),
    _row(
        "mean_total_tokens", "Mean Tokens", EndToEndInputs.tokens, "sum of the tokens / Q",
        "Tokens that one request uses: what drives cost and waiting.", COST, ("total_tokens",),
    ),
    *_time("The slowest one in a hundred.", P99),
    _row(
        "error_rate", "Error Rate", EndToEndInputs.failed, "#records with `error` / Q",
        "Questions whose record has an error. What they did not log is in no other mean, so read this first.",
        FAULT_RATE, (),
    ),
    _unexplained(P50),
    _unexplained(P95),
)  # fmt: skip
