"""The rating of a stage with what to know beside it: on how little it stands, and what it counts without a fault."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from rag_titan.evaluation.catalogue import stage_values
from rag_titan.evaluation.limits import below, finite
from rag_titan.evaluation.reports.evidence import asked_text
from rag_titan.evaluation.reports.figures import NOTHING, share_text
from rag_titan.evaluation.reports.priorities import blamed
from rag_titan.evaluation.scoring.policy import LITTLE_MEASURED, rating_of

Report = Mapping[str, Any]

IN_BRACKETS = f"In brackets: of the stage less than {share_text(LITTLE_MEASURED.value)} was measured"


def rating_text(of_stage: Mapping[str, Any]) -> str | None:
    """The word for the score of a stage, in brackets where little of the stage was measured; None without a word.

    >>> rating_text({"rating": "Excellent", "coverage": 0.08}), rating_text({"rating": "Excellent", "coverage": 0.9})
    ('(Excellent)', 'Excellent')
    """
    rating = of_stage.get("rating")
    if rating is None:
        return None
    return f"({rating})" if _is_little(of_stage) else str(rating)


def caveats(report: Report, stage: str, of_stage: Mapping[str, Any]) -> list[str]:
    """What to know beside the rating of a stage; empty where there is nothing, and without a rating.

    >>> caveats({}, "augmentation", {"score": 100.0, "rating": "Excellent", "coverage": 0.08})
    ['only 8% measured']
    """
    if of_stage.get("rating") is None:
        return []
    asked, other = asked_text(report, stage, "question"), _but_for_wording(report, stage, of_stage)
    said = [f"only {share_text(finite(of_stage.get('coverage')))} measured"] if _is_little(of_stage) else []
    said += [f"on {asked}"] if asked else []
    return said + ([f"{other} but for the wording of answers that nothing calls wrong"] if other else [])


def rated_text(report: Report, stage: str, of_stage: Mapping[str, Any]) -> str:
    """The rating of a stage with what to know beside it.

    >>> rated_text({}, "retrieval", {"rating": "Excellent"}), rated_text({}, "retrieval", {"rating": None})
    ('Excellent', '–')
    >>> rated_text({"judge": {"summary": {"faithfulness": 0.9}}}, "judge", {"score": None, "rating": None, "weight": 0})
    'not scored'
    """
    if counts_nowhere(of_stage) and stage_values(report, stage):
        return "not scored"
    return ", ".join([rating_text(of_stage) or NOTHING, *caveats(report, stage, of_stage)])


def coverage_text(of_stage: Mapping[str, Any]) -> str:
    """How much of a stage was measured; a dash where nothing of it counts, as of a judge without weights.

    >>> coverage_text({"score": None, "coverage": 0.0, "weight": 0}), coverage_text({"score": 81.0, "coverage": 0.5})
    ('–', '50%')
    """
    return NOTHING if counts_nowhere(of_stage) else share_text(finite(of_stage.get("coverage")))


def counts_nowhere(of_stage: Mapping[str, Any]) -> bool:
    """None of the stage's metrics has a weight, so that there is no share of them to speak of."""
    return of_stage.get("score") is None and of_stage.get("weight") == 0


def _is_little(of_stage: Mapping[str, Any]) -> bool:
    coverage = finite(of_stage.get("coverage"))
    return coverage is not None and below(coverage, LITTLE_MEASURED.value)


def _but_for_wording(report: Report, stage: str, of_stage: Mapping[str, Any]) -> str | None:
    """The rating that the stage would have without what it loses for words; None where that is the same."""
    score = finite(of_stage.get("score"))
    lost = {key: (metric, metric.get("points_lost") or 0.0) for key, metric in (of_stage.get("metrics") or {}).items()}
    total = math.fsum(points for _, points in lost.values())
    if score is None or not total:
        return None
    excused = math.fsum(
        points * (1 - blamed(report, f"{stage}.{key}", metric)) for key, (metric, points) in lost.items()
    )
    other = rating_of(score + (100 - score) * min(1.0, excused / total))
    return None if other == rating_of(score) else other
