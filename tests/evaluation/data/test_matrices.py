"""Lists of numbers to one matrix, and the errors that name the row."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_titan.errors import DatasetError
from rag_titan.evaluation.data.matrices import matrix_of

FINITE = st.floats(-1e150, 1e150) | st.integers(-(10**6), 10**6)


def read(rows: Any) -> np.ndarray:
    return matrix_of("v", lambda i: f"[{i}]", rows)


@given(st.integers(1, 5).flatmap(lambda d: st.lists(st.lists(FINITE, min_size=d, max_size=d), min_size=1)))
def test_lists_tuples_and_arrays_make_the_same_matrix(rows: list[list[float]]) -> None:
    want = np.array(rows, dtype=np.float64)
    forms = (rows, [tuple(row) for row in rows], [np.array(row, dtype=np.float64) for row in rows], want)
    for form in (*forms, [np.array(rows[0], dtype=np.float64), *rows[1:]], np.array(rows, dtype=object)):
        got = read(form)
        assert got.dtype == np.float64
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize(
    ("given_as", "kept_as"),
    [
        ("float32", "float32"),
        ("float16", "float64"),
        ("float64", "float64"),
        ("int8", "float64"),
        ("uint64", "float64"),
    ],
)
def test_float32_is_kept_and_the_rest_becomes_float64(given_as: str, kept_as: str) -> None:
    matrix = np.array([[1, 2], [3, 4]], dtype=given_as)
    for form in (matrix, list(matrix)):
        assert read(form).dtype == np.dtype(kept_as)


def test_the_matrix_is_in_the_order_of_its_rows_in_memory() -> None:
    assert read(np.asfortranarray(np.ones((3, 4)))).flags.c_contiguous


def test_nothing_is_an_empty_matrix() -> None:
    assert read([]).shape == (0, 0)


@pytest.mark.parametrize(
    ("rows", "where", "said"),
    [
        ([[1, 2], [1]], "v[1]", "must have 2 numbers as the others (such as [0]), got 1."),
        ([[1], [1, 2], [3, 4]], "v[0]", "must have 2 numbers as the others (such as [1]), got 1."),
        ([[1, 2], [1], [1, 2], [1, 2, 3]], "v[1]", "Another length is also at [3]."),
        ([[1], *[[1, 2]] * 30, *[[1]] * 25], "v[0]", "[49], [50] and 5 more."),
        ([np.ones(2), np.ones(3)], "v[1]", "must have 2 numbers"),
        ([[1, 2], [1, float("nan")]], "v[1]", "got nan at position 1."),
        ([[1, 2], [float("-inf"), 1]], "v[1]", "got -inf at position 0."),
        (np.array([[1, 2], [1, np.nan]], dtype=np.float32), "v[1]", "got nan at position 1."),
        ([np.ones(2), np.array([np.inf, 1])], "v[1]", "got inf at position 0."),
        ([[1.0, 2e150]], "v[0]", "up to 1e150, got 2e+150 at position 1."),
        ([[1, 10**400]], "v[0]", "must hold finite numbers"),
        ([[1, "2"]], "v[0]", "must hold numbers only, got '2' at position 1."),
        ([[1, None]], "v[0]", "must hold numbers only, got None at position 1."),
        ([[1, [2]]], "v[0]", "must hold numbers only, got [2] at position 1."),
        ([[1, 2], "ab"], "v[1]", "must be a list of numbers, got str."),
        ([[1, 2], None], "v[1]", "must be a list of numbers, got NoneType."),
        ([7], "v[0]", "must be a list of numbers, got int."),
        (np.array([7.0]), "v[0]", "must be a list of numbers, got float64."),
        ([[], [1]], "v[0]", "must have at least one number, got an empty list. Leave the id out."),
        (np.empty((2, 0)), "v[0]", "must have at least one number"),
        (np.array([["a", "b"]]), "v[0]", "must hold numbers only, got 'a' at position 0."),
        (np.array([[True]]), "v[0]", "must hold numbers only, got True at position 0."),
        (np.array([[1j]]), "v[0]", "must hold numbers only, got 1j at position 0."),
        ([np.array([[1.0, 2.0]])], "v[0]", "must hold numbers only, got [1.0, 2.0] at position 0."),
    ],
)
def test_an_error_names_the_row_and_the_rule(rows: Any, where: str, said: str) -> None:
    with pytest.raises(DatasetError) as caught:
        read(rows)
    assert caught.value.where == where
    assert said in caught.value.rule


@given(
    st.lists(
        st.lists(FINITE | st.sampled_from([None, "x", True, float("nan"), 10**400, 1j, Decimal(1)]), max_size=3)
        | st.sampled_from([None, "ab", 3])
    )
)
def test_whatever_is_given_makes_a_finite_matrix_or_a_dataset_error(rows: list[Any]) -> None:
    try:
        matrix = read(rows)
    except DatasetError:
        return
    assert np.isfinite(matrix).all()
    assert len(matrix) == len(rows)
