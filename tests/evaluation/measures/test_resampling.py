"""95 % intervals of a mean."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_titan.evaluation.measures.resampling import interval95, is_binary
from rag_titan.evaluation.measures.student import t_point
from rag_titan.evaluation.measures.sums import Moments

Z95 = NormalDist().inv_cdf(0.975)


def moments(values: list[float]) -> Moments:
    return Moments.of(np.array(values, dtype=np.float64))


def slow_wilson(successes: int, n: int) -> list[float]:
    """The two p for which the observed share lies exactly Z95 standard errors away (Wilson 1927), by bisection."""
    share = successes / n

    def edge(inside: float, outside: float) -> float:
        for _ in range(200):
            middle = (inside + outside) / 2
            if (share - middle) ** 2 <= Z95**2 * middle * (1 - middle) / n:
                inside = middle
            else:
                outside = middle
        return inside

    return [edge(share, 0.0) if successes else 0.0, edge(share, 1.0) if successes < n else 1.0]


@given(n=st.integers(2, 400), seed=st.integers(0, 10**6))
def test_shares_have_wilsons_interval(n: int, seed: int) -> None:
    successes = seed % (n + 1)
    got = interval95(moments([1.0] * successes + [0.0] * (n - successes)), 0, 1)
    assert got == pytest.approx(slow_wilson(successes, n), abs=1e-9)


def test_the_figures_of_eight_out_of_ten() -> None:
    """0.4902 to 0.9433 in every table of Wilson's interval."""
    got = interval95(moments([1.0] * 8 + [0.0] * 2))
    assert got is not None
    assert [round(x, 4) for x in got] == [0.4902, 0.9433]


@pytest.mark.parametrize("n", [2, 3, 10, 12, 23, 1000])
def test_a_share_of_nothing_or_of_all_lies_in_its_interval(n: int) -> None:
    none, all_of_them = interval95(moments([0.0] * n)), interval95(moments([1.0] * n))
    assert none is not None
    assert all_of_them is not None
    assert (none[0], all_of_them[1]) == (0.0, 1.0)


@given(values=st.lists(st.floats(-5, 5), min_size=2, max_size=80))
def test_without_values_the_interval_is_students(values: list[float]) -> None:
    of = moments(values)
    if is_binary(of) or of.low == of.high:
        return
    mean, error = np.mean(values), np.std(values, ddof=1) / math.sqrt(len(values))
    half = t_point(len(values) - 1) * error
    assert interval95(of) == pytest.approx([mean - half, mean + half], rel=1e-6, abs=1e-7)


@pytest.mark.parametrize("values", [[], [0.5], [1.0], [0.5] * 29, [0.5] * 200, [math.nan] * 40])
def test_too_few_values_have_no_interval(values: list[float]) -> None:
    """One value, or many equal ones without an end to the range, say nothing of the spread."""
    assert interval95(moments(values)) is None


@given(values=st.lists(st.one_of(st.sampled_from([0.0, 1.0]), st.floats(0, 1)), max_size=60))
def test_an_interval_holds_its_mean_and_stays_in_the_range(values: list[float]) -> None:
    got = interval95(moments(values), 0, 1)
    if got is not None:
        mean = moments(values).mean()
        assert mean is not None
        assert 0 <= got[0] <= mean + 1e-12
        assert mean - 1e-12 <= got[1] <= 1
