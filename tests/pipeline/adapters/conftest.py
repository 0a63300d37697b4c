"""The clock of the adapters."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from tests.pipeline.adapters.clock import Clock

from rag_titan.pipeline.adapters import app, langchain, llama_index


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    for module in (app, langchain, llama_index):
        monkeypatch.setattr(module, "time", SimpleNamespace(perf_counter=clock))
    return clock
