"""Intervals against sets of positions."""

from __future__ import annotations

import math
from itertools import pairwise
from unittest.mock import patch

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rag_titan.evaluation.measures import intervals as measures
from rag_titan.evaluation.measures.intervals import (
    Intervals,
    best_in_group,
    boundary_scores,
    edge_placement,
    token_scores,
)
from rag_titan.evaluation.measures.ragged import ragged

GROUPS = 3
Row = tuple[int, int, int]
LENGTHS = st.sampled_from([-2, 0, 1, 2, 3, 4, 5, 7, 8])
ROW = st.tuples(st.integers(0, 1), st.integers(2, 9), LENGTHS).map(lambda row: (row[0], row[1], row[1] + row[2]))
ROWS = st.lists(ROW, max_size=9)
SHIFTS = st.sampled_from([0, 5, 10**9])


def intervals(rows: list[Row], shift: int = 0) -> Intervals:
    columns = np.array(rows, dtype=np.int64).reshape(-1, 3).T
    return Intervals(columns[0], columns[1] + shift, columns[2] + shift)


def positions(row: Row) -> set[int]:
    return set(range(row[1], row[2]))


def slow_cover(rows: list[Row], group: int) -> set[int]:
    return set().union(*(positions(row) for row in rows if row[0] == group))


@given(ROWS, SHIFTS)
def test_covered_and_total(rows: list[Row], shift: int) -> None:
    found = intervals(rows, shift)
    assert found.covered(GROUPS).tolist() == [len(slow_cover(rows, g)) for g in range(GROUPS)]
    assert found.total(GROUPS).tolist() == [sum(len(positions(r)) for r in rows if r[0] == g) for g in range(GROUPS)]


@given(ROWS, SHIFTS)
def test_union_is_sorted_apart_and_of_the_same_positions(rows: list[Row], shift: int) -> None:
    union = intervals(rows, shift).union
    parts = list(
        zip(union.groups.tolist(), (union.starts - shift).tolist(), (union.ends - shift).tolist(), strict=True)
    )
    assert all(slow_cover(parts, g) == slow_cover(rows, g) for g in range(GROUPS))
    assert all((a[0], a[2]) < (b[0], b[1]) for a, b in pairwise(parts))


@given(ROWS, ROWS, SHIFTS)
def test_shared(rows: list[Row], spans: list[Row], shift: int) -> None:
    spans = [(g, a, max(a, b)) for g, a, b in spans]
    got = intervals(rows, shift).shared(intervals(spans, shift))
    assert got.tolist() == [len(positions(span) & slow_cover(rows, span[0])) for span in spans]


@given(ROWS, ROWS, SHIFTS)
def test_touching(rows: list[Row], spans: list[Row], shift: int) -> None:
    got = intervals(rows, shift).touching(intervals(spans, shift))
    want = [sum(bool(positions(s) & positions(r)) for r in rows if r[0] == s[0]) for s in spans]
    assert got.tolist() == want


@given(ROWS, ROWS, SHIFTS, st.integers(1, 5))
def test_holding(rows: list[Row], spans: list[Row], shift: int, block: int) -> None:
    with patch.object(measures, "_BLOCK", block):
        got = intervals(rows, shift).holding(intervals(spans, shift))
    for i, span in enumerate(spans):
        want = [j for j, r in enumerate(rows) if r[0] == span[0] and positions(span) <= positions(r)]
        assert got.values[got.offsets[i] : got.offsets[i + 1]].tolist() == (want if positions(span) else [])


def test_nothing_at_all() -> None:
    none, one = intervals([]), intervals([(0, 1, 2)])
    assert none.covered(2).tolist() == [0, 0]
    assert none.shared(one).tolist() == none.touching(one).tolist() == [0]
    assert len(none.holding(one).values) == 0
    assert len(one.holding(none)) == 0


@given(ROWS, ROWS)
def test_token_scores(retrieved: list[Row], gold: list[Row]) -> None:
    r, g = ([slow_cover(rows, group) for group in range(GROUPS)] for rows in (retrieved, gold))
    sizes = ([len(a) for a in r], [len(b) for b in g], [len(a & b) for a, b in zip(r, g, strict=True)])
    got = token_scores(*(np.array(s) for s in sizes))
    for i, (a, b) in enumerate(zip(r, g, strict=True)):
        want = [len(a & b) / len(whole) if whole else math.nan for whole in (b, a, a | b)]
        np.testing.assert_array_equal([score[i] for score in got], want)


@given(st.lists(st.tuples(st.integers(0, GROUPS - 1), st.sampled_from([0.0, 0.5, 1.0])), max_size=8))
def test_best_in_group(pairs: list[tuple[int, float]]) -> None:
    pairs = sorted(pairs, key=lambda pair: pair[0])
    groups = np.array([group for group, _ in pairs], dtype=np.int64)
    got = best_in_group(np.array([score for _, score in pairs]), groups, GROUPS)
    for group in range(GROUPS):
        scores = {i: score for i, (g, score) in enumerate(pairs) if g == group}
        assert got[group] == (max(scores, key=lambda i: (scores[i], -i)) if scores else -1)


@given(st.lists(st.lists(st.booleans(), max_size=6), max_size=5))
def test_edge_placement(lists: list[list[bool]]) -> None:
    want = []
    for marks in lists:
        places = [i for i, mark in enumerate(marks) if mark]
        values = [abs(2 * i / (len(marks) - 1) - 1) if len(marks) > 1 else 1.0 for i in places]
        want.append(sum(values) / len(values) if values else math.nan)
    np.testing.assert_allclose(edge_placement(ragged(lists, dtype=bool)), want, rtol=1e-12, atol=1e-12)


POINTS = st.sets(st.integers(0, 30), max_size=6).map(sorted)


@given(POINTS, POINTS, st.integers(0, 8))
def test_boundary_scores(found: list[int], ideal: list[int], tolerance: int) -> None:
    near = [any(abs(a - b) <= tolerance for b in ideal) for a in found]
    recovered = [any(abs(a - b) <= tolerance for a in found) for b in ideal]
    p = sum(near) / len(near) if near else 0.0
    r = sum(recovered) / len(recovered) if recovered else 0.0
    want = math.nan if not found and not ideal else 2 * p * r / (p + r) if p and r else 0.0
    got = boundary_scores(np.array(found, dtype=np.int64), np.array(ideal, dtype=np.int64), tolerance)
    np.testing.assert_allclose(got, want, rtol=1e-12)
