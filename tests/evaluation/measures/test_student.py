"""Tail probabilities and quantiles, against tables and scipy."""

from __future__ import annotations

import math
from statistics import NormalDist

import pytest

from rag_titan.evaluation.measures.student import Z80, Z95, normal_p, t_p, t_point


def test_the_constants_are_the_quantiles_that_they_say() -> None:
    assert pytest.approx(NormalDist().inv_cdf(0.975), abs=1e-12) == Z95
    assert pytest.approx(NormalDist().inv_cdf(0.8), abs=1e-12) == Z80


@pytest.mark.parametrize(
    ("freedom", "point"), [(1, 12.706), (2, 4.303), (5, 2.571), (10, 2.228), (29, 2.045), (60, 2.000), (120, 1.980)]
)
def test_the_points_are_those_of_the_printed_table(freedom: int, point: float) -> None:
    assert t_point(freedom) == pytest.approx(point, abs=5e-4)


@pytest.mark.parametrize("freedom", [1, 2, 7, 40, 200, 201, 10_000])
def test_a_point_leaves_outside_what_was_asked(freedom: int) -> None:
    assert t_p(t_point(freedom, Z80), freedom) == pytest.approx(0.4, abs=1e-6)
    assert t_p(t_point(freedom), freedom) == pytest.approx(0.05, abs=1e-5)


def test_nothing_is_outside_infinity_and_all_outside_zero() -> None:
    assert (t_p(math.inf, 3), t_p(0.0, 3), t_p(0.0, 4), normal_p(0.0)) == (0.0, 1.0, 1.0, 1.0)


@pytest.mark.oracle
@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 9, 30, 101, 199, 200, 201, 1000])
def test_as_scipy_has_it(freedom: int) -> None:
    stats = pytest.importorskip("scipy.stats")
    for t in (0.0, 0.3, 1.0, 2.0, 4.0, 10.0):
        assert t_p(-t, freedom) == pytest.approx(2 * stats.t.sf(t, freedom), abs=5e-6)
    assert t_point(freedom) == pytest.approx(stats.t.isf(0.025, freedom), abs=1e-6)
