"""The dip test of unimodality (Hartigan and Hartigan 1985): are these values of one kind, or of two?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

LEAST = 20  # values
MOST = 20_000  # of which the dip is taken; of more, evenly spaced quantiles
NAMED = 20  # slow questions
FEW_VALUES, MOST_DECIMALS = 4, 6  # of a clock's steps
# (n, the 95 % quantile of sqrt(n) times the dip of n uniform values): simulated by Maechler (the R package diptest)
_CRITICAL = (
    (20, 0.4702), (30, 0.4829), (50, 0.4969), (100, 0.5113), (200, 0.5210), (500, 0.5306), (1000, 0.5355),
    (2000, 0.5384), (5000, 0.5410), (20_000, 0.5435),
)  # fmt: skip


def dip(values: Floats) -> float:
    """The dip of a sample: how far its distribution function is from the nearest that has one mode, 1/(2n) to 1/4.

    values  (n,) strictly increasing, n >= 1; see `spread` for ties

    The greatest convex minorant and the least concave majorant of the distribution function are narrowed to the modal
    interval (algorithm AS 217, Hartigan 1985, with the correction of its loop by Maechler).

    >>> dip(np.array([1.0, 2.0, 3.0, 4.0]))
    0.125
    >>> round(dip(np.array([1.0, 1.1, 1.2, 9.0, 9.1, 9.2])), 3)  # two clusters
    0.244
    """
    n = len(values)
    low, high, found = 0, n - 1, 1.0
    while low < high:
        within = slice(low, high + 1)
        x, ranks = values[within], np.arange(low, high + 1, dtype=np.float64)
        below, above = _hull(x, ranks, 1.0), _hull(x, ranks + 1, -1.0)
        minorant, majorant = np.interp(x, x[below], ranks[below]), np.interp(x, x[above], ranks[above] + 1)
        gaps = majorant - minorant
        at = int(np.argmax(gaps))
        if gaps[at] <= found:
            break
        left = int(below[np.searchsorted(below, at, "right") - 1])
        right = int(above[np.searchsorted(above, at, "left")])
        outside_left = (ranks + 1 - minorant)[: left + 1].max() if left else 0.0
        outside_right = (majorant - ranks)[right:].max() if right < len(x) - 1 else 0.0
        found = max(found, outside_left, outside_right)
        if (left, right) == (0, len(x) - 1):
            break
        low, high = low + left, low + right
    return float(found / (2 * n))


def spread(values: Floats) -> Floats:
    """(n,) the values sorted, equal ones spread evenly over the step of the clock that made them equal.

    A clock that counts whole milliseconds makes every value a heap of its own; the dip would take the heaps for modes.
    The step is the distance of neighbouring values where most are as far apart; else the last decimal that is used.

    >>> spread(np.array([5.0, 7.0, 6.0, 6.0])).tolist()
    [5.5, 6.25, 6.75, 7.5]
    """
    ordered = np.sort(values)
    distinct, firsts, counts = np.unique(ordered, return_index=True, return_counts=True)
    place, of = np.arange(len(ordered)) - np.repeat(firsts, counts), np.repeat(counts, counts)
    return np.asarray(ordered + _step(distinct) * (place + 0.5) / of, dtype=np.float64)


def _step(distinct: Floats) -> float:
    gaps = np.diff(distinct)
    if len(gaps) >= FEW_VALUES and np.median(gaps) <= 1.5 * gaps.min():
        return float(gaps.min())
    decimals = (d for d in range(MOST_DECIMALS) if np.allclose(np.rint(distinct * 10**d), distinct * 10**d, atol=1e-6))
    return float(10.0 ** -next(decimals, MOST_DECIMALS))


def bimodality(times: Floats, ids: Sequence[str]) -> dict[str, Any]:
    """Whether times are of two kinds: the dip test on their logarithms, at 5 %.

    times  (n,) milliseconds, NaN where there is none
    ids    of the questions, for the slow ones

    Every distribution with one mode is called bimodal at most as often as the uniform one, 5 % (Hartigan and Hartigan
    1985); of lognormal, gamma, exponential and Pareto times at most 3 % were. A few slow calls are no mode: of slow
    calls 20 times as long, most runs show 30 % among 20 times, 25 % of 50, 18 % of 100, 12 % of 200, 10 % of 500 and
    6 % of 1,000. Returns "bimodal", None for fewer than 20 times; "dip" and the "critical" value that
    it must exceed; and where it does, the two groups, "fast" and "slow", split where their logarithms differ most.
    """
    known = ~np.isnan(times)
    n = int(np.count_nonzero(known))
    found: dict[str, Any] = {"test": "dip", "n": n, "dip": None, "critical": None, "bimodal": None}
    if n < LEAST:
        return {**found, "reason": f"not judged: it takes {LEAST} times, and there are {n}"}
    ordered = np.log(spread(times[known]))
    thin = ordered if n <= MOST else ordered[np.linspace(0, n - 1, MOST).astype(np.int64)]
    found |= {"dip": dip(thin), "critical": critical(len(thin))}
    found["bimodal"] = bool(found["dip"] > found["critical"])
    against = f"dip {found['dip']:.3f}, critical {found['critical']:.3f} at 5 %, n = {n}"
    if not found["bimodal"]:
        return {**found, "reason": f"one mode ({against})"}
    groups = _groups(times, ids, ordered)
    fast, slow = groups["fast"], groups["slow"]
    said = f"{slow['n']} of {n} take about {slow['median_ms']:,.0f} ms, the others {fast['median_ms']:,.0f} ms"
    return {**found, **groups, "reason": f"two modes ({against}): {said}; look for cold starts or a reloaded model"}


def critical(n: int) -> float:
    """The dip that 95 % of uniform samples of n values stay below, n >= 20."""
    sizes, scaled = zip(*_CRITICAL, strict=True)
    return float(np.interp(np.log(n), np.log(sizes), scaled) / np.sqrt(n))


def _groups(times: Floats, ids: Sequence[str], ordered: Floats) -> dict[str, Any]:
    """The two groups with the most variance between them (Otsu 1979)."""
    n = len(ordered)
    sizes = np.arange(1, n)
    sums = np.cumsum(ordered)[:-1]
    between = (sums - sizes * ordered.mean()) ** 2 / (sizes * (n - sizes))
    count = int(np.argmax(between)) + 1
    order = np.argsort(times, kind="stable")[:n]  # NaN stands behind all
    fast, slow = order[:count], order[count:]
    return {
        "fast": {"n": count, "median_ms": float(np.median(times[fast]))},
        "slow": {"n": n - count, "median_ms": float(np.median(times[slow])),
                 "ids": [ids[i] for i in np.sort(slow)[:NAMED]]},
    }  # fmt: skip


def _hull(x: Floats, y: Floats, side: float) -> NDArray[np.int64]:
    """The places of the lower (side 1) or upper (side -1) convex hull of points whose x rise."""
    across, up, kept = x.tolist(), (side * y).tolist(), [0]
    for i in range(1, len(across)):
        while len(kept) > 1:
            a, b = kept[-2], kept[-1]
            if (up[i] - up[b]) * (across[b] - across[a]) > (up[b] - up[a]) * (across[i] - across[b]):
                break
            kept.pop()
        kept.append(i)
    return np.array(kept, dtype=np.int64)
