"""The optional eighth stage: scores of verdicts that a judge, or a person, stored in the data. No model is called here.

The same verdicts give the same scores. Faithfulness, answer relevance, context recall and context precision are those
of the whitepaper, section 4; what is named after RAGChecker is defined as there (Ru et al. 2024, arXiv:2408.08067).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rag_titan.evaluation.data.records import Verdicts
from rag_titan.evaluation.data.tables import QueryTable
from rag_titan.evaluation.data.verdicts import Claims, Flags, answer_claims, bearing, ranked_flags, reference_claims
from rag_titan.evaluation.measures.claims import f1, rank_weighted_precision, shares
from rag_titan.evaluation.measures.ragged import Ragged, ragged
from rag_titan.evaluation.metric import COSINE, FAULT_RATE, RATE, Floats, Kind, Metric, Stage

PRESENT = ("verdicts",)
MOST_RELEVANT = 2.0  # the highest grade of a chunk's relevance to the question
SHARE = Kind("not scored (a share)", None, None, 0, 1)


@dataclass(frozen=True)
class JudgedInputs:
    """The verdicts on n queries; each method that a row names gives one value a query."""

    table: QueryTable

    @cached_property
    def verdicts(self) -> Sequence[Verdicts | None]:
        return self.table.column("verdicts")

    @cached_property
    def of_answers(self) -> Claims:
        return answer_claims(self.verdicts)

    @cached_property
    def of_references(self) -> Claims:
        return reference_claims(self.verdicts)

    def faithfulness(self) -> Floats:
        return shares(self.of_answers.supported)

    def denied(self) -> Floats:
        return shares(self.of_answers.denied)

    def context_recall(self) -> Floats:
        return shares(self.of_references.supported)

    def claim_recall(self) -> Floats:
        return shares(self.of_references.found)

    def context_precision(self) -> Floats:
        return rank_weighted_precision(ranked_flags(self._contexts, self._useful))

    def context_precision_unranked(self) -> Floats:
        return shares(ranked_flags(self._contexts, self._bearing))

    def context_relevance(self) -> Floats:
        graded = ranked_flags(self._contexts, [None if v is None else v.chunk_relevance for v in self.verdicts])
        return shares(Ragged(np.minimum(graded.values / MOST_RELEVANT, 1.0), graded.offsets))

    def answer_relevance(self) -> Floats:
        return shares(ragged([(v.question_similarities if v else None) or () for v in self.verdicts], np.float64))

    def noncommittal(self) -> Floats:
        said = [None if v is None else v.noncommittal for v in self.verdicts]
        return np.array([np.nan if flag is None else float(flag) for flag in said])

    def claim_precision(self) -> Floats:
        return shares(self.of_answers.other)

    def claim_coverage(self) -> Floats:
        return shares(self.of_references.other)

    def claim_f1(self) -> Floats:
        return f1(self.claim_precision(), self.claim_coverage())

    def utilization(self) -> Floats:
        return shares(self.of_references.other, among=self.of_references.found.values)

    def noise_of_useful(self) -> Floats:
        return self._share(self._wrong * self.of_answers.useful.values)

    def noise_of_useless(self) -> Floats:
        return self._share(self._wrong * self.of_answers.useless.values)

    def hallucination(self) -> Floats:
        return self._share(self._wrong * (1 - self.of_answers.found.values))

    def self_knowledge(self) -> Floats:
        return self._share((1 - self._wrong) * (1 - self.of_answers.found.values))

    @property
    def _wrong(self) -> Floats:
        return 1 - self.of_answers.other.values

    def _share(self, flags: Floats) -> Floats:
        return shares(Ragged(flags, self.of_answers.other.offsets))

    @cached_property
    def _contexts(self) -> list[Sequence[str] | None]:
        """What the generator was given, best first: the context, else the reranked list, else the retrieved one."""
        lists = [self.table.column(f"{kind}_ids") for kind in ("context", "reranked", "retrieved")]
        return [next((ids for ids in given if ids is not None), None) for given in zip(*lists, strict=True)]

    @cached_property
    def _bearing(self) -> list[Flags | None]:
        """{chunk: 1 where it bears out a statement of the reference, else 0}."""
        useful = [bearing(verdicts) for verdicts in self.verdicts]
        return [
            None if ids is None else {chunk: float(chunk in ids) for chunk in ranking or ()}
            for ranking, ids in zip(self._contexts, useful, strict=True)
        ]

    @cached_property
    def _useful(self) -> list[Flags | None]:
        """{chunk: 1 where it helps}: by the verdict on it, else by the statements that it bears out."""
        judged = [None if v is None else v.useful_chunks for v in self.verdicts]
        return [own if own is not None else other for own, other in zip(judged, self._bearing, strict=True)]


Compute = Callable[[JudgedInputs], Floats]
NEEDS = ("verdicts",)


def _row(key: str, title: str, compute: Compute, formula: str, advice: str, kind: Kind = RATE) -> Metric:
    return Metric(key, Stage.JUDGE, title, formula, advice, kind, "query", NEEDS, compute)


METRICS: tuple[Metric, ...] = (
    _row(
        "faithfulness", "Faithfulness", JudgedInputs.faithfulness,
        "#statements of the answer that the context supports / #statements of the answer",
        "Grounding, not truth: an answer that repeats a wrong chunk is faithful. Read it beside retrieval.",
    ),
    _row(
        "contradicted_claim_rate", "Contradicted Claims", JudgedInputs.denied,
        "#statements of the answer that the context contradicts / #statements of the answer",
        "Worse than a statement without support: the sources say otherwise.", FAULT_RATE,
    ),
    _row(
        "answer_relevance", "Answer Relevance", JudgedInputs.answer_relevance,
        "mean cosine of the question to the questions that the answer would answer",
        "Does the answer address the question? It knows nothing of right or wrong, and depends on the embedder.",
        COSINE,
    ),
    _row(
        "noncommittal_rate", "Noncommittal Answers", JudgedInputs.noncommittal,
        "#answers that evade the question / #answers judged",
        "Their relevance is measured like that of all others and not set to 0; this says how many there are.", SHARE,
    ),
    _row(
        "context_relevance", "Context Relevance", JudgedInputs.context_relevance,
        "mean grade (0, 1, 2) of the chunks in the context / 2",
        "How much of the context is about the question at all.",
    ),
    _row(
        "context_recall", "Context Recall", JudgedInputs.context_recall,
        "#statements of the reference that the context supports / #statements of the reference",
        "The evidence that never reached the prompt is what it lacks.",
    ),
    _row(
        "context_precision", "Context Precision", JudgedInputs.context_precision,
        "sum of (precision@k * relevant_k) / #relevant chunks in the context",
        "Are the chunks that help ranked first? Undefined where none helps.",
    ),
    _row(
        "context_precision_unranked", "Context Precision, Unranked", JudgedInputs.context_precision_unranked,
        "#chunks that support a statement of the reference / #chunks",
        "RAGChecker's context precision: how much of the context is of use, in any order.",
    ),
    _row(
        "claim_recall", "Claim Recall", JudgedInputs.claim_recall,
        "#statements of the reference that a retrieved chunk supports / #statements of the reference",
        "RAGChecker's: as context recall, chunk by chunk.",
    ),
    _row(
        "answer_claim_precision", "Answer Claim Precision", JudgedInputs.claim_precision,
        "#statements of the answer that the reference supports / #statements of the answer",
        "How much of what the answer says is right.",
    ),
    _row(
        "answer_claim_recall", "Answer Claim Recall", JudgedInputs.claim_coverage,
        "#statements of the reference that the answer supports / #statements of the reference",
        "How much of what should be said the answer says.",
    ),
    _row(
        "answer_claim_f1", "Answer Claim F1", JudgedInputs.claim_f1, "2PR / (P + R)",
        "Both in one number.",
    ),
    _row(
        "context_utilization", "Context Utilization", JudgedInputs.utilization,
        "#statements of the reference that a chunk supports and the answer makes / #those that a chunk supports",
        "What the generator makes of the evidence that it was given.",
    ),
    _row(
        "noise_sensitivity_in_relevant", "Noise From Useful Chunks", JudgedInputs.noise_of_useful,
        "#wrong statements that a useful chunk supports / #statements of the answer",
        "The answer takes the wrong part of a right chunk.", FAULT_RATE,
    ),
    _row(
        "noise_sensitivity_in_irrelevant", "Noise From Useless Chunks", JudgedInputs.noise_of_useless,
        "#wrong statements that useless chunks alone support / #statements of the answer",
        "The answer believes chunks that have nothing to do with the reference.", FAULT_RATE,
    ),
    _row(
        "hallucination", "Hallucination", JudgedInputs.hallucination,
        "#wrong statements that no chunk supports / #statements of the answer",
        "Wrong, and from nowhere in the context.", FAULT_RATE,
    ),
    _row(
        "self_knowledge", "Self-Knowledge", JudgedInputs.self_knowledge,
        "#right statements that no chunk supports / #statements of the answer",
        "Right, yet not from the context: the model knew it, or guessed. Neither good nor bad by itself.", SHARE,
    ),
)  # fmt: skip
