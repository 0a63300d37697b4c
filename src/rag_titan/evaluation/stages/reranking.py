"""Reranking (metrics.txt, section 4): the order after the reranker against the order before it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rag_titan.evaluation.data.tables import QueryTable
from rag_titan.evaluation.measures import ranking
from rag_titan.evaluation.metric import GAIN, P50, P95, P99, RATE, SHIFT, Floats, Kind, Metric, Stage, quantile_rows

PRESENT = ("reranked_ids", "reranked_texts", "rerank_latency_ms")


@dataclass(frozen=True)
class RerankingInputs:
    """The lists of n queries before and after reranking, at the cut-off `k`."""

    table: QueryTable
    k: int

    @cached_property
    def paired(self) -> NDArray[np.bool_]:
        """(n,) True where both lists are given."""
        return self.table.has_list("reranked") & self.table.has_list("retrieved")

    def labelled(self, values: Floats, asked: NDArray[np.bool_]) -> Floats:
        """The values where what was asked for and relevant gold chunks are given."""
        return self.table.scored(np.where(self.table.relevant > 0, values, np.nan), asked)

    @property
    def level(self) -> float:
        """The lowest grade that counts as relevant."""
        return self.table.settings.conventions.relevant_from

    @cached_property
    def after(self) -> Floats:
        """(n, at most k) grades of the reranked list."""
        return self.table.reranked_grades[:, : self.k]

    @cached_property
    def before(self) -> Floats:
        """(n, at most k) grades of the retrieved list."""
        return self.table.retrieved_grades[:, : self.k]

    def _ndcg(self, grades: Floats) -> Floats:
        return ranking.ndcg(grades, self.table.ideal_grades[:, : self.k], self.table.settings.conventions.gain)

    def ndcg(self) -> Floats:
        """Of all grades above 0: the relevance level is for the binary metrics."""
        return self.table.scored(self._ndcg(self.after), self.table.has_list("reranked"))

    def reciprocal_rank(self) -> Floats:
        return self.labelled(ranking.reciprocal_rank(self.after >= self.level), self.table.has_list("reranked"))

    def ndcg_gain(self) -> Floats:
        return self.table.scored(self._ndcg(self.after) - self._ndcg(self.before), self.paired)

    def mrr_gain(self) -> Floats:
        after, before = (ranking.reciprocal_rank(grades >= self.level) for grades in (self.after, self.before))
        return self.labelled(after - before, self.paired)

    def precision_gain(self) -> Floats:
        after, before = (ranking.precision(grades >= self.level, self.k) for grades in (self.after, self.before))
        return self.labelled(after - before, self.paired)

    def rank_change(self) -> Floats:
        moved = self._first_rank("retrieved") - self._first_rank("reranked")
        return np.where(self.paired, moved, np.nan)

    def _first_rank(self, kind: str) -> Floats:
        """(n,) rank of the first relevant chunk in the whole list; NaN without one."""
        grades = self.table.grades_of(self.table.ranked(kind))
        ranks = np.where(grades.values >= self.level, grades.places + 1.0, np.inf)
        first = np.full(len(grades), np.inf)
        np.minimum.at(first, grades.rows, ranks)
        return np.where(np.isfinite(first), first, np.nan)

    def same_set(self) -> Floats:
        before, after = self.table.ranked("retrieved"), self.table.ranked("reranked")
        same = [len(a) == len(b) and set(a) == set(b) for a, b in zip(before, after, strict=True)]
        given = self.table.has_list("reranked") & self.table.has_list("retrieved")
        return np.where(given, np.array(same, dtype=np.float64), np.nan)

    def time(self) -> Floats:
        return self.table.amounts("rerank_latency_ms")


Compute = Callable[[RerankingInputs], Floats]
AFTER, BEFORE, GOLD = "reranked_ids|reranked_texts", "retrieved_ids|retrieved_texts", "relevance|expected_chunk_ids"
PAIR = (AFTER, BEFORE, GOLD)


def _row(
    key: str, title: str, compute: Compute, formula: str, advice: str, kind: Kind = GAIN, needs: tuple[str, ...] = PAIR
) -> Metric:
    return Metric(key, Stage.RERANKING, title, formula, advice, kind, "query", needs, compute)


METRICS: tuple[Metric, ...] = (
    _row(
        "ndcg_at_k", "nDCG@K", RerankingInputs.ndcg, "nDCG@K of the reranked list",
        "The quality of the final order.", RATE, (AFTER, GOLD),
    ),
    _row(
        "mrr_at_k", "MRR@K", RerankingInputs.reciprocal_rank, "MRR@K of the reranked list",
        "Whether a relevant chunk stands at the very top.", RATE, (AFTER, GOLD),
    ),
    _row(
        "ndcg_gain", "nDCG Gain", RerankingInputs.ndcg_gain, "nDCG@K after - nDCG@K before",
        "Above 0 the reranker helps, below 0 it hurts. It shrinks when the search itself improves.",
    ),
    _row(
        "mrr_gain", "MRR Gain", RerankingInputs.mrr_gain, "MRR@K after - MRR@K before",
        "Whether the first relevant chunk moved up.",
    ),
    _row(
        "precision_gain", "Precision Gain", RerankingInputs.precision_gain, "P@K after - P@K before",
        "Whether reranking brought more relevant chunks into the top K.",
    ),
    _row(
        "first_relevant_rank_change", "First Relevant Rank Change", RerankingInputs.rank_change,
        "rank before - rank after",
        "Places that the first relevant chunk moved up, over the whole lists. Not scored.", SHIFT,
    ),
    _row(
        "candidate_set_preservation_rate", "Candidate Set Preservation", RerankingInputs.same_set,
        "#queries with the same chunks before and after / Q",
        "1 when the reranker only reorders; a reranker that cuts the list gives 0, which can be meant.", RATE,
        (AFTER, BEFORE),
    ),
    *quantile_rows(
        Stage.RERANKING, "Reranking", RerankingInputs.time, "The time that reranking adds to a request.",
        (P50, P95, P99), item="rerank_latency_ms",
    ),
)  # fmt: skip
