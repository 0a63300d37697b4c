"""Every ranking measure against a slow twin that is written straight from its formula, one query at a time."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.strategies import Rankings, rankings

from rag_titan.evaluation.measures import ranking

LEVELS = st.sampled_from([0.25, 1.0, 2.0])
NOT_MEASURED = math.nan


def hits_of(case: Rankings, query: int, level: float) -> list[bool]:
    return [case.grade(query, rank) >= level for rank in range(1, case.k + 1)]


def relevant_of(case: Rankings, query: int, level: float) -> int:
    return sum(1 for grade in case.gold[query] if grade >= level)


def slow_precision(case: Rankings, q: int, level: float) -> Fraction:
    return Fraction(sum(hits_of(case, q, level)), case.k)


def slow_recall(case: Rankings, q: int, level: float) -> Fraction | None:
    relevant = relevant_of(case, q, level)
    return Fraction(sum(hits_of(case, q, level)), relevant) if relevant else None


def slow_f1(case: Rankings, q: int, level: float) -> Fraction | None:
    p, r = slow_precision(case, q, level), slow_recall(case, q, level)
    if r is None:
        return None
    return 2 * p * r / (p + r) if p + r else Fraction(0)


def slow_first_rank(case: Rankings, q: int, level: float) -> Fraction | None:
    return next((Fraction(rank) for rank, hit in enumerate(hits_of(case, q, level), 1) if hit), None)


def slow_reciprocal_rank(case: Rankings, q: int, level: float) -> Fraction:
    rank = slow_first_rank(case, q, level)
    return 1 / rank if rank else Fraction(0)


def slow_hit(case: Rankings, q: int, level: float) -> Fraction:
    return Fraction(int(any(hits_of(case, q, level))))


def slow_average_precision(case: Rankings, q: int, level: float, denominator: str) -> Fraction | None:
    hits, relevant = hits_of(case, q, level), relevant_of(case, q, level)
    total = sum((Fraction(sum(hits[:rank]), rank) for rank in range(1, case.k + 1) if hits[rank - 1]), Fraction(0))
    if not relevant:
        return None
    if denominator == "retrieved":
        return total / sum(hits) if any(hits) else Fraction(0)
    return total / (relevant if denominator == "relevant" else min(relevant, case.k))


def slow_dcg(grades: list[float], k: int, gain: str) -> float:
    gains = [2**grade - 1 if gain == "exponential" else grade for grade in grades[:k]]
    return math.fsum(value / math.log2(rank + 1) for rank, value in enumerate(gains, 1))


def slow_ndcg(case: Rankings, q: int, gain: str) -> float | None:
    found = [case.grade(q, rank) for rank in range(1, case.k + 1)]
    best = slow_dcg(sorted(case.gold[q], reverse=True), case.k, gain)
    return slow_dcg(found, case.k, gain) / best if best else None


def assert_same(fast: object, slow: list[Fraction | float | None], exact: bool = False) -> None:
    values = np.asarray(fast, dtype=np.float64)
    wanted = np.array([NOT_MEASURED if v is None else float(v) for v in slow], dtype=np.float64)
    np.testing.assert_allclose(values, wanted, rtol=0 if exact else 1e-12, atol=0)


@given(case=rankings(), level=LEVELS)
def test_set_measures(case: Rankings, level: float) -> None:
    hits, relevant, queries = case.grades >= level, case.relevant(level), range(len(case.gold))
    precision, recall = ranking.precision(hits), ranking.recall(hits, relevant)
    assert_same(precision, [slow_precision(case, q, level) for q in queries], exact=True)
    assert_same(recall, [slow_recall(case, q, level) for q in queries], exact=True)
    assert_same(ranking.f1(precision, recall), [slow_f1(case, q, level) for q in queries])
    assert_same(ranking.hit(hits), [slow_hit(case, q, level) for q in queries], exact=True)


@given(case=rankings(), level=LEVELS)
def test_rank_measures(case: Rankings, level: float) -> None:
    hits, queries = case.grades >= level, range(len(case.gold))
    assert_same(ranking.first_rank(hits), [slow_first_rank(case, q, level) for q in queries], exact=True)
    assert_same(ranking.reciprocal_rank(hits), [slow_reciprocal_rank(case, q, level) for q in queries], exact=True)


@pytest.mark.parametrize("denominator", ["min", "relevant", "retrieved"])
@given(case=rankings(), level=LEVELS)
def test_average_precision(denominator: str, case: Rankings, level: float) -> None:
    fast = ranking.average_precision(case.grades >= level, case.relevant(level), denominator)  # type: ignore[arg-type]
    assert_same(fast, [slow_average_precision(case, q, level, denominator) for q in range(len(case.gold))])


@pytest.mark.parametrize("gain", ["exponential", "linear"])
@given(case=rankings())
def test_ndcg(gain: str, case: Rankings) -> None:
    fast = ranking.ndcg(case.grades, case.ideal, gain)  # type: ignore[arg-type]
    assert_same(fast, [slow_ndcg(case, q, gain) for q in range(len(case.gold))])


@given(case=rankings(), level=LEVELS)
def test_every_value_is_a_rate(case: Rankings, level: float) -> None:
    hits, relevant = case.grades >= level, case.relevant(level)
    precision, recall = ranking.precision(hits), ranking.recall(hits, relevant)
    measured = np.concatenate(
        [
            precision,
            recall,
            ranking.f1(precision, recall),
            ranking.hit(hits),
            ranking.reciprocal_rank(hits),
            *(ranking.average_precision(hits, relevant, d) for d in ("min", "relevant", "retrieved")),
            *(ranking.ndcg(case.grades, case.ideal, gain) for gain in ("exponential", "linear")),
        ]
    )
    measured = measured[~np.isnan(measured)]
    assert ((measured >= 0) & (measured <= 1)).all()


@settings(max_examples=30)
@given(case=rankings(), gain=st.sampled_from(["exponential", "linear"]))
def test_the_best_order_is_exactly_one(case: Rankings, gain: str) -> None:
    best = ranking.ndcg(case.ideal, case.ideal, gain)  # type: ignore[arg-type]
    assert best[~np.isnan(best)].tolist() == [1.0] * sum(1 for gold in case.gold if gold)


@pytest.mark.parametrize("gain", ["exponential", "linear"])
@pytest.mark.parametrize("top", [600.0, 1100.0, 1e6, 1.7e308])
def test_enormous_grades_do_not_overflow(gain: str, top: float) -> None:
    grades, ideal = np.array([[1.0, top, top], [top, top, 0.0]]), np.array([[top, top, 1.0], [top, top, 0.0]])
    values = ranking.ndcg(grades, ideal, gain)  # type: ignore[arg-type]
    discount = [1.0, 1 / math.log2(3), 0.5]
    assert values == pytest.approx([(discount[1] + discount[2]) / (discount[0] + discount[1]), 1.0], rel=1e-2)
    assert values[1] == 1.0


@pytest.mark.parametrize("gain", ["exponential", "linear"])
def test_grades_on_both_sides_of_the_exact_range_agree(gain: str) -> None:
    """2^500 and 2^520 are reached in two ways; a constant added to every grade leaves almost the same value."""
    grades = np.array([[500.0, 510.0, 505.0]])
    low, high = (
        ranking.ndcg(g, -np.sort(-g), gain)  # type: ignore[arg-type]
        for g in (grades, grades + 10)
    )
    assert low == pytest.approx(high, abs=1e-3)


def test_no_query_and_no_rank() -> None:
    for n, k in ((0, 3), (0, 1)):
        hits, relevant = np.zeros((n, k), dtype=bool), np.zeros(n, dtype=np.int64)
        assert len(ranking.recall(hits, relevant)) == len(ranking.average_precision(hits, relevant)) == 0
        assert len(ranking.ndcg(hits.astype(float), hits.astype(float))) == len(ranking.first_rank(hits)) == 0


@given(case=rankings(queries=4), extra=rankings(queries=4))
def test_other_queries_of_the_batch_change_no_digit(case: Rankings, extra: Rankings) -> None:
    width = case.k
    rows = [(case.grades, case.ideal)]
    if extra.gold:
        more = Rankings(extra.gold, extra.ranked, width)
        rows.append((more.grades, more.ideal))
    grades, ideal = (np.concatenate(parts) for parts in zip(*rows, strict=True))
    alone = ranking.ndcg(case.grades, case.ideal)
    np.testing.assert_array_equal(ranking.ndcg(grades, ideal)[: len(case.gold)], alone)


# Worked by hand.


def test_the_whitepaper_figure_of_linear_ndcg() -> None:
    """Grades 3, 2, 0, 1: DCG 3 + 2/log2(3) + 1/log2(5), ideal 3 + 2/log2(3) + 1/2."""
    found, best = np.array([[3.0, 2, 0, 1]]), np.array([[3.0, 2, 1, 0]])
    assert ranking.ndcg(found, best, "linear").round(3).tolist() == [0.985]


def test_precision_and_recall_of_three_hits_among_five_with_four_relevant() -> None:
    hits = np.array([[True, False, True, False, True]])
    assert ranking.precision(hits).tolist() == [0.6]
    assert ranking.recall(hits, np.array([4])).tolist() == [0.75]


def test_mean_reciprocal_rank_of_first_hits_at_1_4_and_2() -> None:
    hits = np.eye(4, dtype=bool)[[0, 3, 1]]
    assert round(float(ranking.reciprocal_rank(hits).mean()), 3) == 0.583


def test_f1_leans_to_the_weaker_side() -> None:
    assert ranking.f1(np.array([0.9]), np.array([0.3])).tolist() == pytest.approx([0.45])


def test_average_precision_by_denominator() -> None:
    """Hits at ranks 1 and 3, five relevant, K = 3: (1 + 2/3) / 3, / 5 and / 2."""
    hits, relevant = np.array([[True, False, True]]), np.array([5])
    values = [
        ranking.average_precision(hits, relevant, d)[0]  # type: ignore[arg-type]
        for d in ("min", "relevant", "retrieved")
    ]
    assert values == pytest.approx([5 / 9, 1 / 3, 5 / 6])
