"""A load test in words, as a table and as pictures."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from typing import Any

from rag_titan.evaluation.reports.cells import cell
from rag_titan.loadtest.histogram import QUANTILES
from rag_titan.loadtest.knee import Knee, saturates_first
from rag_titan.loadtest.result import LoadResult
from rag_titan.loadtest.step import Step
from rag_titan.plots import Axis, Mark, curves

NOTHING = "–"
TITLE = "Load test"
HEADER = ("rate", "sent", "effective QPS", "throughput", "p50", "p95", "p99", "first token", "failed", "lag", "SLA")
BELOW = "Times in ms; latencies count from the time at which the request was to be sent."
_SHOWN_ERRORS = 5


def rows(result: LoadResult) -> list[list[str]]:
    """The cells below HEADER, one row a step, in the order of rates; times in ms. `lag` is the generator's p99."""
    ordered = sorted(result.steps, key=lambda step: (step.rate, step.trial))
    return [_row(step, result) for step in ordered]


def _row(step: Step, result: LoadResult) -> list[str]:
    plan = result.plan
    kept = {True: "kept", False: "breached", None: NOTHING}[step.sustained(plan)]
    return [
        _number(step.rate),
        str(step.sent),
        _number(step.effective_qps),
        _number(step.throughput_qps),
        *(_time(step.latency.quantile(share), step) for share in QUANTILES.values()),
        _number(step.first.quantile(0.5) if step.first else None),
        str(step.sent - step.latency.answered),
        _number(step.lag.quantile(plan.share)),
        kept if step.invalid(plan) is None else "invalid",
    ]


def verdict(result: LoadResult) -> list[str]:
    """What came out, in sentences."""
    lines = []
    if result.stopped:
        lines.append("Stopped: these are the figures so far.")
    if result.invalid:
        lines.append(f"INVALID: {result.invalid}")
    elif not result.answered and not result.stopped:
        lines.append("Nothing was answered. Is the app running there, and is what is sent what it expects?")
    elif result.knee is not None:
        lines.append(f"Max sustainable rate: {_knee(result)}")
    if result.knee is None and result.highest_kept is not None:
        lines.append(f"The SLA was kept up to {_number(result.highest_kept)} requests a second, the generator in time.")
    found = saturates_first(result.steps, result.plan)
    if found and not result.invalid:
        lines.append(f"Saturates first: {found['reason']}")
    lines += [f"Failed at {step.rate:g} a second: {_errors(step)}" for step in _failing(result.steps)]
    return [*lines, *(f"Note: {note}" for note in result.notes)]


def _knee(result: LoadResult) -> str:
    knee, plan = result.knee, result.plan
    if knee is None:
        return NOTHING
    slowest, within = f"p{plan.share * 100:g}", f"within {plan.sla_ms:g} ms"
    if knee.rate is None:
        return f"below {plan.rates[0]:g} requests a second; even there {slowest} is not {within}."
    trials = (
        f", {_number(knee.low)} to {_number(knee.high)} in {len(knee.trials)} trials" if len(knee.trials) > 1 else ""
    )
    return f"{_rate(knee)} requests a second ({slowest} {within}{trials})."


def _rate(knee: Knee) -> str:
    return f"{'at least ' if knee.bound == 'at least' else ''}{_number(knee.rate)}"


def _failing(steps: Sequence[Step]) -> list[Step]:
    """The step of each rate that failed most."""
    worst: dict[float, Step] = {}
    for step in steps:
        if step.errors and sum(step.errors.values()) > sum((worst.get(step.rate) or step).errors.values()) - 1:
            worst[step.rate] = step
    return [worst[rate] for rate in sorted(worst)]


def _errors(step: Step) -> str:
    kinds = list(step.errors.items())
    more = f", and {len(kinds) - _SHOWN_ERRORS} kinds more" if len(kinds) > _SHOWN_ERRORS else ""
    return ", ".join(f"{count:,} x {kind}" for kind, count in kinds[:_SHOWN_ERRORS]) + more + "."


def markdown(result: LoadResult) -> str:
    """The whole as Markdown."""
    plan = result.plan
    lines = [f"# {TITLE}", "", f"{cell(result.target)}, {plan.duration:g} s a rate, {plan.arrivals} arrivals.", ""]
    lines += [f"- {cell(line, 400)}" for line in verdict(result)]
    lines += ["", _line(HEADER), _line(["---:"] * len(HEADER)), *map(_line, rows(result)), ""]
    lines += [BELOW, ""]
    return "\n".join(lines)


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def pictures(result: LoadResult) -> list[Any]:
    """Effective QPS and throughput over the rate, and latencies over the rate, with the knee.

    Raises MissingExtraError without the extra `plots`.
    """
    steps = [step for step in result.steps if step.sent and step.invalid(result.plan) is None]
    done, slow = [], []
    for rate in sorted({step.rate for step in steps}):
        same = [step for step in steps if step.rate == rate]
        done += [
            {"rate": rate, "qps": _middle(values), "of": name}
            for name, values in (
                ("requests that were due", [step.offered_qps for step in same]),
                ("throughput", [step.throughput_qps for step in same]),
                ("effective QPS", [step.effective_qps for step in same]),
            )
        ]
        slow += [
            {"rate": rate, "ms": _middle([step.latency.quantile(share) for step in same]), "of": name}
            for name, share in QUANTILES.items()
        ]
    knee, plan = result.knee, result.plan
    mark = None if knee is None or knee.rate is None else Mark(knee.rate, f"sustained: {_rate(knee)}")
    across = Axis("rate", "requests a second", zero=True)
    within = f"Answers a second; effective are those within {plan.sla_ms:g} ms"
    sla = Mark(plan.sla_ms, f"SLA of p{plan.share * 100:g}: {plan.sla_ms:g} ms")
    return [
        curves(done, across, Axis("qps", "a second", zero=True), title=within, by="of", knee=mark),
        curves(
            slow, across, Axis("ms", "ms", log=True), title="Latency from the time at which a request was due",
            by="of", knee=mark, limit=sla,
        ),
    ]  # fmt: skip


def _middle(values: Sequence[float | None]) -> float | None:
    """The median over the trials; None where one of them is: a p99 that failed is no number."""
    known = [value for value in values if value is not None]
    return statistics.median(known) if len(known) == len(values) else None


def _time(value: float | None, step: Step) -> str:
    """A quantile; one that is a request that failed says so."""
    return _number(value) if value is not None or not step.sent else "failed"


def _number(value: float | None) -> str:
    """Three digits that say something.

    >>> [_number(value) for value in (0.1234, 12.34, 1234.5, None)]
    ['0.123', '12.3', '1,234', '–']
    """
    if value is None:
        return NOTHING
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
