"""A clock that stands still unless a part of the app moves it."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from rag_titan.pipeline.adapters import app, langchain, llama_index


class Clock:
    """Seconds, as `time.perf_counter` gives them."""

    def __init__(self) -> None:
        self.now = 5.0

    def __call__(self) -> float:
        return self.now

    def tick(self, ms: float) -> None:
        """Something takes that long."""
        self.now += ms / 1000


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    for module in (app, langchain, llama_index):
        monkeypatch.setattr(module, "time", SimpleNamespace(perf_counter=clock))
    return clock
