"""A clock that stands still unless a part of an app moves it."""

from __future__ import annotations


class Clock:
    """Seconds, as `time.perf_counter` gives them."""

    def __init__(self) -> None:
        self.now = 5.0

    def __call__(self) -> float:
        return self.now

    def tick(self, ms: float) -> None:
        """Something takes that long."""
        self.now += ms / 1000
