"""Pieces of a text -> chunks: what is whole stays whole where it fits, and as much as fits is packed together."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from rag_titan.pipeline.chunking.pieces import Pieces

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Level:
    """A way to cut a text: into its paragraphs, for example.

    firsts  the pieces that begin one, in order; the first piece does in any case
    apart   nothing is packed with a part of one that is too long
    alone   none is packed with another
    """

    firsts: Ints
    apart: bool = False
    alone: bool = False


def spans(
    pieces: Pieces, levels: Sequence[Level], size: int, overlap: int = 0, again: Ints | None = None
) -> Iterator[tuple[int, int]]:
    """Where the chunks stand in the text, in order; each holds at most `size` units, or one piece.

    levels   from the coarsest: what is too long at one of them is cut at the next, and at last into pieces
    overlap  a chunk starts again at most so many units before the end of the one before it, but never beyond a cut
             that keeps two apart
    again    the pieces at which it may do so, beside those at which the text was cut; in order
    """
    if not len(pieces.starts):
        return
    firsts, groups = _wholes(pieces, levels, size)
    lasts = np.append(firsts[1:], len(pieces.starts)) - 1
    grains = firsts if again is None else _united(len(pieces.starts), firsts, again)
    edges = np.append(np.searchsorted(firsts, groups), len(firsts)).tolist()
    packing = _Packing(firsts, lasts, grains, pieces)
    for first, end in pairwise(edges):
        for one, last in packing.group(first, end, size, overlap):
            yield int(pieces.starts[one]), int(pieces.ends[last])


def _wholes(pieces: Pieces, levels: Sequence[Level], size: int) -> tuple[Ints, Ints]:
    """The first pieces of what is packed as a whole, and those of them behind which packing starts anew.

    One pass a level over all that is too long at the level before it.
    """
    count = len(pieces.starts)
    opened, closed = np.zeros(1, dtype=np.int64), np.full(1, count, dtype=np.int64)  # what is still to be cut
    whole, anew = [], [np.zeros(1, dtype=np.int64)]
    for level in [*levels, Level(np.arange(count))]:
        region = np.searchsorted(opened, level.firsts, side="right") - 1
        within = (region >= 0) & (level.firsts < closed[region])
        firsts = _united(count, opened, level.firsts[within])
        ends = np.minimum(np.append(firsts[1:], count), closed[np.searchsorted(opened, firsts, side="right") - 1])
        long = (pieces.after[ends - 1] - pieces.before[firsts] > size) & (ends - firsts > 1)
        whole.append(firsts[~long])
        opened, closed = firsts[long], ends[long]
        if level.alone:
            anew.append(firsts)
        if level.apart:
            anew += [opened, closed]
        if not len(opened):
            break
    return _united(count, *whole), _united(count, *anew)


def _united(count: int, *several: Ints) -> Ints:
    """The pieces that are in any of these, in order, each once; the number behind the last of `count` is dropped."""
    mask = np.zeros(count + 1, dtype=np.bool_)
    for pieces in several:
        mask[pieces] = True
    return np.flatnonzero(mask[:-1])


class _Packing:
    """Packs wholes greedily; lists, because it looks a few numbers up for each chunk.

    firsts, lasts  (w,) of the wholes
    grains         (g,) the pieces at which an overlap may start
    """

    def __init__(self, firsts: Ints, lasts: Ints, grains: Ints, pieces: Pieces) -> None:
        self._firsts, self._lasts = firsts.tolist(), lasts.tolist()
        self._before, self._after = pieces.before[firsts].tolist(), pieces.after[lasts].tolist()
        self._grains, self._grains_before = grains.tolist(), pieces.before[grains].tolist()

    def group(self, whole: int, end: int, size: int, overlap: int) -> Iterator[tuple[int, int]]:
        """The first and the last piece of each chunk of the wholes from `whole` to `end`."""
        first, before = self._firsts[whole], self._before[whole]
        while True:
            whole = max(bisect_right(self._after, before + size, whole, end), whole + 1)
            yield first, self._lasts[whole - 1]
            if whole == end:
                return
            least = max(self._after[whole - 1] - overlap, self._after[whole] - size)
            grain = bisect_left(self._grains_before, least)
            first, before = self._firsts[whole], self._before[whole]
            if overlap and grain < len(self._grains) and self._grains[grain] < first:
                first, before = self._grains[grain], self._grains_before[grain]
