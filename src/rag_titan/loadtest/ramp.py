"""Which rates are tried: up through the given ones to the first breach, then halving the gap."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

Judge = Callable[[float], bool]
_DIGITS = 3  # of a rate between two given ones


@dataclass(frozen=True)
class Bracket:
    """The highest rate that was sustained below the lowest one that was not; None where there is none."""

    sustained: float | None
    breached: float | None


def ramp(rates: Sequence[float], sustained: Judge, start: int = 0) -> Bracket:
    """Between which of the ascending rates the first breach lies, looked for from `rates[start]` up, or down.

    >>> ramp([1, 2, 5, 10], lambda rate: rate <= 3)
    Bracket(sustained=2, breached=5)
    >>> ramp([1, 2], lambda rate: False, start=1), ramp([1, 2], lambda rate: True)
    (Bracket(sustained=None, breached=1), Bracket(sustained=2, breached=None))
    """
    if not sustained(rates[start]):
        return _down(rates, sustained, start)
    for higher in range(start + 1, len(rates)):
        if not sustained(rates[higher]):
            return Bracket(rates[higher - 1], rates[higher])
    return Bracket(rates[-1], None)


def _down(rates: Sequence[float], sustained: Judge, breached: int) -> Bracket:
    for lower in range(breached - 1, -1, -1):
        if sustained(rates[lower]):
            return Bracket(rates[lower], rates[lower + 1])
    return Bracket(None, rates[0])


def refined(found: Bracket, sustained: Judge, resolution: float) -> Bracket:
    """The bracket halved until its two rates differ by at most `resolution` of the lower one.

    >>> refined(Bracket(2, 5), lambda rate: rate <= 3, 0.05)
    Bracket(sustained=2.94, breached=3.03)
    """
    low, high = found.sustained, found.breached
    if low is None or high is None:
        return found
    while (high - low) / low > resolution:
        middle = float(f"{(low + high) / 2:.{_DIGITS}g}")
        if not low < middle < high:
            break
        if sustained(middle):
            low = middle
        else:
            high = middle
    return Bracket(low, high)
