"""A RAG app with a real language model behind it: the knee is found, and the first token is apart from the answer."""

from __future__ import annotations

import asyncio
import statistics
import sys
from collections.abc import Iterator

import pytest
from tests.loadtest.rag_app import rag_app
from tests.models.small_model import serving_small_model

from rag_titan.cli.lab_outputs import aligned
from rag_titan.loadtest.http import HttpTarget
from rag_titan.loadtest.plan import Plan
from rag_titan.loadtest.run import load_test
from rag_titan.loadtest.summary import HEADER, rows, verdict

pytestmark = [pytest.mark.llm, pytest.mark.load, pytest.mark.slow]
pytest.importorskip("hdrh")
pytest.importorskip("httpx")
QUESTIONS = [
    "How many days of annual leave does an employee receive?",
    "What is the limit for a hotel per night?",
    "By when must an illness be reported?",
]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    pytest.importorskip("bm25s")
    with serving_small_model() as model, rag_app(model) as app:
        yield app


def alone(target: HttpTarget) -> float:
    """What one answer takes while nothing else is asked, in ms: the median of five, behind two that warm the model."""

    async def one_by_one() -> list[float]:
        await target.aopen()
        loop, times = asyncio.get_running_loop(), []
        for place in range(7):
            begin = loop.time()
            outcome = await target.ask(QUESTIONS[place % len(QUESTIONS)])
            assert outcome.error is None
            times.append((loop.time() - begin) * 1000)
        await target.aclose()
        return times[2:]

    return statistics.median(asyncio.run(one_by_one()))


def test_the_knee_of_an_app_with_a_real_model(url: str) -> None:
    """What one answer takes alone sets the scale. At a third of the rate that this allows, the app keeps an SLA of six
    times as long; at ten times of it no app with one slot can."""
    target = HttpTarget(url)
    service = alone(target)
    capacity = 1000 / service
    plan = Plan(
        rates=[capacity / 3, 10 * capacity], sla_ms=6 * service, duration=max(4.0, 12 * service / 1000), warm_up=0,
        trials=1, resolution=0.5, timeout=120, max_lag_ms=service / 2,
    )  # fmt: skip
    result = load_test(target, QUESTIONS, plan)
    assert result.invalid is None, result.invalid
    assert result.knee is not None
    assert result.knee.rate is not None
    assert capacity / 3 <= result.knee.rate < 10 * capacity
    for step in result.steps:
        assert step.first is not None
        assert step.first.answered == step.latency.answered == step.sent
        assert step.first.mean is not None
        assert step.latency.mean is not None
        assert step.first.mean < step.latency.mean
        assert set(step.parts) >= {"search", "queue", "generation"}
    first = result.record()["saturates_first"]
    assert first["part"] != "search"
    sys.stdout.write("\n".join(["", *aligned(HEADER, rows(result)), *verdict(result), f"alone: {service:.0f} ms"]))
