"""Intervals of integers [start, end), each in a group: how much they cover, share and hold.

The groups (queries, documents) are laid one after another on one line, so that a sort, a running maximum and a
cumulative sum serve all of them at once; no position is ever listed. An empty interval covers nothing, touches nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rag_titan.evaluation.measures.ragged import Ints, Ragged, offsets_of

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
_BLOCK = 1 << 22


@dataclass(frozen=True)
class Intervals:
    """m intervals [starts, ends), each in the group with its number (from 0); their order does not matter.

    >>> chunks = Intervals(np.array([0, 0, 1]), np.array([0, 3, 0]), np.array([5, 8, 4]))
    >>> chunks.covered(2).tolist()  # positions 3 and 4 of group 0 lie in two intervals and count once
    [8, 4]
    """

    groups: Ints
    starts: Ints
    ends: Ints

    def __len__(self) -> int:
        return len(self.starts)

    def keep(self, mask: Mask) -> Intervals:
        """Only the intervals where `mask` (m,) is true."""
        return Intervals(self.groups[mask], self.starts[mask], self.ends[mask])

    @cached_property
    def lengths(self) -> Ints:
        """(m,) positions in each interval."""
        lengths: Ints = np.maximum(self.ends - self.starts, 0)
        return lengths

    def total(self, n: int) -> Ints:
        """(n,) for each group the sum of the lengths: a position that lies in two intervals counts twice."""
        return np.bincount(self.groups, weights=self.lengths, minlength=n).astype(np.int64)  # exact below 2^53

    @cached_property
    def union(self) -> Intervals:
        """The same positions as the fewest intervals, sorted by group and start; those that meet are joined."""
        line, solid = self._line, self.lengths > 0
        order = np.argsort(line.starts[solid], kind="stable")
        starts, ends = line.starts[solid][order], np.maximum.accumulate(line.ends[solid][order])
        first = np.concatenate(([True], starts[1:] > ends[:-1])) if len(starts) else np.zeros(0, dtype=bool)
        last = np.concatenate((first[1:], [True])) if len(starts) else first
        groups, low = np.divmod(starts[first], self._width)
        return Intervals(groups, low + self._low, ends[last] - groups * self._width + self._low)

    def covered(self, n: int) -> Ints:
        """(n,) for each group the number of different positions that its intervals cover."""
        return self.union.total(n)

    def shared(self, spans: Intervals) -> Ints:
        """(len(spans),) how many positions of each span the intervals of its group cover.

        >>> gold = Intervals(np.array([0, 1]), np.array([4, 4]), np.array([10, 10]))
        >>> Intervals(np.array([0, 0]), np.array([0, 2]), np.array([5, 6])).shared(gold).tolist()
        [2, 0]
        """
        return self._covered_before(spans.groups, spans.ends) - self._covered_before(spans.groups, spans.starts)

    def touching(self, spans: Intervals) -> Ints:
        """(len(spans),) how many intervals of its group have a position in common with each span.

        >>> Intervals(np.array([0, 0]), np.array([0, 5]), np.array([5, 9])).touching(
        ...     Intervals(np.array([0, 0, 0]), np.array([3, 5, 5]), np.array([6, 6, 5]))).tolist()
        [2, 1, 0]
        """
        starts, ends = self._edges
        begun = np.searchsorted(starts, self._on_line(spans.groups, spans.ends), side="left")
        over = np.searchsorted(ends, self._on_line(spans.groups, spans.starts), side="right")
        return np.where(spans.lengths > 0, begun - over, 0)

    def holding(self, spans: Intervals) -> Ragged:
        """For each span the places of all intervals of its group in which it lies whole, rising.

        The intervals are searched by length (those of 2^k to 2^(k+1) positions together), so that one long interval
        over many short ones costs nothing. A span without a position lies nowhere.

        >>> parts = Intervals(np.array([0, 0, 0]), np.array([0, 4, 0]), np.array([5, 9, 9]))
        >>> parts.holding(Intervals(np.array([0, 0]), np.array([4, 3]), np.array([5, 7]))).values.tolist()
        [0, 1, 2, 2]
        """
        first, last = self._on_line(spans.groups, spans.starts), self._on_line(spans.groups, spans.ends)
        inside = (spans.lengths > 0) & (last - first == spans.lengths)  # else some of it is outside every interval
        rows, held = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
        for below, starts, ends, places in self._by_length:
            low = np.searchsorted(starts, last - below, side="right")
            counts = np.where(inside, np.searchsorted(starts, first, side="right") - low, 0)
            for row, member in _expanded(low, np.maximum(counts, 0)):
                whole = ends[member] >= last[row]
                rows.append(row[whole])
                held.append(places[member[whole]])
        row, place = np.concatenate(rows), np.concatenate(held)
        return Ragged(place[np.lexsort((place, row))], offsets_of(np.bincount(row, minlength=len(spans))))

    @cached_property
    def _edges(self) -> tuple[Ints, Ints]:
        """All starts, and all ends, on the line, each sorted."""
        solid = self.lengths > 0
        return np.sort(self._line.starts[solid]), np.sort(self._line.ends[solid])

    @cached_property
    def _by_length(self) -> list[tuple[int, Ints, Ints, Ints]]:
        """The intervals of 2^k to 2^(k + 1) positions for each k: 2^(k + 1), and starts, ends and places by start."""
        _, powers = np.frexp(self.lengths.astype(np.float64))
        classes = []
        for power in np.unique(powers[self.lengths > 0]).tolist():
            places = np.flatnonzero(powers == power)
            places = places[np.argsort(self._line.starts[places], kind="stable")]
            classes.append((1 << power, self._line.starts[places], self._line.ends[places], places))
        return classes

    @cached_property
    def _low(self) -> int:
        return int(self.starts.min()) if len(self) else 0

    @cached_property
    def _width(self) -> int:
        return (
            (int(self.ends.max()) if len(self) else 0) - self._low + 1
        )  # the last end of a group comes before the next

    @cached_property
    def _line(self) -> Intervals:
        shift = self.groups * self._width - self._low
        return Intervals(np.zeros(len(self), dtype=np.int64), self.starts + shift, self.ends + shift)

    def _on_line(self, groups: Ints, positions: Ints) -> Ints:
        """Positions as points of the line; those outside every interval are moved to just outside."""
        return groups * self._width + np.clip(positions - self._low, 0, self._width - 1)

    @cached_property
    def _covered_until(self) -> tuple[Ints, Ints, Ints]:
        line = self.union
        starts = line.groups * self._width + (line.starts - self._low)
        return starts, starts + line.lengths, offsets_of(line.lengths)

    def _covered_before(self, groups: Ints, positions: Ints) -> Ints:
        starts, ends, totals = self._covered_until
        if not len(starts):
            return np.zeros(len(positions), dtype=np.int64)
        points = self._on_line(groups, positions)
        at = np.searchsorted(starts, points, side="right") - 1
        inside = np.minimum(points, ends[at]) - starts[at]
        return np.where(at >= 0, totals[at] + inside, 0)


def token_scores(retrieved: Ints, gold: Ints, shared: Ints) -> tuple[Floats, Floats, Floats]:
    """Recall, precision and intersection over union of position sets (metrics.txt, section 3), each (n,).

    From the sizes |R|, |G| and |R and G|, each (n,). NaN where the denominator is 0.

    >>> [score.tolist() for score in token_scores(np.array([7]), np.array([2]), np.array([2]))]
    [[1.0], [0.2857142857142857], [0.2857142857142857]]
    """
    return _ratio(shared, gold), _ratio(shared, retrieved), _ratio(shared, retrieved + gold - shared)


def best_in_group(scores: Floats, groups: Ints, n: int) -> Ints:
    """(n,) for each group the place of its greatest score, the first of equals; -1 for a group without one.

    `groups` (m,) must rise.
    """
    order = np.lexsort((np.arange(len(scores)), -scores, groups))
    best = np.full(n, -1, dtype=np.int64)
    first = np.concatenate(([True], np.diff(groups) > 0)) if len(groups) else np.zeros(0, dtype=bool)
    best[groups[first]] = order[first]
    return best


def edge_placement(marked: Ragged) -> Floats:
    """(n,) mean |2p - 1| over the marked elements of each list, p = place / (length - 1) (metrics.txt, section 5).

    1 where all stand first or last, 0 in the middle; a list of one gives 1; NaN where nothing is marked.

    >>> edge_placement(Ragged(np.array([True, False, True, True]), np.array([0, 3, 4, 4]))).tolist()
    [1.0, 1.0, nan]
    """
    last = (marked.lengths - 1)[marked.rows]
    from_middle = np.abs(2 * marked.places - last) / np.maximum(last, 1)
    from_middle[last == 0] = 1.0
    return _ratio(marked.sums(np.where(marked.values, from_middle, 0.0)), marked.sums(marked.values))


def boundary_scores(found: Ints, ideal: Ints, tolerance: int) -> float:
    """F1 of cut points (metrics.txt, section 1, Boundary Alignment F1), both sorted.

    Precision is the share of found points with an ideal one within `tolerance`, recall the share of ideal ones with a
    found one; many may share a partner. 0 where nothing matches, NaN where there is no point at all.

    >>> boundary_scores(np.array([18, 42]), np.array([42]), 0)
    0.6666666666666666
    """
    if not len(found) and not len(ideal):
        return float("nan")
    matched, recovered = _near(found, ideal, tolerance), _near(ideal, found, tolerance)
    if not matched or not recovered:
        return 0.0
    precision, recall = matched / len(found), recovered / len(ideal)
    return 2 * precision * recall / (precision + recall)


def _near(points: Ints, others: Ints, tolerance: int) -> int:
    """How many points have one of the others (sorted) within the tolerance."""
    after = np.searchsorted(others, points - tolerance, side="left")
    return int(np.count_nonzero(np.searchsorted(others, points + tolerance, side="right") > after))


def _ratio(part: NDArray[np.number], whole: NDArray[np.number]) -> Floats:
    ratio = np.full(len(whole), np.nan)
    np.divide(part, whole, out=ratio, where=whole > 0)
    return ratio


def _expanded(first: Ints, counts: Ints) -> Iterator[tuple[Ints, Ints]]:
    """For row i the numbers first[i], first[i] + 1, ... (counts[i] of them), as (rows, numbers), in blocks of rows."""
    totals = offsets_of(counts)
    low = 0
    while low < len(counts):
        high = max(low + 1, int(np.searchsorted(totals, totals[low] + _BLOCK, side="right")) - 1)
        rows = np.repeat(np.arange(low, high), counts[low:high])
        within = np.arange(len(rows)) - np.repeat(totals[low:high] - totals[low], counts[low:high])
        yield rows, first[rows] + within
        low = high
