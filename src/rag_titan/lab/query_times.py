"""What one query takes in an index, beside other programs that take the machine away from it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag_titan.lab.corpus import Corpus
from rag_titan.lab.index_kind import Search
from rag_titan.lab.indexes import working

Floats = NDArray[np.float64]

GROUPS = 10  # into which the queries are parted
_BUSY, _QUIET = 0.5, 0.1  # a call that computes uses the CPU for half of its time; so many calls are left alone


@dataclass(frozen=True)
class QueryTimes:
    """Milliseconds of every call (rounds, sizes, values, m): by the clock on the wall, and of the CPU."""

    wall: Floats
    cpu: Floats

    @property
    def clock(self) -> str:
        """ "cpu" where an index computes in this process, so that the time that other programs take is not in it;
        "wall" where it waits, as for a service. Judged with the smallest corpus, whose calls are seldom interrupted."""
        busy = self.cpu[:, 0] >= _BUSY * self.wall[:, 0]
        return "cpu" if busy.mean() >= _QUIET and (self._best(self.cpu) > 0).all() else "wall"

    @property
    def chosen(self) -> Floats:
        """The times by that clock."""
        return self.cpu if self.clock == "cpu" else self.wall

    @property
    def slowed(self) -> float | None:
        """How many times the best rounds a call takes by the clock on the wall, in the mean over the queries, at the
        size and value where it is most; None where the clock is too coarse."""
        best = self._best(self.chosen)
        return float((self.wall.mean(axis=(0, 3)) / best).max()) if best.all() else None

    @staticmethod
    def _best(times: Floats) -> Floats:
        return np.asarray(np.median(times.min(axis=0), axis=2))


def groups(m: int) -> list[slice]:
    """The queries in 10 groups, in their order; fewer where there are fewer queries.

    >>> groups(3), len(groups(200))
    ([slice(0, 1, None), slice(1, 2, None), slice(2, 3, None)], 10)
    """
    parts = min(GROUPS, m)
    return [slice(m * i // parts, m * (i + 1) // parts) for i in range(parts)]


def measured(
    searches: Sequence[Search],
    corpora: Sequence[Corpus],
    params: Sequence[Mapping[str, int]],
    rounds: int,
    name: str,
    tell: Callable[[int, str], None],
) -> tuple[QueryTimes, list[list[list[Any]]]]:
    """The times, and the answers by size, value and query.

    A round before those that count warms up, and its answers are the ones returned: what is timed is what is judged.
    In a round the sizes are asked in turn, one group of queries after the other, so that what disturbs one size
    disturbs the others alike.
    """
    m = len(corpora[0].queries)
    times = np.empty((rounds + 1, len(searches), len(params), m, 2))
    answers: list[list[list[Any]]] = [[[None] * m for _ in params] for _ in searches]
    for turn in range(rounds + 1):
        for group in groups(m):
            for s, (search, corpus) in enumerate(zip(searches, corpora, strict=True)):
                tell(turn, f"asks {len(corpus.vectors):,} vectors, query {group.start + 1} of {m}")
                for v, values in enumerate(params):
                    found = _ask(search, corpus, values, group, name, times[turn, s, v])
                    if turn == 0:
                        answers[s][v][group] = found
    return QueryTimes(times[1:, ..., 0], times[1:, ..., 1]), answers


def _ask(
    search: Search, corpus: Corpus, values: Mapping[str, int], group: slice, name: str, times: Floats
) -> list[Any]:
    """The answers to the queries of a group; `times` (m, 2) are filled in."""
    found = []
    with working(name, "answer a query without an error"):
        for i in range(group.start, group.stop):
            query = corpus.queries[i : i + 1]
            busy = time.process_time_ns()
            start = time.perf_counter_ns()
            answer = search(query, corpus.k, **values)
            end = time.perf_counter_ns()
            times[i] = end - start, time.process_time_ns() - busy
            found.append(answer)
    times[group] /= 1e6
    return found
