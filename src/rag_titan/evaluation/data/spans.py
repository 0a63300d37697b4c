"""Evidence against chunks: in which chunks a quote is whole, and how many of its tokens lists of chunks cover."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rag_titan.evaluation.data.evidence import EvidenceTable
from rag_titan.evaluation.data.layout import Layout
from rag_titan.evaluation.data.normal import normal_text
from rag_titan.evaluation.data.search import occurrences
from rag_titan.evaluation.measures.intervals import Intervals, best_in_group, token_scores
from rag_titan.evaluation.measures.ragged import Ints, Ragged, offsets_of

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class ListScores:
    """What n lists of chunks hold of the evidence; each (n,), NaN where it is not measured.

    recall     share of the gold tokens that the chunks cover
    precision  share of the tokens of the chunks that are gold
    iou        gold tokens covered / tokens of either
    complete   share of the evidence items that are whole in one of the chunks
    gold       the gold tokens that were counted, in the group of their query
    """

    recall: Floats
    precision: Floats
    iou: Floats
    complete: Floats
    gold: Intervals


@dataclass(frozen=True)
class Spans:
    """The evidence of n queries, laid over the chunks.

    With documents everything goes by position; a chunk or quote without a place is compared by its words (white space
    squeezed) where only "is it whole in there" is asked, which is also all that can be asked without documents.
    """

    evidence: EvidenceTable
    layout: Layout

    @cached_property
    def holders(self) -> Ragged:
        """For each evidence item the codes of all chunks in which it, or one of its options, is whole; rising.

        By position where the option and the chunk have one, else by the words of both.
        """
        evidence, layout = self.evidence, self.layout
        by_place = layout.characters.holding(evidence.characters)
        options, codes = [by_place.rows], [by_place.values]
        floating = evidence.starts < 0
        for of_options, of_chunks in ((floating, np.ones(len(layout), dtype=bool)), (~floating, ~layout.placed)):
            found = self._by_words(np.flatnonzero(of_options), np.flatnonzero(of_chunks))
            options.append(found[0])
            codes.append(found[1])
        items = evidence.item[np.concatenate(options)]
        pairs = np.sort(items * max(len(layout), 1) + np.concatenate(codes))
        item, code = np.divmod(pairs[np.diff(pairs, prepend=-1) > 0], max(len(layout), 1))
        return Ragged(code, offsets_of(np.bincount(item, minlength=len(evidence.options) - 1)))

    def _by_words(self, options: Ints, codes: Ints) -> tuple[Ints, Ints]:
        """Pairs (option, chunk) in which the words of the option stand in the text of the chunk."""
        wanted = [normal_text(self.evidence.texts[i] or "") for i in options.tolist()]
        if not any(wanted) or not len(codes):
            return options[:0], codes[:0]
        texts = self.layout.normal_texts
        parts = texts if len(codes) == len(texts) else [texts[i] for i in codes.tolist()]
        edges = offsets_of([len(text) for text in parts])
        found = occurrences(parts, wanted, limit=int(edges[-1]) + 1)
        return options[found.rows], codes[np.searchsorted(edges, found.values, side="right") - 1]

    def whole(self, lists: Ragged) -> Mask:
        """(m,) for each evidence item: is it whole in one of the chunks of its query's list (n lists of codes)?"""
        n = max(len(self.layout), 1)
        known = lists.values >= 0
        listed = lists.rows[known] * n + lists.values[known]
        asked = self.evidence.owner[self.holders.rows] * n + self.holders.values
        whole: Mask = self.holders.sums(np.isin(asked, listed)) > 0
        return whole

    def anywhere(self) -> Mask:
        """(m,) for each evidence item: is it whole in any chunk at all?"""
        anywhere: Mask = self.holders.lengths > 0
        return anywhere

    def complete_in_texts(self, texts: Sequence[str | None]) -> Floats:
        """(n,) 1 where the words of all evidence items of a query stand in its text, 0 where some do not.

        NaN where there is no text, no evidence, or evidence of which a quote is not found in the documents.
        """
        evidence = self.evidence
        known = evidence.owner_placed if self.layout.documents.given else evidence.owner_worded
        complete = np.full(len(evidence), np.nan)
        for i in np.flatnonzero(known).tolist():
            text = texts[i]
            if text is not None:
                complete[i] = all(self.stand_in(i, text))
        return complete

    def stand_in(self, i: int, text: str) -> list[bool]:
        """For each evidence item of owner i: do its words, or those of one of its options, stand in the text?"""
        evidence, first, last = self.evidence, int(self.evidence.items[i]), int(self.evidence.items[i + 1])
        options = (evidence.texts[evidence.options[j] : evidence.options[j + 1]] for j in range(first, last))
        normal = normal_text(text)
        return [any(normal_text(words or "") in normal for words in some) for some in options]

    def unclear(self, lists: Ragged) -> Mask:
        """(total,) True for an element of a list that cannot be judged: unknown, or without a place or a text."""
        blind = np.ones(len(self.layout) + 1, dtype=bool)  # the code -1 of an unknown chunk reads the last
        blind[:-1] = self.layout.lost if self.layout.documents.given else self.layout.wordless
        unclear: Mask = blind[lists.values]
        return unclear

    def strangers(self, lists: Ragged, ids: Sequence[Sequence[str]], names: Sequence[str]) -> list[str]:
        """For each list with an element that cannot be judged its name and the first such id, as in "q1 (c9)".

        ids    the n lists as ids, element for element
        names  (n,)
        """
        unclear = np.flatnonzero(self.unclear(lists))
        rows, first = np.unique(lists.rows[unclear], return_index=True)
        places = lists.places[unclear[first]]
        return [f"{names[i]} ({ids[i][at]})" for i, at in zip(rows.tolist(), places.tolist(), strict=True)]

    def judged(self, lists: Ragged, given: Mask) -> Mask:
        """(n,) True where a list was given, all its chunks can be judged, and so can all the evidence.

        Counting a query only when its evidence happens to be found would make the mean too good: one chunk that cannot
        be judged leaves the whole query out.
        """
        by_place = self.layout.documents.given
        known = self.evidence.owner_placed if by_place else self.evidence.owner_worded
        judged: Mask = given & known & (lists.sums(self.unclear(lists)) == 0)
        return judged

    def scores(self, lists: Ragged, given: Mask) -> ListScores:
        """Token metrics of metrics.txt, section 3, of n lists of chunk codes (-1: unknown); `given` (n,).

        Of the options of an item that one counts as gold which the list covers best (by share; the first of equals).
        `complete` is also measured without documents, by the words of the chunks.

        An empty list covers nothing: recall 0, no precision (0/0).
        """
        n, tokens = len(lists), self.evidence.tokens
        judged = self.judged(lists, given)
        placed = judged & self.layout.documents.given
        known = lists.values >= 0
        chunks = self.layout.token_intervals(lists.values[known], lists.rows[known])
        gold = self._best_options(tokens, chunks)
        sizes, union = gold.covered(n), gold.union
        shared = np.bincount(union.groups, weights=chunks.shared(union), minlength=n).astype(np.int64)
        seen = placed & (sizes > 0)
        recall, precision, iou = (
            np.where(seen, score, np.nan) for score in token_scores(chunks.covered(n), sizes, shared)
        )
        items = np.diff(self.evidence.items)
        whole = np.bincount(self.evidence.owner, weights=self.whole(lists), minlength=n)
        complete = np.full(n, np.nan)
        np.divide(whole, items, out=complete, where=judged)
        return ListScores(recall, precision, iou, complete, gold)

    def _best_options(self, tokens: Intervals, chunks: Intervals) -> Intervals:
        covered, lengths = chunks.shared(tokens), tokens.lengths
        share = np.divide(covered, lengths, out=np.full(len(lengths), -1.0), where=lengths > 0)
        best = best_in_group(share, self.evidence.item, len(self.evidence.options) - 1)
        return Intervals(tokens.groups[best], tokens.starts[best], tokens.ends[best])


def whole_in_one(table: EvidenceTable, layout: Layout) -> Floats:
    """(m,) 1 where an evidence item, or one of its options, lies whole in one placed chunk, 0 where in none.

    NaN where the place of the item is not known.
    """
    held = layout.characters.holding(table.characters).lengths > 0
    whole = np.bincount(table.item, weights=held, minlength=len(table.options) - 1) > 0
    return np.where(table.placed, whole, np.nan)


def pieces(table: EvidenceTable, layout: Layout) -> Floats:
    """(m,) how many placed chunks share a token with an evidence item; of several options the least.

    NaN where the place of the item is not known, or no whole token lies in it.
    """
    if not layout.documents.given or not len(table.starts):
        return np.full(len(table.options) - 1, np.nan)
    spans = replace(table.tokens, groups=np.zeros(len(table.starts), dtype=np.int64))
    touched = np.where(spans.lengths > 0, layout.all_tokens.touching(spans), np.inf)
    least = np.minimum.reduceat(touched, table.options[:-1])
    return np.where(np.isinf(least) | ~table.placed, np.nan, least)


def cuts(layout: Layout, apart: int) -> Ints:
    """The different ends of the placed chunks, sorted, without the last of each document.

    Documents are moved `apart` more characters from each other, so that cuts of two documents are never near.
    """
    span = int(layout.documents.offsets[-1]) + 1
    documents, ends = np.divmod(np.unique((layout.document_codes * span + layout.ends)[layout.placed]), span)
    inner = np.diff(documents, append=-1) == 0
    points: Ints = (ends + documents * apart)[inner]
    return points
