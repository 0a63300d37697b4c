"""A comparison without a baseline: its file is not there, since this is the first run or since it was lost."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

_LISTS = ("regressions", "improved", "explained", "changed", "vanished", "appeared", "not_compared")


def no_baseline(path: str | Path) -> dict[str, Any]:
    """What `compare` would say, where there is nothing to compare with: not comparable, and "found" is False.

    >>> found = no_baseline("baseline.json")
    >>> found["comparable"], found["found"], found["regressions"]
    (False, False, [])
    >>> found["reason"]
    'baseline.json does not exist yet, so nothing was compared'
    """
    return {
        "comparable": False,
        "found": False,
        "reason": f"{path} does not exist yet, so nothing was compared",
        "tolerance": None,
        "rechunked": False,
        "primary": [],
        "questions": {},
        "notes": [],
        **{name: [] for name in _LISTS},
    }


def is_missing(comparison: Mapping[str, Any] | None) -> bool:
    """True for a comparison whose baseline is not there."""
    return comparison is not None and comparison.get("found") is False


def refusal_text(comparison: Mapping[str, Any]) -> str:
    """Why nothing was compared, with what that is called.

    >>> refusal_text(no_baseline("b.json"))
    'No baseline: b.json does not exist yet, so nothing was compared'
    >>> refusal_text({"comparable": False, "reason": "baseline: must have the same K, got 5 against 3."})
    'Not comparable: baseline: must have the same K, got 5 against 3.'
    """
    return f"{'No baseline' if is_missing(comparison) else 'Not comparable'}: {comparison['reason']}"
