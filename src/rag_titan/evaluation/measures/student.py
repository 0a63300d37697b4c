"""The normal distribution and Student's t: tail probabilities and quantiles, without scipy."""

from __future__ import annotations

import math
from functools import lru_cache

Z95 = 1.959963984540054  # the 97.5 % point of the normal distribution
Z80 = 0.8416212335729143  # the 80 % point, for a power of 80 %
_SERIES_UP_TO = 200  # degrees of freedom up to which the finite series is summed; above, the normal is near enough


def normal_p(z: float) -> float:
    """P(|Z| >= |z|) of a standard normal Z.

    >>> round(normal_p(1.96), 4)
    0.05
    """
    return math.erfc(abs(z) / math.sqrt(2))


def t_p(t: float, freedom: int) -> float:
    """P(|T| >= |t|) of Student's T with `freedom` >= 1 degrees of freedom.

    The finite series of Abramowitz and Stegun (1964), 26.7.3 and 26.7.4; above 200 degrees their normal approximation
    26.7.8, which is within 1e-5.

    >>> round(t_p(2.262157, 9), 6)
    0.05
    """
    t = abs(t)
    if math.isinf(t):
        return 0.0
    if freedom > _SERIES_UP_TO:
        return normal_p(t * (1 - 1 / (4 * freedom)) / math.sqrt(1 + t * t / (2 * freedom)))
    angle = math.atan2(t, math.sqrt(freedom))
    cosine, term, total = math.cos(angle), 1.0, 0.0
    odd = freedom % 2
    for step in range(freedom // 2):
        total += term
        term *= cosine * cosine * ((2 * step + 2) / (2 * step + 3) if odd else (2 * step + 1) / (2 * step + 2))
    inside = 2 / math.pi * (angle + math.sin(angle) * cosine * total) if odd else math.sin(angle) * total
    return min(1.0, max(0.0, 1 - inside))


@lru_cache(maxsize=1024)
def t_point(freedom: int, z: float = Z95) -> float:
    """The t that leaves outside [-t, t] as much as a normal leaves outside [-z, z]; z itself for many degrees.

    >>> round(t_point(1), 3), round(t_point(29), 4), round(t_point(10**9), 6)
    (12.706, 2.0452, 1.959964)
    """
    if freedom > _SERIES_UP_TO:
        return z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)  # A. & S. 26.7.5
    outside, low, high = normal_p(z), 0.0, max(1.0, z)
    while t_p(high, freedom) > outside:
        high *= 2
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if t_p(middle, freedom) > outside else (low, middle)
    return high
