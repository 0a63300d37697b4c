"""What the steps say: the highest rate that keeps the SLA, and which part of the target fills up first."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rag_titan.loadtest.plan import Plan
from rag_titan.loadtest.ramp import Bracket
from rag_titan.loadtest.step import OUTSIDE, Step


@dataclass(frozen=True)
class Knee:
    """The highest sustainable rate: the last one before p99 breaches the SLA, over all trials.

    rate    the median of the trials; None where not even the lowest rate was sustained
    low     of the trials, the lowest and the highest
    bound   "" for a knee that was found, "at least" where the median trial had no rate that breached, "below" where
            none kept the SLA in it
    trials  the brackets

    >>> found = knee_of([Bracket(9, 9.4), Bracket(8.6, 9.0), Bracket(9.2, 9.5)])
    >>> found.rate, found.low, found.high, found.bound
    (9, 8.6, 9.2, '')
    """

    rate: float | None
    low: float | None
    high: float | None
    bound: str
    trials: tuple[Bracket, ...]

    def record(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "rate": self.rate,
            "low": self.low,
            "high": self.high,
            "bound": self.bound,
            "trials": [{"sustained": one.sustained, "breached": one.breached} for one in self.trials],
        }


def knee_of(trials: Sequence[Bracket]) -> Knee | None:
    """The knee; None without a trial. A trial that sustained no rate counts as lower than all others.

    >>> knee_of([Bracket(50, None), Bracket(47, 50), Bracket(50, None)]).bound
    'at least'
    """
    if not trials:
        return None
    found = sorted(trials, key=lambda one: (-1.0 if one.sustained is None else one.sustained, one.breached is None))
    middle = found[statistics.median_low(range(len(found)))]
    bound = "at least" if middle.breached is None else "below" if middle.sustained is None else ""
    return Knee(middle.sustained, found[0].sustained, found[-1].sustained, bound, tuple(trials))


def highest_kept(steps: Sequence[Step], plan: Plan) -> float | None:
    """The highest rate below all that breached at which the SLA was kept, in whole steps that are valid; None without.

    It stands for the knee where that was not found, since the run is invalid or was stopped.
    """
    whole = [step for step in steps if step.invalid(plan) is None and step.seconds >= plan.duration]
    breached = min((step.rate for step in whole if step.sustained(plan) is False), default=math.inf)
    return max((step.rate for step in whole if step.sustained(plan) and step.rate < breached), default=None)


def saturates_first(steps: Sequence[Step], plan: Plan) -> dict[str, Any] | None:
    """The part whose mean time grew most between the lowest rate and the lowest one that breached the SLA.

    The time outside all parts counts as one: a request that waits before the first part is in none of them. None
    without parts, and where no rate was sustained below one that breached, or nothing grew.
    """
    valid = [step for step in steps if step.parts and step.invalid(plan) is None]
    sustained = [step for step in valid if step.sustained(plan)]
    breached = [step for step in valid if step.sustained(plan) is False]
    if not sustained or not breached:
        return None
    before, after = min(sustained, key=lambda step: step.rate), min(breached, key=lambda step: step.rate)
    grown = _grown(before, after)
    if not grown or max(grown.values()) <= 0:
        return None
    part = max(grown, key=lambda name: grown[name])
    times = {step.rate: step.parts[part].mean for step in (before, after) if part in step.parts}
    where = "Requests wait before the first part" if part == OUTSIDE else f"{part} fills up first"
    reason = (
        f"{where}: its mean grew from {times.get(before.rate) or 0:.4g} to {times.get(after.rate) or 0:.4g} ms "
        f"between {before.rate:g} and {after.rate:g} requests a second."
    )
    return {"part": part, "grown_ms": grown, "from_rate": before.rate, "to_rate": after.rate, "reason": reason}


def _grown(before: Step, after: Step) -> dict[str, float]:
    """{part: how much its mean grew, in ms}, of the parts that both report."""
    means = {name: (before.parts[name].mean, times.mean) for name, times in after.parts.items() if name in before.parts}
    return {name: new - old for name, (old, new) in means.items() if old is not None and new is not None}
