"""A RAG app with a real language model behind it: the knee is found, and the first token is apart from the answer."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest
from tests.loadtest.rag_app import rag_app
from tests.models.small_model import serving_small_model

from rag_titan.cli.lab_outputs import aligned
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


def test_the_knee_of_an_app_with_a_real_model(url: str) -> None:
    """What one answer takes alone sets the scale. At a third of the rate that this allows, the app keeps an SLA of six
    times as long; at twice of it no app with one slot can."""
    from rag_titan.loadtest.http import HttpTarget

    target = HttpTarget(url)
    once = Plan(rates=[0.5], sla_ms=30_000, duration=10, arrivals="fixed", warm_up=4, trials=1)
    [alone] = load_test(target, QUESTIONS, once).steps
    service = alone.latency.mean
    assert service is not None
    capacity = 1000 / service
    plan = Plan(
        rates=[capacity / 3, 2 * capacity], sla_ms=6 * service, duration=max(4.0, 12 * service / 1000), warm_up=0,
        trials=1, resolution=0.5, timeout=120, max_lag_ms=service / 2,
    )  # fmt: skip
    result = load_test(target, QUESTIONS, plan)
    assert result.invalid is None, result.invalid
    assert result.knee is not None
    assert result.knee.rate is not None
    assert capacity / 3 <= result.knee.rate < 2 * capacity
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
