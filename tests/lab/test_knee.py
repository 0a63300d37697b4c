"""The knee of a curve: where Kneedle must find it, and where there is none."""

from __future__ import annotations

import numpy as np
import pytest

from rag_titan.lab.knee import knee_of

pytest.importorskip("kneed")
pytestmark = pytest.mark.lab
KS = [3, 5, 8, 10, 15]


def test_where_the_scaled_curve_is_farthest_above_its_diagonal() -> None:
    # worked by hand: x scales to 0, 1/6, 5/12, 7/12, 1; y to 0, 0.75, 0.875, 0.9375, 1
    # so the differences are 0, 0.583, 0.458, 0.354, 0, and the largest is at K = 5
    assert knee_of(KS, [0.4, 0.7, 0.75, 0.775, 0.8]) == 5


@pytest.mark.parametrize(
    "recalls",
    [[0.3, 0.5, 0.8, 1.0, 1.5], [0.3, 0.32, 0.4, 0.5, 0.9], [0.5] * 5],
    ids=["a straight line", "ever faster", "flat"],
)
def test_no_knee(recalls: list[float]) -> None:
    assert knee_of(KS, recalls) is None


def test_two_points_have_none() -> None:
    assert knee_of([3, 5], [0.2, 0.9]) is None


def test_a_straight_line_with_noise_has_hardly_ever_one() -> None:
    draw = np.random.default_rng(0)
    lines = [np.maximum.accumulate(np.array(KS) * 0.04 + draw.normal(0, 0.004, 5)).tolist() for _ in range(200)]
    assert sum(knee_of(KS, line) is not None for line in lines) <= 10


def test_saturation_is_found_where_it_was_planted() -> None:
    ks = list(range(1, 21))
    for at in (4, 6, 10):
        recalls = [min(k, at) / at * 0.9 for k in ks]
        assert knee_of(ks, recalls) == at
