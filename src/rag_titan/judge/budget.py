"""What a run may spend, and what it spent: calls, tokens, money."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from rag_titan.errors import RagTitanError, SettingsError
from rag_titan.evaluation.limits import number


class SpentError(RagTitanError):
    """The budget does not allow a further call."""


class Settle(Protocol):
    """Takes what a call really used; `known` says whether the server counted it."""

    def __call__(self, prompt: int, output: int, *, known: bool) -> None:
        """Note it."""


@dataclass(frozen=True)
class Limits:
    """The most that a run may spend; None is no limit. `prices` are USD for a million tokens sent and answered.

    Raises SettingsError for numbers that cannot be, and for a limit of money without prices.
    """

    calls: int | None = None
    tokens: int | None = None
    cost_usd: float | None = None
    prices: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        for name in ("calls", "tokens", "cost_usd"):
            if (value := getattr(self, name)) is not None:
                number(value, f"limits.{name}", low=0)
        for price in self.prices or ():
            number(price, "limits.prices", low=0)
        if self.cost_usd is not None and self.prices is None:
            raise SettingsError("limits.cost_usd: must come with prices, got none. Say what a million tokens cost.")

    def cost(self, prompt: float, output: float) -> float | None:
        """US dollars; None without prices."""
        return None if self.prices is None else (self.prices[0] * prompt + self.prices[1] * output) / 1e6


class Budget:
    """Counts calls, tokens and money over all threads.

    calls           tries that were sent, further ones included; `retried` of them because the one before failed
    prompt_tokens, output_tokens
    guessed         calls of which the server did not count the tokens

    A call is only made where it fits even if it costs as much as it may. While others run that will cost less than they
    might, it waits for them.
    """

    def __init__(self, limits: Limits | None = None) -> None:
        self.limits = limits or Limits()
        self.calls = self.retried = self.prompt_tokens = self.output_tokens = self.guessed = 0
        self._held: list[tuple[int, int]] = []
        self._changed = threading.Condition()
        self._bounded = self.limits.tokens is not None or self.limits.cost_usd is not None

    @property
    def cost_usd(self) -> float | None:
        """So far."""
        return self.limits.cost(self.prompt_tokens, self.output_tokens)

    @contextmanager
    def reserved(
        self, prompt: int, output: int, stop: threading.Event | None = None, *, again: bool = False
    ) -> Iterator[Settle]:
        """Room for a call of at most so many tokens. Raises SpentError where there is none, or the run is stopped."""
        held = (prompt, output)
        with self._changed:
            while self._bounded and not self._fits(held):
                if not self._held:
                    raise SpentError(f"the budget of {self._named()} is spent")
                self._changed.wait()
            if self.limits.calls is not None and self.calls >= self.limits.calls:
                raise SpentError(f"the budget of {self.limits.calls} calls is spent")
            if stop is not None and stop.is_set():  # while it waited for room
                raise SpentError("stopped")
            self.calls += 1
            self.retried += again
            self._held.append(held)
        try:
            yield self._settle
        finally:
            with self._changed:
                self._held.remove(held)
                self._changed.notify_all()

    def _settle(self, prompt: int, output: int, *, known: bool) -> None:
        with self._changed:
            self.prompt_tokens += prompt
            self.output_tokens += output
            self.guessed += not known

    def _fits(self, held: tuple[int, int]) -> bool:
        prompt = self.prompt_tokens + sum(one for one, _ in self._held) + held[0]
        output = self.output_tokens + sum(one for _, one in self._held) + held[1]
        limits = self.limits
        cost = limits.cost(prompt, output)
        within = limits.cost_usd is None or cost is None or cost <= limits.cost_usd
        return within and (limits.tokens is None or prompt + output <= limits.tokens)

    def _named(self) -> str:
        own = self.limits
        tokens = [] if own.tokens is None else [f"{own.tokens} tokens"]
        money = [] if own.cost_usd is None else [f"{own.cost_usd:g} US dollars"]
        return " and ".join([*tokens, *money])
