"""A real small model as the judge: the schema is obeyed, tokens and cost counted. Its opinions are worth nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.judge.models import dataset
from tests.models.conftest import small_model_url

from rag_titan.judge import Judge, Limits, Patience, Sampling
from rag_titan.judge.budget import Budget
from rag_titan.judge.calls import relevance_call
from rag_titan.judge.running import Stop
from rag_titan.judge.server import ChatServer

pytestmark = pytest.mark.llm
__all__ = ["small_model_url"]

SAMPLING = Sampling(max_tokens=160, seed=1)
PATIENCE = Patience(attempt=300, call=300)


def test_a_schema_is_obeyed_and_tokens_are_counted(small_model_url: str) -> None:
    call = relevance_call("How long is leave?", ["Leave is 25 days."])
    server = ChatServer("smollm2", small_model_url, SAMPLING, patience=PATIENCE)
    budget = Budget(Limits(prices=(1.0, 2.0)))
    heard = server.ask(call, server.request(call, 0), budget, Stop())
    server.close()
    value = json.loads(heard.text)
    assert [set(entry) for entry in value["passages"]] == [{"passage", "grade"}] * 2
    assert {entry["grade"] for entry in value["passages"]} <= {0, 1, 2}
    assert budget.prompt_tokens > 100
    assert 5 < budget.output_tokens <= 160
    assert budget.cost_usd == pytest.approx((budget.prompt_tokens + 2 * budget.output_tokens) / 1e6)
    assert budget.guessed == 0


def test_a_run_counts_all_that_was_asked(small_model_url: str, tmp_path: Path) -> None:
    options = {"metrics": ["faithfulness", "context_relevance"], "cache": tmp_path / "cache.db", "concurrency": 2}
    with Judge("smollm2", small_model_url, sampling=SAMPLING, patience=PATIENCE, **options) as judge:
        judged = judge.judge(dataset(1))
        again = judge.judge(dataset(1))
    assert judged.done + len(judged.failures) == 2
    assert not any("no answer" in one.reason for one in judged.failures)
    assert (judged.spent.guessed, judged.spent.prompt_tokens > 200) == (0, True)
    assert (again.spent.calls, again.spent.cached) == (0, judged.spent.calls)
    assert again.verdicts == judged.verdicts
