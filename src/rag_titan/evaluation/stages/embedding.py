"""Embedding and indexing (metrics.txt, section 2): the vectors, the index, and what an exact search of them finds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rag_titan.evaluation.data.vectors import VectorTable
from rag_titan.evaluation.measures.nearest import kth_best, nearest
from rag_titan.evaluation.measures.vectors import (
    cosines,
    gold_recall,
    index_recall,
    mean_gold_cosines,
    mean_other_cosines,
    norms,
    repeated,
)
from rag_titan.evaluation.metric import (
    AMOUNT,
    COSINE,
    COSINE_LOWER,
    FAULT_RATE,
    MARGIN,
    RATE,
    Floats,
    Kind,
    Metric,
    Stage,
)


@dataclass(frozen=True)
class EmbeddingInputs:
    """The vectors of n chunks and m queries at the cut-off `k`; each method that a row names gives one value an item.

    A vector of zeros has no direction: it is in no top K and in no mean of similarities, and a query of zeros finds
    nothing (its recall is 0).
    """

    table: VectorTable
    k: int

    @cached_property
    def lengths(self) -> Floats:
        """(n,) the norm of each chunk vector."""
        return norms(self.table.vectors)

    @cached_property
    def has_gold(self) -> NDArray[np.bool_]:
        """(m,) True for a query with gold chunks, be they without a vector."""
        mask: NDArray[np.bool_] = self.table.gold_sizes > 0
        return mask

    @cached_property
    def kth_best(self) -> Floats:
        """(m,) cosine of the K-th best chunk of each query, of the last one where there are fewer; NaN of none.

        Only queries with gold chunks or index results are searched for.
        """
        best = np.full(len(self.table.query_ids), np.nan)
        asked = np.flatnonzero(self.has_gold | self.table.searched)
        k = min(self.k, len(self.table.ids))
        best[asked] = kth_best(nearest(self.table.queries[asked], self.table.vectors, k, self.lengths)[1])
        return best

    @cached_property
    def gold_cosines(self) -> Floats:
        """Cosine of each query with each of its gold chunks that has a vector."""
        gold = self.table.gold
        return cosines(self.table.queries, self.table.vectors, gold.rows, gold.values)

    def zero_norm(self) -> Floats:
        return np.where(self.lengths == 0, 1.0, 0.0)

    def duplicate(self) -> Floats:
        return repeated(self.table.vectors).astype(np.float64)

    def length(self) -> Floats:
        return self.lengths

    def covered(self) -> Floats:
        ids, indexed = self.table.ids, self.table.indexed
        if indexed is None:
            return np.full(len(ids), np.nan)
        return np.fromiter((name in indexed for name in ids), np.float64, len(ids))

    def topk_recall(self) -> Floats:
        return gold_recall(self.table.gold, self.gold_cosines, self.table.gold_sizes, self.kth_best)

    def ann_recall(self) -> Floats:
        table = self.table
        first = table.results.keep(table.results.places < self.k)
        known = first.keep(first.values >= 0)
        similarity = cosines(table.queries, table.vectors, known.rows, known.values)
        size = min(self.k, int((self.lengths > 0).sum()))
        return np.where(table.searched, index_recall(known, similarity, self.kth_best, size), np.nan)

    @cached_property
    def positive_means(self) -> Floats:
        """(m,) mean cosine with the gold chunks."""
        return mean_gold_cosines(self.table.gold, self.gold_cosines)

    @cached_property
    def negative_means(self) -> Floats:
        """(m,) mean cosine with the other chunks, where there is gold to tell them apart."""
        table = self.table
        if not self.has_gold.any():
            return np.full(len(table.query_ids), np.nan)
        means = mean_other_cosines(table.queries, table.vectors, table.gold, self.gold_cosines)
        return np.where(self.has_gold, means, np.nan)

    def positive(self) -> Floats:
        return self.positive_means

    def negative(self) -> Floats:
        return self.negative_means

    def margin(self) -> Floats:
        return self.positive_means - self.negative_means

    @property
    def reasons(self) -> dict[str, str]:
        """Why a metric is not measured for all queries that have a vector, by key."""
        gold = "they have no gold chunks"
        directions = f"{gold}, or no gold chunk or query vector that is not all zeros"
        why = {
            "query_topk_recall": (self.topk_recall(), gold),
            "ann_recall_at_k": (self.ann_recall(), "they have no index_results, or no vector that is not all zeros"),
            "positive_similarity": (self.positive_means, directions),
            "negative_similarity": (self.negative_means, f"{gold}, no chunk besides, or a vector of zeros"),
            "similarity_margin": (self.margin(), directions),
        }
        return {
            key: f"not measured for {int(np.isnan(values).sum())} of {len(values)} queries with a vector: {reason}"
            for key, (values, reason) in why.items()
            if np.isnan(values).any()
        }


Compute = Callable[[EmbeddingInputs], Floats]
QUERIES = ("vectors", "query_vectors")
LABELS = (*QUERIES, "relevant_ids|relevance|expected_chunk_ids")


def _of_vectors(
    key: str, title: str, compute: Compute, formula: str, advice: str, kind: Kind, needs: tuple[str, ...] = ("vectors",)
) -> Metric:
    return Metric(key, Stage.EMBEDDING, title, formula, advice, kind, "vector", needs, compute)


def _of_queries(
    key: str, title: str, compute: Compute, formula: str, advice: str, kind: Kind, needs: tuple[str, ...] = LABELS
) -> Metric:
    return Metric(key, Stage.EMBEDDING, title, formula, advice, kind, "query", needs, compute)


METRICS: tuple[Metric, ...] = (
    _of_vectors(
        "zero_norm_rate", "Zero-Norm Rate", EmbeddingInputs.zero_norm, "#{v in V: |v| = 0} / |V|",
        "Vectors of nothing but zeros, which no search finds. Anything above 0 is a fault of the embedding step.",
        FAULT_RATE,
    ),
    _of_vectors(
        "duplicate_vector_rate", "Duplicate Vector Rate", EmbeddingInputs.duplicate, "(|V| - #distinct vectors) / |V|",
        "Equal vectors mostly come from equal chunks; copies take the places of other results.", FAULT_RATE,
    ),
    _of_vectors(
        "mean_vector_norm", "Mean Vector Norm", EmbeddingInputs.length, "mean of |v|",
        "About 1 for a model that normalises. When it moves, the model or the code before the index has changed.",
        AMOUNT,
    ),
    _of_vectors(
        "index_coverage", "Index Coverage", EmbeddingInputs.covered, "|V ∩ indexed ids| / |V|",
        "Whether every vector arrived in the index; what is missing there can never be retrieved.", RATE,
        ("vectors", "indexed_ids"),
    ),
    _of_queries(
        "query_topk_recall", "Query Top-K Recall", EmbeddingInputs.topk_recall, "|E_q^K ∩ G_q| / |G_q|",
        "Whether the embedding model alone finds the gold chunks, by exact search: the ceiling of any index.", RATE,
    ),
    _of_queries(
        "ann_recall_at_k", "ANN Recall@K", EmbeddingInputs.ann_recall, "|index_q^K ∩ E_q^K| / |E_q^K|",
        "What the approximate index gives away against exact search; its search settings buy it back with time.", RATE,
        (*QUERIES, "index_results"),
    ),
    _of_queries(
        "positive_similarity", "Positive Similarity", EmbeddingInputs.positive, "mean cos(q, c) for c in G_q",
        "How near a question lies to its gold chunks. Levels differ between models, so compare within one.", COSINE,
    ),
    _of_queries(
        "negative_similarity", "Negative Similarity", EmbeddingInputs.negative, "mean cos(q, c) for c not in G_q",
        "How near a question lies to all other chunks. Lower is better.", COSINE_LOWER,
    ),
    _of_queries(
        "similarity_margin", "Similarity Margin", EmbeddingInputs.margin, "positive - negative similarity",
        "How clearly gold stands out from the rest; near 0 the search guesses.", MARGIN,
    ),
)  # fmt: skip
