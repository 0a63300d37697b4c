"""What the query explorer shows of a question: its texts, its rankings, its gold, and the marks in them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rag_titan.evaluation.diagnosis.verdicts import Verdicts
from rag_titan.evaluation.metric import Stage
from rag_titan.evaluation.stages.stage import Values


@dataclass
class ExplorerRows:
    """Rows of the explorer; two merge into the rows of both, whatever the order."""

    @classmethod
    def of(cls, verdicts: Verdicts, measured: Mapping[Stage, Values], most: int, redact: bool) -> ExplorerRows:
        """From one batch."""
        return cls()

    def merge(self, other: ExplorerRows) -> ExplorerRows:
        """Both together."""
        return self

    def report(self) -> dict[str, Any]:
        """The report's `explorer`."""
        return {"queries": [], "chunks": {}, "left_out": 0}
