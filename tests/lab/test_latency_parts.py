"""The parts of the latency: shares by hand, which part dominates, and what is too few."""

from __future__ import annotations

from typing import Any

import pytest

from rag_titan.errors import DatasetError
from rag_titan.evaluation import RAGEvaluator
from rag_titan.lab.latency_parts import latency_parts


def dataset(*times: dict[str, float]) -> dict[str, Any]:
    return {"queries": [{"id": f"q{i}", **one} for i, one in enumerate(times)]}


def timed(embedding: float, search: float, generation: float, **more: float) -> dict[str, float]:
    return {
        "embedding_latency_ms": embedding, "search_latency_ms": search, "generation_latency_ms": generation, **more,
    }  # fmt: skip


def test_shares_are_means_of_the_questions_and_quantiles_those_of_the_report() -> None:
    data = dataset(timed(10, 10, 80, latency_ms=120), timed(30, 50, 120, latency_ms=230), timed(20, 30, 50))
    found = latency_parts(data)
    parts = {part.name: part for part in found.parts}
    # 0.8, 0.6, 0.5; 0.1, 0.15, 0.2; 0.1, 0.25, 0.3
    assert [round(parts[name].share.value, 6) for name in ("generation", "embedding", "search")] == [  # type: ignore[union-attr, arg-type]
        round(1.9 / 3, 6), 0.15, round(0.65 / 3, 6),
    ]  # fmt: skip
    assert (found.dominant, found.dominates) == ("generation", False)
    report = RAGEvaluator().evaluate(**data)
    assert parts["search"].quantiles["p95"] == report["retrieval"]["summary"]["search_p95_latency_ms"]
    assert parts["generation"].quantiles["p50"] == 80
    assert (parts["total"].share, parts["total"].n, parts["total"].quantiles["p50"]) == (None, 2, 175)


def test_a_part_dominates_where_its_whole_interval_is_above_a_half() -> None:
    many = latency_parts(dataset(*[timed(10 + i % 3, 20, 200 + i) for i in range(30)]))
    assert (many.dominant, many.dominates) == ("generation", True)
    split = latency_parts(dataset(*[timed(10, 90, 100 + (-1) ** i * 30) for i in range(30)]))
    assert (split.dominant, split.dominates) == ("generation", False)


def test_the_retrieval_is_never_counted_beside_its_halves() -> None:
    halves = latency_parts(dataset(*[timed(10, 20, 30, retrieval_latency_ms=30)] * 2))
    assert {part.name for part in halves.parts if part.share} == {"embedding", "search", "generation"}
    one = {"retrieval_latency_ms": 30.0, "embedding_latency_ms": 10.0, "generation_latency_ms": 30.0}
    whole = latency_parts(dataset(one, one))
    assert {part.name: part.share.value for part in whole.parts if part.share} == {"retrieval": 0.5, "generation": 0.5}


def test_few_times_and_questions_without_all_parts_are_said() -> None:
    found = latency_parts(dataset(*[timed(1, 2, 3)] * 19, {"generation_latency_ms": 5}))
    assert found.warnings == [
        "fewer than 20 times: embedding (19), search (19); their p95 and p99 are about the largest value. Log more.",
        "fewer than 100 times: generation (20); their p99 is about the largest value.",
        "shares stand on the 19 questions of 20 that have all parts and take any time.",
    ]
    assert found.embedding is not None
    assert found.embedding["bimodal"] is None
    assert latency_parts(dataset(*[timed(1, 2, 3)] * 100)).warnings == []


def test_one_part_alone_and_no_time_at_all() -> None:
    alone = latency_parts(dataset({"latency_ms": 5}, {"latency_ms": 7}))
    assert (alone.dominant, alone.dominates, alone.embedding) == (None, False, None)
    nothing = latency_parts(dataset(timed(0, 0, 0), timed(0, 0, 0)))  # 0 of 0 is no share
    assert nothing.dominant is None
    with pytest.raises(DatasetError, match=r"^queries: must have times such as embedding_latency_ms"):
        latency_parts(dataset({}))


def test_times_that_are_none_are_left_out_and_said() -> None:
    found = latency_parts(dataset(timed(1, 2, 3), timed(-1, 2, 3), timed(float("nan"), 2, 3)))
    assert found.warnings[0] == (
        "embedding_latency_ms must be a number from 0; left out where it is not finite or is negative: q1, q2."
    )
    assert [part.n for part in found.parts] == [1, 3, 3]


def test_the_longest_times_have_shares_too() -> None:
    found = latency_parts(dataset(timed(1e308, 1e308, 0), timed(0, 0, 5e-324)))
    assert [part.share.value for part in found.parts if part.share] == [0.25, 0.25, 0.5]
