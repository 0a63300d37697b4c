"""Do the intervals hold the true mean as often as they say, and does a test call chance a change as seldom?"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from rag_titan.evaluation.measures.resampling import interval95, paired, two_samples
from rag_titan.evaluation.measures.sums import Moments

Floats = NDArray[np.float64]
Draw = Callable[[np.random.Generator, tuple[int, int]], Floats]


class Kind(NamedTuple):
    """A distribution, its true mean, the range that the evaluator knows of it."""

    draw: Draw
    mean: float
    low: float = 0.0
    high: float = 1.0


def share(p: float) -> Kind:
    return Kind(lambda rng, size: (rng.random(size) < p).astype(np.float64), p)


def zeros_and(p: float, a: float, b: float) -> Kind:
    return Kind(lambda rng, size: np.where(rng.random(size) < p, 0.0, rng.beta(a, b, size)), (1 - p) * a / (a + b))


KINDS = {
    "share 0.5": share(0.5),
    "share 0.8": share(0.8),
    "share 0.9": share(0.9),
    "share 0.97": share(0.97),
    "beta(0.5, 3)": Kind(lambda rng, size: rng.beta(0.5, 3, size), 0.5 / 3.5),
    "beta(5, 1)": Kind(lambda rng, size: rng.beta(5, 1, size), 5 / 6),
    "exponential": Kind(lambda rng, size: rng.exponential(1.0, size), 1.0, 0.0, math.inf),
    "lognormal(0, 0.7)": Kind(
        lambda rng, size: rng.lognormal(0.0, 0.7, size), math.exp(0.245), 0.0, math.inf
    ),
    "half zeros, F1": zeros_and(0.5, 2, 2),
    "nine tenths zeros": zeros_and(0.9, 2, 2),
    "recall of three": Kind(lambda rng, size: rng.binomial(3, 0.8, size) / 3, 0.8),
    "uniform": Kind(lambda rng, size: rng.random(size), 0.5),
    "normal": Kind(lambda rng, size: rng.normal(0.1, 0.3, size), 0.1, -math.inf, math.inf),
}  # fmt: skip


def held(kind: Kind, n: int, runs: int) -> float:
    """The share of the runs whose interval holds the true mean."""
    found = 0
    for values in kind.draw(np.random.default_rng(n), (runs, n)):
        ends = interval95(Moments.of(values), kind.low, kind.high, values)
        found += ends is not None and ends[0] <= kind.mean <= ends[1]
    return found / runs


@pytest.mark.slow
@pytest.mark.parametrize("n", [30, 100, 1000])
@pytest.mark.parametrize("name", KINDS)
def test_intervals_hold_the_mean_in_92_to_98_of_100_runs(name: str, n: int) -> None:
    assert 0.92 <= held(KINDS[name], n, 2_000) <= 0.98


@pytest.mark.parametrize("name", ["share 0.8", "beta(0.5, 3)", "half zeros, F1", "normal"])
def test_intervals_hold_the_mean_in_a_few_runs(name: str) -> None:
    assert 0.91 <= held(KINDS[name], 30, 300) <= 0.99


def no_smaller_than_it_says(p: Floats) -> None:
    """P(p <= a) <= a, but for four standard errors of the simulation."""
    for a in (0.01, 0.05, 0.1, 0.2):
        assert (p <= a).mean() <= a + 4 * math.sqrt(a * (1 - a) / len(p)), a


def uniform(p: Floats) -> None:
    """No farther from uniform than chance allows once in a thousand times (Kolmogorov and Smirnov)."""
    ranks = np.arange(1, len(p) + 1) / len(p)
    assert np.abs(np.sort(p) - ranks).max() < 1.95 / math.sqrt(len(p))


@pytest.mark.parametrize("name", ["normal", "exponential", "share 0.8", "nine tenths zeros"])
@pytest.mark.parametrize(
    ("n", "runs"), [(30, 400), *(pytest.param(n, 4_000, marks=pytest.mark.slow) for n in (12, 100))]
)
def test_without_a_change_p_is_no_smaller_than_it_says(name: str, n: int, runs: int) -> None:
    rng = np.random.default_rng(n)
    draw = KINDS[name].draw
    p = paired(draw(rng, (n, runs)) - draw(rng, (n, runs))).p
    no_smaller_than_it_says(p)
    if name in ("normal", "exponential"):
        uniform(p)


def independent(kind: Kind, n: int, m: int, runs: int) -> Floats:
    """The p of runs on two sets of n and m questions without a change."""
    rng, p = np.random.default_rng(n + m), []
    for pair in zip(kind.draw(rng, (runs, n)), kind.draw(rng, (runs, m)), strict=True):
        one, other = ((float(v.mean()), interval95(Moments.of(v), kind.low, kind.high, v), len(v)) for v in pair)
        if one[1] is None or other[1] is None:
            p.append(1.0)
            continue
        p.append(two_samples((one[0], one[1], n), (other[0], other[1], m))[2])
    return np.array(p)


@pytest.mark.parametrize("name", ["normal", "exponential", "share 0.8", "half zeros, F1"])
@pytest.mark.parametrize(
    ("n", "m", "runs"),
    [(30, 30, 200), *(pytest.param(n, m, 2_000, marks=pytest.mark.slow) for n, m in ((30, 60), (300, 200)))],
)
def test_without_a_change_two_samples_are_seldom_called_different(name: str, n: int, m: int, runs: int) -> None:
    p = independent(KINDS[name], n, m, runs)
    no_smaller_than_it_says(p)
    if name == "normal" and n > 100:
        uniform(p)
