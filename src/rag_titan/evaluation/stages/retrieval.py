"""Retrieval (metrics.txt, section 3): what the retriever returned, against the gold chunks and the gold text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rag_titan.evaluation.data.spans import ListScores
from rag_titan.evaluation.data.strangers import tell_strangers
from rag_titan.evaluation.data.tables import NO_IDS, QueryTable
from rag_titan.evaluation.measures import ranking
from rag_titan.evaluation.metric import (
    FAULT_RATE,
    P50,
    P95,
    P99,
    RATE,
    Floats,
    Kind,
    Metric,
    Reduce,
    Stage,
    quantile_rows,
)

PRESENT = ("retrieved_ids", "retrieved_texts", "retrieval_latency_ms", "embedding_latency_ms", "search_latency_ms")


@dataclass(frozen=True)
class RetrievalInputs:
    """The retrieved lists of n queries at the cut-off `k`; each method that a row names gives one value a query."""

    table: QueryTable
    k: int

    def at(self, k: int) -> RetrievalInputs:
        """The same lists at another cut-off (at most the table's depth)."""
        return replace(self, k=k)

    @cached_property
    def asked(self) -> NDArray[np.bool_]:
        """(n,) True where there is a list, or where its absence counts as an empty one."""
        return self.table.has_list("retrieved") | self.table.settings.conventions.all_topics

    @cached_property
    def grades(self) -> Floats:
        """(n, at most k) gold grades at each rank."""
        return self.table.retrieved_grades[:, : self.k]

    @cached_property
    def hits(self) -> ranking.Hits:
        """(n, at most k) True where a relevant chunk stands."""
        return self.grades >= self.table.settings.conventions.relevant_from

    @property
    def _nothing(self) -> Floats:
        return np.full(len(self.table), np.nan)

    def labelled(self, values: Floats) -> Floats:
        """The values where the list and relevant gold chunks are given."""
        return self.table.scored(np.where(self.table.relevant > 0, values, np.nan), self.asked)

    def precision(self) -> Floats:
        return self.labelled(ranking.precision(self.hits, self.k))

    def recall(self) -> Floats:
        return self.labelled(ranking.recall(self.hits, self.table.relevant))

    def f1(self) -> Floats:
        return ranking.f1(self.precision(), self.recall())

    def reciprocal_rank(self) -> Floats:
        return self.labelled(ranking.reciprocal_rank(self.hits))

    def ndcg(self) -> Floats:
        """Of all grades above 0: the relevance level is for the binary metrics."""
        ideal = self.table.ideal_grades[:, : self.k]
        return self.table.scored(ranking.ndcg(self.grades, ideal, self.table.settings.conventions.gain), self.asked)

    def hit(self) -> Floats:
        return self.labelled(ranking.hit(self.hits))

    def average_precision(self) -> Floats:
        denominator = self.table.settings.conventions.ap_denominator
        return self.labelled(ranking.average_precision(self.hits, self.table.relevant, denominator))

    @property
    def _places(self) -> NDArray[np.int64]:
        """(n,) how many of the relevant chunks have room in the first k."""
        return np.minimum(self.table.relevant, self.k)

    def most_precision(self) -> Floats:
        return self._places / self.k

    def most_recall(self) -> Floats:
        return self._places / np.maximum(self.table.relevant, 1)

    def most_f1(self) -> Floats:
        return ranking.f1(self.most_precision(), self.most_recall())

    def most_average_precision(self) -> Floats:
        whole = self.table.settings.conventions.ap_denominator == "relevant"
        return self.most_recall() if whole else np.ones(len(self.table))

    @cached_property
    def scores(self) -> ListScores | None:
        """Token metrics of the top k; None where no query has evidence."""
        if not self.table.given("expected_evidence").any():
            return None
        lists = self.table.codes(self.table.ranked("retrieved", self.k))
        if self.table.spans.unclear(lists).any():
            self._tell_strangers()
        return self.table.spans.scores(lists, self.table.has_list("retrieved"))

    def _tell_strangers(self) -> None:
        """A notice names the queries with evidence of which a chunk of the top k cannot be judged, and that chunk."""
        labelled = np.diff(self.table.spans.evidence.items) > 0
        ranked = self.table.ranked("retrieved", self.k)
        ids = [some if wanted else NO_IDS for some, wanted in zip(ranked, labelled.tolist(), strict=True)]
        effect = "What it found of the evidence is not measured."
        tell_strangers(self.table, "retrieved", self.table.codes(ids), ids, effect)

    def token_recall(self) -> Floats:
        return self._nothing if self.scores is None else self.scores.recall

    def token_precision(self) -> Floats:
        return self._nothing if self.scores is None else self.scores.precision

    def token_iou(self) -> Floats:
        return self._nothing if self.scores is None else self.scores.iou

    def complete_evidence(self) -> Floats:
        return self._nothing if self.scores is None else self.scores.complete

    def empty(self) -> Floats:
        empty = self.table.returned("retrieved", self.k) == 0
        return np.where(self.table.has_list("retrieved"), empty.astype(np.float64), np.nan)

    def repeated(self) -> Floats:
        returned = self.table.returned("retrieved", self.k)
        extra = returned - self.table.distinct("retrieved", self.k)
        share = np.full(len(extra), np.nan)
        np.divide(extra, returned, out=share, where=returned > 0)
        return share

    def time(self) -> Floats:
        return self.table.amounts("retrieval_latency_ms")

    def embedding_time(self) -> Floats:
        return self.table.amounts("embedding_latency_ms")

    def search_time(self) -> Floats:
        return self.table.amounts("search_latency_ms")


Compute = Callable[[RetrievalInputs], Floats]
Needs = tuple[str, ...]
LISTS = "retrieved_ids|retrieved_texts"
LABELS = (LISTS, "relevance|expected_chunk_ids")

TOKENS = (LISTS, "expected_evidence", "chunks", "document_text|documents")


def _row(
    key: str,
    title: str,
    compute: Compute,
    formula: str,
    advice: str,
    kind: Kind = RATE,
    needs: tuple[str, ...] = LABELS,
    bound: Compute | None = None,
) -> Metric:
    return Metric(key, Stage.RETRIEVAL, title, formula, advice, kind, "query", needs, compute, bound=bound)


def _whole(advice: str, *quantiles: Reduce) -> tuple[Metric, ...]:
    return quantile_rows(
        Stage.RETRIEVAL, "Retrieval", RetrievalInputs.time, advice, quantiles, item="latency_ms",
        needs=("retrieval_latency_ms",),
    )  # fmt: skip


def _part(part: str, title: str, compute: Compute, advice: str) -> tuple[Metric, ...]:
    item = f"{part}_latency_ms"
    return quantile_rows(Stage.RETRIEVAL, title, compute, advice, (P50, P95, P99), item=item, prefix=f"{part}_")


METRICS: tuple[Metric, ...] = (
    _row(
        "precision_at_k", "Precision@K", RetrievalInputs.precision, "#relevant in the top K / K",
        "How much of the first K results is useful. Divides by K however few were returned.",
        bound=RetrievalInputs.most_precision,
    ),
    _row(
        "recall_at_k", "Recall@K", RetrievalInputs.recall, "#relevant in the top K / #relevant",
        "Whether the search finds the evidence it must find. It is the ceiling of everything after it.",
        bound=RetrievalInputs.most_recall,
    ),
    _row(
        "f1_at_k", "F1@K", RetrievalInputs.f1, "2PR / (P + R)",
        "Precision and recall in one number, for choosing K or a chunk size.",
        bound=RetrievalInputs.most_f1,
    ),
    _row(
        "mrr_at_k", "MRR@K", RetrievalInputs.reciprocal_rank, "mean of 1 / rank of the first relevant result",
        "How early the first useful result comes. A miss counts 0.",
    ),
    _row(
        "ndcg_at_k", "nDCG@K", RetrievalInputs.ndcg,
        "sum_i (2^rel_i - 1) / log2(i + 1), divided by that of the best order",
        "The quality of the order where some chunks matter more than others.",
    ),
    _row(
        "hit_at_k", "Hit Rate@K", RetrievalInputs.hit, "#queries with a relevant result in the top K / Q",
        "How often the search finds anything useful at all.",
    ),
    _row(
        "average_precision_at_k", "MAP@K", RetrievalInputs.average_precision,
        "sum of P@i over the relevant ranks i / min(#relevant, K)",
        "Whether the relevant chunks come first instead of being spread out.",
        bound=RetrievalInputs.most_average_precision,
    ),
    _row(
        "token_recall", "Token Recall", RetrievalInputs.token_recall,
        "|R ∩ G| / |G| over token positions of the source",
        "How much of the evidence was retrieved; comparable when the chunker changes.", RATE, TOKENS,
    ),
    _row(
        "token_precision", "Token Precision", RetrievalInputs.token_precision, "|R ∩ G| / |R|",
        "How much of the retrieved text is evidence.", RATE, TOKENS,
    ),
    _row(
        "token_iou", "Token IoU", RetrievalInputs.token_iou, "|R ∩ G| / |R ∪ G|",
        "Missing evidence and excess text in one number.", RATE, TOKENS,
    ),
    _row(
        "complete_evidence_recall", "Complete Evidence Recall", RetrievalInputs.complete_evidence,
        "#evidence spans whole in one retrieved chunk / #spans",
        "Whether each piece of evidence can be had in one piece.", RATE, (LISTS, "expected_evidence", "chunks"),
    ),
    *_whole("What the slow queries feel; the mean hides them.", P95, P50),
    _row(
        "empty_rate", "Empty Result Rate", RetrievalInputs.empty, "#queries with an empty result list / Q",
        "Needs no labels. Questions for which the search returned nothing.", FAULT_RATE, (LISTS,),
    ),
    _row(
        "duplicate_rate_at_k", "Duplicate Rate@K", RetrievalInputs.repeated,
        "repeated ids among the first K returned / returned",
        "Needs no labels. Places among the first K that a chunk takes a second time.", FAULT_RATE, (LISTS,),
    ),
    *_whole("The slowest one in a hundred.", P99),
    *_part(
        "embedding", "Question Embedding", RetrievalInputs.embedding_time,
        "The time of encoding the question; a long tail points to cold starts or the network.",
    ),
    *_part(
        "search", "Index Search", RetrievalInputs.search_time,
        "The time of the index alone; it should stay flat as the corpus grows.",
    ),
)  # fmt: skip
