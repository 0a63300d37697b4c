"""Quality gates: minimums (for what should be low: maximums) that a run must keep, however high its score."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rag_titan.errors import SettingsError
from rag_titan.evaluation.catalogue import (
    Rows,
    find,
    known_metric,
    known_stage,
    limit_is_maximum,
    stage_names,
    value_of,
)
from rag_titan.evaluation.limits import MOST_COUNTED, above, below, finite, mapped, names, number
from rag_titan.evaluation.measures.resampling import deciding
from rag_titan.evaluation.scoring.policy import QUALITY_GATES

PASS, FAIL, UNMEASURED = "pass", "fail", "unmeasured"
UNDECIDED = "undecided"
Limits = Mapping[str, Mapping[str, float | None]]


@dataclass(frozen=True)
class Gate:
    """A limit on one metric.

    limit     the least value (the greatest, for a metric that should be low); None asks only that it was measured
    highest   the limit is the greatest value
    required  it fails when the metric is not measured
    """

    stage: str
    key: str
    limit: float | None
    highest: bool = False
    required: bool = False

    def judge(self, report: Mapping[str, Any]) -> dict[str, Any]:
        """The row of the scorecard: {stage, metric, minimum, (maximum), value, status, required, ci95, verdict,
        needed}.

        status   from the value alone
        ci95     the 95 % interval of the value, None without one
        verdict  "pass" or "fail" where the whole interval is on that side of the limit, else "undecided"; the status
                 where there is no interval
        needed   about how many questions (or chunks, or spans) would decide it at this value; None where it is decided,
                 where there is no interval, and where the value lies on the limit

        >>> detail = {"recall_at_k": {"n": 10, "ci95": [0.397, 0.892]}}
        >>> report = {"retrieval": {"summary": {"recall_at_k": 0.7}, "detail": detail}}
        >>> row = Gate("retrieval", "recall_at_k", 0.8).judge(report)
        >>> row["status"], row["verdict"]
        ('fail', 'undecided')
        """
        value = value_of(report, self.stage, self.key)
        row: dict[str, Any] = {"stage": self.stage, "metric": self.key, "minimum": None if self.highest else self.limit}
        if self.highest:
            row["maximum"] = self.limit
        row |= {"value": value, "status": self._status(value), "required": self.required}
        n, ends = _interval_of(report, self.stage, self.key)
        return row | {"ci95": ends, **self._verdict(row["status"], value, n, ends)}

    def _verdict(self, status: str, value: float | None, n: int, ends: list[float] | None) -> dict[str, Any]:
        if value is None or ends is None or self.limit is None:
            return {"verdict": status, "needed": None}
        sides = {self._status(end) for end in ends}
        if len(sides) == 1:
            return {"verdict": sides.pop(), "needed": None}
        return {"verdict": UNDECIDED, "needed": deciding(value, self.limit, n, ends)}

    def _status(self, value: float | None) -> str:
        if value is None:
            return FAIL if self.required else UNMEASURED
        if self.limit is None:
            return PASS
        broken = above(value, self.limit) if self.highest else below(value, self.limit)
        return FAIL if broken else PASS


def _interval_of(report: Mapping[str, Any], stage: str, key: str) -> tuple[int, list[float] | None]:
    """(n, 95 % interval) of a metric; (0, None) where the report, which may be anybody's, has none."""
    node: Any = report
    for name in (stage, "detail", key):
        node = node.get(name) if isinstance(node, Mapping) else None
    if not isinstance(node, Mapping):
        return 0, None
    n, given = finite(node.get("n")), node.get("ci95")
    ends = [finite(end) for end in given] if isinstance(given, list | tuple) else []
    known = [end for end in ends if end is not None]
    if n is None or not 2 <= n <= MOST_COUNTED or len(ends) != 2 or len(known) != 2:
        return 0, None
    return int(n), known


def gates_of(
    stages: Sequence[str], given: Limits | None, strict: Limits | None, required: Iterable[str], rows: Rows
) -> tuple[Gate, ...]:
    """The default gates of the stages, with the user's merged in; None removes one.

    `given` never fails on an unmeasured metric; `strict` does, and so does every metric named in `required`.
    """
    gates = {(s, k): Gate(s, k, choice.value) for s in stages for k, choice in QUALITY_GATES.get(s, {}).items()}
    for what, limits in (("quality_gates", given), ("strict_gates", strict)):
        _merge(gates, {} if limits is None else limits, what, rows)
    for name in names(required, "required", "metrics"):
        row = find(name, rows)
        place = (str(row.stage), row.key)
        gates[place] = replace(gates.get(place, Gate(*place, None)), required=True)
    stages = stage_names(rows)
    order = {(str(row.stage), row.key): i for i, row in enumerate(rows)}
    return tuple(sorted(gates.values(), key=lambda g: (stages.index(g.stage), order.get((g.stage, g.key), -1))))


def _merge(gates: dict[tuple[str, str], Gate], limits: Limits, what: str, rows: Rows) -> None:
    for stage, of_stage in mapped(limits, what, "{stage: {metric: limit}}").items():
        known_stage(stage, rows)
        if not isinstance(of_stage, Mapping):
            raise SettingsError(f"{what}.{stage}: must be a mapping of metrics to minimums, got {of_stage!r}.")
        for key, limit in of_stage.items():
            row = known_metric(stage, key, rows)
            if limit is None:
                gates.pop((stage, key), None)
                continue
            where = f"{what}.{stage}.{key}"
            highest = limit_is_maximum(row, where)
            gates[stage, key] = Gate(stage, key, number(limit, where), highest, what == "strict_gates")
