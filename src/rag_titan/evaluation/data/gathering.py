"""Records -> tables: few are read at a time and looked at while they are hot, many are computed at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag_titan.evaluation.data.corpus import Corpus
from rag_titan.evaluation.data.forms import tell_other_forms
from rag_titan.evaluation.data.gold import Gold, labels_of
from rag_titan.evaluation.data.heads import WHOLE
from rag_titan.evaluation.data.notices import Notices
from rag_titan.evaluation.data.queries import QuerySource
from rag_titan.evaluation.data.records import Query
from rag_titan.evaluation.data.tables import NO_IDS, Made, QueryTable, Ranked, Settings, columns_of
from rag_titan.evaluation.measures.ragged import Ragged, offsets_of

BATCH = 4096  # queries that are computed at once: large enough for the arrays
HOT = 256  # queries that are read at once: small enough for the processor's cache


def gathered(queries: QuerySource, corpus: Corpus, settings: Settings, slim: bool) -> Iterator[QueryTable]:
    """All queries in tables of about BATCH.

    slim  let go of the records and of their rankings, where nothing but the @K metrics asks for them
    """
    table: _Gathering | None = None
    for few in queries.batches(HOT, settings.depth if slim else None):
        columns = columns_of(few)
        slimmer = slim and not any(name in columns for name in WHOLE)
        if table is not None and (len(table.ids) >= BATCH or table.slim != slimmer):
            yield table.made()
            table = None
        if table is None:
            table = _Gathering(corpus, settings, slimmer)
        table.add(few, columns)
    if table is not None:
        yield table.made()


class _Gathering:
    """A table in the making, to which few records are added at a time.

    The ranked ids are looked at as they are added: a thousand queries later they would have to come from the main
    memory, which takes three times as long.
    """

    def __init__(self, corpus: Corpus, settings: Settings, slim: bool) -> None:
        self.slim = slim
        self.ids: list[str] = []
        self._corpus = corpus
        self._settings = settings
        self._queries: list[Query] = []
        self._columns: dict[str, list[Any]] = {}
        self._rankings: _Rankings | None = _Rankings(settings)
        self._notices = Notices()

    def add(self, queries: Sequence[Query], columns: Mapping[str, Sequence[Any]]) -> None:
        """Take in some queries, and the keys that some of them carry."""
        before, nothing = len(self.ids), (None,) * len(queries)
        self.ids += columns["id"]
        tell_other_forms(self._notices, columns)
        if "retrieved_texts" in columns:
            self._rankings = None  # what these lists hold is known when all texts are
        if self._rankings is not None:
            names = ("retrieved_ids", "relevance", "expected_chunk_ids")
            self._rankings.add(*(columns.get(name, nothing) for name in names))
        for name, values in columns.items():
            if not (self.slim and name == "retrieved_ids"):
                self._columns.setdefault(name, [None] * before).extend(values)
        for name in self._columns.keys() - columns.keys():
            self._columns[name] += nothing
        if not self.slim:
            self._queries += queries

    def made(self) -> QueryTable:
        """The table of what was gathered."""
        made = Made(dict(self._columns), None if self._rankings is None else self._rankings.ranked())
        return QueryTable(self._queries, self._corpus, self._settings, self._notices, self.ids, made)


class _Rankings:
    """The answers to what the @K metrics ask of rankings, query after query."""

    def __init__(self, settings: Settings) -> None:
        self._depth = settings.depth
        self._given: list[bool] = []
        self._labelled: list[bool] = []
        self._returned: dict[int, list[int]] = {k: [] for k in (settings.k, *settings.also_at)}
        self._distinct: dict[int, list[int]] = {k: [] for k in self._returned}
        self._by_id: list[Mapping[str, float]] = []
        self._gold_grades: list[float] = []
        self._lengths: list[int] = []
        self._grades: list[float] = []

    def add(self, lists: Sequence[Any], graded: Sequence[Any], plain: Sequence[Any]) -> None:
        """Take in some queries."""
        depth = self._depth
        heads = [NO_IDS if ids is None else ids[:depth] for ids in lists]
        for k, returned in self._returned.items():
            cut = heads if k == depth else [ids[:k] for ids in heads]
            returned += map(len, cut)
            self._distinct[k] += map(len, map(set, cut))
        self._given += [ids is not None for ids in lists]
        if self._returned[depth][-len(heads) :] != self._distinct[depth][-len(heads) :]:
            heads = [list(dict.fromkeys(ids or NO_IDS))[:depth] for ids in lists]
        gold = [labels_of(r, ids) for r, ids in zip(graded, plain, strict=True)]
        self._labelled += [r is not None or ids is not None for r, ids in zip(graded, plain, strict=True)]
        self._by_id += gold
        for labels in gold:
            self._gold_grades += labels.values()
        self._lengths += map(len, heads)
        nothing = repeat(0.0)
        for labels, ids in zip(gold, heads, strict=True):
            self._grades += map(labels.get, ids, nothing)

    def ranked(self) -> Ranked:
        """The same as arrays."""
        grades = np.maximum(np.array(self._grades, dtype=np.float64), 0.0)  # grades below 0 are not gold
        return Ranked(
            given=np.array(self._given, dtype=bool),
            counts={k: (_ints(self._returned[k]), _ints(self._distinct[k])) for k in self._returned},
            gold=Gold.of(self._by_id, np.array(self._labelled, dtype=bool), self._gold_grades),
            grades=Ragged(grades, offsets_of(_ints(self._lengths))),
        )


def _ints(values: list[int]) -> NDArray[np.int64]:
    return np.array(values, dtype=np.int64)
