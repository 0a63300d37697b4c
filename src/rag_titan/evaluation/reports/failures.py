"""The questions that failed, one row each, with where and why."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any

from rag_titan.evaluation.limits import below, finite
from rag_titan.evaluation.metric import Stage
from rag_titan.evaluation.reports.pairing import rows_by_id

NOT_KNOWN = "unknown"  # the stage of a wrong answer without gold labels

Row = dict[str, Any]
Values = Mapping[str, Any]

# Older reports have no verdict per question; these say where its evidence was lost, in pipeline order.
_LOST: tuple[tuple[Stage, str, str], ...] = (
    (Stage.RETRIEVAL, "hit_at_k", "no gold chunk in the top K"),
    (Stage.RETRIEVAL, "complete_evidence_recall", "not every evidence span was retrieved in one piece"),
    (Stage.AUGMENTATION, "context_sufficient", "not every evidence span is whole in the context"),
)
# ... and these whether its answer is right. Word overlap is not among them: a good answer in other words has little.
_WRONG: tuple[tuple[Stage, str, str], ...] = (
    (Stage.GENERATION, "task_success", "the task was marked as failed"),
    (Stage.END_TO_END, "task_success_rate", "the task was marked as failed"),
    (Stage.GENERATION, "required_fact_coverage", "the answer lacks a required fact"),
    (Stage.GENERATION, "abstention_accuracy", "it answered what cannot be answered, or refused what can"),
)


def failed_queries(report: Mapping[str, Any]) -> list[Row]:
    """[{"query_id", "stage", "reason", "correct", "correct_by", "scenario", "why", "tags"}], one row a question, in
    the order of the report.

    A question failed when its answer is wrong, or when nobody can say and its evidence was lost on the way; a loss
    before an answer that came out right is no failure. `stage` is where the evidence was lost, "generation" where it
    came through, "unknown" where no gold labels say. A report without verdicts (an older one) is read by its values
    per query, one without these by the examples of its diagnosis.

    >>> verdict = {"id": "q1", "lost_at": "retrieval", "correct": False, "why": ["c7 is at rank 9"]}
    >>> [(row["query_id"], row["stage"], row["reason"]) for row in failed_queries({"queries": [verdict]})]
    [('q1', 'retrieval', 'c7 is at rank 9')]
    """
    verdicts = report.get("queries")
    if isinstance(verdicts, list):
        return [_row(verdict) for verdict in verdicts if isinstance(verdict, Mapping) and is_failure(verdict)]
    return _by_values(report) or _by_examples(report)


def is_failure(verdict: Mapping[str, Any]) -> bool:
    """Wrong, or unjudged and its evidence lost.

    >>> is_failure({"correct": True, "lost_at": "retrieval"}), is_failure({"correct": None, "lost_at": "retrieval"})
    (False, True)
    """
    correct = verdict.get("correct")
    return correct is False or (correct is None and verdict.get("lost_at") is not None)


def spread(rows: Sequence[Mapping[str, Any]], count: int) -> list[Mapping[str, Any]]:
    """At most `count` rows, taken from the stages in turn, so that a stage with many leaves room for the others; the
    rows of one stage stay together."""
    stages: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        stages.setdefault(str(row["stage"]), []).append(row)
    order = list(dict.fromkeys([*map(str, Stage), *stages]))

    def in_turn() -> Iterator[tuple[str, int]]:
        for i, turn in enumerate(zip_longest(*stages.values())):
            yield from ((stage, i) for stage, row in zip(stages, turn, strict=True) if row is not None)

    taken = sorted(
        ((stage, i) for (stage, i), _ in zip(in_turn(), range(count), strict=False)),
        key=lambda place: (order.index(place[0]), place[1]),
    )
    return [stages[stage][i] for stage, i in taken]


def _row(verdict: Mapping[str, Any]) -> Row:
    why = verdict.get("why")
    reasons = [str(reason) for reason in why] if isinstance(why, list) else []
    stage = verdict.get("lost_at") or NOT_KNOWN
    wrong = (
        "the answer is wrong"
        if verdict.get("correct") is False
        else "its evidence was lost and nobody judged the answer"
    )
    return {
        "query_id": verdict.get("id"),
        "stage": str(stage),
        "reason": "; ".join(reasons) or wrong,
        "correct": verdict.get("correct"),
        "correct_by": verdict.get("correct_by"),
        "scenario": verdict.get("scenario"),
        "why": reasons,
        "tags": verdict.get("tags"),
    }


def _by_values(report: Mapping[str, Any]) -> list[Row]:
    stages = {str(stage): rows_by_id(report, stage) for stage in Stage}
    ids = dict.fromkeys(query for values in stages.values() for query in values)
    rows = []
    for query in ids:
        lost = _first_broken(_LOST, query, stages, lambda value: below(value, 1))
        wrong = _first_broken(_WRONG, query, stages, lambda value: below(value, 1))
        judged = any(_value(stages, stage, query, key) is not None for stage, key, _ in _WRONG)
        if wrong or (lost and not judged):
            found = [*filter(None, (lost, wrong))]
            verdict = {"id": query, "lost_at": found[0][0] if lost else None, "why": [reason for _, reason in found]}
            rows.append(_row({**verdict, "correct": False if wrong else None}))
    return rows


def _first_broken(
    rules: Iterable[tuple[Stage, str, str]], query: str, stages: Mapping[str, Values], broken: Callable[[float], bool]
) -> tuple[str, str] | None:
    for stage, key, reason in rules:
        value = _value(stages, stage, query, key)
        if value is not None and broken(value):
            return str(stage), reason
    return None


def _value(stages: Mapping[str, Values], stage: str, query: str, key: str) -> float | None:
    value = stages[stage].get(query, {}).get(key)
    return float(value) if isinstance(value, bool) else finite(value)


def _by_examples(report: Mapping[str, Any]) -> list[Row]:
    diagnosis = report.get("diagnosis")
    examples = diagnosis.get("examples") if isinstance(diagnosis, Mapping) else None
    if not isinstance(examples, Mapping):
        return []
    reason = "its evidence was lost here; the report was made without lists per query"
    return [
        _row({"id": query, "lost_at": stage, "why": [reason]})
        for stage, ids in examples.items()
        if isinstance(ids, list)
        for query in ids
    ]
