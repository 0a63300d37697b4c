"""From the characters of a text that was changed in places back to those of the text as it was written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rag_titan.evaluation.measures.ragged import Ints


@dataclass(frozen=True)
class Edits:
    """Spans of a text that were replaced, each by `kept` characters.

    ends    (n,) where each replacement ends in the changed text, rising
    shifts  (n,) how many characters were left out up to there

    >>> edits = Edits.of([(2, 5), (7, 10)], kept=1)  # "25[1] %[2]." became "25  % ."
    >>> edits.original(np.array([0, 3, 6])).tolist()
    [0, 5, 10]
    """

    ends: Ints
    shifts: Ints

    @classmethod
    def of(cls, spans: Sequence[tuple[int, int]], kept: int) -> Edits:
        """From the spans [start, end) of the text as it was written, in order and apart from each other."""
        starts, ends = np.array(spans, dtype=np.int64).reshape(-1, 2).T
        left_out = ends - starts - kept
        shifts = np.cumsum(left_out)
        return cls(starts - (shifts - left_out) + kept, shifts)

    def original(self, places: Ints) -> Ints:
        """The numbers in the text as it was written of these characters of the changed one."""
        before = np.searchsorted(self.ends, places, side="right")
        shifts: Ints = np.concatenate(([0], self.shifts))
        return places + shifts[before]
