"""How many chunks two runs have in common, by the sketches in their reports (data/sketch.py)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

_DIGITS = 16  # of the hash of an id, then as many of that of its text
_ABOVE_ALL = "g"  # behind every hexadecimal digit


@dataclass(frozen=True)
class Overlap:
    """How two sets of chunks overlap, shares from 0 to 1.

    kept      of the baseline's chunks, those that are among the current ones, id and text alike
    old       of the current chunks, those that are among the baseline's
    same_ids  all ids of one are ids of the other, as far as the sketches show
    """

    kept: float
    old: float
    same_ids: bool


def overlap(current: Mapping[str, Any], baseline: Mapping[str, Any]) -> Overlap | None:
    """Of the `meta` of two reports; None where one holds no sketch, or one of something else.

    Only ids up to the greatest hash that both sketches reach are counted: of these both know all (Broder 1997, "On the
    resemblance and containment of documents"). So chunks that were merely added leave `kept` at exactly 1.

    >>> a, b = ({"sketch": [f"{1:016x}{text:016x}", f"{2:016x}{7:016x}"]} for text in (5, 6))
    >>> overlap(a, b)
    Overlap(kept=0.5, old=0.5, same_ids=True)
    """
    sides = [_entries(meta.get("sketch")) for meta in (current, baseline)]
    if not all(sides):
        return None
    reach = min(_reach(side, meta) for side, meta in zip(sides, (current, baseline), strict=True))
    now, before = ({digits for digits in side if digits[:_DIGITS] <= reach} for side in sides)
    ids = [{digits[:_DIGITS] for digits in side} for side in (now, before)]
    return Overlap(_share(now & before, before), _share(now & before, now), ids[0] == ids[1])


def _reach(side: Collection[str], meta: Mapping[str, Any]) -> str:
    """Up to which hash of an id a sketch holds all chunks: without end, where it holds every chunk of the run."""
    counts = meta.get("counts")
    chunks = counts.get("chunks") if isinstance(counts, Mapping) else None
    return _ABOVE_ALL if isinstance(chunks, int) and chunks <= len(side) else max(side)[:_DIGITS]


def _share(part: Collection[str], whole: Collection[str]) -> float:
    return len(part) / len(whole) if whole else 0.0


def _entries(sketch: Any) -> set[str]:
    entries = sketch if isinstance(sketch, list) else []
    sound = all(isinstance(digits, str) and len(digits) == 2 * _DIGITS for digits in entries)
    return set(entries) if sound else set()
