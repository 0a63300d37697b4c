"""The packing against a slow twin, and by hand."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rag_titan.pipeline.chunking.packing import Level, spans
from rag_titan.pipeline.chunking.pieces import Pieces


@dataclass
class Case:
    """Pieces of these sizes, one behind the other; levels as (firsts, apart, alone)."""

    sizes: list[int]
    levels: list[tuple[set[int], bool, bool]]
    size: int
    overlap: int
    again: set[int]

    def pieces(self) -> Pieces:
        ends = np.cumsum(self.sizes, dtype=np.int64)
        starts = ends - np.array(self.sizes, dtype=np.int64)
        return Pieces(starts, ends, starts, ends, np.arange(len(ends)))

    def packed(self) -> list[tuple[int, int]]:
        levels = [Level(np.array(sorted(firsts), dtype=np.int64), apart, alone) for firsts, apart, alone in self.levels]
        again = np.array(sorted(self.again), dtype=np.int64)
        return list(spans(self.pieces(), levels, self.size, self.overlap, again))

    def packed_slowly(self) -> list[tuple[int, int]]:
        groups: list[list[list[int]]] = [[]]
        self._cut(list(range(len(self.sizes))), 0, groups)
        starts = {whole[0] for group in groups for whole in group} | self.again
        return [
            (sum(self.sizes[: chunk[0]]), sum(self.sizes[: chunk[-1] + 1]))
            for group in groups
            for chunk in self._chunks(group, starts)
        ]

    def _weight(self, pieces: list[int]) -> int:
        return sum(self.sizes[piece] for piece in pieces)

    def _cut(self, region: list[int], depth: int, groups: list[list[list[int]]]) -> None:
        """Put the wholes of a region into the last of the groups, or into new ones."""
        bottom = depth == len(self.levels)
        firsts, apart, alone = (set(region), False, False) if bottom else self.levels[depth]
        parts: list[list[int]] = []
        for piece in region:
            if piece == region[0] or piece in firsts:
                parts.append([])
            parts[-1].append(piece)
        for part in parts:
            fits = self._weight(part) <= self.size or len(part) == 1
            if alone or (apart and not fits):
                groups.append([])
            if fits:
                groups[-1].append(part)
                continue
            self._cut(part, depth + 1, groups)
            if apart:
                groups.append([])
        if alone:
            groups.append([])

    def _chunks(self, group: list[list[int]], starts: set[int]) -> list[list[int]]:
        chunks: list[list[int]] = []
        for whole in group:
            if chunks and self._weight(chunks[-1] + whole) <= self.size:
                chunks[-1] += whole
                continue
            again: list[int] = []
            for start in chunks[-1] if chunks and self.overlap else []:
                rest = [piece for piece in chunks[-1] if piece >= start]
                if start in starts and self._weight(rest) <= self.overlap and self._weight(rest + whole) <= self.size:
                    again = rest
                    break
            chunks.append(again + whole)
        return chunks


@st.composite
def cases(draw: st.DrawFn) -> Case:
    sizes = draw(st.lists(st.integers(1, 5), max_size=25))
    places = st.sets(st.integers(0, max(len(sizes) - 1, 0)), max_size=8) if sizes else st.just(set())
    levels = draw(st.lists(st.tuples(places, st.booleans(), st.booleans()), max_size=3))
    size = draw(st.integers(1, 15))
    return Case(sizes, levels, size, draw(st.integers(0, size - 1)), draw(places))


@given(case=cases())
def test_like_the_slow_twin(case: Case) -> None:
    assert case.packed() == case.packed_slowly()


def test_what_is_too_long_stands_apart_where_its_level_says_so() -> None:
    together = Case([1, 1, 1, 1, 1, 1], [({0, 1, 5}, False, False)], 3, 0, set())
    assert together.packed() == [(0, 3), (3, 6)]
    apart = Case([1, 1, 1, 1, 1, 1], [({0, 1, 5}, True, False)], 3, 0, set())
    assert apart.packed() == [(0, 1), (1, 4), (4, 5), (5, 6)]
    alone = Case([1, 1, 1, 1], [({0, 1, 2}, False, True)], 3, 0, set())
    assert alone.packed() == [(0, 1), (1, 2), (2, 4)]


def test_an_overlap_gives_way_to_what_must_fit_behind_it() -> None:
    assert Case([1, 1, 1, 3], [], 4, 2, set()).packed() == [(0, 3), (2, 6)]
    assert Case([1, 1, 1, 9], [], 4, 2, set()).packed() == [(0, 3), (3, 12)]  # a piece larger than a chunk


def test_no_pieces() -> None:
    assert Case([], [({0}, True, True)], 4, 2, set()).packed() == []
