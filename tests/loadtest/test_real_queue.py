"""A real server with one worker and a known service time: the measured p99 and knee are those of the queue.

Judged by the recursion on the very arrivals of the run, so that chance plays no part; a machine that is too busy makes
the run invalid, and then the test says so.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.loadtest.queueing import highest_rate, lindley

from rag_titan.loadtest.histogram import needed
from rag_titan.loadtest.plan import Plan
from rag_titan.loadtest.ramp import ramp, refined
from rag_titan.loadtest.run import load_test
from rag_titan.loadtest.schedule import arrivals

pytestmark = [pytest.mark.load, pytest.mark.slow]
pytest.importorskip("hdrh")
pytest.importorskip("httpx")
SERVICE = 0.1  # seconds
PLAN = Plan(rates=[3, 10], sla_ms=500, duration=15, warm_up=2, trials=1, resolution=0.2, seed=14, max_lag_ms=40)
TARGET = Path(__file__).parents[2] / "examples" / "load_target.py"


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    command = [sys.executable, str(TARGET), "--port", "0", "--service-ms", str(SERVICE * 1000)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield server.stdout.readline().strip()
        finally:
            server.kill()


def expected(rate: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """The latencies of the measured requests, in ms."""
    times = arrivals(rate, PLAN.warm_up + PLAN.duration, PLAN.arrivals, PLAN.seed)
    return lindley(times, SERVICE)[times >= PLAN.warm_up] * 1000


def test_the_knee_and_p99_are_those_of_the_queue(url: str) -> None:
    from rag_titan.loadtest.http import HttpTarget

    result = load_test(HttpTarget(url), ["How long?"], PLAN)
    assert result.invalid is None, result.invalid
    for step in (one for one in result.steps if one.invalid(PLAN) is None):
        measured, times = step.latency.quantile(0.99), expected(step.rate)
        true = np.quantile(times, 0.99, method="inverted_cdf")
        lag = step.lag.quantile(0.99)
        sys.stdout.write(f"at {step.rate:g}: p99 {measured:.1f}, of the queue {true:.1f}, lag {lag:.1f} ms\n")
        assert (step.sent, step.errors) == (len(times), {})
        assert measured == pytest.approx(true, rel=0.1)
        assert lag is not None
        assert lag <= PLAN.most_lag_ms

    def sustained(rate: float) -> bool:
        times = expected(rate)
        return int((times <= PLAN.sla_ms).sum()) >= needed(PLAN.share, len(times))

    true_knee = refined(ramp(PLAN.rates, sustained), sustained, PLAN.resolution).sustained
    assert true_knee is not None
    assert result.knee is not None
    sys.stdout.write(f"knee {result.knee.rate}, of the queue {true_knee}\n")
    assert result.knee.rate == pytest.approx(true_knee, rel=0.1)
    assert true_knee == pytest.approx(highest_rate(0.99, PLAN.sla_ms / 1000, SERVICE), rel=0.1)


def test_what_a_closed_loop_hides(url: str) -> None:
    """One client that waits for its answers gets them in one service time each, at any load that it can make."""
    from rag_titan.loadtest.http import HttpTarget

    async def closed() -> list[float]:
        target, seen = HttpTarget(url), []
        await target.aopen()
        loop = asyncio.get_running_loop()
        for _ in range(50):
            begin = loop.time()
            await target.ask("How long?")
            seen.append((loop.time() - begin) * 1000)
        await target.aclose()
        return seen

    times = asyncio.run(closed())
    assert np.quantile(times, 0.9) < 1.5 * SERVICE * 1000
    assert np.quantile(expected(9.5), 0.9) > 3 * SERVICE * 1000  # what 9.5 a second that come when they like get
