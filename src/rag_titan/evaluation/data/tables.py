"""Dataset -> columns: what the stages compute on. What two stages share is cached here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag_titan.evaluation.conventions import SEED, Conventions
from rag_titan.evaluation.data.notices import Notices
from rag_titan.evaluation.data.records import Query
from rag_titan.evaluation.measures.ragged import Ragged, offsets_of

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


class QueryTable:
    """The columns of one batch of n queries.

    Everything is made when it is first asked for and kept, so that the rows of all stages share it.
    """

    def __init__(self, queries: Sequence[Query], notices: Notices | None = None) -> None:
        self.queries = queries
        self.notices = notices if notices is not None else Notices()
        self.ids = [q.id for q in queries]

    def __len__(self) -> int:
        return len(self.queries)

    def column(self, name: str) -> list[Any]:
        """The raw values of one key, None where it was not given."""
        return [getattr(q, name) for q in self.queries]

    def given(self, name: str) -> Mask:
        """(n,) True where the key was given (an empty list is given)."""
        return np.array([getattr(q, name) is not None for q in self.queries], dtype=bool)

    def flags(self, name: str) -> Floats:
        """(n,) 1 for true, 0 for false, NaN where not given."""
        return np.array([np.nan if v is None else float(v) for v in self.column(name)], dtype=np.float64)

    def amounts(self, name: str) -> Floats:
        """(n,) a time, cost or count; NaN where not given. NaN, infinite or negative ones are left out with a warning."""
        values = np.array([np.nan if v is None else v for v in self.column(name)], dtype=np.float64)
        bad = self.given(name) & ~((values >= 0) & np.isfinite(values))
        if bad.any():
            sentence = f"{name} must be a number from 0; left out where it is not finite or is negative: {{ids}}."
            self.notices.add(sentence, [self.ids[i] for i in np.flatnonzero(bad)])
            values[bad] = np.nan
        return values
