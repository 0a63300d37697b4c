"""What came out of a run, in a few lines or as one JSON object, and the exit code."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rag_titan.cli.config import Limits

FINE, FAILED, UNUSABLE, UNMEASURED = 0, 1, 2, 3
NAMED = 3  # ids and warnings that are printed

Report = Mapping[str, Any]


@dataclass(frozen=True)
class Rules:
    """What makes a run fail, beside what is unusable.

    gates     the gates of the config file; the others fail only with `on_gate`
    required  metrics, "key" or "stage.key", that must be measured
    """

    on_regression: bool = False
    on_gate: bool = False
    gates: Limits = field(default_factory=dict)
    required: Sequence[str] = ()
    max_error_rate: float | None = None


@dataclass(frozen=True)
class Outcome:
    """A report and, where there is a baseline, how it compares.

    files       what was written
    baseline    the baseline's path, None without one
    comparison  None where there is no baseline to compare with (yet)
    """

    report: Report
    files: Sequence[Path]
    rules: Rules = field(default_factory=Rules)
    baseline: Path | None = None
    comparison: Mapping[str, Any] | None = None

    @property
    def exit_code(self) -> int:
        """0 fine, 1 failed, 2 not comparable, 3 nothing could be measured (DESIGN §3)."""
        if not self.measured:
            return UNMEASURED
        if self.comparison is not None and not self.comparison["comparable"]:
            return UNUSABLE
        return FAILED if self.failures else FINE

    @property
    def measured(self) -> bool:
        """True where some metric has a value; the error rate alone says nothing of a system."""
        from rag_titan.evaluation.catalogue import values_of

        return any(name != "end_to_end.error_rate" for name in values_of(self.report))

    @property
    def failures(self) -> list[str]:
        """Why the run fails, each reason in a few words."""
        gates = [gate for gate in self.failed_gates if self.rules.on_gate or self._in_config(gate)]
        counted = {
            "regression": len(self.regressions) if self.rules.on_regression else 0,
            "vanished metric": len(self.vanished) if self.rules.on_regression else 0,
            "failed gate": len(gates),
            "required metric not measured": len(self.missing),
        }
        reasons = [f"{n} {what}{'s' if n > 1 else ''}" for what, n in counted.items() if n]
        return [*reasons, *(["too many errors"] if self.too_many_errors else [])]

    @property
    def regressions(self) -> list[Mapping[str, Any]]:
        """What got worse than the baseline."""
        return list(self.comparison["regressions"]) if self.comparison else []

    @property
    def vanished(self) -> list[Mapping[str, Any]]:
        """What counts in the score, was measured in the baseline and is not now."""
        return [entry for entry in self.comparison["vanished"] if entry["weight"]] if self.comparison else []

    @property
    def failed_gates(self) -> list[Mapping[str, Any]]:
        """Gates whose limit is broken, and those of the config file that have nothing to measure."""
        failed = [gate for gate in self.report["scorecard"]["gates"] if gate["status"] == "fail"]
        return [gate for gate in failed if gate["value"] is not None or self._in_config(gate)]

    @property
    def missing(self) -> list[str]:
        """Required metrics that are not measured."""
        gates = self.report["scorecard"]["gates"]
        unmeasured = [gate for gate in gates if gate["value"] is None and gate["required"]]
        names = [(f"{gate['stage']}.{gate['metric']}", gate["metric"]) for gate in unmeasured]
        return [name for name, key in names if name in self.rules.required or key in self.rules.required]

    @property
    def errors(self) -> dict[str, Any]:
        """{"count", "of", "rate", "first"}: questions that ended in an error, and the first of them."""
        counts, examples = self.report["diagnosis"]["counts"], self.report["diagnosis"]["examples"]
        rate = (self.report.get("end_to_end") or {}).get("error_rate")
        count, of = counts["errors"], counts["questions"]
        if rate is None:
            rate = count / of if of else None
        return {"count": count, "of": of, "rate": rate, "first": examples.get("end_to_end", [])[:NAMED]}

    @property
    def too_many_errors(self) -> bool:
        """True where the error rate is above the limit that was given."""
        limit, rate = self.rules.max_error_rate, self.errors["rate"]
        return limit is not None and rate is not None and rate > limit + 1e-9

    def _in_config(self, gate: Mapping[str, Any]) -> bool:
        return self.rules.gates.get(gate["stage"], {}).get(gate["metric"]) is not None

    def as_dict(self) -> dict[str, Any]:
        """The facts as plain values."""
        diagnosis, warnings = self.report["diagnosis"], self.report["warnings"]
        lost = {step["stage"]: step["lost"] for step in diagnosis["funnel"] if step["lost"]}
        return {
            "exit_code": self.exit_code,
            "failures": self.failures,
            "reports": [str(file) for file in self.files],
            "overall": self.report["scorecard"]["overall"],
            "first_failing_stage": self.report["root_causes"]["first_failing_stage"],
            "questions": diagnosis["counts"],
            "lost_at": lost,
            "errors": self.errors,
            "skipped": self.report["meta"]["skipped"],
            "failed_gates": self.failed_gates,
            "required_but_unmeasured": self.missing,
            "baseline": self._compared(),
            "warnings": {"count": len(warnings), "first": warnings[:NAMED]},
        }

    def _compared(self) -> dict[str, Any] | None:
        if self.baseline is None:
            return None
        facts: dict[str, Any] = {"path": str(self.baseline), "found": self.comparison is not None}
        return {**facts, **(self.comparison or {})}

    def json(self) -> str:
        """The facts as one JSON object."""
        return json.dumps(self.as_dict(), ensure_ascii=False, indent=2, allow_nan=False)
