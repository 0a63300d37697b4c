"""What a load test found, as JSON and back, and several of them as one."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from rag_titan import __version__
from rag_titan.errors import DatasetError
from rag_titan.evaluation.writing import PathLike, write
from rag_titan.loadtest.histogram import Latencies
from rag_titan.loadtest.knee import Knee, knee_of, saturates_first
from rag_titan.loadtest.plan import Plan
from rag_titan.loadtest.ramp import Bracket, ramp
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
    }


def read_result(path: PathLike) -> LoadResult:
    """What `save` wrote. Raises DatasetError for anything else."""
    try:
        with open(path, encoding="utf-8") as file:
            record = json.load(file)
        plan = Plan(**{one.name: record["plan"][one.name] for one in fields(Plan)})
        steps = tuple(_step(one, str(path)) for one in record["steps"])
        knee = record["max_sustainable_rate"] or {"trials": []}
        brackets = tuple(Bracket(one["sustained"], one["breached"]) for one in knee["trials"])
        return LoadResult(
            record["target"], plan, steps, brackets, record["stopped"], record["invalid"], tuple(record["notes"])
        )
    except DatasetError:
        raise
    except OSError as error:
        rule = f"must be a file that can be read, got {error.strerror}. Check its name."
        raise DatasetError(str(path), rule) from None
    except (ValueError, KeyError, TypeError, AttributeError):
        rule = "must be what `rag-titan load --output` wrote, got something else. Run the load test anew."
        raise DatasetError(str(path), rule) from None


def _step(record: Mapping[str, Any], where: str) -> Step:
    first = record["time_to_first_token_ms"]
    return Step(
        **{name: record[name] for name in ("rate", "trial", "seconds", "sent", "within", "completed")},
        most_in_flight=record["most_in_flight"],
        latency=Latencies.read(record["latency_ms"], where),
        first=None if first is None else Latencies.read(first, where),
        lag=Latencies.read(record["generator_lag_ms"], where),
        errors=dict(record["errors"]),
        parts={name: Latencies.read(one, where) for name, one in record["parts_ms"].items()},
        generator=record["generator"],
        unfinished=record["unfinished"],
    )


def few_note(steps: Sequence[Step]) -> list[str]:
    """A sentence on rates whose p99 stands on few requests, if there are any."""
    few = sorted({step.rate for step in steps if 0 < step.sent < FEW})
    if not few:
        return []
    rates = ", ".join(f"{rate:g}" for rate in few)
    return [f"At {rates} requests a second fewer than {FEW} were sent: their p99 is the slowest one."]


def merged(results: Sequence[LoadResult]) -> LoadResult:
    """Load tests of one target that ran at the same time, from several processes or machines, as one.

    The n-th valid step of each belongs together: their rates add up, and their latencies go into one histogram. Use it
    with runs of the given rates alone (`trials=1`, `resolution=1`, `all_rates=True`): each generator would look for a
    knee of its own otherwise.

    Raises DatasetError where the runs did not go through the same number of steps, of the same length.
    """
    first, *others = results
    steps = _valid(first)
    for other in others:
        if other.plan.sla_ms != first.plan.sla_ms:
            rule = (
                f"must be of one SLA, got {first.plan.sla_ms:g} and {other.plan.sla_ms:g} ms. Merge runs of one plan."
            )
            raise DatasetError("load tests", rule)
        more = _valid(other)
        if len(more) != len(steps):
            rule = f"must be of as many steps in all files, got {len(steps)} and {len(more)}. Merge runs of one plan."
            raise DatasetError("load tests", rule)
        steps = [one.plus(two) for one, two in zip(steps, more, strict=True)]
    plan = first.plan
    if steps:
        plan = replace(plan, rates=[step.rate for step in steps], max_in_flight=None, trials=1)
    held = {step.rate: bool(step.sustained(plan)) for step in steps}
    return LoadResult(
        first.target,
        plan,
        tuple(steps),
        (ramp(sorted(held), held.__getitem__),) if held else (),
        any(result.stopped for result in results),
        next((result.invalid for result in results if result.invalid), None),
        tuple(few_note(steps)),
    )


def _valid(result: LoadResult) -> list[Step]:
    return [step for step in result.steps if step.invalid(result.plan) is None]
