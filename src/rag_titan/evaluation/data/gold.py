"""The gold chunks of queries: `relevance` and `expected_chunk_ids` as one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Sized
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from rag_titan.evaluation.measures.ragged import Ragged, offsets_of

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
NO_LABELS: dict[str, float] = {}


@dataclass(frozen=True)
class Gold:
    """The gold chunks of n queries.

    by_id    for each query {chunk id: grade}, grades above 0 only
    grades   the same grades, query after query
    given    (n,) True where labels were given, were they empty
    """

    by_id: list[Mapping[str, float]]
    grades: Ragged
    given: Mask

    @classmethod
    def of(cls, by_id: list[Mapping[str, float]], given: Mask, grades: Sequence[float] | None = None) -> Gold:
        """From the labels of each query; `grades` are all of them in a row, where somebody has them already."""
        offsets = offsets_of(lengths_of(by_id))
        every = chain.from_iterable(labels.values() for labels in by_id) if grades is None else grades
        values = np.fromiter(every, np.float64, int(offsets[-1]))
        if len(values) and not values.min() > 0:
            by_id = [{chunk: grade for chunk, grade in labels.items() if grade > 0} for labels in by_id]
            return cls(by_id, Ragged(values, offsets).keep(values > 0), given)
        return cls(by_id, Ragged(values, offsets), given)

    def relevant(self, level: float) -> NDArray[np.int64]:
        """(n,) how many gold chunks have at least the grade `level`."""
        return self.grades.sums(self.grades.values >= level).astype(np.int64)

    def ideal(self, depth: int) -> Floats:
        """(n, depth) all grades of a query in falling order, cut at `depth`, 0 beyond."""
        rows, places = self.grades.rows, self.grades.places
        falling = self.grades.values[np.lexsort((-self.grades.values, rows))]
        best = np.zeros((len(self.grades), depth))
        kept = places < depth
        best[rows[kept], places[kept]] = falling[kept]
        return best


def labels_of(graded: Mapping[str, float] | None, plain: Sequence[str] | None) -> Mapping[str, float]:
    """{chunk id: grade}: `relevance`, and `expected_chunk_ids` with grade 1 for those it does not name.

    >>> labels_of({"a": 2}, ["a", "b"])
    {'a': 2, 'b': 1.0}
    """
    if not plain:
        return graded or NO_LABELS
    return {**dict.fromkeys(plain, 1.0), **graded} if graded else dict.fromkeys(plain, 1.0)


def lengths_of(lists: Sequence[Sized]) -> NDArray[np.int64]:
    """(n,) the length of each."""
    return np.fromiter(map(len, lists), np.int64, len(lists))
