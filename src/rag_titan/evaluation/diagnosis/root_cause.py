"""Root-cause hints: thresholds, checked in pipeline order (stages.txt, "Root-cause hints").

An early failure explains later ones, so these say where to look first; they prove nothing. What became of each
question's evidence is told by the funnel.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from rag_titan.evaluation.catalogue import Rows, find, limit_is_maximum, rows_of, stage_names, value_of
from rag_titan.evaluation.limits import above, below, mapped, mapped_or_none, number
from rag_titan.evaluation.metric import Stage


class Check(NamedTuple):
    """A limit on a metric, and what to do when it is broken. `highest`: the limit is the greatest value allowed."""

    stage: str
    key: str
    limit: float
    suggestion: str
    highest: bool = False


CHECKS: tuple[Check, ...] = (
    Check(
        Stage.CHUNKING, "coverage", 0.98,
        "Some source text is in no chunk. Look for dropped headers, tables or page ends in the loader and the chunker.",
    ),
    Check(
        Stage.CHUNKING, "evidence_completeness", 0.90,
        "Facts are cut in two. Try larger chunks, an overlap, or splits at sentences and headings.",
    ),
    Check(
        Stage.EMBEDDING, "index_coverage", 0.98,
        "Vectors are missing from the index. Compare its ids with the chunks and load the missing ones again.",
    ),
    Check(
        Stage.EMBEDDING, "query_topk_recall", 0.80,
        "Exact search misses the gold too. Try another embedding model, or check its question prefix.",
    ),
    Check(
        Stage.RETRIEVAL, "recall_at_k", 0.80,
        "The search misses needed chunks. Raise K, add keyword search, or rewrite the question before searching.",
    ),
    Check(
        Stage.RERANKING, "ndcg_gain", -0.03,
        "The reranker makes the order worse. Check its input text and language, or leave it out.",
    ),
    Check(
        Stage.AUGMENTATION, "context_sufficient", 0.90,
        "The prompt often lacks the evidence. Pack more of the top chunks, or raise the context budget.",
    ),
    Check(
        Stage.GENERATION, "answer_f1", 0.75,
        "Answers differ from the references. Read some: if they are right in other words, use required_facts; "
        "else work on the prompt or the model.",
    ),
)  # fmt: skip


class RootCauseAnalyzer:
    """The eight checks of stages.txt, or yours.

    thresholds  {"key" or "stage.key": limit}, merged into the eight; None removes one. The limit is a minimum, for a
                metric that should be low a maximum
    rows        the metrics there are; for metrics of your own: [*CATALOGUE.values(), mine]

    `given` are the thresholds, `of_judge` {key: limit} those of the stage judge, which its diagnosis goes by as well.

    Raises UnknownMetricError with the nearest name, SettingsError for a limit that is no number and for a metric that
    is neither better high nor low. A bare key means the check of that key, where one of the eight has it.

    >>> report = {"retrieval": {"summary": {"recall_at_k": 0.5}}, "generation": None}
    >>> RootCauseAnalyzer({"recall_at_k": 0.4}).analyze(report)
    {'first_failing_stage': None, 'failures': []}
    >>> RootCauseAnalyzer().analyze(report)["first_failing_stage"]
    'retrieval'
    """

    def __init__(self, thresholds: Mapping[str, float | None] | None = None, *, rows: Rows | None = None) -> None:
        self.rows = rows_of(rows)
        self.given = dict(mapped_or_none(thresholds, "thresholds", "{metric: limit}"))
        self.of_judge: dict[str, float | None] = {}
        checks = {(str(check.stage), check.key): check for check in CHECKS}
        for name, limit in self.given.items():
            stage, key = self._place(name)
            self.of_judge |= {key: limit} if stage == Stage.JUDGE else {}
            old = checks.pop((stage, key), None)
            if limit is not None:
                checks[stage, key] = self._check(stage, key, number(limit, f"thresholds.{name}"), old)
        self.checks = tuple(sorted(checks.values(), key=self._order))

    def _place(self, name: str) -> tuple[str, str]:
        usual = [(str(check.stage), check.key) for check in CHECKS if name in (check.key, f"{check.stage}.{check.key}")]
        if usual:
            return usual[0]
        row = find(name, self.rows)
        return str(row.stage), row.key

    def _check(self, stage: str, key: str, limit: float, old: Check | None) -> Check:
        if old is not None:
            return old._replace(limit=limit)
        row = find(f"{stage}.{key}", self.rows)
        return Check(stage, key, limit, row.advice, limit_is_maximum(row, f"thresholds.{row.name}"))

    def _order(self, check: Check) -> tuple[int, int]:
        """Pipeline order; within a stage the eight first, then the order of the rows."""
        usual = [(str(c.stage), c.key) for c in CHECKS]
        places = [*usual, *((str(row.stage), row.key) for row in self.rows)]
        return stage_names(self.rows).index(check.stage), places.index((str(check.stage), check.key))

    def analyze(self, report: Mapping[str, Any]) -> dict[str, Any]:
        """{"first_failing_stage", "failures": [{stage, metric, observed, minimum, suggestion}]}, in pipeline order.

        What is not measured fails nothing. A broken maximum has `minimum` None and its limit under `maximum`.
        """
        failures = []
        mapped(report, "report", "as RAGEvaluator makes it")
        for check in self.checks:
            observed = value_of(report, check.stage, check.key)
            if observed is not None and (above if check.highest else below)(observed, check.limit):
                failures.append(_failure(check, observed))
        return {"first_failing_stage": failures[0]["stage"] if failures else None, "failures": failures}


def _failure(check: Check, observed: float) -> dict[str, Any]:
    limits = {"minimum": None, "maximum": check.limit} if check.highest else {"minimum": check.limit}
    place = {"stage": str(check.stage), "metric": check.key, "observed": observed}
    return {**place, **limits, "suggestion": check.suggestion}
