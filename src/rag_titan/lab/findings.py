"""What a test of the lab found: what, how many, which ids, and what to do about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from heapq import nsmallest
from typing import Any

NAMED = 20


@dataclass(frozen=True)
class Finding:
    """One fault.

    kind    its name, such as "norm_mismatch"
    text    what is wrong, with its figures
    advice  what to do
    count   how many rows have it; None where it is one of the whole
    of      how many rows were looked at
    ids     the 20 smallest ids of those that have it
    """

    kind: str
    text: str
    advice: str
    count: int | None
    of: int
    ids: tuple[Any, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return asdict(self) | {"ids": list(self.ids)}


def smallest(ids: Sequence[Any]) -> tuple[Any, ...]:
    """The 20 smallest.

    >>> smallest([3, 1, 2])
    (1, 2, 3)
    """
    return tuple(nsmallest(NAMED, ids))
