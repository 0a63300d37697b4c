"""Limits: what a weight, threshold, gate or tolerance may be, and the one way of comparing a value with it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from rag_titan.errors import SettingsError

SLACK = 1e-9  # far above the rounding of a mean of rates, far below any difference that matters


def below(value: float, minimum: float) -> bool:
    """True where the value is below the minimum by more than rounding.

    >>> 0.9 - 0.88 > 0.02, below(0.88, 0.9 - 0.02), below(0.87, 0.9 - 0.02)
    (True, False, True)
    """
    return value < minimum - SLACK


def above(value: float, maximum: float) -> bool:
    """True where the value is above the maximum by more than rounding.

    >>> above(0.1 + 0.2, 0.3), above(0.31, 0.3)
    (False, True)
    """
    return value > maximum + SLACK


def finite(value: Any) -> float | None:
    """A finite number of any type as a float; None for anything else: None, NaN, infinity, truth values, text.

    >>> finite(0), finite(None), finite(float("nan")), finite(True)
    (0.0, None, None, None)
    """
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        return None
    try:
        number = float(value)
    except OverflowError:  # a whole number of hundreds of digits
        return None
    return number if math.isfinite(number) else None


def number(value: Any, where: str, low: float = -math.inf, high: float = math.inf) -> float:
    """The option `value` as a finite float from `low` to `high`; `where` is its place in the settings.

    Raises SettingsError, also for truth values and for text that holds a number.

    >>> number(-1, "stage_weights.retrieval", low=0)
    Traceback (most recent call last):
    rag_titan.errors.SettingsError: stage_weights.retrieval: must be a finite number from 0, got -1.
    """
    got = finite(value)
    if got is not None and low <= got <= high:
        return got
    span = (f" from {low:g}" if low > -math.inf else "") + (f" to {high:g}" if high < math.inf else "")
    raise SettingsError(f"{where}: must be a finite number{span}, got {value!r}.")
