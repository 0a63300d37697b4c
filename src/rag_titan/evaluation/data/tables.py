"""Dataset -> columns: what the stages compute on. What two stages share is cached here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, repeat
from typing import Any

import numpy as np
from msgspec.structs import astuple
from numpy.typing import NDArray

from rag_titan.evaluation.conventions import SEED, Conventions
from rag_titan.evaluation.data.answers import Answers, references_of
from rag_titan.evaluation.data.citations import Cited, read_markers
from rag_titan.evaluation.data.contexts import Contexts
from rag_titan.evaluation.data.corpus import Corpus
from rag_titan.evaluation.data.evidence import evidence_of
from rag_titan.evaluation.data.gold import Gold, labels_of, lengths_of
from rag_titan.evaluation.data.notices import Notices
from rag_titan.evaluation.data.records import Query
from rag_titan.evaluation.data.spans import Spans
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
class Ranked:
    """What the @K metrics ask of the retrieved ids of n queries.

    given   (n,) True where a list was given
    counts  {k: ((n,) ids among the first k, (n,) different ones among them)}
    gold    the gold chunks
    grades  for each query the gold grades of its different ids, down to the deepest cut-off
    """

    given: Mask
    counts: Mapping[int, tuple[NDArray[np.int64], NDArray[np.int64]]]
    gold: Gold
    grades: Ragged


@dataclass(frozen=True)
class Made:
    """What of a table is made already: the keys that some query carries, and what its rankings say, if it is known."""

    raw: dict[str, Sequence[Any]]
    ranked: Ranked | None


class QueryTable:
    """The columns of one batch of n queries.

    Everything is made when it is first asked for and kept, so that the rows of all stages share it.
    """

    def __init__(
        self,
        queries: Sequence[Query],
        corpus: Corpus | None = None,
        settings: Settings | None = None,
        notices: Notices | None = None,
        ids: Sequence[str] | None = None,
        made: Made | None = None,
    ) -> None:
        self.queries = queries
        self.passed = corpus if corpus is not None else Corpus()
        self.vocabulary = self.passed.words.current()
        self.indexed_chunks = len(self.passed.chunks)  # behind these stand the logged texts that are no chunk
        self.settings = settings if settings is not None else Settings()
        self.notices = notices if notices is not None else Notices()
        self.ids: Sequence[str] = [q.id for q in queries] if ids is None else ids
        self._columns: dict[str, list[Any]] = {}
        self._amounts: dict[str, Floats] = {}
        self._given: dict[str, Mask] = {}
        self._counts: dict[str, NDArray[np.int64]] = {}
        if made is not None:
            self._raw = made.raw
            self._take(made.ranked)

    @cached_property
    def corpus(self) -> Corpus:
        """The chunks, and behind them the logged texts that are no chunk."""
        logged = [texts for kind in ("retrieved_texts", "reranked_texts") for texts in self.column(kind) if texts]
        return self.passed.with_texts(chain.from_iterable(logged)) if logged else self.passed

    def _take(self, ranked: Ranked | None) -> None:
        """Take over what was asked of the rankings already."""
        if ranked is None:
            return
        self._given |= dict.fromkeys(("retrieved_ids", "retrieved_lists"), ranked.given)
        for k, (returned, distinct) in ranked.counts.items():
            self._counts[f"retrieved_returned_{k}"] = returned
            self._counts[f"retrieved_distinct_{k}"] = distinct
        self.gold = ranked.gold
        self.retrieved_grades = self._matrix(ranked.grades)

    def __len__(self) -> int:
        return len(self.ids)

    def column(self, name: str) -> Sequence[Any]:
        """The raw values of one key, None where it was not given."""
        values = self._raw.get(name)
        return self._nothing if values is None else values

    @cached_property
    def _raw(self) -> dict[str, Sequence[Any]]:
        """The keys that some query carries."""
        return columns_of(self.queries)

    @cached_property
    def _nothing(self) -> tuple[None, ...]:
        return (None,) * len(self)

    def given(self, name: str) -> Mask:
        """(n,) True where the key was given (an empty list is given)."""
        if name not in self._given:
            absent = name not in self._raw
            self._given[name] = np.zeros(len(self), dtype=bool) if absent else _given(self._raw[name])
        return self._given[name]

    def flags(self, name: str) -> Floats:
        """(n,) 1 for true, 0 for false, NaN where not given."""
        return np.array([np.nan if v is None else float(v) for v in self.column(name)], dtype=np.float64)

    def amounts(self, name: str) -> Floats:
        """(n,) a time, cost or count; NaN where not given.

        What is NaN, infinite or negative is left out with a warning.
        """
        if name not in self._amounts:
            self._amounts[name] = self._measured(name)
        return self._amounts[name]

    def _measured(self, name: str) -> Floats:
        if not self.given(name).any():
            return np.full(len(self), np.nan)
        values = np.array([np.nan if v is None else v for v in self.column(name)], dtype=np.float64)
        bad = self.given(name) & ~((values >= 0) & np.isfinite(values))
        if bad.any():
            sentence = f"{name} must be a number from 0; left out where it is not finite or is negative: {{ids}}."
            self.notices.add(sentence, [self.ids[i] for i in np.flatnonzero(bad).tolist()])
            values[bad] = np.nan
        return values

    def lists(self, kind: str) -> list[list[str] | None]:
        """`kind`_ids as given; where only `kind`_texts were logged, each text's chunk id, or one made from the text."""
        key = f"{kind}_lists"
        if key not in self._columns:
            ids = self.column(f"{kind}_ids")
            texts = self.column(f"{kind}_texts") if kind != "context" else []
            if any(t is not None for t in texts):
                known = self.corpus.ids_of_texts
                ids = [known(t) if i is None and t is not None else i for i, t in zip(ids, texts, strict=True)]
            self._columns[key] = list(ids)
        return self._columns[key]

    def has_list(self, kind: str) -> Mask:
        """(n,) True where the ids or the texts of that list were given."""
        key = f"{kind}_lists"
        if key not in self._given:
            self._given[key] = _given(self.lists(kind))
        return self._given[key]

    def ranked(self, kind: str, depth: int | None = None) -> list[list[str]]:
        """The different ids of each list, first rank kept, down to `depth` (None: all); not given is empty."""
        key = f"{kind}_ranked_{depth}"
        if key not in self._columns:
            heads = self.heads(kind, depth)
            repeated = np.flatnonzero(self.returned(kind, depth) != self.distinct(kind, depth))
            if len(repeated):
                heads = list(heads)
                for i in repeated.tolist():
                    heads[i] = list(dict.fromkeys(self.lists(kind)[i] or NO_IDS))[:depth]
            self._columns[key] = heads
        return self._columns[key]

    def heads(self, kind: str, depth: int | None = None) -> list[list[str]]:
        """The first `depth` ids of each list as they were returned, repeated ones kept; not given is empty."""
        key = f"{kind}_heads_{depth}"
        if key not in self._columns:
            lists = self.lists(kind)
            self._columns[key] = [
                NO_IDS if ids is None else ids if depth is None or len(ids) <= depth else ids[:depth] for ids in lists
            ]
        return self._columns[key]

    def returned(self, kind: str, depth: int | None = None) -> NDArray[np.int64]:
        """(n,) how many ids stand among the first `depth`, repeated ones counted."""
        key = f"{kind}_returned_{depth}"
        if key not in self._counts:
            self._counts[key] = lengths_of(self.heads(kind, depth))
        return self._counts[key]

    def distinct(self, kind: str, depth: int | None = None) -> NDArray[np.int64]:
        """(n,) how many different ids stand among the first `depth` returned."""
        key = f"{kind}_distinct_{depth}"
        if key not in self._counts:
            self._counts[key] = lengths_of(list(map(set, self.heads(kind, depth))))
        return self._counts[key]

    def codes(self, lists: Sequence[Sequence[str]]) -> Ragged:
        """Lists of chunk ids as codes of the chunk table, -1 for an id that is not in it."""
        offsets = offsets_of(lengths_of(lists))
        flat = chain.from_iterable(lists)
        found = map(self.corpus.codes.get, flat, repeat(-1))
        return Ragged(np.fromiter(found, np.int64, int(offsets[-1])), offsets)

    @cached_property
    def spans(self) -> Spans:
        """`expected_evidence`, laid over the chunks."""
        evidence = evidence_of(
            self.column("expected_evidence"),
            self.corpus.documents,
            self.ids,
            self.notices,
            where=lambda i, j: f"query {self.ids[i]!r}: expected_evidence[{j}]",
        )
        return Spans(evidence, self.corpus.layout)

    @cached_property
    def gold(self) -> Gold:
        """`relevance`, and `expected_chunk_ids` with grade 1 for those it does not name; grades from 0 down dropped."""
        graded, plain = self.column("relevance"), self.column("expected_chunk_ids")
        return Gold.of([labels_of(r, ids) for r, ids in zip(graded, plain, strict=True)], self._labelled)

    @property
    def _labelled(self) -> Mask:
        return self.given("relevance") | self.given("expected_chunk_ids")

    def grades_of(self, lists: Sequence[Sequence[str]]) -> Ragged:
        """For each id of each query's list its gold grade, 0 where it is not gold."""
        offsets = offsets_of(lengths_of(lists))
        found = (map(gold.get, ids, repeat(0.0)) for gold, ids in zip(self.gold.by_id, lists, strict=True))
        return Ragged(np.fromiter(chain.from_iterable(found), np.float64, int(offsets[-1])), offsets)

    @cached_property
    def width(self) -> int:
        """How many ranks hold anything: the longest list or the most gold, at least 1, at most the deepest cut-off.

        What lies deeper adds nothing to any sum, so that K may be as large as it likes.
        """
        depth = self.settings.depth
        lists = [self.returned(kind, depth) for kind in ("retrieved", "reranked") if self.has_list(kind).any()]
        longest = (int(lengths.max()) for lengths in (*lists, self.gold.grades.lengths) if len(lengths))
        return min(depth, max([1, *longest]))

    def grade_matrix(self, kind: str) -> Floats:
        """(n, width) the gold grade at each rank of the list; 0 where nothing relevant stands."""
        return self._matrix(self.grades_of(self.ranked(kind, self.settings.depth)))

    def _matrix(self, grades: Ragged) -> Floats:
        matrix = np.zeros((len(self), self.width))
        matrix[grades.rows, grades.places] = grades.values
        return matrix

    @cached_property
    def retrieved_grades(self) -> Floats:
        """(n, width) grades of the retrieved chunks."""
        return self.grade_matrix("retrieved")

    @cached_property
    def reranked_grades(self) -> Floats:
        """(n, width) grades of the reranked chunks."""
        return self.grade_matrix("reranked")

    @cached_property
    def ideal_grades(self) -> Floats:
        """(n, width) grades of the best order of all gold chunks."""
        return self.gold.ideal(self.width)

    def scored(self, values: Floats, asked: Mask) -> Floats:
        """The values where a list was asked for; without any relevant chunk NaN, or 0 where the conventions say so."""
        zero = asked & self.gold.given & (self.settings.conventions.no_relevant == "zero")
        return np.where(asked & ~np.isnan(values), values, np.where(zero, 0.0, np.nan))

    @cached_property
    def relevant(self) -> NDArray[np.int64]:
        """(n,) gold chunks at or above the relevance level."""
        return self.gold.relevant(self.settings.conventions.relevant_from)

    @cached_property
    def markers(self) -> dict[int, Cited]:
        """{row: the answer without its citation markers, and what they cite}, of the answers that may have some."""
        answers, ids, known = self.column("answer"), self.column("context_ids"), self.corpus.codes
        return {i: read_markers(a, ids[i], known) for i, a in enumerate(answers) if a is not None and "[" in a}

    @cached_property
    def citations(self) -> list[Sequence[str] | None]:
        """The cited ids of each query: `citations`, else those of the markers in the answer, else None."""
        cited: list[Sequence[str] | None] = list(self.column("citations"))
        for i, found in self.markers.items():
            cited[i] = found.ids if cited[i] is None else cited[i]
        return cited

    @cached_property
    def answers(self) -> Answers:
        """The answers, without citation markers where the conventions take them out, and their references."""
        texts = list(self.column("answer"))
        if self.settings.conventions.strip_citations:
            for i, found in self.markers.items():
                texts[i] = found.text
        pairs = zip(self.column("expected_answer"), self.column("expected_answers"), strict=True)
        references = [references_of(one, several) for one, several in pairs]
        return Answers(texts, references, self.vocabulary, self.settings.conventions)

    @cached_property
    def contexts(self) -> Contexts:
        """The text that the model was given, as far as it is known."""
        ids = [c if self.corpus.given or not c else None for c in self.lists("context")]
        return Contexts(self.column("context"), ids, self.corpus.text_of, self.vocabulary)


def columns_of(queries: Sequence[Query]) -> dict[str, Sequence[Any]]:
    """The keys that some query carries; all in one go takes a third of the time of a key at a time."""
    n = len(queries)
    columns = zip(*map(astuple, queries), strict=True)
    return {name: c for name, c in zip(Query.__struct_fields__, columns, strict=False) if c.count(None) < n}


def _given(column: Sequence[Any]) -> Mask:
    absent = column.count(None)
    if absent in (0, len(column)):
        return np.full(len(column), absent == 0)
    return np.array([value is not None for value in column], dtype=bool)
