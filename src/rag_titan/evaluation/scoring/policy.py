"""Opinions, all of them and nothing else: weights, gates, ratings, what is enough. Each says why.

Sensible defaults and no standard of the industry (stages.txt, "The scorecard"); `ScoreAggregator` takes others.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from rag_titan.evaluation.limits import below
from rag_titan.evaluation.metric import Stage


class Choice(NamedTuple):
    """A number that we chose, and the reason."""

    value: float
    why: str


STAGE_WEIGHTS: Mapping[str, Choice] = {
    Stage.CHUNKING: Choice(10, "Bad chunks show again in every later stage, so most of their harm is counted there."),
    Stage.EMBEDDING: Choice(10, "A weak model or an incomplete index also shows in the retrieval it feeds."),
    Stage.RETRIEVAL: Choice(20, "Evidence that is not found cannot be used: the ceiling of all that follows."),
    Stage.RERANKING: Choice(10, "It can only reorder what retrieval found, and many systems do without."),
    Stage.AUGMENTATION: Choice(15, "The prompt is all that the model knows of the documents."),
    Stage.GENERATION: Choice(20, "Right evidence is worth nothing when the answer made from it is wrong."),
    Stage.END_TO_END: Choice(15, "What the user gets; its parts are weighed in the stages before it already."),
    Stage.JUDGE: Choice(10, "Counts only where you give its metrics weights: a judge has an opinion of its own."),
}

METRIC_WEIGHTS: Mapping[str, Mapping[str, Choice]] = {
    Stage.CHUNKING: {
        "coverage": Choice(4, "Text that no chunk holds can never be found."),
        "evidence_completeness": Choice(4, "A fact that is cut in two is lost to a search that returns one half."),
        "structural_integrity": Choice(2, "Half a table or half a code block often reads as something else."),
        "boundary_f1": Choice(1, "Ideal split points are a matter of taste; what matters is in the evidence."),
        "size_compliance": Choice(1, "Sizes outside the limits are a hint, not a fault in themselves."),
        "overlap_ratio": Choice(1, "Repeated text costs index and prompt, but loses nothing."),
        "evidence_fragmentation": Choice(1, "The degree of what evidence_completeness counts."),
        "metadata_completeness": Choice(1, "Needed for citations and filters, not for finding."),
        "metadata_accuracy": Choice(1, "A wrong page is a wrong citation."),
        "semantic_cohesion": Choice(1, "A proxy: what chunks do for the search is measured there."),
        "semantic_boundary_clarity": Choice(1, "A proxy, as cohesion is."),
        "semantic_chunk_stickiness": Choice(1, "A proxy that the structure of the document can explain."),
        "lexical_cohesion": Choice(0.25, "Good prose repeats few words, so this stand-in is low for good chunks too."),
        "lexical_boundary_clarity": Choice(0.25, "A rough stand-in that is high for nearly every boundary."),
        "lexical_chunk_stickiness": Choice(0.25, "A rough stand-in that is low for nearly every pair."),
        "mean_chunk_tokens": Choice(1, "With a target: the one size that the prompt budget depends on."),
        "min_chunk_tokens": Choice(0.5, "With a target: one odd chunk decides it."),
        "max_chunk_tokens": Choice(0.5, "With a target: one odd chunk decides it."),
    },
    Stage.EMBEDDING: {
        "query_topk_recall": Choice(4, "Finding the gold by itself is what an embedding model is for."),
        "index_coverage": Choice(3, "A vector that is not in the index cannot be found."),
        "zero_norm_rate": Choice(2, "A zero vector is lost to every search, and always a fault."),
        "ann_recall_at_k": Choice(2, "What the index loses is paid by every question, and can be bought back."),
        "duplicate_vector_rate": Choice(1, "Copies crowd out other results, but may be real copies of a text."),
        "similarity_margin": Choice(1, "Telling gold from the rest is the work; the margin shows how safely."),
        "positive_similarity": Choice(0.5, "Its level differs from model to model; the margin says more."),
        "negative_similarity": Choice(0.5, "Its level differs from model to model; the margin says more."),
    },
    Stage.RETRIEVAL: {
        "recall_at_k": Choice(4, "Whether the evidence is there at all decides everything after it."),
        "ndcg_at_k": Choice(3, "Order counts: the prompt may take only the first few."),
        "mrr_at_k": Choice(2, "How early the first useful result comes, for questions that need only one."),
        "hit_at_k": Choice(2, "Where it is 0 the answer can only be a guess."),
        "token_recall": Choice(2, "Recall that survives a change of the chunker."),
        "complete_evidence_recall": Choice(2, "A quote in one piece is what the model can use."),
        "average_precision_at_k": Choice(1, "Order once more, for questions with several gold chunks."),
        "precision_at_k": Choice(1, "Bounded by the number of gold chunks over K, so it is low by nature."),
        "f1_at_k": Choice(1, "Made of precision and recall, which are weighed themselves."),
        "token_precision": Choice(0.5, "Chunks hold more than their evidence, so it is low by nature."),
        "token_iou": Choice(0.5, "Low by nature, as token precision is; good for comparing chunkers."),
        "p95_latency_ms": Choice(2, "With a target: the slow requests are those that users remember."),
        "p50_latency_ms": Choice(1, "With a target: the usual request."),
    },
    Stage.RERANKING: {
        "ndcg_at_k": Choice(4, "The order that comes out is what the prompt is made of."),
        "mrr_at_k": Choice(3, "The top place is the one that the model reads best."),
        "ndcg_gain": Choice(1, "What the reranker adds; small where the search is good already."),
        "mrr_gain": Choice(1, "What the reranker adds; small where the search is good already."),
        "precision_gain": Choice(1, "What the reranker adds; small where the search is good already."),
        "candidate_set_preservation_rate": Choice(1, "Losing candidates can be meant, so it weighs little."),
    },
    Stage.AUGMENTATION: {
        "context_sufficient": Choice(4, "Whether the question can be answered from the prompt at all."),
        "context_recall": Choice(3, "The degree of it: how much of the evidence arrived."),
        "budget_compliant": Choice(2, "What goes over the budget is cut or refused by the model."),
        "duplicate_ratio": Choice(1, "Repeated text takes the place of other evidence."),
        "evidence_edge_placement": Choice(1, "Models read the middle worst; the effect differs by model."),
        "context_precision": Choice(0.5, "Chunks hold more than their evidence, so it is low by nature."),
        "context_noise": Choice(0.5, "The complement of precision: together they weigh 1."),
    },
    Stage.GENERATION: {
        "answer_f1": Choice(3, "The standard measure against a reference answer."),
        "required_fact_coverage": Choice(3, "The facts that must be there, whatever the wording."),
        "annotated_claim_support": Choice(3, "A person's word on whether the answer is invented."),
        "task_success": Choice(3, "A person's word on whether the answer is right."),
        "abstention_accuracy": Choice(2, "Refusing what cannot be answered, and only that, is half of being trusted."),
        "unsupported_number_rate": Choice(2, "Invented numbers are the hallucination that costs most."),
        "exact_match": Choice(1, "Right for names, dates and numbers only; free text fails it without fault."),
        "answer_precision": Choice(1, "A part of F1, shown to tell long answers from wrong ones."),
        "answer_recall": Choice(1, "A part of F1, shown to tell short answers from wrong ones."),
        "rouge_l_f1": Choice(1, "F1 with word order; good wording differs."),
        "citation_precision": Choice(1, "A wrong source misleads the reader who checks."),
        "citation_recall": Choice(1, "A missing source leaves the reader unable to check."),
        "citation_f1": Choice(1, "Both in one number."),
        "context_grounding": Choice(1, "A hint only: an answer can reuse the words and still be wrong."),
        "p95_latency_ms": Choice(1, "With a target: the model's part of the waiting."),
    },
    Stage.END_TO_END: {
        "task_success_rate": Choice(4, "Did the user get what they needed: the only question that counts in the end."),
        "answer_f1": Choice(2, "Stands in for it where nobody judged the answers."),
        "answer_exact_match": Choice(1, "Right for short factual answers only."),
        "p95_latency_ms": Choice(2, "With a target: the waiting that users remember."),
        "p50_latency_ms": Choice(1, "With a target: the usual waiting."),
        "mean_cost_usd": Choice(1, "With a target: what a request may cost."),
        "mean_total_tokens": Choice(1, "With a target: what drives cost and waiting."),
    },
}  # fmt: skip

TARGET_WEIGHT = Choice(1, "A target is a wish to have the metric scored, so one without a weight of ours gets this.")

QUALITY_GATES: Mapping[str, Mapping[str, Choice]] = {
    Stage.CHUNKING: {
        "coverage": Choice(0.95, "More than a twentieth of the text missing is a broken loader or chunker."),
        "evidence_completeness": Choice(0.80, "One quote in five cut apart cannot be repaired later."),
    },
    Stage.EMBEDDING: {"index_coverage": Choice(0.95, "An index that lacks a twentieth was not built to the end.")},
    Stage.RETRIEVAL: {"recall_at_k": Choice(0.70, "With a third of the evidence missed, no prompt saves the answers.")},
    Stage.AUGMENTATION: {"context_sufficient": Choice(0.80, "One prompt in five without the answer invites guessing.")},
    Stage.GENERATION: {"annotated_claim_support": Choice(0.80, "One unsupported claim in five is too many to show.")},
    Stage.END_TO_END: {"task_success_rate": Choice(0.75, "One user in four sent away without help is too many.")},
}  # fmt: skip

PRIMARY: tuple[str, ...] = tuple(f"{stage}.{key}" for stage, gates in QUALITY_GATES.items() for key in gates)
"""The metrics that a comparison is about, "stage.key": those that matter enough for a gate."""

PRIMARY_SHARE = Choice(0.8, "What a comparison is about is seen best; a collapse of anything else is still seen.")
"""What the primary metrics have of the 5 % of false alarms; all others have the rest, so that together it is 5 %."""

RECHUNKED = Choice(0.5, "Where most chunks are others than before, gold by chunk id means other texts, or none.")

LEAST_SHARED = Choice(
    0.5, "A run that lost most of the baseline's questions says nothing of those, and too few are left to see a drop."
)
"""Of the baseline's questions; with less of them a rule about regressions cannot be judged."""

JUDGED_LIMITS: Mapping[str, Choice] = {
    "context_recall": Choice(
        0.70, "As the gate on recall: with a third of the statements missing, no answer is whole."
    ),
    "context_precision": Choice(
        0.50, "Below, useful chunks come later than the second place, or after as many others."
    ),
    "faithfulness": Choice(0.80, "As the gate on annotated claims: one unsupported statement in five is too many."),
    "answer_relevance": Choice(0.40, "Of the default embedder: rewordings lie above 0.44, other questions below 0.30."),
}
"""Below it a judge's score of a question counts as low in the diagnosis."""

ON_SCALE, USUAL_EMBEDDER = "answer_relevance", "wordllama l2_supercat 256"
"""That score has the scale of its embedder: with another one than this the limit says nothing and is not used."""

RATINGS: tuple[tuple[float, str], ...] = (  # from this score on; an edge belongs to the upper band
    (90, "Excellent"),
    (80, "Very Good"),
    (70, "Good"),
    (60, "Average"),
    (40, "Needs Improvement"),
    (0, "Poor"),
)

ENOUGH_MEASURED = Choice(0.75, "With a quarter of the policy unmeasured, the score still speaks for the rest.")

LITTLE_MEASURED = Choice(
    0.25, "Below, what was not measured is over three times what was: the rating may be any other."
)
"""A rating that stands on less, of a stage or of the whole, says so."""

SLICE_MINIMUM = Choice(10, "Of fewer questions one answer more or less is ten points: a number that only misleads.")
SLICES_MOST = Choice(20, "As many as a person reads; the worst stand first, and the rest is there in one line a tag.")

EVALUATED = "Evaluated"
PROVISIONAL = "Provisional"
ACTION_REQUIRED = "Action Required"
NOT_EVALUATED = "Not Evaluated"


def rating_of(score: float | None) -> str | None:
    """The word for a score from 0 to 100; None for None.

    >>> rating_of(90.0), rating_of(89.0), rating_of(None)
    ('Excellent', 'Very Good', None)
    """
    if score is None:
        return None
    return next((word for edge, word in RATINGS if not below(score, edge)), RATINGS[-1][1])


def status_of(score: float | None, coverage: float, gate_failed: bool) -> str:
    """The status of a run; of several that apply, the gravest.

    >>> status_of(95.0, 0.5, gate_failed=True), status_of(95.0, 0.75, gate_failed=False)
    ('Action Required', 'Evaluated')
    """
    if score is None:
        return NOT_EVALUATED
    if gate_failed:
        return ACTION_REQUIRED
    return PROVISIONAL if below(coverage, ENOUGH_MEASURED.value) else EVALUATED


def default_weight(stage: str, key: str) -> float:
    """The weight of a metric in its stage; 0 for one that the policy does not name.

    >>> default_weight("retrieval", "recall_at_k"), default_weight("retrieval", "empty_rate")
    (4.0, 0.0)
    """
    choice = METRIC_WEIGHTS.get(stage, {}).get(key)
    return float(choice.value) if choice else 0.0
