"""The query metrics by the values of tags: which language, tenant or product is worse than the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rag_titan.evaluation.diagnosis.verdicts import Verdicts
from rag_titan.evaluation.metric import Metric, Stage
from rag_titan.evaluation.scoring.scorecard import ScoreAggregator
from rag_titan.evaluation.stages.stage import Values


@dataclass
class SliceTallies:
    """What the questions of each slice add up to; two merge into the tallies of both, whatever the order."""

    @classmethod
    def of(
        cls,
        verdicts: Verdicts,
        measured: Mapping[Stage, Values],
        rows: Mapping[Stage, Sequence[Metric]],
        by: Sequence[str],
    ) -> SliceTallies:
        """From the values of one batch."""
        return cls()

    def merge(self, other: SliceTallies) -> SliceTallies:
        """Both together."""
        return self

    def report(self, rows: Mapping[Stage, Sequence[Metric]], scorer: ScoreAggregator) -> list[dict[str, Any]]:
        """The report's `slices`, worst first."""
        return []
