"""What queueing theory says of one worker that serves one request after the other, each for the same time."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext

import numpy as np

from rag_titan.loadtest.schedule import Floats


def waiting_at_most(seconds: float, rate: float, service: float) -> float:
    """P(W <= t) of the waiting time of an M/D/1 queue (Erlang 1909; Crommelin 1932).

    (1 - rho) * sum over k = 0 .. floor(t / D) of (rate * (k D - t))^k / k! * exp(-rate * (k D - t))
    """
    with localcontext() as context:
        context.prec = 60  # the terms have alternating signs and cancel
        t, lam, d = Decimal(seconds), Decimal(rate), Decimal(service)
        total = Decimal(0)
        for k in range(int(t / d) + 1):
            x = lam * (k * d - t)
            total += (x**k if k else Decimal(1)) / math.factorial(k) * (-x).exp()
        return float((1 - lam * d) * total)


def quantile(share: float, rate: float, service: float) -> float:
    """The time in the system, in seconds, that this share of the requests do not exceed."""
    low, high = 0.0, service
    while waiting_at_most(high, rate, service) < share:
        high *= 2
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if waiting_at_most(middle, rate, service) < share else (low, middle)
    return high + service


def highest_rate(share: float, sla: float, service: float) -> float:
    """The rate at which this share of the requests just keeps the SLA."""
    low, high = 0.0, 1 / service
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if quantile(share, middle, service) <= sla else (low, middle)
    return low


def lindley(times: Floats, service: float) -> Floats:
    """The times in the system for these very arrivals (Lindley 1952): W' = max(0, W + D - gap)."""
    walk = np.concatenate([[0.0], np.cumsum(service - np.diff(times))])
    return walk - np.minimum.accumulate(walk) + service
