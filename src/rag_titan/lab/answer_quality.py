"""How good the answers are that each K gave: runs of the same questions, side by side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from rag_titan.errors import DatasetError
from rag_titan.evaluation import CATALOGUE, RAGEvaluator
from rag_titan.evaluation.measures.resampling import ALPHA, holm, paired
from rag_titan.lab.estimates import Data, Estimate, estimate, floats, inputs_of, per_question

# The first that all runs have decides; a judge's verdict is worth more than the likeness of words.
MEASURES = (
    ("end_to_end", "task_success_rate"),
    ("judge", "faithfulness"),
    ("generation", "required_fact_coverage"),
    ("end_to_end", "answer_f1"),
)
_STAGES = ("generation", "end_to_end", "judge")


@dataclass(frozen=True)
class AnswerQuality:
    """The answers of each K.

    rows      {K: {metric: its mean}}
    by        the metric that decides
    best      the K with the best mean of it; of equal ones the smallest
    p         {K: paired randomisation test against the best, corrected for all others (Holm 1979)}
    """

    rows: Mapping[int, Mapping[str, Estimate]]
    by: str
    best: int
    p: Mapping[int, float | None]

    @property
    def not_told_apart(self) -> list[int]:
        """The other K whose answers may be as good, at 5 %."""
        return [k for k, p in self.p.items() if p is None or p > ALPHA]

    def reason(self) -> str:
        """The choice in a sentence."""
        value = self.rows[self.best][self.by].value
        said = f"Answers are best at K = {self.best} ({self.by} {value:.3f})"
        near = self.not_told_apart
        if not self.p:
            return f"{said}, the only K with a run."
        if not near:
            return f"{said}, and worse by more than chance at all others (paired test, 5 %)."
        return f"{said}; not told apart from it (paired test, 5 %): K = {', '.join(map(str, near))}."

    def as_dict(self) -> dict[str, Any]:
        """Plain values."""
        rows = [
            {"k": k, **{key: one.as_dict() for key, one in found.items()}} for k, found in sorted(self.rows.items())
        ]
        return {
            "by": self.by, "best": self.best, "reason": self.reason(), "rows": rows,
            "p": {str(k): p for k, p in self.p.items()}, "not_told_apart": self.not_told_apart,
        }  # fmt: skip

    def points(self) -> list[dict[str, Any]]:
        """[{"k", "metric", "value", "low", "high"}] for a picture."""
        return [found[self.by].point(k, self.by) for k, found in sorted(self.rows.items())]


def answer_quality(runs: Mapping[int, Data], conventions: Any = None) -> AnswerQuality | None:
    """The answers of runs {K: data}, question by question; None without a run.

    Raises DatasetError where the runs share no question, or no metric of answers is measured in all of them.
    """
    if not runs:
        return None
    reports = {k: _report(k, data, conventions) for k, data in sorted(runs.items())}
    measured = [
        (stage, key) for stage, key in MEASURES
        if all(estimate(report, stage, key).n for report in reports.values())
    ]  # fmt: skip
    if not measured:
        names = ", ".join(key for _, key in MEASURES)
        raise DatasetError("runs", f"must all have answers with one of {names} measured, got none. Add gold answers.")
    rows = {k: {key: estimate(report, stage, key) for stage, key in measured} for k, report in reports.items()}
    stage, by = measured[0]
    best = max(rows, key=lambda k: (round(rows[k][by].value or 0.0, 12), -k))
    values = {k: per_question(report, stage, CATALOGUE[stage, by].item_key) for k, report in reports.items()}
    return AnswerQuality(rows, by, best, _tests(values, best))


def _report(k: int, data: Data, conventions: Any) -> Mapping[str, Any]:
    return RAGEvaluator(k=k, stages=_STAGES, conventions=conventions).evaluate(**inputs_of(data))


def _tests(values: Mapping[int, Mapping[str, float | None]], best: int) -> dict[int, float | None]:
    """{K: p against the best} on the questions that both runs have."""
    others = [k for k in values if k != best]
    if not others:
        return {}
    ids = list(values[best])
    ours = floats(values[best], ids)
    found = paired(np.stack([ours - floats(values[k], ids) for k in others], axis=1))
    if not found.n.all():
        k = others[int(np.argmin(found.n))]
        raise DatasetError(f"run {k}", f"must share questions with run {best}, got none. Keep the question ids.")
    return {k: float(p) for k, p in zip(others, holm(found.p), strict=True)}
