"""What the sweeps and the confusion matrix read from reports: a value with how many questions it stands on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag_titan.evaluation import read_dataset
from rag_titan.evaluation.measures.resampling import interval95
from rag_titan.evaluation.measures.sums import Moments

Floats = NDArray[np.float64]
Data = str | Path | Mapping[str, Any]
Report = Mapping[str, Any]


@dataclass(frozen=True)
class Estimate:
    """A mean over questions.

    value  None where no question was measured
    n      how many were
    ci95   [low, high] of the mean at 95 %; None for fewer than 2 questions
    """

    value: float | None
    n: int
    ci95: list[float] | None = None

    def as_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {"value": self.value, "n": self.n, "ci95": self.ci95}

    def point(self, k: int, metric: str) -> dict[str, Any]:
        """{"k", "metric", "value", "low", "high"} for a picture."""
        low, high = self.ci95 or (None, None)
        return {"k": k, "metric": metric, "value": self.value, "low": low, "high": high}


def inputs_of(data: Data) -> Mapping[str, Any]:
    """The inputs of `RAGEvaluator.evaluate`: a mapping as it is, a path read into memory."""
    return data if isinstance(data, Mapping) else read_dataset(data)  # type: ignore[return-value]  # it unpacks as one


def estimate(report: Report, stage: str, key: str) -> Estimate:
    """A metric as the report has it, with its interval."""
    part = report.get(stage)
    if part is None:
        return Estimate(None, 0)
    detail = part["detail"].get(key) or {}
    return Estimate(summary_of(part).get(key), detail.get("n") or 0, detail.get("ci95"))


def mean_of(values: Floats, low: float = 0.0, high: float = 1.0) -> Estimate:
    """The mean of values from `low` to `high`, NaN where a question is not measured."""
    known = values[~np.isnan(values)]
    moments = Moments.of(known)
    return Estimate(moments.mean(), moments.n, interval95(moments, low, high, known))


def per_question(report: Report, stage: str, key: str) -> dict[str, float | None]:
    """{question id: its value}."""
    part = report.get(stage) or {}
    return {str(row["id"]): row.get(key) for row in part.get("per_query", ())}


def floats(values: Mapping[str, float | None], ids: list[str]) -> Floats:
    """(n,) the values of these questions, NaN where there is none."""
    found = (values.get(name) for name in ids)
    return np.array([np.nan if value is None else value for value in found], dtype=np.float64)


def summary_of(part: Mapping[str, Any]) -> Mapping[str, Any]:
    """The values of a stage: some stages have them in a summary, some directly."""
    summary: Mapping[str, Any] = part.get("summary", part)
    return summary
