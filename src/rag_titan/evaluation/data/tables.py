"""Dataset -> columns: what the stages compute on. What two stages share is cached here."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag_titan.evaluation.conventions import SEED, Conventions
from rag_titan.evaluation.data.corpus import Corpus
from rag_titan.evaluation.data.notices import Notices
from rag_titan.evaluation.data.records import Query
from rag_titan.evaluation.measures.ragged import Ragged, offsets_of

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
NO_IDS: list[str] = []


@dataclass(frozen=True)
class Settings:
    """What an evaluation is asked to do: K, further cut-offs, the conventions and the context budget (in words)."""

    k: int = 5
    also_at: tuple[int, ...] = ()
    conventions: Conventions = SEED
    max_context_tokens: float | None = None

    @property
    def depth(self) -> int:
        """The deepest rank that a @K metric looks at."""
        return max(self.k, *self.also_at, 1)


@dataclass(frozen=True)
class Gold:
    """The gold chunks of n queries: `codes` (Ragged, sorted in each query, grades above 0 only) and their `grades`."""

    codes: Ragged
    grades: Floats
    given: Mask

    def relevant(self, level: float) -> NDArray[np.int64]:
        """(n,) how many gold chunks have at least the grade `level`."""
        return self.codes.sums(self.grades >= level).astype(np.int64)

    def ideal(self, depth: int) -> Floats:
        """(n, depth) all grades of a query in falling order, cut at `depth`, 0 beyond."""
        order = np.lexsort((-self.grades, self.codes.rows))
        rows, places, grades = self.codes.rows, self.codes.places, self.grades[order]
        best = np.zeros((len(self.codes), depth))
        kept = places < depth
        best[rows[kept], places[kept]] = grades[kept]
        return best


class QueryTable:
    """The columns of one batch of n queries.

    Everything is made when it is first asked for and kept, so that the rows of all stages share it. Ids become codes:
    those of the chunk table come first, unknown ids get the codes after them, within the batch.
    """

    def __init__(
        self,
        queries: Sequence[Query],
        corpus: Corpus | None = None,
        settings: Settings | None = None,
        notices: Notices | None = None,
    ) -> None:
        self.queries = queries
        self.corpus = corpus if corpus is not None else Corpus.empty()
        self.settings = settings if settings is not None else Settings()
        self.notices = notices if notices is not None else Notices()
        self.ids = [q.id for q in queries]
        self.codes: defaultdict[str, int] = defaultdict(count(len(self.corpus.codes)).__next__, self.corpus.codes)
        self._columns: dict[str, list[Any]] = {}

    def __len__(self) -> int:
        return len(self.queries)

    def column(self, name: str) -> list[Any]:
        """The raw values of one key, None where it was not given."""
        if name not in self._columns:
            self._columns[name] = [getattr(q, name) for q in self.queries]
        return self._columns[name]

    def given(self, name: str) -> Mask:
        """(n,) True where the key was given (an empty list is given)."""
        return np.array([v is not None for v in self.column(name)], dtype=bool)

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

    def encode(self, lists: Sequence[Sequence[str]]) -> Ragged:
        """Lists of ids as codes."""
        offsets = offsets_of(np.fromiter(map(len, lists), np.int64, len(lists)))
        flat = chain.from_iterable(lists)
        return Ragged(np.fromiter(map(self.codes.__getitem__, flat), np.int64, int(offsets[-1])), offsets)

    def id_lists(self, kind: str) -> list[list[str] | None]:
        """`kind`_ids as given; where only `kind`_texts were logged, each text's chunk id (or an id made from the text)."""
        ids = self.column(f"{kind}_ids")
        texts = self.column(f"{kind}_texts") if kind in ("retrieved", "reranked") else []
        if not any(t is not None for t in texts):
            return ids
        return [
            self.corpus.ids_of_texts(text) if own is None and text is not None else own
            for own, text in zip(ids, texts, strict=True)
        ]

    def ranked_to(self, kind: str, depth: int | None) -> Ragged:
        """The first `depth` different ids of each list as codes, first rank kept; None: whole lists. Not given: empty."""
        lists = [NO_IDS if ids is None else ids for ids in self.id_lists(kind)]
        heads = lists if depth is None else [ids[:depth] for ids in lists]
        return self.encode(
            [
                head if len(set(head)) == len(head) else list(dict.fromkeys(ids))[:depth]
                for head, ids in zip(heads, lists, strict=True)
            ]
        )

    @cached_property
    def retrieved(self) -> Ragged:
        """Codes of the retrieved chunks down to the deepest cut-off."""
        return self.ranked_to("retrieved", self.settings.depth)

    @cached_property
    def retrieved_whole(self) -> Ragged:
        """Codes of the whole retrieved lists."""
        return self.ranked_to("retrieved", None)

    @cached_property
    def reranked_whole(self) -> Ragged:
        """Codes of the whole reranked lists."""
        return self.ranked_to("reranked", None)

    @cached_property
    def context(self) -> Ragged:
        """Codes of the context's chunks in order, repeated ones kept."""
        return self.encode([NO_IDS if ids is None else ids for ids in self.column("context_ids")])

    def has_list(self, kind: str) -> Mask:
        """(n,) True where the ids or the texts of that list were given."""
        return np.array([ids is not None for ids in self.id_lists(kind)], dtype=bool)

    @cached_property
    def gold(self) -> Gold:
        """`relevance`, and `expected_chunk_ids` with grade 1 for those it does not name; grades of 0 and below are dropped."""
        graded = [r if r is not None else {} for r in self.column("relevance")]
        plain = [ids if ids is not None else NO_IDS for ids in self.column("expected_chunk_ids")]
        first, extra = self.encode([list(r) for r in graded]), self.encode(plain)
        grades = np.fromiter(chain.from_iterable(r.values() for r in graded), np.float64, len(first.values))
        rows = np.concatenate([first.rows, extra.rows])
        codes = np.concatenate([first.values, extra.values])
        grades = np.concatenate([grades, np.ones(len(extra.values))])
        keys, kept = np.unique(rows * np.int64(len(self.codes) + 1) + codes, return_index=True)
        del keys
        kept = kept[grades[kept] > 0]
        rows = rows[kept]
        offsets = offsets_of(np.bincount(rows, minlength=len(self)))
        return Gold(Ragged(codes[kept], offsets), grades[kept], self.given("relevance") | self.given("expected_chunk_ids"))

    def grades_of(self, ranked: Ragged) -> Floats:
        """(total,) the gold grade of every ranked chunk, 0 where it is not gold."""
        size = np.int64(len(self.codes) + 1)
        gold_keys = self.gold.codes.rows * size + self.gold.codes.values
        keys = ranked.rows * size + ranked.values
        places = np.minimum(np.searchsorted(gold_keys, keys), max(len(gold_keys) - 1, 0))
        if not len(gold_keys):
            return np.zeros(len(keys))
        return np.where(gold_keys[places] == keys, self.gold.grades[places], 0.0)

    def grade_matrix(self, ranked: Ragged, depth: int) -> Floats:
        """(n, depth) the gold grade at each rank; 0 where nothing relevant stands."""
        matrix = np.zeros((len(self), depth))
        kept = ranked.places < depth
        matrix[ranked.rows[kept], ranked.places[kept]] = self.grades_of(ranked)[kept]
        return matrix

    @cached_property
    def retrieved_grades(self) -> Floats:
        """(n, depth) grades of the retrieved chunks."""
        return self.grade_matrix(self.retrieved, self.settings.depth)

    @cached_property
    def reranked_grades(self) -> Floats:
        """(n, depth) grades of the reranked chunks."""
        return self.grade_matrix(self.reranked_whole, self.settings.depth)

    @cached_property
    def ideal_grades(self) -> Floats:
        """(n, depth) grades of the best order of all gold chunks."""
        return self.gold.ideal(self.settings.depth)

    @cached_property
    def relevant(self) -> NDArray[np.int64]:
        """(n,) gold chunks at or above the relevance level."""
        return self.gold.relevant(self.settings.conventions.relevance_level)
