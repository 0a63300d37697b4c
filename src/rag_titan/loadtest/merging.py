"""Load tests that were written, read again, and several of them as one."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from rag_titan.errors import DatasetError, SettingsError
from rag_titan.loadtest.histogram import Latencies, amount, count
from rag_titan.loadtest.plan import Plan
from rag_titan.loadtest.ramp import Bracket, ramp
from rag_titan.loadtest.result import LoadResult, few_note
from rag_titan.loadtest.step import Step

_COUNTS = ("sent", "within", "completed", "most_in_flight", "generator", "unfinished", "trial")
_OF_ALL = ("sla_ms", "share", "duration", "warm_up")  # what generators of one load test have in common


def read_result(path: str | os.PathLike[str]) -> LoadResult:
    """What `LoadResult.save` wrote. Raises DatasetError for anything else."""
    try:
        with open(path, encoding="utf-8") as file:
            record = json.load(file)
        plan = Plan(**{one.name: record["plan"][one.name] for one in fields(Plan)})
        steps = tuple(_step(one, str(path)) for one in record["steps"])
        knee = record["max_sustainable_rate"] or {"trials": []}
        brackets = tuple(Bracket(_rate(one["sustained"]), _rate(one["breached"])) for one in knee["trials"])
        notes = tuple(_text(note) for note in record["notes"])
        invalid = None if record["invalid"] is None else _text(record["invalid"])
        return LoadResult(_text(record["target"]), plan, steps, brackets, record["stopped"] is True, invalid, notes)
    except DatasetError:
        raise
    except OSError as error:
        rule = f"must be a file that can be read, got {error.strerror}. Check its name."
        raise DatasetError(str(path), rule) from None
    except (ValueError, OverflowError, LookupError, TypeError, AttributeError, RecursionError, SettingsError):
        rule = "must be what `rag-titan load --output` wrote, got something else. Run the load test anew."
        raise DatasetError(str(path), rule) from None


def _step(record: Mapping[str, Any], where: str) -> Step:
    first = record["time_to_first_token_ms"]
    return Step(
        rate=amount(record["rate"]),
        seconds=amount(record["seconds"]),
        **{name: count(record[name]) for name in _COUNTS},
        latency=Latencies.read(record["latency_ms"], where),
        first=None if first is None else Latencies.read(first, where),
        lag=Latencies.read(record["generator_lag_ms"], where),
        errors={_text(kind): count(number) for kind, number in record["errors"].items()},
        parts={_text(name): Latencies.read(one, where) for name, one in record["parts_ms"].items()},
        thirds=_thirds(record.get("mean_ms_of_first_and_last_third")),
    )


def _thirds(value: Any) -> tuple[float, float] | None:
    if value is None:
        return None
    first, last = value
    return amount(first), amount(last)


def _rate(value: Any) -> float | None:
    return None if value is None else amount(value)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("no text")
    return value


def merged(results: Sequence[LoadResult]) -> LoadResult:
    """Load tests of one target that ran at the same time, from several processes or machines, as one.

    The n-th step of each belongs together: their rates add up, and their latencies go into one histogram. Use it with
    runs of the given rates alone (`trials=1`, `resolution=1`, `all_rates=True`): each generator would look for a knee
    of its own otherwise. Where one of them ran a step again since it was late, the others were at another rate by then:
    the whole is invalid.

    Raises DatasetError where the runs did not go through the same number of steps, of the same length, for one SLA.
    """
    first, *others = results
    steps = _valid(first)
    for other in others:
        _check_plan(first.plan, other.plan)
        more = _valid(other)
        if len(more) != len(steps):
            rule = f"must be of as many steps in all files, got {len(steps)} and {len(more)}. Merge runs of one plan."
            raise DatasetError("load tests", rule)
        steps = [one.plus(two) for one, two in zip(steps, more, strict=True)]
    plan = first.plan
    if steps:
        plan = replace(plan, rates=[step.rate for step in steps], max_in_flight=None, trials=1)
    held: dict[float, bool] = {}
    for step in steps:
        held[step.rate] = held.get(step.rate, True) and bool(step.sustained(plan))
    return LoadResult(
        first.target,
        plan,
        tuple(steps),
        (ramp(sorted(held), held.__getitem__),) if held else (),
        any(result.stopped for result in results),
        _invalid(results),
        tuple(few_note(steps)),
    )


def _check_plan(one: Plan, two: Plan) -> None:
    for name in _OF_ALL:
        if getattr(one, name) != getattr(two, name):
            rule = f"must be of one {name}, got {getattr(one, name):g} and {getattr(two, name):g}"
            raise DatasetError("load tests", f"{rule}. Merge runs of one plan.")


def _invalid(results: Sequence[LoadResult]) -> str | None:
    for result in results:
        if result.invalid:
            return result.invalid
    repeated = [step for result in results for step in result.steps if step.invalid(result.plan) is not None]
    if not repeated or len(results) == 1:
        return None
    return (
        f"One generator was late at {repeated[0].rate:g} requests a second and ran that step again, while the others "
        "went on: they were not at their rates at the same time. Use machines that are less busy."
    )


def _valid(result: LoadResult) -> list[Step]:
    return [step for step in result.steps if step.invalid(result.plan) is None]
