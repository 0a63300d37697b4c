"""How the time of a query grows with the corpus: the slope of log time against log N, with its interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag_titan.evaluation.measures.student import t_point
from rag_titan.lab.query_times import groups

Floats = NDArray[np.float64]

FLAT, LINEAR = 0.6, 0.8  # slopes of log latency against log N; sqrt(N) lists have 0.5, graphs less
TELLING = 100_000  # vectors: with fewer, a scan, too, costs hardly more than the call
SPAN = 10  # between the smallest corpus and the largest: over less, the cost of a call and of memory hides the growth
NEAR_FLAT, BRUTE_FORCE, UNDECIDED = "near flat", "linear: brute force suspected", "undecided"


def growth(times: Floats, sizes: Sequence[int]) -> dict[str, Any]:
    """Of times (rounds, sizes, m), sizes ascending: {"slope", "ci95", "last_slope", "verdict"}.

    Each is None where it cannot be known; the verdict also where the sizes are less than ten times apart. With a
    largest size below 100,000 nothing is called near flat.

    Other programs only ever add to a time, so the time of a query is the smallest of its rounds (Chen and Revels 2016,
    "Robust benchmarking in noisy environments"). For each of 10 groups of queries, which were asked at other moments,
    the median over the queries gives a slope by least squares; `slope` is their mean. `ci95` is Student's interval over
    the groups, or that of the slopes of single rounds where it is wider.
    """
    nothing = {"slope": None, "ci95": None, "last_slope": None, "verdict": None}
    best = times.min(axis=0)
    if len(sizes) < 2 or len(times) < 2 or times.shape[2] < 2 or not best.all():
        return nothing
    middles = np.stack([np.median(best[:, group], axis=1) for group in groups(best.shape[1])])
    by_group, last = _slopes(middles, sizes)
    by_round, _ = _slopes(np.median(times, axis=2), sizes)
    reach = max(_reach(by_group), _reach(by_round))
    slope = float(by_group.mean())
    return {
        "slope": slope, "ci95": [slope - reach, slope + reach], "last_slope": float(last.mean()),
        "verdict": _verdict(slope - reach, slope + reach, sizes),
    }  # fmt: skip


def _verdict(low: float, high: float, sizes: Sequence[int]) -> str | None:
    if sizes[-1] < SPAN * sizes[0]:
        return None
    said = verdict(low, high)
    return UNDECIDED if said == NEAR_FLAT and sizes[-1] < TELLING else said


def _slopes(times: Floats, sizes: Sequence[int]) -> tuple[Floats, Floats]:
    """(p,) the slope of each row of times (p, sizes), and (p,) that between the two largest sizes."""
    x, y = np.log(sizes), np.log(times)
    spread = x - x.mean()
    return y @ spread / (spread**2).sum(), (y[:, -1] - y[:, -2]) / (x[-1] - x[-2])


def _reach(slopes: Floats) -> float:
    """Half of the 95 % interval of their mean."""
    return t_point(len(slopes) - 1) * float(slopes.std(ddof=1)) / math.sqrt(len(slopes))


def verdict(low: float, high: float) -> str:
    """What the interval of the slope of log time against log N says.

    "near flat" where all of it is below 0.6, "linear: brute force suspected" where all is above 0.8, else "undecided".

    >>> verdict(0.1, 0.3), verdict(0.9, 1.1), verdict(0.3, 0.9)
    ('near flat', 'linear: brute force suspected', 'undecided')
    """
    if high < FLAT:
        return NEAR_FLAT
    return BRUTE_FORCE if low > LINEAR else UNDECIDED
