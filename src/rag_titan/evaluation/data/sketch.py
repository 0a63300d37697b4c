"""A few of the chunks of a run, so that two reports tell how many chunks they have in common."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rag_titan.evaluation.data.fingerprint import text_hashes
from rag_titan.evaluation.data.records import Chunk

SKETCHED = 64
_DIGITS = 16  # of the hash of an id, then as many of that of the text


def chunk_sketch(chunks: Sequence[Chunk]) -> list[str]:
    """The chunks of the 64 smallest hashes of ids (Broder 1997, "On the resemblance and containment of documents"),
    each as 32 hexadecimal digits: the hash of its id, then that of its text. The order of the chunks does not matter.

    >>> few = [Chunk(id="c1", text="a"), Chunk(id="c2", text="b")]
    >>> chunk_sketch(few) == chunk_sketch(few[::-1]), [len(digits) for digits in chunk_sketch(few)]
    (True, [32, 32])
    """
    ids = text_hashes([chunk.id or "" for chunk in chunks])
    first = np.argsort(ids, kind="stable")[:SKETCHED].tolist()
    texts = text_hashes([chunks[place].text or "" for place in first]).tolist()
    return [f"{int(ids[place]):016x}{text:016x}" for place, text in zip(first, texts, strict=True)]


@dataclass(frozen=True)
class Overlap:
    """How two sets of chunks overlap, by their sketches.

    kept      share of the baseline's chunks that are among the current ones, id and text alike
    old       share of the current chunks that are among the baseline's
    same_ids  all ids of one are ids of the other, as far as the sketches show
    """

    kept: float
    old: float
    same_ids: bool


def overlap(current: Any, baseline: Any) -> Overlap | None:
    """Of two sketches as reports hold them; None where one is none, or is empty.

    Only ids below the greatest hash that both sketches reach are counted: of these both know all. So chunks that were
    merely added leave `kept` at exactly 1.

    >>> now, before = ([Chunk(id=f"c{i}", text=text) for i in range(9)] for text in ("new", "old"))
    >>> overlap(chunk_sketch(now), chunk_sketch(before))
    Overlap(kept=0.0, old=0.0, same_ids=True)
    """
    sides = [_digits_of(side) for side in (current, baseline)]
    if not all(sides):
        return None
    reach = min(max(side) if len(side) >= SKETCHED else "g" for side in sides)[:_DIGITS]  # "g" is above all digits
    now, before = ({digits for digits in side if digits[:_DIGITS] <= reach} for side in sides)
    ids = [{digits[:_DIGITS] for digits in side} for side in (now, before)]
    return Overlap(_share(now & before, before), _share(now & before, now), ids[0] == ids[1])


def _share(part: Collection[str], whole: Collection[str]) -> float:
    return len(part) / len(whole) if whole else 0.0


def _digits_of(sketch: Any) -> set[str]:
    """The entries of a sketch; none of one that something else wrote."""
    entries = sketch if isinstance(sketch, list) else []
    sound = all(isinstance(digits, str) and len(digits) == 2 * _DIGITS for digits in entries)
    return set(entries) if sound else set()
