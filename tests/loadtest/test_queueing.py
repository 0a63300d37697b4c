"""A queue with a known service time: the load test finds what queueing theory says, and a closed loop does not."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest
from tests.loadtest.queueing import highest_rate, lindley, quantile, waiting_at_most
from tests.loadtest.virtual import OneWorker, VirtualLoop, virtual_test

from rag_titan.loadtest.plan import Plan
from rag_titan.loadtest.schedule import arrivals

pytestmark = pytest.mark.load
pytest.importorskip("hdrh")
SERVICE, SLA = 0.02, 0.1


def test_the_theory_itself() -> None:
    # Nobody waits with probability 1 - rho; the mean is rho D / 2 (1 - rho) (Pollaczek, Khinchin).
    assert waiting_at_most(0, 30, 0.02) == pytest.approx(0.4)
    grid = np.linspace(0, 0.6, 601)
    mean = sum(1 - waiting_at_most(float(t), 30, 0.02) for t in grid + 0.0005) * 0.001
    assert mean == pytest.approx(0.6 * 0.02 / (2 * 0.4), rel=1e-3)
    assert lindley(np.array([0.0, 0.01, 0.02, 0.2]), 0.02).tolist() == pytest.approx([0.02, 0.03, 0.04, 0.02])


@pytest.mark.parametrize("rate", [10, 25, 35])
def test_the_arrivals_make_the_queue_of_the_theory(rate: float) -> None:
    times = lindley(arrivals(rate, 10_000, seed=3), SERVICE)
    for share in (0.5, 0.95, 0.99):
        assert np.quantile(times, share) == pytest.approx(quantile(share, rate, SERVICE), rel=0.03)


def test_every_latency_is_that_of_the_recursion() -> None:
    plan = Plan(rates=[40], sla_ms=1000, duration=60, warm_up=0, trials=1)
    [step] = virtual_test(OneWorker(SERVICE), plan).steps
    expected = lindley(arrivals(40, 60, seed=0), SERVICE) * 1000
    assert step.latency.mean == pytest.approx(expected.mean(), rel=1e-6)
    assert step.latency.longest == pytest.approx(expected.max(), rel=1e-3)
    assert step.latency.quantile(0.99) == pytest.approx(np.quantile(expected, 0.99, method="inverted_cdf"), rel=1e-3)


def test_the_knee_agrees_with_the_theory() -> None:
    plan = Plan(rates=[20, 40], sla_ms=SLA * 1000, duration=50, warm_up=2, trials=3)
    result = virtual_test(OneWorker(SERVICE), plan)
    expected = highest_rate(0.99, SLA, SERVICE)
    assert result.knee is not None
    assert result.knee.rate == pytest.approx(expected, rel=0.1)
    assert result.knee.low is not None
    assert result.knee.high is not None
    assert result.knee.low <= result.knee.rate <= result.knee.high
    assert expected < 0.7 / SERVICE  # far below the rate of the most throughput


def test_above_capacity_throughput_stays_and_effective_qps_collapses() -> None:
    plan = Plan(rates=[30, 45, 70, 100], sla_ms=100, duration=30, trials=1, all_rates=True, timeout=100)
    steps = {step.rate: step for step in virtual_test(OneWorker(SERVICE), plan).steps}
    assert steps[30].effective_qps == pytest.approx(30, rel=0.15)
    assert steps[100].throughput_qps == pytest.approx(50, rel=0.01)
    assert steps[100].effective_qps is not None
    assert steps[100].effective_qps < 5


def closed_loop(target: OneWorker, clients: int, seconds: float) -> list[float]:
    """What a load test sees whose clients wait for an answer before they ask again: latencies in ms."""
    seen: list[float] = []

    async def client() -> None:
        loop = asyncio.get_running_loop()
        while loop.time() < seconds:
            begin = loop.time()
            await target.ask("a")
            seen.append((loop.time() - begin) * 1000)

    async def all_clients() -> None:
        await asyncio.gather(*(client() for _ in range(clients)))

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        runner.run(all_clients())
    return seen


def test_what_a_closed_loop_hides() -> None:
    """Two clients drive the worker at its capacity of 50 a second and see a p99 of two service times; 48 requests a
    second that come when they like have one that is more than ten times as long."""
    closed = closed_loop(OneWorker(SERVICE), 2, 60)
    assert len(closed) / 60 == pytest.approx(50, rel=0.01)
    assert np.quantile(closed, 0.99) == pytest.approx(2 * SERVICE * 1000)
    [step] = virtual_test(OneWorker(SERVICE), Plan(rates=[48], duration=100, trials=1)).steps
    p99 = step.latency.quantile(0.99)
    assert p99 is not None
    assert p99 > 10 * np.quantile(closed, 0.99)


def test_which_part_fills_up_first() -> None:
    plan = Plan(rates=[5, 45], sla_ms=100, resolution=1, duration=20, trials=1)
    first = virtual_test(OneWorker(SERVICE), plan).record()["saturates_first"]
    assert first["part"] == "queue"
    assert first["grown_ms"]["generation"] == pytest.approx(0, abs=1e-6)
    assert virtual_test(OneWorker(SERVICE, parts=False), plan).record()["saturates_first"] is None
