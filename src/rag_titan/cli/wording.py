"""The lines that `rag-titan evaluate` prints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rag_titan.cli.outcome import NOTHING_MEASURED, Outcome
from rag_titan.cli.terminal import escaped, wrapped
from rag_titan.evaluation.reports.cells import shown
from rag_titan.evaluation.reports.changes import names_by_reason
from rag_titan.evaluation.reports.evidence import alarms_text, first_missed_text, little_text, loss_text
from rag_titan.evaluation.reports.figures import count_text, score_text, share_text
from rag_titan.evaluation.reports.findings import NOISE, REAL, UNTESTED, gate_lines, titled_lines, verdict_text
from rag_titan.evaluation.reports.judged_tables import judged_lines
from rag_titan.evaluation.reports.slice_tables import slice_lines

_ORDER = (REAL, UNTESTED, NOISE)
NOISE_SHOWN = 3
GATE_MISSED = "Gate missed (no failure without --fail-on-gate): "


class Wording:
    """The outcome of a run in words.

    width  of the terminal; None where there is none
    """

    def __init__(self, outcome: Outcome, width: int | None = None) -> None:
        self.outcome = outcome
        self.width = width

    def lines(self) -> Iterator[str]:
        """The same as `told`, each line not wider than the terminal."""
        for line in self.told():
            yield from wrapped(line, self.width)

    def told(self) -> Iterator[str]:
        """Errors first, then the lines of stages.txt, then what failed, then what to know, then how the run ends."""
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
            yield f"Errors: {errors['count']:,} of {count_text(errors['of'], 'question')} got no answer ({named}{more})"

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
        yield f"First failing stage: {first_missed_text(report)}"
        if lost := loss_text(report):
            yield lost
        if little := little_text(report):
            yield f"Little was measured: {little}"
        if alarms := alarms_text(report):
            yield f"Should be 0: {alarms}"
        yield from judged_lines(report)
        yield from slice_lines(report)

    def _baseline(self) -> Iterator[str]:
        path, comparison = self.outcome.baseline, self.outcome.comparison
        if path is None:
            return
        if comparison is None or self.outcome.first_run:
            yield f"Baseline: {escaped(self.outcome.first_run or path)}"
            return
        if not comparison["comparable"]:
            yield f"Not comparable: {escaped(comparison['reason'])}"
            return
        yield f"Against {escaped(path)}: {self._worse()}, {len(comparison['improved'])} better"
        yield from self._regressions()
        for entry in self.outcome.vanished:
            yield f"No longer measured: {shown(entry['metric'])} ({shown(entry['reason'])})"
        reasons = names_by_reason(comparison["not_compared"], lambda entry: shown(entry["metric"], 60))
        yield from (f"Not compared: {', '.join(names)} ({shown(why)})" for why, names in reasons.items())
        for note in comparison["notes"]:
            yield f"Note: {shown(note, 300)}"

    def _regressions(self) -> Iterator[str]:
        """What is real first, then the metrics that the comparison is about; of what may be chance the first few."""
        worse = sorted(
            self.outcome.regressions, key=lambda e: (_ORDER.index(verdict_text(e)), not e.get("primary", False))
        )
        noise = [entry for entry in worse if verdict_text(entry) == NOISE]
        for entry in worse[: len(worse) - len(noise) + NOISE_SHOWN]:
            yield from _indented(titled_lines(entry))
        if more := noise[NOISE_SHOWN:]:
            yield f"And {len(more)} more that could be noise: {', '.join(shown(e['metric'], 60) for e in more)}"

    def _worse(self) -> str:
        """How many metrics got worse, and how many of them by more than chance."""
        worse = self.outcome.regressions
        verdicts = [verdict_text(entry) for entry in worse if "significant" in entry]
        counts = ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in _ORDER if verdict in verdicts)
        return f"{count_text(len(worse), 'metric')} worse" + (f" ({counts})" if counts else "")

    def _gates(self) -> Iterator[str]:
        failing = {entry["name"] for entry in self.outcome.failing if entry["rule"] == "gate"}
        for gate in self.outcome.failed_gates:
            fails = f"{gate['stage']}.{gate['metric']}" in failing
            yield from _indented(gate_lines(gate, self.outcome.report), "Gate failed: " if fails else GATE_MISSED)
        if self.outcome.rules.significant:
            for gate in self.outcome.undecided_gates:
                yield from _indented(gate_lines(gate, self.outcome.report), "Gate undecided: ")
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
        """What too few questions leave open, then how the run ends."""
        if self.outcome.too_many_errors:
            yield self.outcome.error_text
        verdict = self.outcome.verdict
        if not self.outcome.measured:
            yield NOTHING_MEASURED
        elif self.outcome.not_comparable:
            told = (self.outcome.comparison or {}).get("comparable")  # why there is none stands above, of too few not
            why = f": {self.outcome.not_comparable.removeprefix('baseline: ')}" if told else ""
            yield f"Failed: not comparable with the baseline{why}"
        elif self.outcome.failures:
            yield f"Failed: {', '.join(self.outcome.failures)}"
        elif verdict is not None:
            yield from self._undecided()
            yield f"Passed: {verdict['why']}" if verdict["why"] else "Passed"

    def _undecided(self) -> Iterator[str]:
        """What to do about a run that passes since its questions are too few to tell."""
        if not self.outcome.rules.significant:
            return
        noise = [entry for entry in self.outcome.regressions if verdict_text(entry) == NOISE]
        about = [entry for entry in noise if entry.get("primary")] or noise
        if about:
            needed = about[0].get("needed")
            many = f"; about {count_text(needed, 'question')} would tell" if needed else ""
            yield f"Undecided: whether {shown(about[0]['metric'], 60)} got worse{many}"


def _indented(lines: Sequence[str], title: str = "") -> Iterator[str]:
    first, *rest = lines
    yield f"{title}{first}"
    yield from (f"  {text}" for text in rest)


def _listed(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
