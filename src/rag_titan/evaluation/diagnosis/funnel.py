"""The evidence funnel: at which step of the pipeline each question's evidence was lost.

A step keeps the evidence while every quote is whole in one of its chunks (of `any_of`: one of them); with gold ids
only, while at least one of them is left. What a later step still has was not lost before it: the loss is placed right
after the last step that is seen to have the evidence.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rag_titan.evaluation.data.normal import normal_text
from rag_titan.evaluation.data.tables import NO_IDS, QueryTable
from rag_titan.evaluation.metric import Floats, Stage

STEPS: tuple[Stage, ...] = (Stage.CHUNKING, Stage.EMBEDDING, Stage.RETRIEVAL, Stage.RERANKING, Stage.AUGMENTATION)


@dataclass(frozen=True)
class Funnel:
    """The evidence of n queries at the steps before the answer.

    indexed  ids of the chunks that are really in the vector index; None where nobody said
    """

    table: QueryTable
    indexed: Collection[str] | None = None

    @cached_property
    def kept(self) -> Floats:
        """(n, steps) 1 where the step has the evidence, 0 where not, NaN where the step or the labels are missing."""
        columns = (self._chunked(), self._indexed(), self._retrieved(), self._reranked(), self._in_context())
        return np.column_stack(columns) if len(self.table) else np.empty((0, len(STEPS)))

    @cached_property
    def known(self) -> NDArray[np.bool_]:
        """(n,) True where at least one step says something of the evidence."""
        return np.asarray(~np.isnan(self.kept).all(axis=1), dtype=bool)

    @cached_property
    def lost_step(self) -> NDArray[np.int64]:
        """(n,) the step at which the evidence was lost, -1 where it was not, or where nothing is known of it."""
        steps = np.arange(len(STEPS))
        last_kept = np.where(self.kept == 1, steps, -1).max(axis=1, initial=-1)
        later_loss = (self.kept == 0) & (steps > last_kept[:, None])
        return np.where(later_loss.any(axis=1), later_loss.argmax(axis=1), -1)

    @cached_property
    def arrived(self) -> Floats:
        """(n,) 1 where the evidence came through to the last recorded step, 0 where it was lost, NaN where unknown."""
        return np.where(self.known, (self.lost_step < 0).astype(np.float64), np.nan)

    @cached_property
    def by_quotes(self) -> bool:
        """True where some query has quotes or spans as evidence."""
        return any(self.table.column("expected_evidence"))

    @cached_property
    def unjudged(self) -> NDArray[np.bool_]:
        """(m,) True for evidence that is in no document and in no chunk, or whose words are not known.

        A wrong quote is no loss of the system's.
        """
        evidence = self.table.spans.evidence
        wordless = np.array([text is None for text in evidence.texts], dtype=bool)
        nowhere = evidence.documents.given & ~evidence.placed & ~self.indexed_whole
        unknown = np.bincount(evidence.item[wordless], minlength=len(nowhere)) > 0
        return np.asarray(nowhere | unknown, dtype=bool)

    @cached_property
    def indexed_whole(self) -> NDArray[np.bool_]:
        """(m,) True for evidence that is whole in a chunk of the chunk table; texts that were logged are none of it."""
        holders = self.table.spans.holders
        return np.asarray(holders.sums(holders.values < self.table.indexed_chunks) > 0, dtype=bool)

    def unreadable(self, codes: NDArray[np.int64]) -> NDArray[np.bool_]:
        """True for a chunk of which no text is known."""
        blind = np.append(self.table.spans.layout.wordless, True)  # an unknown chunk (-1) reads the last
        return np.asarray(blind[codes], dtype=bool)

    def _chunked(self) -> Floats:
        """Is every quote whole in one chunk of the chunk table? Only quotes can say so."""
        if not (self.by_quotes and self.table.corpus.given):
            return np.full(len(self.table), np.nan)
        every = np.arange(self.table.indexed_chunks)
        return self._in_chunks(every, unsure=bool(self.unreadable(every).any()))

    def _in_chunks(self, codes: NDArray[np.int64], unsure: bool) -> Floats:
        """(n,) is every quote whole in one of these chunks? `unsure`: there are more, whose texts are not known."""
        holders = self.table.spans.holders
        held = holders.sums(np.isin(holders.values, codes)) > 0
        return self._all_items(held, np.full(len(self.table), unsure))

    def _indexed(self) -> Floats:
        if self.indexed is None:
            return np.full(len(self.table), np.nan)
        indexed, level = self.indexed, self.table.settings.conventions.relevant_from
        found = [any(g >= level and chunk in indexed for chunk, g in gold.items()) for gold in self.table.gold.by_id]
        by_ids = np.where(self.table.relevant > 0, np.array(found, dtype=np.float64), np.nan)
        if not self.by_quotes:
            return by_ids
        codes = np.array([self.table.corpus.codes.get(chunk, -1) for chunk in indexed], dtype=np.int64)
        by_quotes = self._in_chunks(codes, unsure=bool(self.unreadable(codes).any()))
        return np.where(np.isnan(by_quotes), by_ids, by_quotes)

    def _retrieved(self) -> Floats:
        """The top K; where a reranker follows, all of its candidates."""
        given, reranks = self.table.has_list("retrieved"), self.table.has_list("reranked")
        heads = self.table.ranked("retrieved", self.table.settings.depth) if self.by_quotes or reranks.any() else []
        if not reranks.any():
            return self._kept(heads, self._top(self.table.retrieved_grades), given, cut=True)
        whole = self.table.ranked("retrieved")
        k = self.table.settings.k
        candidates = [w if r else h[:k] for h, w, r in zip(heads, whole, reranks.tolist(), strict=True)]
        return self._kept(candidates, self._any_gold(candidates), given)

    def _reranked(self) -> Floats:
        given = self.table.has_list("reranked")
        if not given.any():
            return np.full(len(self.table), np.nan)
        heads = self.table.ranked("reranked", self.table.settings.depth)
        return self._kept(heads, self._top(self.table.reranked_grades), given, cut=True)

    def _in_context(self) -> Floats:
        given = self.table.given("context_ids")
        lists = [NO_IDS if ids is None else ids for ids in self.table.column("context_ids")]
        kept = self._kept(lists, self._any_gold(lists), given) if given.any() else np.full(len(self.table), np.nan)
        if self.by_quotes:
            for i in np.flatnonzero(self.table.given("context") & np.isnan(kept)).tolist():
                kept[i] = self._in_text(i)
        return kept

    def _top(self, grades: Floats) -> NDArray[np.bool_]:
        """(n,) True where a relevant chunk stands in the top K of a grade matrix."""
        level = self.table.settings.conventions.relevant_from
        return np.asarray((grades[:, : self.table.settings.k] >= level).any(axis=1), dtype=bool)

    def _any_gold(self, lists: Sequence[Sequence[str]]) -> NDArray[np.bool_]:
        """(n,) True where a relevant chunk is in the list."""
        grades = self.table.grades_of(lists)
        return grades.sums(grades.values >= self.table.settings.conventions.relevant_from) > 0

    def _in_text(self, i: int) -> float:
        """Does the context, given as text, hold every quote of query i?"""
        evidence = self.table.spans.evidence
        first, last = evidence.items[i], evidence.items[i + 1]
        if first == last:
            return float("nan")
        context = normal_text(self.table.queries[i].context or "")
        for item in range(first, last):
            options = evidence.texts[evidence.options[item] : evidence.options[item + 1]]
            if not any(text is not None and normal_text(text) in context for text in options):
                return float("nan") if self.unjudged[item] else 0.0
        return 1.0

    def _kept(
        self, lists: Sequence[Sequence[str]], found: NDArray[np.bool_], given: NDArray[np.bool_], cut: bool = False
    ) -> Floats:
        """(n,) by quotes where they can be judged, else by gold ids (`found`); `cut`: only the first K of each list."""
        kept = np.where(given & (self.table.relevant > 0), found.astype(np.float64), np.nan)
        if not self.by_quotes:
            return kept
        codes = self.table.codes([ids[: self.table.settings.k] for ids in lists] if cut else lists)
        by_quotes = self._all_items(self.table.spans.whole(codes), codes.sums(self.unreadable(codes.values)) > 0)
        return np.where(given & ~np.isnan(by_quotes), by_quotes, kept)

    def _all_items(self, whole: NDArray[np.bool_], unsure: NDArray[np.bool_]) -> Floats:
        """(n,) 1 where all evidence items are whole; 0 where one is not; NaN where that cannot be said."""
        evidence, n = self.table.spans.evidence, len(self.table)
        unknown = np.bincount(evidence.owner[self.unjudged & ~whole], minlength=n) > 0
        failed = np.bincount(evidence.owner[~whole], minlength=n) > 0
        answer = np.where(failed, 0.0, 1.0)
        return np.where(~evidence.labelled | unknown | (failed & unsure), np.nan, answer)
