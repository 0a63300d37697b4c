"""What a load test does: rates, the limit, how long, how patiently."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rag_titan.errors import SettingsError
from rag_titan.evaluation.limits import number, said
from rag_titan.loadtest.schedule import ARRIVALS, Arrivals

RATES = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0)
LONGEST = 86_400.0  # seconds
MOST_REQUESTS = 5_000_000  # of one step: each holds some 100 bytes until the step is done
IN_FLIGHT = 500  # systems let a process have some 1,000 open files
LATE = 0.05  # of the SLA: a p99 that counts from the intended start is too high by the lag, at most


@dataclass(frozen=True)
class Plan:
    """How the load test is run.

    rates          requests a second, each for one step of the ramp, which ends with the first that breaches the SLA
    sla_ms         the limit, in ms, that a share `share` of all requests must keep
    duration       seconds of each step that are measured
    warm_up        seconds before them, at the same rate, that are not
    arrivals       "poisson" or "fixed"
    seed           of the Poisson arrivals
    trials         how often the knee is looked for, each time with other arrivals
    timeout        seconds after which a request has failed
    max_in_flight  open requests; None for 500, or twice as many as the rate makes when all take the whole SLA
    max_lag_ms     p99 of how late the generator may send; None for 5 % of the SLA. Beyond it a step is invalid
    resolution     the knee is found when the two rates around it differ by this share
    all_rates      also the rates beyond the first breach, to see the plateau or the collapse

    Raises SettingsError for what is out of its range.

    >>> Plan(rates=(10, 5)).rates
    (5.0, 10.0)
    >>> Plan(sla_ms=0)
    Traceback (most recent call last):
    rag_titan.errors.SettingsError: sla_ms: must be a finite number from 0.1 to 3.6e+06, got 0.
    """

    rates: Sequence[float] = RATES
    sla_ms: float = 2000.0
    duration: float = 30.0
    warm_up: float = 2.0
    arrivals: Arrivals = "poisson"
    seed: int = 0
    trials: int = 3
    timeout: float = 30.0
    max_in_flight: int | None = None
    max_lag_ms: float | None = None
    resolution: float = 0.05
    all_rates: bool = False
    share: float = 0.99

    def __post_init__(self) -> None:
        object.__setattr__(self, "rates", _rates(self.rates))
        number(self.sla_ms, "sla_ms", 0.1, 3_600_000)
        number(self.duration, "duration", 0.01, LONGEST)
        number(self.warm_up, "warm_up", 0, LONGEST)
        number(self.timeout, "timeout", 0.001, LONGEST)
        number(self.resolution, "resolution", 0.001, 1)
        number(self.share, "share", 0.5, 0.9999)
        _whole(self.trials, "trials", 1, 100)
        _whole(self.seed, "seed", 0, 2**63 - 1)
        if self.arrivals not in ARRIVALS:
            raise SettingsError(f"arrivals: must be {' or '.join(ARRIVALS)}, got {said(self.arrivals)}.")
        if self.max_lag_ms is not None:
            number(self.max_lag_ms, "max_lag_ms", 0, 3_600_000)
        self._check_amounts()

    def _check_amounts(self) -> None:
        highest = self.rates[-1]
        if self.timeout * 1000 < self.sla_ms:
            rule = f"must be at least the SLA of {self.sla_ms:g} ms, got {self.timeout:g} s"
            raise SettingsError(f"timeout: {rule}. Raise it: what was given up says nothing about the SLA.")
        if highest * (self.warm_up + self.duration) > MOST_REQUESTS:
            rule = f"must make at most {MOST_REQUESTS:,} requests a step, got {highest:g} a second"
            raise SettingsError(f"rates: {rule} for {self.warm_up + self.duration:g} s. Shorten the duration.")
        if self.max_in_flight is not None:
            _whole(self.max_in_flight, "max_in_flight", 1, 1_000_000)
            least = math.ceil(highest * self.sla_ms / 1000)
            if self.max_in_flight < least:
                rule = f"must be at least rate x SLA = {least:,}, got {self.max_in_flight:,}"
                raise SettingsError(f"max_in_flight: {rule}. Raise it, or the generator is the bottleneck.")

    @property
    def most_lag_ms(self) -> float:
        """p99 of the lag beyond which a step is invalid."""
        return LATE * self.sla_ms if self.max_lag_ms is None else self.max_lag_ms

    def bound(self, rate: float) -> int:
        """Open requests at this rate (Little's law: as many are open as come in during the time of one)."""
        if self.max_in_flight is not None:
            return self.max_in_flight
        return max(IN_FLIGHT, math.ceil(2 * rate * self.sla_ms / 1000))

    def record(self) -> dict[str, Any]:
        """As JSON."""
        return asdict(self) | {"rates": list(self.rates), "max_lag_ms": self.most_lag_ms}


def _rates(rates: Any) -> tuple[float, ...]:
    if isinstance(rates, str) or not isinstance(rates, Sequence) or not rates:
        raise SettingsError(f"rates: must be a list of requests a second, got {said(rates)}. Write it as 1,2,5.")
    return tuple(sorted({number(rate, "rates", 0.001, 100_000) for rate in rates}))


def _whole(value: Any, where: str, low: int, high: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise SettingsError(f"{where}: must be a whole number from {low:,} to {high:,}, got {said(value)}.")
