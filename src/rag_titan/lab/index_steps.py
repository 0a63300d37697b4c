"""The steps of a measurement of indexes, told to whoever waits for them."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

Progress = Callable[..., None]  # progress(done, of, doing)


@dataclass
class Steps:
    """Tells which of the steps is done, what it does, how long it has taken, and of a build how long it may take."""

    progress: Progress | None
    of: int
    done: int = 0
    _start: float = field(default_factory=time.monotonic)

    def begin(self, doing: str) -> None:
        """The next step."""
        self.done += 1
        self._start = time.monotonic()
        self.say(doing)

    def say(self, doing: str) -> None:
        """What the step does now."""
        if self.progress is not None:
            self.progress(self.done, self.of, doing)

    def added(self, held: int, n: int) -> None:
        """So many of n vectors are in the index."""
        took = time.monotonic() - self._start
        left = "" if held == n else f", about {span(took * remaining(held, n))} left"
        self.say(f"builds {n:,} vectors: {held / n:.0%} after {span(took)}{left}")


def remaining(held: int, n: int) -> float:
    """How much longer the rest of a build takes than what is done, where each vector costs the logarithm of those
    before it, as in a graph.

    >>> remaining(1000, 1000), round(remaining(1000, 10_000), 2)
    (0.0, 12.33)
    """
    return n * math.log(n + 1) / (held * math.log(held + 1)) - 1


def span(seconds: float) -> str:
    """Minutes and seconds.

    >>> span(5.4), span(605), span(7265)
    ('0:05', '10:05', '2:01:05')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
