"""Lists of different lengths as flat values and offsets: list i is values[offsets[i]:offsets[i + 1]]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Ragged:
    """n lists in one array.

    values   (total,) the elements of all lists, one list after the other
    offsets  (n + 1,) int64, rising from 0 to total

    >>> lists = Ragged(np.array([7, 8, 9]), np.array([0, 2, 2, 3]))
    >>> lists.lengths.tolist(), lists.rows.tolist(), lists.places.tolist()
    ([2, 0, 1], [0, 0, 2], [0, 1, 0])
    """

    values: NDArray[Any]
    offsets: Ints

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @cached_property
    def lengths(self) -> Ints:
        """(n,) elements in each list."""
        return np.diff(self.offsets)

    @cached_property
    def rows(self) -> Ints:
        """(total,) the list that each element belongs to."""
        return np.repeat(np.arange(len(self), dtype=np.int64), self.lengths)

    @cached_property
    def places(self) -> Ints:
        """(total,) each element's position in its list, from 0."""
        return np.arange(len(self.values), dtype=np.int64) - np.repeat(self.offsets[:-1], self.lengths)

    def keep(self, mask: NDArray[np.bool_]) -> Ragged:
        """The same lists without the elements where `mask` (total,) is false."""
        kept = np.concatenate(([0], np.cumsum(mask, dtype=np.int64)))
        return Ragged(self.values[mask], kept[self.offsets])

    def sums(self, weights: NDArray[Any]) -> NDArray[np.float64]:
        """(n,) per list, the sum of `weights` (total,); an empty list sums to 0."""
        return np.bincount(self.rows, weights=weights, minlength=len(self)).astype(np.float64, copy=False)


def ragged(lists: Sequence[Sequence[Any]], dtype: Any = np.int64) -> Ragged:
    """Lists of numbers as one Ragged.

    >>> ragged([[1, 2], [], [3]]).offsets.tolist()
    [0, 2, 2, 3]
    """
    offsets = offsets_of([len(x) for x in lists])
    flat = [value for x in lists for value in x]
    return Ragged(np.array(flat, dtype=dtype), offsets)


def offsets_of(lengths: Sequence[int] | NDArray[Any]) -> Ints:
    """(n + 1,) offsets from n lengths."""
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets
