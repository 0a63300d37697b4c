"""Hypothesis strategies that several test files share: rankings, and datasets from valid to hostile."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

GRADES = st.sampled_from([0.25, 1.0, 1.0, 1.0, 2.0, 3.0, 7.0, 50.0])


@dataclass(frozen=True)
class Rankings:
    """n queries as a person would write them: the gold grades, and what stands at each rank (None: not relevant).

    gold    for each query the grades of all its gold items
    ranked  for each query the places in `gold` of what was returned, best first, none twice
    k       the cut-off
    """

    gold: list[list[float]]
    ranked: list[list[int | None]]
    k: int

    def grade(self, query: int, rank: int) -> float:
        """The grade of what stands at a rank from 1; 0 beyond the list."""
        returned = self.ranked[query]
        place = returned[rank - 1] if rank <= len(returned) else None
        return 0.0 if place is None else self.gold[query][place]

    @property
    def grades(self) -> Any:
        """(n, k) as the measures take them."""
        rows = [[self.grade(q, rank) for rank in range(1, self.k + 1)] for q in range(len(self.gold))]
        return np.array(rows, dtype=np.float64).reshape(len(self.gold), self.k)

    @property
    def ideal(self) -> Any:
        """(n, k) all gold grades in falling order, cut at k."""
        best = [(sorted(gold, reverse=True) + [0.0] * self.k)[: self.k] for gold in self.gold]
        return np.array(best, dtype=np.float64).reshape(len(self.gold), self.k)

    def relevant(self, level: float) -> Any:
        """(n,) gold items of at least that grade."""
        return np.array([sum(g >= level for g in gold) for gold in self.gold], dtype=np.int64)


@st.composite
def rankings(draw: st.DrawFn, queries: int = 6, length: int = 8) -> Rankings:
    """Batches of rankings, queries without gold and without results among them."""
    n, k = draw(st.integers(0, queries)), draw(st.integers(1, length + 2))
    gold, ranked = [], []
    for _ in range(n):
        grades = draw(st.lists(GRADES, max_size=length))
        places: list[int | None] = [*range(len(grades)), *[None] * draw(st.integers(0, 3))]
        order = draw(st.permutations(places))
        gold.append(grades)
        ranked.append(list(order[: draw(st.integers(0, len(order)))]))
    return Rankings(gold, ranked, k)
