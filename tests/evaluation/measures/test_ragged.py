"""Lists of different lengths in one array, against plain Python lists."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_titan.evaluation.measures.ragged import offsets_of, ragged

LISTS = st.lists(st.lists(st.integers(-9, 9), max_size=5), max_size=6)


def lists_of(table: object) -> list[list[int]]:
    values, offsets = table.values.tolist(), table.offsets.tolist()  # type: ignore[attr-defined]
    return [values[a:b] for a, b in pairwise(offsets)]


@given(lists=LISTS)
def test_what_goes_in_comes_out(lists: list[list[int]]) -> None:
    table = ragged(lists)
    assert (len(table), lists_of(table)) == (len(lists), lists)
    assert table.lengths.tolist() == [len(x) for x in lists]
    assert table.rows.tolist() == [i for i, x in enumerate(lists) for _ in x]
    assert table.places.tolist() == [j for x in lists for j in range(len(x))]


@given(lists=LISTS, seed=st.integers(0, 2**16))
def test_keeping_some_elements(lists: list[list[int]], seed: int) -> None:
    table = ragged(lists)
    mask = np.random.default_rng(seed).random(len(table.values)) < 0.5
    flags = iter(mask.tolist())
    assert lists_of(table.keep(mask)) == [[v for v in x if next(flags)] for x in lists]


@given(lists=LISTS)
def test_sums_of_lists_and_of_empty_ones(lists: list[list[int]]) -> None:
    table = ragged(lists)
    assert table.sums(table.values).tolist() == [float(sum(x)) for x in lists]
    assert table.sums(table.values > 0).tolist() == [float(sum(v > 0 for v in x)) for x in lists]


@pytest.mark.parametrize("lengths", [[], [0], [3, 0, 2], np.array([1, 1])])
def test_offsets(lengths: list[int]) -> None:
    offsets = offsets_of(lengths)
    assert (offsets.dtype, offsets[0], len(offsets)) == (np.int64, 0, len(lengths) + 1)
    assert np.diff(offsets).tolist() == list(lengths)
