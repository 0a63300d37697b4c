"""One step of a load test: one rate for a while, in figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rag_titan.errors import DatasetError
from rag_titan.loadtest.driver import UNFINISHED, Drive
from rag_titan.loadtest.histogram import Floats, Latencies, needed
from rag_titan.loadtest.plan import Plan
from rag_titan.loadtest.target import MOST_PARTS, NO_ROOM, Outcome

OUTSIDE, OTHERS = "outside the parts", "other parts"
_MOST_KINDS = 50


@dataclass(frozen=True)
class Step:
    """What one rate did, of the requests that were due after the warm-up.

    rate       requests a second, as planned
    trial      of which trial, from 1; 0 for one that came before them
    seconds    that were measured
    sent       requests that were due in them, without those of which nobody knows what became of them (`unfinished`)
    within     of these, how many were answered within the SLA
    completed  answers that came in these seconds, to whatever request, however late
    latency    from the intended start to the end of the answer, in ms
    first      the same to the first token, of streams; None where nothing was streamed
    lag        from the intended start to the sending: how late the generator was
    errors     {kind: requests}
    parts      {part: its times, as the target reports them}, and what of the latency is in none of them; the twenty
               that most answers name, and the others together
    generator  requests that failed for want of something on the generator's side
    unfinished requests that were open when the run was stopped, and might still have kept the SLA; those that could
               not any more are sent, and failed
    thirds     mean latency in ms of what was due in the first and in the last third of the seconds; None where one of
               them has no answer
    """

    rate: float
    trial: int
    seconds: float
    sent: int
    within: int
    completed: int
    most_in_flight: int
    latency: Latencies
    first: Latencies | None
    lag: Latencies
    errors: Mapping[str, int]
    parts: Mapping[str, Latencies]
    generator: int
    unfinished: int
    thirds: tuple[float, float] | None = None

    def grows(self, plan: Plan) -> bool:
        """True where the answers took longer and longer: twice as long in the end, and by a quarter of the SLA or more.

        The queue of a target that gets a little more than it can serve takes its time to reach the SLA: such a rate is
        kept for a while, not for good.
        """
        if self.thirds is None:
            return False
        first, last = self.thirds
        return last > 2 * first and last - first > plan.sla_ms / 4

    @property
    def offered_qps(self) -> float | None:
        """Requests that were due, a second: what chance made of the rate."""
        return (self.sent + self.unfinished) / self.seconds if self.seconds else None

    @property
    def effective_qps(self) -> float | None:
        """Completed within the SLA, a second (whitepaper, section 5)."""
        return self.within / self.seconds if self.seconds else None

    @property
    def throughput_qps(self) -> float | None:
        """Completed at all, a second."""
        return self.completed / self.seconds if self.seconds else None

    def sustained(self, plan: Plan) -> bool | None:
        """True where p99 keeps the SLA: 99 % of all requests were answered within it; None without requests."""
        return self.within >= needed(plan.share, self.sent) if self.sent else None

    def invalid(self, plan: Plan) -> str | None:
        """Why the step says nothing about the target; None where it is valid."""
        lag = self.lag.quantile(plan.share)
        if self.generator:
            return f"{NO_ROOM} for {self.generator:,} requests. Raise `ulimit -n` and `ulimit -u`, or lower the rates"
        if lag is not None and lag > plan.most_lag_ms:
            late = f"{(1 - plan.share) * 100:.4g} % of the requests left {lag:.3g} ms or more after they were due"
            allowed = f"{plan.most_lag_ms:g} ms are allowed. Use a machine that is less busy, or raise --max-lag-ms"
            return f"the generator itself was late: {late}, {allowed}"
        return None

    def plus(self, other: Step) -> Step:
        """Both as one: two generators that put the same target under load at the same time.

        Raises DatasetError where they did not run for the same time.
        """
        if self.seconds != other.seconds:
            rule = f"must be as long in all files, got {self.seconds:g} and {other.seconds:g} s. Merge equal runs."
            raise DatasetError(f"the steps of {self.rate:g} a second", rule)
        firsts = [one for one in (self.first, other.first) if one is not None]
        return replace(
            self,
            rate=self.rate + other.rate,
            sent=self.sent + other.sent,
            within=self.within + other.within,
            completed=self.completed + other.completed,
            most_in_flight=self.most_in_flight + other.most_in_flight,
            latency=self.latency.plus(other.latency),
            first=firsts[0].plus(firsts[1]) if len(firsts) == 2 else next(iter(firsts), None),
            lag=self.lag.plus(other.lag),
            errors=dict(Counter(self.errors) + Counter(other.errors)),
            parts=_joined(self.parts, other.parts),
            generator=self.generator + other.generator,
            unfinished=self.unfinished + other.unfinished,
            thirds=None,
        )


def _joined(one: Mapping[str, Latencies], two: Mapping[str, Latencies]) -> dict[str, Latencies]:
    both = {name: times.plus(two[name]) if name in two else times for name, times in one.items()}
    return {**both, **{name: times for name, times in two.items() if name not in both}}


def step_of(drive: Drive, plan: Plan, rate: float, trial: int) -> Step:
    """The figures of a run, whole or stopped; a run that was stopped is measured as far as it came."""
    seconds = plan.duration if drive.complete else min(plan.duration, max(0.0, drive.elapsed - plan.warm_up))
    due = (drive.times >= plan.warm_up) & (drive.times < plan.warm_up + seconds)
    over = np.array([outcome is not None for outcome in drive.outcomes], dtype=bool)
    answered = np.array([outcome is not None and outcome.error is None for outcome in drive.outcomes], dtype=bool)
    overdue = ~over & (drive.elapsed - drive.times > plan.sla_ms / 1000.0)
    kept, good = due & (over | overdue), due & answered
    sent = int(kept.sum())
    latency = (drive.ended - drive.times) * 1000.0
    window = (drive.ended >= plan.warm_up) & (drive.ended < plan.warm_up + seconds) & answered
    streamed = good & ~np.isnan(drive.first)
    failed = [drive.outcomes[place] or Outcome(UNFINISHED) for place in np.flatnonzero(kept & ~answered).tolist()]
    return Step(
        rate=rate,
        trial=trial,
        seconds=seconds,
        sent=sent,
        within=int((latency[good] <= plan.sla_ms + 1e-9).sum()),
        completed=int(window.sum()),
        most_in_flight=drive.most_in_flight,
        latency=Latencies.measured(latency[good], sent),
        first=_firsts(drive, streamed, int((good & ~streamed).sum()), sent),
        lag=Latencies.measured(np.maximum(drive.begun - drive.times, 0.0)[due & ~np.isnan(drive.begun)] * 1000.0),
        errors=_kinds([one.error or UNFINISHED for one in failed]),
        parts=_parts(drive, good, latency),
        generator=sum(one.generator for one in failed),
        unfinished=int((due & ~over & ~overdue).sum()),
        thirds=_thirds(latency[good], drive.times[good] - plan.warm_up, seconds),
    )


def _thirds(latency: Floats, since: Floats, seconds: float) -> tuple[float, float] | None:
    first, last = latency[since < seconds / 3], latency[since >= 2 * seconds / 3]
    return (float(first.mean()), float(last.mean())) if first.size and last.size else None


def _firsts(drive: Drive, streamed: Any, whole: int, sent: int) -> Latencies | None:
    """Times to the first token; answers that were no streams are left out of their number, failures are not."""
    if not streamed.any():
        return None
    return Latencies.measured((drive.first - drive.times)[streamed] * 1000.0, sent - whole)


def _kinds(errors: list[str]) -> dict[str, int]:
    """How many of each kind, the most frequent first; beyond 50 kinds the rest is counted together."""
    counted = sorted(Counter(errors).items(), key=lambda item: (-item[1], item[0]))
    rest = sum(count for _, count in counted[_MOST_KINDS:])
    return {**dict(counted[:_MOST_KINDS]), **({"of other kinds": rest} if rest else {})}


def _parts(drive: Drive, good: Any, latency: Floats) -> dict[str, Latencies]:
    """The times of each part; a target that names other parts with every answer gets no histogram for each."""
    outcomes = [(place, drive.outcomes[place]) for place in np.flatnonzero(good).tolist()]
    reported = [(place, one.parts) for place, one in outcomes if one is not None and one.parts]
    often = Counter(name for _, parts in reported for name in parts)
    kept = {name for name, _ in sorted(often.items(), key=lambda item: (-item[1], item[0]))[:MOST_PARTS]}
    found: dict[str, list[float]] = {}
    for place, parts in reported:
        rest = [value for name, value in parts.items() if name not in kept]
        named = {name: value for name, value in parts.items() if name in kept}
        outside = max(0.0, float(latency[place]) - sum(parts.values()))
        for name, value in {**named, **({OTHERS: sum(rest)} if rest else {}), OUTSIDE: outside}.items():
            found.setdefault(name, []).append(value)
    return {name: Latencies.measured(np.array(values)) for name, values in found.items()}
