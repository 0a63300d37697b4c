"""The lines that `rag-titan evaluate` prints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rag_titan.cli.outcome import Outcome
from rag_titan.cli.terminal import escaped
from rag_titan.evaluation.reports.cells import shown
from rag_titan.evaluation.reports.evidence import alarms_text, little_text, loss_text
from rag_titan.evaluation.reports.figures import limit_text, score_text, share_text, value_text

Entry = Mapping[str, Any]


class Wording:
    """The outcome of a run in words."""

    def __init__(self, outcome: Outcome) -> None:
        self.outcome = outcome

    def lines(self) -> Iterator[str]:
        """Errors first, then the lines of stages.txt, then what failed, then what to know."""
        yield from self._errors()
        yield from self._skipped()
        yield from self._summary()
        yield from self._baseline()
        yield from self._gates()
        yield from self._warnings()
        yield from self._end()

    def _errors(self) -> Iterator[str]:
        errors = self.outcome.errors
        if errors["count"]:
            named = ", ".join(shown(name) for name in errors["first"])
            more = ", ..." if errors["count"] > len(errors["first"]) else ""
            yield f"Errors: {errors['count']} of {errors['of']} questions got no answer ({named}{more})"

    def _skipped(self) -> Iterator[str]:
        skipped = self.outcome.report["meta"]["skipped"]
        if skipped["count"]:
            first = shown(skipped["first"][0], 200)
            records = "record that breaks" if skipped["count"] == 1 else "records that break"
            yield f"Left out: {skipped['count']} {records} a rule, the first: {first}"

    def _summary(self) -> Iterator[str]:
        report = self.outcome.report
        overall = report["scorecard"]["overall"]
        yield f"Reports saved: {_listed([escaped(file) for file in self.outcome.files])}"
        score = (
            "not scored" if overall["score"] is None else f"{score_text(overall['score'])}/100 ({overall['rating']})"
        )
        yield f"Overall score: {score}"
        yield f"Status: {overall['status']} | Measurement coverage: {share_text(overall['coverage'])}"
        yield f"First failing stage: {report['root_causes']['first_failing_stage'] or 'none'}"
        if lost := loss_text(report):
            yield lost
        if little := little_text(report):
            yield f"Little was measured: {little}"
        if alarms := alarms_text(report):
            yield f"Should be 0: {alarms}"

    def _baseline(self) -> Iterator[str]:
        path, comparison = self.outcome.baseline, self.outcome.comparison
        if path is None:
            return
        if comparison is None:
            yield f"Baseline: {escaped(path)} does not exist yet, so nothing was compared"
            return
        if not comparison["comparable"]:
            yield f"Not comparable: {escaped(comparison['reason'])}"
            return
        worse, better = len(self.outcome.regressions), len(comparison["improved"])
        yield f"Against {escaped(path)}: {worse} metrics worse, {better} better"
        for entry in self.outcome.regressions:
            yield f"Regression: {self._change(entry)}"
        for entry in self.outcome.vanished:
            yield f"No longer measured: {entry['metric']} ({shown(entry['reason'])})"
        for note in comparison["notes"]:
            yield f"Note: {shown(note, 300)}"

    def _change(self, entry: Entry) -> str:
        key = entry["metric"].partition(".")[2]
        return (
            f"{entry['metric']} {value_text(None, key, entry['baseline'])} -> {value_text(None, key, entry['current'])}"
        )

    def _gates(self) -> Iterator[str]:
        for gate in self.outcome.failed_gates:
            name, value = f"{gate['stage']}.{gate['metric']}", gate["value"]
            is_now = "is not measured" if value is None else f"is {value_text(None, gate['metric'], value)}"
            yield f"Gate failed: {name} {is_now}, must be {limit_text(None, gate)}"
        for name in self.outcome.missing:
            yield f"Required, but not measured: {name}"

    def _warnings(self) -> Iterator[str]:
        warnings = self.outcome.report["warnings"]
        if not warnings:
            return
        first = warnings[:3]
        rest = f", the first {len(first)}:" if len(first) < len(warnings) else ":"
        yield f"Warnings: {len(warnings)}{rest}"
        yield from (f"  {shown(text, 200)}" for text in first)

    def _end(self) -> Iterator[str]:
        limit, errors = self.outcome.rules.max_error_rate, self.outcome.errors
        if self.outcome.too_many_errors:
            yield f"Error rate: {errors['rate']:.3g}, must be at most {limit:g}"
        if not self.outcome.measured:
            yield "Nothing could be measured: the data hold no outputs that a metric could read"
        elif self.outcome.exit_code == 1:
            yield f"Failed: {', '.join(self.outcome.failures)}"


def _listed(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
