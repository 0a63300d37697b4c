"""When requests are sent: arrivals that do not wait for answers."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Arrivals = Literal["poisson", "fixed"]
ARRIVALS: tuple[Arrivals, ...] = ("poisson", "fixed")

_BLOCK = 4096  # gaps drawn at a time; the draws do not depend on how many are needed


def arrivals(rate: float, seconds: float, kind: Arrivals = "poisson", seed: int = 0) -> Floats:
    """The times of the requests in [0, seconds), ascending, in seconds; on average `rate` a second.

    fixed    one every 1 / rate seconds
    poisson  gaps are exponential and independent, as those of many users who know nothing of each other. One seed is
             one pattern of gaps, which a higher rate makes shorter: two rates differ by their rate, not by their luck

    >>> arrivals(4, 1, "fixed").tolist()
    [0.0, 0.25, 0.5, 0.75]
    >>> bool(np.allclose(arrivals(4, 5, seed=1), arrivals(2, 10, seed=1) / 2))
    True
    """
    if kind == "fixed":
        return np.arange(math.ceil(rate * seconds - 1e-9), dtype=np.float64) / rate
    draws = np.random.Generator(np.random.PCG64(seed))
    blocks: list[Floats] = []
    end = 0.0
    while end < rate * seconds:
        blocks.append(end + np.cumsum(-np.log1p(-draws.random(_BLOCK))))
        end = float(blocks[-1][-1])
    times = np.concatenate(blocks) / rate if blocks else np.empty(0)
    return times[times < seconds]
