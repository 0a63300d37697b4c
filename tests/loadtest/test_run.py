"""The load test on a clock of its own: what a target may do to it, and what it then says."""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.loadtest.virtual import OneWorker, ScriptedTarget, VirtualLoop, virtual_test

from rag_titan.errors import DatasetError, SettingsError
from rag_titan.loadtest.driver import NOT_SENT, TIMED_OUT
from rag_titan.loadtest.merging import merged, read_result
from rag_titan.loadtest.plan import Plan
from rag_titan.loadtest.ramp import Bracket, ramp, refined
from rag_titan.loadtest.result import LoadResult
from rag_titan.loadtest.summary import verdict
from rag_titan.loadtest.target import Outcome

pytestmark = pytest.mark.load
pytest.importorskip("hdrh")
FIXED = Plan(rates=[10], duration=10, warm_up=0, arrivals="fixed", trials=1, sla_ms=500, timeout=2)


class Scripted(ScriptedTarget):
    """Answers the n-th request, from 0, as a function of n says."""

    def __init__(self, answer: Callable[[int], float | Outcome]) -> None:
        super().__init__()
        self.script = answer

    async def answer(self, question: str) -> Outcome:
        """Seconds to wait, or an outcome at once."""
        wanted = self.script(len(self.asked) - 1)
        if isinstance(wanted, Outcome):
            return wanted
        await asyncio.sleep(wanted)
        return Outcome()


def one_step(target: ScriptedTarget, plan: Plan = FIXED) -> tuple[LoadResult, dict[str, object]]:
    """The run and its only step as JSON."""
    result = virtual_test(target, plan)
    [step] = result.record()["steps"]
    assert target.closed
    return result, step


def test_a_request_is_sent_when_it_is_due_however_slow_the_answers_are() -> None:
    target = Scripted(lambda place: 1.9)
    _, step = one_step(target)
    begin = target.asked[0][0]
    assert [when - begin for when, _ in target.asked] == pytest.approx([place / 10 for place in range(100)])
    assert (step["sent"], step["within"], step["sustained"]) == (100, 0, False)
    assert step["throughput_qps"] == pytest.approx(8.1, abs=0.11)  # of 10 seconds the first 1.9 brought no answer


def test_a_stall_is_seen_by_all_that_were_due_in_it() -> None:
    """A target that stops for 5 of 10 seconds: half of the requests wait, 2.5 seconds on average. A closed loop with
    one client would have seen one slow request among fifty."""

    class Stalls(ScriptedTarget):
        async def answer(self, question: str) -> Outcome:
            now = asyncio.get_running_loop().time()
            if 2 <= now < 7:
                await asyncio.sleep(7 - now)
            return Outcome()

    _, step = one_step(Stalls(), Plan(rates=[10], duration=10, warm_up=0, arrivals="fixed", trials=1, sla_ms=500))
    latency = cast("dict[str, float]", step["latency_ms"])
    assert latency["mean"] == pytest.approx(1250, rel=0.02)
    assert latency["max"] == pytest.approx(5000, rel=0.03)
    assert latency["p50"] < 100
    assert step["within"] == pytest.approx(55, abs=1)


def test_failures_rank_behind_all_answers() -> None:
    result, step = one_step(Scripted(lambda place: Outcome("HTTP 500") if place % 50 == 7 else 0.01))
    assert step["errors"] == {"HTTP 500": 2}
    latency = cast("dict[str, float | None]", step["latency_ms"])
    assert (latency["p99"], latency["answered"], latency["of"]) == (None, 98, 100)
    assert latency["p95"] == pytest.approx(10, rel=0.01)
    assert (step["within"], step["sustained"]) == (98, False)
    assert result.knee is not None
    assert (result.knee.rate, result.knee.bound) == (None, "below")


def test_one_failure_of_a_hundred_keeps_the_sla() -> None:
    _, step = one_step(Scripted(lambda place: Outcome("HTTP 429") if place == 7 else 0.01))
    assert (step["errors"], step["sustained"]) == ({"HTTP 429": 1}, True)


def test_what_never_answers_is_given_up_and_counted() -> None:
    plan = Plan(rates=[10], duration=10, warm_up=0, arrivals="fixed", trials=1, sla_ms=500, timeout=5, max_in_flight=26)
    _, step = one_step(Scripted(lambda place: 1e9 if place >= 60 else 0.01), plan)
    assert step["errors"] == {NOT_SENT: 14, TIMED_OUT: 26}
    assert (step["most_in_flight"], step["within"]) == (26, 60)
    assert cast("int", step["sent"]) == 100


def test_a_target_that_raises_is_counted_by_its_kind() -> None:
    class Raises(ScriptedTarget):
        async def answer(self, question: str) -> Outcome:
            raise KeyError("a secret")

    result, step = one_step(Raises())
    assert step["errors"] == {"KeyError": 100}
    assert "secret" not in json.dumps(result.record())


def test_after_time_outs_the_target_may_recover() -> None:
    target = OneWorker(0.5)
    plan = Plan(rates=[1, 4], duration=10, warm_up=0, arrivals="fixed", trials=2, sla_ms=600, timeout=8, resolution=1)
    result = virtual_test(target, plan)
    assert [(step.rate, step.sustained(plan)) for step in result.steps] == [
        (1, True), (4, False), (2.5, False), (1.75, True),
        (1, True), (4, False), (2.5, False), (1.75, True),
    ]  # fmt: skip
    assert not any("recover" in note for note in result.notes)


def test_a_target_that_does_not_recover_is_named() -> None:
    dead = Scripted(lambda place: 0.01 if place < 50 else 1e9)
    assert "After 10 requests a second the target did not recover." in virtual_test(dead, FIXED).notes


class Blocks(ScriptedTarget):
    """Holds up the loop of the generator with one request, as often as it is told."""

    def __init__(self, times: int) -> None:
        super().__init__()
        self.times = times

    async def answer(self, question: str) -> Outcome:
        if self.times and len(self.asked) % 100 == 50:
            self.times -= 1
            cast("VirtualLoop", asyncio.get_running_loop()).block(0.9)
        return Outcome()


def test_a_generator_that_is_late_makes_the_run_invalid() -> None:
    result = virtual_test(Blocks(2), FIXED)
    assert len(result.steps) == 2
    assert result.invalid is not None
    assert result.invalid.startswith(
        "At 10 requests a second the generator itself was late: 1 % of the requests left 700 ms or more after"
    )
    assert result.knee is None
    assert (result.record()["valid"], result.record()["max_sustainable_rate"]) == (False, None)
    assert result.steps[0].lag.longest == pytest.approx(800, rel=0.01)
    assert result.steps[0].latency.quantile(0.99) == pytest.approx(800, rel=0.01)  # from the intended start, still


def test_a_step_in_which_the_generator_was_late_once_is_run_again() -> None:
    result = virtual_test(Blocks(1), FIXED)
    assert (result.invalid, len(result.steps)) == (None, 2)
    assert [step.invalid(FIXED) is None for step in result.steps] == [False, True]
    assert "The generator was late in 1 of the steps; they were run again." in result.notes


def test_a_rate_at_which_nothing_was_due_is_not_judged() -> None:
    result = virtual_test(ScriptedTarget(), Plan(rates=[0.01], duration=1, trials=1))
    assert result.invalid == "At 0.01 requests a second none was due in 1 s. Raise the duration."
    assert (result.knee, result.record()["steps"][0]["sustained"]) == (None, None)


def test_what_the_generator_lacks_is_no_fault_of_the_target() -> None:
    result = virtual_test(Scripted(lambda place: Outcome("no files", generator=True)), FIXED)
    assert result.invalid is not None
    assert "ran out of files" in result.invalid


def test_ctrl_c_gives_what_was_measured_so_far() -> None:
    class Stopped(ScriptedTarget):
        async def answer(self, question: str) -> Outcome:
            if len(self.asked) == 150:
                signal.raise_signal(signal.SIGINT)  # which is what Ctrl-C does
            await asyncio.sleep(0.25)
            return Outcome()

    target = Stopped()
    plan = Plan(rates=[10, 20], duration=10, warm_up=0, arrivals="fixed", trials=1, sla_ms=500)
    result = virtual_test(target, plan)
    assert (result.stopped, target.closed) == (True, True)
    whole, part = result.steps
    assert (whole.sent, whole.unfinished) == (100, 0)
    assert part.seconds == pytest.approx(49 / 20, abs=0.01)
    assert part.sent + part.unfinished == pytest.approx(50, abs=1)
    assert part.unfinished == pytest.approx(5, abs=1)
    assert result.knee is None


def test_what_hung_when_the_run_was_stopped_is_no_success() -> None:
    """Ten answers, then none: of those that are open at the stop, those that are older than the SLA have failed."""

    class Hangs(ScriptedTarget):
        async def answer(self, question: str) -> Outcome:
            if len(self.asked) == 150:
                signal.raise_signal(signal.SIGINT)
            await asyncio.sleep(0.01 if len(self.asked) <= 10 else 1e6)
            return Outcome()

    plan = Plan(rates=[10], duration=20, warm_up=0, arrivals="fixed", trials=1, sla_ms=450, timeout=100)
    result = virtual_test(Hangs(), plan)
    [step] = result.steps
    assert (step.latency.answered, step.errors) == (10, {"unfinished": 135})
    assert (step.sent, step.unfinished) == (145, 4)  # the last four are 100 to 400 ms old
    assert step.sustained(plan) is False
    assert result.highest_kept is None


def test_an_invalid_run_has_a_lower_bound() -> None:
    class LateAbove(ScriptedTarget):
        async def answer(self, question: str) -> Outcome:
            if len(self.asked) > 150 and len(self.asked) % 100 == 50:
                cast("VirtualLoop", asyncio.get_running_loop()).block(0.9)
            return Outcome()

    plan = Plan(rates=[10, 20], duration=10, warm_up=0, arrivals="fixed", trials=1, sla_ms=500)
    result = virtual_test(LateAbove(), plan)
    assert result.invalid is not None
    assert (result.knee, result.highest_kept, result.record()["highest_kept"]) == (None, 10, 10)
    assert "The SLA was kept up to 10 requests a second, the generator in time." in verdict(result)


def test_a_rate_that_is_only_kept_for_a_while_is_named() -> None:
    """A worker that can do 50 a second gets 55: after 10 seconds 50 wait, for one second, and the SLA is two."""
    plan = Plan(rates=[55], duration=10, warm_up=0, arrivals="fixed", trials=1, sla_ms=2000)
    result = virtual_test(OneWorker(0.02), plan)
    assert result.knee is not None
    assert result.knee.rate == 55
    # The n-th waits n x (20 - 1000 / 55) ms: 1.82 ms x 91 in the middle of the first third, x 458 in that of the last.
    assert result.steps[0].thirds == pytest.approx((20 + 91.5 * 1.818, 20 + 458 * 1.818), rel=0.01)
    [note] = [note for note in result.notes if "longer and longer" in note]
    assert note.startswith("At 55 requests a second the answers took longer and longer (on average 186")
    quiet = virtual_test(OneWorker(0.02), Plan(rates=[45], duration=10, trials=1, sla_ms=2000))
    assert not any("longer and longer" in note for note in quiet.notes)


def test_a_target_that_answers_nothing_is_asked_no_further() -> None:
    result = virtual_test(Scripted(lambda place: Outcome("no connection")), Plan(rates=[5, 10], duration=5, trials=3))
    assert [(step.rate, step.trial) for step in result.steps] == [(5, 1)]
    assert verdict(result)[0].startswith("Nothing was answered.")


def test_parts_of_other_names_with_every_answer_are_counted_together() -> None:
    """Twenty histograms, one of the rest, and one of what is outside all parts, whatever a target sends."""

    def named(place: int) -> Outcome:
        return Outcome(parts={"search": 1.0, **{f"request {place} {part}": 2.0 for part in range(10)}})

    step = virtual_test(Scripted(named), FIXED).steps[0]
    assert len(step.parts) == 22
    assert step.parts["search"].answered == 100
    total = sum(
        (times.mean or 0.0) * times.answered for name, times in step.parts.items() if name != "outside the parts"
    )
    assert total == pytest.approx(100 * (1 + 10 * 2))


def test_nothing_that_a_target_raises_is_left_out() -> None:
    class OddError(BaseException):
        pass

    def raises(place: int) -> float:
        raise OddError if place % 2 else asyncio.CancelledError

    _, step = one_step(Scripted(raises))
    assert (step["sent"], step["errors"]) == (100, {"CancelledError": 50, "OddError": 50})


def test_it_runs_beside_a_loop_that_already_runs() -> None:
    async def notebook() -> LoadResult:
        return virtual_test(ScriptedTarget(), FIXED)

    assert asyncio.run(notebook()).steps[0].sent == 100


@pytest.mark.parametrize("questions", [[], "one text", [1], ["a", None]])
def test_questions_are_texts(questions: object) -> None:
    with pytest.raises(SettingsError, match="questions: must be a list of at least one text"):
        virtual_test(ScriptedTarget(), FIXED, questions)  # type: ignore[arg-type]


def test_the_warm_up_is_not_measured() -> None:
    slow = Scripted(lambda place: 1.0 if place < 20 else 0.01)
    _, step = one_step(slow, Plan(rates=[10], duration=10, warm_up=2, arrivals="fixed", trials=1, sla_ms=500))
    assert (step["sent"], step["within"], len(slow.asked)) == (100, 100, 120)


def test_the_same_seed_is_the_same_run() -> None:
    plan = Plan(rates=[20, 40], sla_ms=100, duration=10, trials=2, seed=5)
    one, two = (json.dumps(virtual_test(OneWorker(0.02), plan).record()) for _ in range(2))
    assert one == two


def test_first_tokens_are_counted_apart() -> None:
    class Streams(ScriptedTarget):
        async def answer(self, question: str) -> Outcome:
            await asyncio.sleep(0.1)
            first = asyncio.get_running_loop().time()
            await asyncio.sleep(0.2)
            return Outcome(first=first) if question == "stream" else Outcome()

    record = virtual_test(Streams(), FIXED, ["stream", "whole"]).record()["steps"][0]
    assert record["latency_ms"]["p50"] == pytest.approx(300, rel=0.01)
    first = record["time_to_first_token_ms"]
    assert (first["of"], first["answered"]) == (50, 50)
    assert first["p99"] == pytest.approx(100, rel=0.01)


@given(st.floats(0.5, 100), st.lists(st.floats(0.5, 100), min_size=1, unique=True), st.integers(0, 100))
def test_the_bracket_is_around_the_knee(knee: float, rates: list[float], start: int) -> None:
    rates = sorted(rates)

    def sustained(rate: float) -> bool:
        return rate <= knee

    found = ramp(rates, sustained, start % len(rates))
    lower, higher = [r for r in rates if r <= knee], [r for r in rates if r > knee]
    assert found == Bracket(lower[-1] if lower else None, higher[0] if higher else None)
    low, high = (near := refined(found, sustained, 0.05)).sustained, near.breached
    if low is not None and high is not None:
        assert low <= knee < high
        assert (high - low) / low <= 0.05 + 0.01


def test_a_result_is_read_as_it_was_written(tmp_path: Path) -> None:
    result = virtual_test(OneWorker(0.02), Plan(rates=[20, 45], sla_ms=100, duration=5, trials=1))
    result.save(tmp_path / "a.json")
    again = read_result(tmp_path / "a.json")
    assert again.record() == result.record()
    (tmp_path / "b.json").write_text('{"plan": {}}')
    with pytest.raises(DatasetError, match="must be what `rag-titan load --output` wrote"):
        read_result(tmp_path / "b.json")


def test_two_generators_are_one() -> None:
    """Latencies of both in one histogram: its quantiles are those of all requests."""
    plan = Plan(rates=[10], duration=10, warm_up=0, arrivals="fixed", trials=1, sla_ms=500)
    fast, slow = virtual_test(Scripted(lambda place: 0.01), plan), virtual_test(Scripted(lambda place: 0.6), plan)
    both = merged([fast, slow])
    [step] = both.steps
    assert (step.rate, step.sent, step.within) == (20, 200, 100)
    assert step.latency.quantile(0.5) == pytest.approx(10, rel=0.01)
    assert step.latency.quantile(0.51) == pytest.approx(600, rel=0.01)
    assert step.latency.mean == pytest.approx(305, rel=0.01)
    assert both.brackets == (Bracket(None, 20),)
    longer = virtual_test(Scripted(lambda place: 0.01), Plan(rates=[10], duration=5, trials=1, sla_ms=500))
    with pytest.raises(DatasetError, match="must be of one duration, got 10 and 5"):
        merged([fast, longer])


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"rates": []}, "rates: must be a list of requests a second"),
        ({"rates": [0]}, "rates: must be a finite number from 0.001"),
        ({"arrivals": "burst"}, "arrivals: must be poisson or fixed, got 'burst'"),
        ({"timeout": 1}, "timeout: must be at least the SLA of 2000 ms, got 1 s"),
        ({"max_in_flight": 10}, "max_in_flight: must be at least rate x SLA = 100, got 10"),
        ({"rates": [100_000], "duration": 100}, "rates: must make at most 5,000,000 requests"),
        ({"trials": 0}, "trials: must be a whole number from 1 to 100, got 0"),
    ],
)
def test_a_plan_that_cannot_be_is_refused(options: dict[str, object], text: str) -> None:
    with pytest.raises(SettingsError) as caught:
        Plan(**options)  # type: ignore[arg-type]
    assert str(caught.value).startswith(text)
