"""What a load test found, and as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from rag_titan import __version__
from rag_titan.evaluation.writing import PathLike, write
from rag_titan.loadtest.knee import Knee, highest_kept, knee_of, saturates_first
from rag_titan.loadtest.plan import Plan
from rag_titan.loadtest.ramp import Bracket
from rag_titan.loadtest.step import Step

SCHEMA = 1
FEW = 100  # requests below which the p99 is the slowest one


@dataclass(frozen=True)
class LoadResult:
    """What a load test found.

    target    what was asked; nothing of its headers
    plan      how
    steps     in the order in which they ran, also the invalid ones
    brackets  where each trial found the knee
    stopped   True where the run was stopped before its end
    invalid   why it says nothing about the target: the generator was too late; None for a valid run
    notes     what is odd about it
    """

    target: str
    plan: Plan
    steps: tuple[Step, ...]
    brackets: tuple[Bracket, ...] = ()
    stopped: bool = False
    invalid: str | None = None
    notes: tuple[str, ...] = field(default=())

    @property
    def knee(self) -> Knee | None:
        """The highest sustainable rate; None where the run is invalid, or was stopped before the first trial ended."""
        return None if self.invalid else knee_of(self.brackets)

    @property
    def highest_kept(self) -> float | None:
        """The highest rate that surely kept the SLA: a lower bound where there is no knee."""
        return highest_kept(self.steps, self.plan)

    @property
    def answered(self) -> int:
        """Requests that were answered."""
        return sum(step.latency.answered for step in self.steps)

    def record(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "rag_titan": __version__,
            "schema": SCHEMA,
            "target": self.target,
            "plan": self.plan.record(),
            "valid": self.invalid is None,
            "invalid": self.invalid,
            "stopped": self.stopped,
            "max_sustainable_rate": self.knee.record() if self.knee else None,
            "highest_kept": self.highest_kept,
            "saturates_first": saturates_first(self.steps, self.plan),
            "notes": list(self.notes),
            "steps": [step_record(step, self.plan) for step in self.steps],
        }

    def save(self, path: PathLike) -> None:
        """Write it as JSON. Raises SettingsError where the system refuses."""
        write(path, json.dumps(self.record(), indent=1, allow_nan=False, ensure_ascii=False) + "\n")


def step_record(step: Step, plan: Plan) -> dict[str, Any]:
    """A step as JSON."""
    return {
        "rate": step.rate,
        "trial": step.trial,
        "seconds": step.seconds,
        "sent": step.sent,
        "within": step.within,
        "completed": step.completed,
        "offered_qps": step.offered_qps,
        "effective_qps": step.effective_qps,
        "throughput_qps": step.throughput_qps,
        "sustained": step.sustained(plan),
        "invalid": step.invalid(plan),
        "latency_ms": step.latency.summary(),
        "time_to_first_token_ms": step.first.summary() if step.first else None,
        "generator_lag_ms": step.lag.summary(),
        "errors": dict(step.errors),
        "parts_ms": {name: times.summary() for name, times in step.parts.items()},
        "most_in_flight": step.most_in_flight,
        "generator": step.generator,
        "unfinished": step.unfinished,
        "mean_ms_of_first_and_last_third": step.thirds,
    }


def few_note(steps: Sequence[Step]) -> list[str]:
    """A sentence on rates whose p99 stands on few requests, if there are any."""
    few = sorted({step.rate for step in steps if 0 < step.sent < FEW})
    if not few:
        return []
    rates = ", ".join(f"{rate:g}" for rate in few)
    return [f"At {rates} requests a second fewer than {FEW} were sent: their p99 is the slowest one."]


def growing_note(steps: Sequence[Step], plan: Plan) -> list[str]:
    """A sentence on the highest rate that was kept although the queue grew, if there is one."""
    growing = [step for step in steps if step.invalid(plan) is None and step.sustained(plan) and step.grows(plan)]
    if not growing:
        return []
    step = max(growing, key=lambda one: one.rate)
    first, last = step.thirds or (0.0, 0.0)
    means = f"on average {first:.4g} ms in the first third of the time, {last:.4g} ms in the last"
    return [
        f"At {step.rate:g} requests a second the answers took longer and longer ({means}): this rate may not be kept "
        "for good. Raise the duration."
    ]
