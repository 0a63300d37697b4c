from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_titan.errors import SettingsError
from rag_titan.evaluation.limits import above, below, number


@pytest.mark.parametrize(
    ("value", "minimum", "expected"), [(0.88, 0.9 - 0.02, False), (0.8, 0.8, False), (0.79, 0.8, True)]
)
def test_below_forgives_rounding_and_nothing_more(value: float, minimum: float, expected: bool) -> None:
    assert below(value, minimum) is expected
    assert above(-value, -minimum) is expected


@given(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6))
def test_a_value_is_never_both_below_and_above(value: float, limit: float) -> None:
    assert not (below(value, limit) and above(value, limit))


@pytest.mark.parametrize("value", [True, "0.5", None, math.nan, math.inf, -math.inf, -0.1, [1], 10**400])
def test_what_is_no_finite_number_from_the_lowest_on_is_refused_with_its_place(value: object) -> None:
    with pytest.raises(SettingsError, match=r"^weights\.x: must be a finite number from 0, got "):
        number(value, "weights.x", 0)


@pytest.mark.parametrize("value", [1, 1.5, np.float32(0.5), np.int64(3)])
def test_numbers_of_every_type_become_plain_floats(value: float) -> None:
    assert type(number(value, "x")) is float
    assert number(value, "x") == value


def test_a_number_above_the_highest_is_refused() -> None:
    with pytest.raises(SettingsError, match="from 0 to 10, got 11"):
        number(11, "x", 0, 10)
