"""The dip test: values of another implementation, its false alarms, and what it finds."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_titan.lab.dip import bimodality, critical, dip, spread


@pytest.mark.parametrize(
    ("values", "expected"),
    [  # as the package diptest 0.12 has them
        ([1, 1.1, 1.2, 9, 9.1, 9.2], 0.24375),
        ([1, 2, 4, 8, 16, 17, 18, 40, 41, 43], 0.132),
    ],
)
def test_the_values_of_another_implementation(values: list[float], expected: float) -> None:
    assert dip(np.array(values, dtype=np.float64)) == pytest.approx(expected, abs=1e-12)


@given(st.lists(st.integers(-500, 500), min_size=2, max_size=40, unique=True))
def test_it_lies_between_its_bounds_and_knows_no_scale(values: list[int]) -> None:
    x = np.sort(np.array(values, dtype=np.float64))
    found = dip(x)
    assert 1 / (2 * len(x)) - 1e-12 <= found <= 0.25 + 1e-12
    assert dip(4 * x + 3) == pytest.approx(found, abs=1e-12)
    assert dip(np.sort(-x)) == pytest.approx(found, abs=1e-12)


def test_equal_values_are_spread_over_the_step_of_the_clock() -> None:
    assert spread(np.array([2.0, 2.0, 3.0, 4.0, 5.0, 6.0])).tolist() == [2.25, 2.75, 3.5, 4.5, 5.5, 6.5]
    # two heaps that are 22 steps apart stay two: the last decimal is the step
    assert spread(np.array([8.0, 8.0, 30.0])).tolist() == [8.25, 8.75, 30.5]
    assert spread(np.array([0.5, 0.5, 0.0])).tolist() == pytest.approx([0.05, 0.525, 0.575])


FAMILIES: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "lognormal": lambda draw, n: 20 * np.exp(0.3 * draw.normal(size=n)),
    "gamma": lambda draw, n: 10 * draw.gamma(2, size=n),
    "exponential": lambda draw, n: 10 + 8 * draw.exponential(size=n),
    "pareto": lambda draw, n: 10 * (1 + draw.pareto(2, size=n)),
    "uniform": lambda draw, n: 10 + 30 * draw.random(n),
    "its worst case": lambda draw, n: 10 * 3 ** draw.random(n),
}


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("decimals", [0, 6])
def test_times_of_one_kind_are_hardly_ever_called_two(family: str, decimals: int) -> None:
    draw = np.random.default_rng(7)
    runs = [np.round(FAMILIES[family](draw, 60), decimals) for _ in range(150)]
    alarms = sum(bool(bimodality(run, ids(60))["bimodal"]) for run in runs)
    assert alarms <= 15  # 5 % of 150 are 7.5; more than 15 has a chance of 0.5 %


def ids(n: int) -> list[str]:
    return [f"q{i}" for i in range(n)]


def test_planted_cold_starts_are_found_and_named() -> None:
    draw = np.random.default_rng(0)
    for _ in range(20):
        times = 20 * np.exp(0.2 * draw.normal(size=100))
        cold = draw.choice(100, 25, replace=False)
        times[cold] *= 20
        times[cold[0]] = np.nan  # a question without a time is in no group
        found = bimodality(np.round(times), ids(100))
        assert found["bimodal"]
        assert found["slow"]["ids"] == [f"q{i}" for i in sorted(cold[1:])][:20]
        assert (found["slow"]["n"], found["fast"]["n"]) == (24, 75)


def test_a_clock_that_knows_two_values_far_apart() -> None:
    found = bimodality(np.array([8.0] * 15 + [400.0] * 15), ids(30))
    assert found["bimodal"]
    assert (found["fast"]["median_ms"], found["slow"]["median_ms"]) == (8, 400)
    assert not bimodality(np.array([8.0] * 15 + [9.0] * 15), ids(30))["bimodal"]
    assert not bimodality(np.full(30, 8.0), ids(30))["bimodal"]
    assert not bimodality(np.zeros(30), ids(30))["bimodal"]


def test_fewer_than_twenty_times_are_not_judged() -> None:
    found = bimodality(np.array([1.0] * 19 + [np.nan]), ids(20))
    assert (found["bimodal"], found["dip"]) == (None, None)
    assert found["reason"] == "not judged: it takes 20 times, and there are 19"


def test_the_critical_value_falls_with_n() -> None:
    assert critical(100) == pytest.approx(0.05113)
    assert critical(70) * np.sqrt(70) == pytest.approx(0.5039, abs=5e-4)  # between those of 50 and 100
    assert np.all(np.diff([critical(n) for n in range(20, 3000, 7)]) < 0)
