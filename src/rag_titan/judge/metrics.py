"""What has to be asked so that a metric of the stage `judge` can be computed."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from rag_titan.errors import SettingsError, UnknownMetricError


class Ask(StrEnum):
    """One kind of verdict. What two metrics share is asked once."""

    ANSWER_BY_CONTEXT = "answer_by_context"
    ANSWER_BY_REFERENCE = "answer_by_reference"
    ANSWER_BY_CHUNKS = "answer_by_chunks"
    REFERENCE_BY_CONTEXT = "reference_by_context"
    REFERENCE_BY_ANSWER = "reference_by_answer"
    REFERENCE_BY_CHUNKS = "reference_by_chunks"
    QUESTIONS = "questions"
    USEFUL_CHUNKS = "useful_chunks"
    CHUNK_RELEVANCE = "chunk_relevance"


OF_ANSWER = (Ask.ANSWER_BY_CONTEXT, Ask.ANSWER_BY_REFERENCE, Ask.ANSWER_BY_CHUNKS)
OF_REFERENCE = (Ask.REFERENCE_BY_CONTEXT, Ask.REFERENCE_BY_ANSWER, Ask.REFERENCE_BY_CHUNKS)

_OVERALL = (Ask.ANSWER_BY_REFERENCE, Ask.REFERENCE_BY_ANSWER)
_UNFOUND = (Ask.ANSWER_BY_REFERENCE, Ask.ANSWER_BY_CHUNKS)
_NOISE = (*_UNFOUND, Ask.REFERENCE_BY_CHUNKS)

NEEDS: dict[str, tuple[Ask, ...]] = {
    "faithfulness": (Ask.ANSWER_BY_CONTEXT,),
    "contradicted_claim_rate": (Ask.ANSWER_BY_CONTEXT,),
    "answer_relevance": (Ask.QUESTIONS,),
    "noncommittal_rate": (Ask.QUESTIONS,),
    "context_relevance": (Ask.CHUNK_RELEVANCE,),
    "context_recall": (Ask.REFERENCE_BY_CONTEXT,),
    "context_precision": (Ask.USEFUL_CHUNKS,),
    "context_precision_unranked": (Ask.REFERENCE_BY_CHUNKS,),
    "claim_recall": (Ask.REFERENCE_BY_CHUNKS,),
    "answer_claim_precision": (Ask.ANSWER_BY_REFERENCE,),
    "answer_claim_recall": (Ask.REFERENCE_BY_ANSWER,),
    "answer_claim_f1": _OVERALL,
    "context_utilization": (Ask.REFERENCE_BY_CHUNKS, Ask.REFERENCE_BY_ANSWER),
    "noise_sensitivity_in_relevant": _NOISE,
    "noise_sensitivity_in_irrelevant": _NOISE,
    "hallucination": _UNFOUND,
    "self_knowledge": _UNFOUND,
}
"""{a metric of the stage `judge`: what it stands on}."""

GROUPS: dict[str, tuple[str, ...]] = {
    "triad": ("faithfulness", "answer_relevance", "context_relevance"),
    "whitepaper": ("faithfulness", "answer_relevance", "context_recall", "context_precision"),
    "ragchecker": (
        "answer_claim_precision", "answer_claim_recall", "answer_claim_f1", "claim_recall",
        "context_precision_unranked", "context_utilization", "noise_sensitivity_in_relevant",
        "noise_sensitivity_in_irrelevant", "hallucination", "self_knowledge", "faithfulness",
    ),
    "all": tuple(NEEDS),
}  # fmt: skip
"""Names for several at once."""


def metrics_of(names: Iterable[str]) -> tuple[str, ...]:
    """The metrics that are named, groups written out, each once.

    Raises SettingsError for none at all and UnknownMetricError for a name that is none of the stage `judge`.

    >>> metrics_of(["triad", "faithfulness"])
    ('faithfulness', 'answer_relevance', 'context_relevance')
    """
    found: dict[str, None] = {}
    for name in names:
        if name not in NEEDS and name not in GROUPS:
            raise UnknownMetricError(name, (*NEEDS, *GROUPS), "metric of a judge")
        found |= dict.fromkeys(GROUPS.get(name, (name,)))
    if not found:
        raise SettingsError("metrics: must name at least one metric, got none. Write faithfulness, or triad.")
    return tuple(found)


def asks_of(metrics: Iterable[str]) -> frozenset[Ask]:
    """What has to be asked for these metrics."""
    return frozenset(ask for metric in metrics for ask in NEEDS[metric])
