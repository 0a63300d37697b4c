"""Sums that are exact in any order and in any batches, against Python's fractions."""

from __future__ import annotations

import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_titan.evaluation.measures import sums
from rag_titan.evaluation.measures.sums import Moments, exact_sum

UNIT = Fraction(1, 2**1074)
FINITE = st.floats(allow_nan=False, allow_infinity=False)
MODERATE = st.floats(-1e100, 1e100)
RATES = st.one_of(st.floats(0, 1), st.just(math.nan))


def array(values: list[float]) -> np.ndarray:
    return np.array(values, dtype=np.float64)


@given(values=st.lists(FINITE, max_size=40))
def test_the_sum_is_the_sum_of_the_fractions(values: list[float]) -> None:
    assert exact_sum(array(values)) * UNIT == sum(map(Fraction, values), Fraction(0))


@pytest.mark.parametrize(
    "values",
    [
        [1e308, 1e-308, -1e308],
        [5e-324, 5e-324],
        [-5e-324],
        [2.2e-308, -2.2e-308, 1.0],
        [1.7976931348623157e308] * 3,
        [0.1] * 10,
        [-0.0],
        [],
    ],
)
def test_the_edges_of_the_floats(values: list[float]) -> None:
    assert exact_sum(array(values)) * UNIT == sum(map(Fraction, values), Fraction(0))


def test_many_values_are_summed_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(1).normal(size=1000)
    whole = exact_sum(values)
    monkeypatch.setattr(sums, "_SAFE", 7)
    assert exact_sum(values) == whole == int(sum(map(Fraction, values.tolist())) / UNIT)


@given(values=st.lists(RATES, max_size=30), cuts=st.lists(st.integers(0, 30), max_size=3), seed=st.integers(0, 99))
def test_neither_order_nor_batches_change_a_digit(values: list[float], cuts: list[int], seed: int) -> None:
    whole = Moments.of(array(values))
    mixed = np.random.default_rng(seed).permutation(array(values))
    parts = [Moments.of(part) for part in np.split(mixed, sorted(cuts))]
    merged = Moments()
    for part in parts:
        merged = pickle.loads(pickle.dumps(part)).merge(merged)
    assert merged == whole
    assert (merged.mean(), merged.variation(), merged.lowest()) == (whole.mean(), whole.variation(), whole.lowest())


@given(values=st.lists(st.one_of(MODERATE, st.just(math.nan)), max_size=30))
def test_the_mean_is_the_true_one_rounded_once(values: list[float]) -> None:
    measured = [v for v in values if not math.isnan(v)]
    moments = Moments.of(array(values))
    assert moments.n == len(measured)
    if not measured:
        assert (moments.mean(), moments.lowest(), moments.highest(), moments.variance()) == (None,) * 4
        return
    assert moments.mean() == float(sum(map(Fraction, measured)) / len(measured))
    assert (moments.lowest(), moments.highest()) == (min(measured), max(measured))


@given(values=st.lists(st.floats(-1e6, 1e6).map(lambda v: round(v, 3)), min_size=1, max_size=20))
def test_the_variance_is_that_of_the_population(values: list[float]) -> None:
    exact = [Fraction(v) for v in values]
    mean = sum(exact) / len(exact)
    variance = float(sum((v - mean) ** 2 for v in exact) / len(exact))
    got = Moments.of(array(values)).variance()
    assert got == pytest.approx(variance, rel=1e-9, abs=1e-9 * max(1.0, max(map(abs, values)) ** 2))
    assert got is not None
    assert got >= 0


def test_the_coefficient_of_variation_divides_sigma_by_mu() -> None:
    """4 and 8: mu 6, sigma 2 (population), so a third."""
    assert Moments.of(array([4, 8])).variation() == pytest.approx(1 / 3)
    assert Moments.of(array([5, 5, 5])).variation() == 0.0


@pytest.mark.parametrize("values", [[], [0, 0], [-1, 1], [math.nan]])
def test_no_coefficient_of_variation_about_a_mean_of_zero(values: list[float]) -> None:
    assert Moments.of(array(values)).variation() is None


@pytest.mark.parametrize("values", [[1e200, 1e200], [1e308, 0.0], [-1e300]])
def test_squares_beyond_the_floats_leave_the_mean_as_it_is(values: list[float]) -> None:
    moments = Moments.of(array(values))
    assert moments.mean() == float(sum(map(Fraction, values)) / len(values))
    spread = moments.variance()
    assert spread is None or math.isfinite(spread)


@given(values=st.lists(st.one_of(FINITE, RATES), max_size=30), cuts=st.lists(st.integers(0, 30), max_size=5))
@pytest.mark.parametrize("cells", [1 << 20, 1])
def test_groups_have_the_moments_that_each_has_by_itself(values: list[float], cuts: list[int], cells: int) -> None:
    offsets = np.array([0, *sorted(min(cut, len(values)) for cut in cuts), len(values)])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sums, "_CELLS", cells)
        found = Moments.of_groups(array(values), offsets)
    assert found == [Moments.of(part) for part in np.split(array(values), offsets[1:-1])]
