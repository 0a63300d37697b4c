"""Augmentation (metrics.txt, section 5): what was packed into the prompt, against the evidence and the budget."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rag_titan.evaluation.data.spans import ListScores
from rag_titan.evaluation.data.strangers import tell_contexts
from rag_titan.evaluation.data.tables import NO_IDS, QueryTable
from rag_titan.evaluation.data.tokens import words
from rag_titan.evaluation.measures.intervals import Intervals, edge_placement
from rag_titan.evaluation.measures.ragged import Ragged
from rag_titan.evaluation.measures.text import ratio
from rag_titan.evaluation.metric import FAULT_RATE, RATE, SIZE, Floats, Kind, Metric, Stage

PRESENT = ("context_ids", "context")
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class AugmentationInputs:
    """The contexts of n queries; each method that a row names gives one value a query.

    What goes by position needs `context_ids`; a chunk there that is unknown or has no sure place leaves its query out,
    and a notice names both. A context that was logged as text alone is measured where its words are enough: whether
    every quote is in it, and how long it is.
    """

    table: QueryTable

    @cached_property
    def lists(self) -> Ragged:
        """The chunk codes of each context in the order of the prompt, repeated ones kept; -1 for an unknown chunk."""
        return self.table.codes(self._ids)

    @cached_property
    def _ids(self) -> list[list[str]]:
        return [NO_IDS if ids is None else ids for ids in self.table.lists("context")]

    @cached_property
    def clear(self) -> Mask:
        """(n,) True where `context_ids` were given and everything is known of all of their chunks."""
        tell_contexts(self.table)
        unclear = self.lists.sums(self.table.spans.unclear(self.lists)) > 0
        clear: Mask = self.table.has_list("context") & ~unclear
        return clear

    @cached_property
    def scores(self) -> ListScores:
        """What the contexts hold of the evidence."""
        return self.table.spans.scores(self.lists, self.clear)

    def precision(self) -> Floats:
        return self.scores.precision

    def recall(self) -> Floats:
        return self.scores.recall

    def noise(self) -> Floats:
        return 1 - self.scores.precision

    def sufficient(self) -> Floats:
        """By the chunks; for a context of text alone by its words."""
        complete = self.scores.complete
        by_chunks = np.where(np.isnan(complete), np.nan, complete == 1)
        if not self._as_text.any():
            return by_chunks
        return np.where(self._as_text, self.table.spans.complete_in_texts(self.table.column("context")), by_chunks)

    def duplicates(self) -> Floats:
        """With documents repeated source positions; without them only chunks that come twice can be seen.

        The value without documents is then a lower bound: that two different chunks overlap is not in the data.
        """
        n, layout, known = len(self.table), self.table.spans.layout, self.lists.values >= 0
        codes, rows = self.lists.values[known], self.lists.rows[known]
        if layout.documents.given:
            chunks = layout.token_intervals(codes, rows)
        else:
            sizes = np.nan_to_num(layout.sizes).astype(np.int64)
            starts = np.cumsum(sizes) - sizes  # as if the chunks were one text
            chunks = Intervals(rows, starts[codes], starts[codes] + sizes[codes])
        total = chunks.total(n)
        return np.where(self.clear, ratio(total - chunks.covered(n), total), np.nan)

    def within_budget(self) -> Floats:
        most = self.table.settings.max_context_tokens
        if most is None:
            return np.full(len(self.table), np.nan)
        return np.where(np.isnan(self.tokens), np.nan, self.tokens <= most)

    @cached_property
    def tokens(self) -> Floats:
        """(n,) words in each context, repeated chunks counted again; NaN where the text of one is not known."""
        sizes = np.append(self.table.spans.layout.sizes, np.nan)  # an unknown chunk (-1) reads the last
        of_chunks = np.where(self.table.has_list("context"), self.lists.sums(sizes[self.lists.values]), np.nan)
        if not self._as_text.any():
            return of_chunks
        texts = [text or "" for text in self.table.column("context")]
        of_texts = self.table.vocabulary.encode(texts, words(self.table.settings.conventions.tokenizer)).lengths
        return np.where(self._as_text, of_texts, of_chunks)

    def context_tokens(self) -> Floats:
        return self.tokens

    def edges(self) -> Floats:
        gold, known = self.scores.gold, self.lists.values >= 0
        held = np.zeros(len(known), dtype=bool)
        chunks = self.table.spans.layout.token_intervals(self.lists.values[known], self.lists.rows[known])
        held[known] = gold.shared(chunks) > 0
        placement = edge_placement(Ragged(held, self.lists.offsets))
        return np.where(np.isnan(self.scores.recall), np.nan, placement)

    @cached_property
    def _as_text(self) -> Mask:
        """(n,) True where the context was logged as text and without ids."""
        as_text: Mask = self.table.given("context") & ~self.table.has_list("context")
        return as_text


Compute = Callable[[AugmentationInputs], Floats]
CONTEXT = "context_ids|context"
PLACED = ("context_ids", "expected_evidence", "chunks", "document_text|documents")


def _row(
    key: str, title: str, compute: Compute, formula: str, advice: str, needs: tuple[str, ...], kind: Kind = RATE,
    item: str = "",
) -> Metric:  # fmt: skip
    return Metric(key, Stage.AUGMENTATION, title, formula, advice, kind, "query", needs, compute, item=item)


METRICS: tuple[Metric, ...] = (
    _row(
        "context_precision", "Context Precision", AugmentationInputs.precision, "|C ∩ G| / |C|",
        "How much of the prompt's context is evidence. Chunks hold more than their evidence, so it is low by nature.",
        PLACED,
    ),
    _row(
        "context_recall", "Context Recall", AugmentationInputs.recall, "|C ∩ G| / |G|",
        "How much of the evidence reached the model.", PLACED,
    ),
    _row(
        "context_noise", "Context Noise", AugmentationInputs.noise, "1 - Context Precision",
        "Text that the model has to read past.", PLACED, FAULT_RATE,
    ),
    _row(
        "context_sufficient", "Context Sufficiency", AugmentationInputs.sufficient,
        "1 if every gold span is whole in one context chunk, else 0",
        "Whether the question can be answered from the context at all; half a quote may not be enough.",
        (CONTEXT, "expected_evidence"),
    ),
    _row(
        "duplicate_ratio", "Duplicate Ratio", AugmentationInputs.duplicates, "(context tokens - |C|) / context tokens",
        "Repeated text that takes the place of other evidence. Without documents only chunks that come twice are seen.",
        ("context_ids", "chunks"), FAULT_RATE,
    ),
    _row(
        "budget_compliant", "Budget Compliance", AugmentationInputs.within_budget,
        "1 if context tokens <= max_context_tokens, else 0",
        "Whether the context fits; what does not is cut off or refused by the model.", (CONTEXT, "max_context_tokens"),
    ),
    _row(
        "evidence_edge_placement", "Evidence Edge Placement", AugmentationInputs.edges,
        "mean |2p - 1| over the chunks with evidence, p = position / (chunks - 1)",
        "1 where the evidence comes first or last, 0 in the middle, which models read worst.", PLACED,
    ),
    _row(
        "mean_context_tokens", "Mean Context Size", AugmentationInputs.context_tokens, "sum_q context tokens / Q",
        "Needs no labels. What every request pays for; with a target it can be scored.",
        (CONTEXT,), SIZE, "context_tokens",
    ),
)  # fmt: skip
