"""Samples: exact quantiles, merging, and the buckets above the limit."""

from __future__ import annotations

import math
import pickle
from itertools import chain
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_titan.evaluation.measures import latency
from rag_titan.evaluation.measures.latency import RELATIVE_ERROR, Sample, inter_token_ms, unexplained_ms

TIMES = st.lists(st.floats(0, 1e12) | st.sampled_from([0.0, 1.0, 100.0]), max_size=40)
SIGNED = st.lists(st.floats(-1e12, 1e12) | st.sampled_from([0.0, -0.0, 5e-324, -5e-324, 2.3e-308]), max_size=40)
SHARES = st.floats(0, 1)


def array(values: list[float]) -> np.ndarray:
    return np.array(values, dtype=np.float64)


def slow_quantile(values: list[float], q: float) -> float | None:
    """Linear interpolation between the two nearest of the sorted values."""
    if not values:
        return None
    ordered, place = sorted(values), q * (len(values) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def test_the_percentiles_of_100_and_300_are_200_and_290() -> None:
    sample = Sample.of(array([300.0, 100.0]))
    assert (sample.quantile(0.5), sample.quantile(0.95)) == (200.0, 290.0)


def test_one_value_is_every_quantile() -> None:
    assert {Sample.of(array([7.0])).quantile(q) for q in (0, 0.3, 1)} == {7.0}


def test_nothing_measured_has_no_quantile() -> None:
    assert Sample().quantile(0.5) is None
    assert Sample.of(array([math.nan, math.nan])).quantile(0.5) is None
    assert Sample.of(array([math.nan])).merge(Sample()).n == 0


def test_an_infinite_value_is_refused() -> None:
    with pytest.raises(ValueError, match="finite"):
        Sample.of(array([1.0, math.inf]))


@given(SIGNED, SHARES)
def test_quantiles_are_those_of_the_slow_twin(values: list[float], q: float) -> None:
    fast, slow = Sample.of(array(values)).quantile(q), slow_quantile(values, q)
    rounding = 1e-15 * max(map(abs, values), default=0)
    assert fast == (None if slow is None else pytest.approx(slow, rel=1e-12, abs=rounding))


@pytest.mark.oracle
@given(TIMES.filter(len), st.sampled_from([0, 5, 50, 95, 99, 100]))
def test_quantiles_are_those_of_numpy(values: list[float], percent: int) -> None:
    assert Sample.of(array(values)).quantile(percent / 100) == np.percentile(array(values), percent)


@given(st.lists(TIMES, max_size=8), SHARES, st.booleans())
def test_batches_and_their_order_change_nothing(batches: list[list[float]], q: float, few: bool) -> None:
    with patch.object(latency, "EXACT_UP_TO", 6 if few else 10**6):
        whole = Sample.of(array(list(chain.from_iterable(batches))))
        forward, backward = Sample(), Sample()
        for batch in batches:
            forward = forward.merge(Sample.of(array(batch)))
            backward = Sample.of(array(batch)).merge(backward)
        assert whole.quantile(q) == forward.quantile(q) == backward.quantile(q)
        assert whole.exact == forward.exact == backward.exact == (whole.n <= (6 if few else 10**6))


@given(SIGNED.filter(lambda values: len(values) > 3))
def test_above_the_limit_each_value_is_known_to_a_thousandth(values: list[float]) -> None:
    with patch.object(latency, "EXACT_UP_TO", 3):
        sample = Sample.of(array(values))
    assert not sample.exact
    assert sample.relative_error == RELATIVE_ERROR < 0.001
    for place, value in enumerate(sorted(values)):
        assert sample._buckets is not None
        assert sample._buckets._value(place, sample.n) == pytest.approx(value, rel=RELATIVE_ERROR, abs=5e-311)


@given(TIMES.filter(lambda values: len(values) > 3), SHARES)
def test_a_quantile_of_times_above_the_limit_is_off_by_a_thousandth_at_most(values: list[float], q: float) -> None:
    with patch.object(latency, "EXACT_UP_TO", 3):
        fast = Sample.of(array(values)).quantile(q)
    assert fast == pytest.approx(slow_quantile(values, q), rel=RELATIVE_ERROR * 1.0001, abs=1e-300)


def test_the_ends_are_exact_above_the_limit() -> None:
    with patch.object(latency, "EXACT_UP_TO", 1):
        sample = Sample.of(array([123.456, 7.1, 99.9]))
    assert (sample.quantile(0.0), sample.quantile(1.0)) == (7.1, 123.456)


def test_the_number_of_values_alone_decides_when_they_are_counted() -> None:
    with patch.object(latency, "EXACT_UP_TO", 4):
        four = Sample.of(array([1.0, 2.0])).merge(Sample.of(array([3.0, 4.0])))
        assert (four.exact, four.relative_error) == (True, 0.0)
        assert not four.merge(Sample.of(array([5.0]))).exact


@given(st.lists(TIMES, max_size=6), SHARES)
def test_a_limit_of_its_own_is_kept_in_whatever_order_batches_come(batches: list[list[float]], q: float) -> None:
    whole = Sample.of(array(list(chain.from_iterable(batches))), 5)
    forward, backward = Sample(), Sample()
    for batch in batches:
        forward = forward.merge(Sample.of(array(batch), 5))
        backward = pickle.loads(pickle.dumps(Sample.of(array(batch), 5))).merge(backward)
    assert whole.quantile(q) == forward.quantile(q) == backward.quantile(q)
    assert whole.exact == forward.exact == backward.exact == (whole.n <= 5)


def test_a_share_outside_0_to_1_is_refused_on_both_sides_of_the_limit() -> None:
    for limit in (1, 10):
        with patch.object(latency, "EXACT_UP_TO", limit):
            sample = Sample.of(array([1.0, 2.0]))
        with pytest.raises(ValueError, match=r"[Qq]uantile"):
            sample.quantile(1.5)


def test_merging_copies_no_large_array() -> None:
    large = Sample.of(np.arange(1000.0))
    merged = large.merge(Sample.of(array([5.0])))
    assert merged._chunks[0] is large._chunks[0]
    for value in range(300):
        merged = merged.merge(Sample.of(array([float(value)])))
    assert len(merged._chunks) <= 11


def test_a_pickle_is_8_bytes_a_value_and_a_counted_sample_stays_small() -> None:
    values = np.random.default_rng(0).lognormal(5, 1, 20_000)
    exact = Sample.of(values)
    assert len(pickle.dumps(exact)) < 8 * 20_000 + 1000
    with patch.object(latency, "EXACT_UP_TO", 1000):
        counted = Sample.of(values)
    assert len(pickle.dumps(counted)) < 12 * 8000 + 1000  # 8,000 buckets span 16 doublings
    for sample in (exact, counted):
        again = pickle.loads(pickle.dumps(sample))
        assert (again.n, again.exact, again.quantile(0.95)) == (20_000, sample.exact, sample.quantile(0.95))


def test_time_between_tokens() -> None:
    got = inter_token_ms(array([500, 500, 100, math.nan]), array([100, 100, 200, 1]), array([5, 1, 9, 9]))
    assert got[0] == 100.0
    assert np.isnan(got[1:]).all()


def test_the_unexplained_rest_counts_a_missing_part_as_unexplained() -> None:
    nan = math.nan
    got = unexplained_ms(array([10, 10, 10, nan, 10]), [array([4, nan, nan, 1, 8]), array([5, 5, nan, 1, 8])])
    np.testing.assert_array_equal(got, [1, 5, nan, nan, -6])
