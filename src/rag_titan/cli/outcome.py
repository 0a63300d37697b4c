"""What came out of a run, in a few lines or as one JSON object, and the exit code."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rag_titan.cli.config import Limits
from rag_titan.evaluation.reports.first_run import is_missing

FINE, FAILED, UNUSABLE, UNMEASURED = 0, 1, 2, 3
NAMED = 3  # ids and warnings that are printed
NOTHING_MEASURED = "Nothing could be measured: the data hold no outputs that a metric could read"
_REASONS = {  # one, several
    "regression": ("regression", "regressions"),
    "vanished": ("vanished metric", "vanished metrics"),
    "gate": ("failed gate", "failed gates"),
    "required": ("required metric not measured", "required metrics not measured"),
}
_REAL = ("real regression", "real regressions")

Report = Mapping[str, Any]


@dataclass(frozen=True)
class Rules:
    """What makes a run fail, beside what is unusable.

    gates     the gates of the config file; the others fail only with `on_gate`
    required  metrics, "key" or "stage.key", that must be measured
    baseline  a baseline that is not there makes the run one that cannot be judged
    significant  a regression fails the run, and only if it is more than noise; a gate that fails it then does so only
                 if its whole interval breaks the limit
    """

    on_regression: bool = False
    on_gate: bool = False
    gates: Limits = field(default_factory=dict)
    required: Sequence[str] = ()
    max_error_rate: float | None = None
    significant: bool = False
    baseline: bool = False

    @property
    def given(self) -> bool:
        """True where there is anything that a run could break."""
        limits = (limit for of_stage in self.gates.values() for limit in of_stage.values())
        gated = self.on_gate or any(limit is not None for limit in limits)
        return self.regressions_fail or gated or bool(self.required) or self.max_error_rate is not None

    @property
    def regressions_fail(self) -> bool:
        """Regressions, and weighted metrics that vanished, fail the run."""
        return self.on_regression or self.significant


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
        if self.not_comparable or self.lacks_baseline:
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
        return self._failures(names=0)

    def _failures(self, names: int) -> list[str]:
        """The same, each with the first `names` metrics that it is about."""
        what = {**_REASONS, "regression": _REAL} if self.rules.significant else _REASONS
        reasons = []
        for rule, (one, several) in what.items():
            found = [entry["name"] for entry in self.failing if entry["rule"] == rule]
            if found:
                noise = self._noise_text(len(found)) if rule == "regression" else ""
                beside = "; ".join(filter(None, (_named(found, names), noise)))
                said = f"{len(found)} {one if len(found) == 1 else several}"
                reasons.append(f"{said} ({beside})" if beside else said)
        return [*reasons, *(["too many errors"] if self.too_many_errors else [])]

    def _noise_text(self, of: int) -> str:
        """How many of the regressions that fail the run could be noise."""
        noise = sum(entry.get("significant") is False for entry in self.counted)
        all_of = "all" if of > 1 else "it"
        return "" if not noise else f"{all_of if noise == of else noise} could be noise"

    @property
    def verdict(self) -> dict[str, Any] | None:
        """{"passed", "why", "text"}: how the run ends, in a sentence for the reports; None where no rule was set.

        why  the reasons in a few words; of a run that passes what to know beside that, often empty
        """
        if not self.measured:
            return _verdict(False, "nothing could be measured")
        if self.not_comparable:
            return _verdict(False, f"it cannot be compared with the baseline ({self.not_comparable})")
        if self.lacks_baseline:
            return _verdict(False, f"a baseline is required ({self.first_run})")
        if not self.rules.given:
            return None
        failures = self._failures(names=NAMED)
        return _verdict(not failures, "; ".join(failures or self.asides))

    @property
    def asides(self) -> list[str]:
        """What to know of a run that passes: what its questions are too few to decide."""
        if not self.rules.significant:
            return []
        noise = sum(entry.get("significant") is not True for entry in self.regressions)
        gates = len(self.undecided_gates)
        return [
            *([f"{noise} {'metric looks' if noise == 1 else 'metrics look'} worse, not for sure"] if noise else []),
            *([f"{gates} {'gate' if gates == 1 else 'gates'} undecided"] if gates else []),
        ]

    @property
    def failing(self) -> list[dict[str, str]]:
        """[{"rule", "name", "text"}], one entry for each regression, gate, ... that fails the run.

        rule  "regression", "vanished", "gate", "required", "error_rate"; "measured", "comparable" and "baseline" where
              the run cannot be judged at all
        name  the metric as "stage.key", or the rule again
        """
        from rag_titan.evaluation.reports.findings import change_lines, gate_lines

        def texts(rule: str, entries: Iterable[tuple[str, str]]) -> list[dict[str, str]]:
            return [{"rule": rule, "name": name, "text": text} for name, text in entries]

        gates = [gate for gate in self.failed_gates if self.rules.on_gate or self._in_config(gate)]
        worse, vanished = (self.counted, self.vanished) if self.rules.regressions_fail else ([], [])
        return [
            *texts("measured", [] if self.measured else [("measured", NOTHING_MEASURED)]),
            *texts("comparable", [("comparable", self.not_comparable)] if self.not_comparable else []),
            *texts("baseline", [("baseline", f"{self.first_run}, and one is required")] if self.lacks_baseline else []),
            *texts("regression", ((e["metric"], "; ".join(change_lines(e))) for e in worse)),
            *texts(
                "vanished", ((e["metric"], f"{e['metric']} is no longer measured ({e['reason']})") for e in vanished)
            ),
            *texts("gate", ((_place(gate), "; ".join(gate_lines(gate, self.report))) for gate in gates)),
            *texts("required", ((name, f"{name} is required, but not measured") for name in self.missing)),
            *texts("error_rate", [("error_rate", self.error_text)] if self.too_many_errors else []),
        ]

    @property
    def not_comparable(self) -> str | None:
        """Why there is no comparison although there is a baseline, or none that a rule about regressions can judge."""
        found = self.comparison
        if found is None or self.first_run:
            return None
        if not found["comparable"]:
            return str(found["reason"])
        from rag_titan.evaluation.reports.comparability import too_few_shared

        return too_few_shared(found) if self.rules.regressions_fail else None

    @property
    def first_run(self) -> str | None:
        """That the baseline is not there, where it is not."""
        return str(self.comparison["reason"]) if self.comparison and is_missing(self.comparison) else None

    @property
    def lacks_baseline(self) -> bool:
        """True where a baseline must be there, and is not."""
        return self.rules.baseline and self.first_run is not None

    @property
    def counted(self) -> list[Mapping[str, Any]]:
        """The regressions that a rule about them counts: all, or those that are more than noise; the metrics that the
        comparison is about come first."""
        counted = [e for e in self.regressions if not self.rules.significant or e.get("significant") is True]
        return sorted(counted, key=lambda entry: not entry.get("primary"))

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
        failed = [gate for gate in self.gates if gate["status"] == "fail"]
        return [
            gate
            for gate in failed
            if (self._in_config(gate) if gate["value"] is None else not (self.rules.significant and _undecided(gate)))
        ]

    @property
    def undecided_gates(self) -> list[Mapping[str, Any]]:
        """Gates whose interval holds the limit, so that nobody can say which side it is on, and that do not fail for
        that; those that are broken as it looks come first."""
        failed = [_place(gate) for gate in self.failed_gates]
        undecided = [gate for gate in self.gates if _undecided(gate) and _place(gate) not in failed]
        return sorted(undecided, key=lambda gate: gate["status"] != "fail")

    @property
    def gates(self) -> list[Mapping[str, Any]]:
        """All gates of the scorecard."""
        return list(self.report["scorecard"]["gates"])

    @property
    def missing(self) -> list[str]:
        """Required metrics that are not measured."""
        unmeasured = [gate for gate in self.gates if gate["value"] is None and gate["required"]]
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
        limit = self.rules.max_error_rate
        rate = None if limit is None else self.errors["rate"]
        return limit is not None and rate is not None and rate > limit + 1e-9

    @property
    def error_text(self) -> str:
        """The error rate beside its limit."""
        return f"Error rate: {self.errors['rate']:.3g}, must be at most {self.rules.max_error_rate:g}"

    def _in_config(self, gate: Mapping[str, Any]) -> bool:
        return self.rules.gates.get(gate["stage"], {}).get(gate["metric"]) is not None

    def as_dict(self) -> dict[str, Any]:
        """The facts as plain values."""
        diagnosis, warnings = self.report["diagnosis"], self.report["warnings"]
        lost = {step["stage"]: step["lost"] for step in diagnosis["funnel"] if step["lost"]}
        return {
            "exit_code": self.exit_code,
            "verdict": self.verdict,
            "failures": self.failures,
            "failing": self.failing,
            "require_significant": self.rules.significant,
            "reports": [str(file) for file in self.files],
            "overall": self.report["scorecard"]["overall"],
            "first_failing_stage": self.report["root_causes"]["first_failing_stage"],
            "questions": diagnosis["counts"],
            "lost_at": lost,
            "errors": self.errors,
            "skipped": self.report["meta"]["skipped"],
            "failed_gates": self.failed_gates,
            "undecided_gates": self.undecided_gates,
            "required_but_unmeasured": self.missing,
            "baseline": self._compared(),
            "warnings": {"count": len(warnings), "first": warnings[:NAMED]},
        }

    def _compared(self) -> dict[str, Any] | None:
        if self.baseline is None:
            return None
        facts: dict[str, Any] = {"path": str(self.baseline), "found": not is_missing(self.comparison)}
        return {**facts, **(self.comparison or {})}

    def json(self) -> str:
        """The facts as one JSON object, in which no CI system finds a command of its own."""
        text = json.dumps(self.as_dict(), ensure_ascii=False, indent=2, allow_nan=False)
        return text.replace("##", "#\\u0023")


def _verdict(passed: bool, why: str) -> dict[str, Any]:
    text = "This run passes" if passed else "This run fails"
    return {"passed": passed, "why": why, "text": f"{text}: {why}" if why else text}


def _named(names: Sequence[str], most: int) -> str:
    """The first of some metrics.

    >>> _named(["a", "b", "c", "d"], 3), _named(["a"], 3), _named(["a"], 0)
    ('a, b, c and 1 more', 'a', '')
    """
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{', '.join(names[:most])}{more}" if most else ""


def _place(gate: Mapping[str, Any]) -> str:
    return f"{gate['stage']}.{gate['metric']}"


def _undecided(gate: Mapping[str, Any]) -> bool:
    return gate.get("verdict") == "undecided"
