"""What a client of a model server may be told: time-outs, tries, prices, names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from rag_titan.errors import SettingsError, nearest
from rag_titan.evaluation.limits import number

Api = Literal["openai", "ollama"]

_SHORTEST = 0.001  # seconds: no time at all is no time-out


@dataclass(frozen=True)
class Timeouts:
    """How long, in seconds, a server may take.

    connect         for a connection
    first_byte      from a request to the first byte of its answer, with a stream: to the first event
    between_chunks  from one piece of a stream to the next
    total           for a whole call, tries and waits included

    Raises SettingsError for what is no finite number above 0.
    """

    connect: float = 10.0
    first_byte: float = 120.0
    between_chunks: float = 60.0
    total: float = 600.0

    def __post_init__(self) -> None:
        for name in ("connect", "first_byte", "between_chunks", "total"):
            number(getattr(self, name), f"timeouts.{name}", low=_SHORTEST)


@dataclass(frozen=True)
class Retries:
    """How often to ask again after HTTP 408, 429, 5xx or a broken connection, and how long to wait before.

    times         at most so many further tries
    first_wait    seconds; doubled with each try. Of every wait a random part, at most half, is left out
    longest_wait  seconds; bounds what a server asks for with Retry-After too
    seed          of the random part; None: another one in each process, so that many clients do not come back at once

    Raises SettingsError for a number that cannot be.
    """

    times: int = 3
    first_wait: float = 0.5
    longest_wait: float = 30.0
    seed: int | None = None

    def __post_init__(self) -> None:
        whole_number(self.times, "retries.times", low=0)
        for name in ("first_wait", "longest_wait"):
            number(getattr(self, name), f"retries.{name}", low=0)

    def wait(self, attempt: int, chance: float, asked: float | None) -> float:
        """Seconds to wait after the `attempt`-th try, from 1; chance in [0, 1), asked = the server's own wish.

        >>> [Retries().wait(attempt, 0.0, None) for attempt in (1, 2, 3, 9)], Retries().wait(1, 0.5, 3600.0)
        ([0.5, 1.0, 2.0, 30.0], 30.0)
        """
        if asked is not None:
            return min(asked, self.longest_wait)
        doubled = self.first_wait * 2.0 ** min(attempt - 1, 60)
        return min(doubled, self.longest_wait) * (1 - chance / 2)


def path_of(api: str, paths: Mapping[str, str]) -> str:
    """The path that belongs to the name of an interface. Raises SettingsError for an unknown one."""
    if api not in paths:
        close = nearest(str(api), paths, named=True)
        raise SettingsError(f"api: must be one of {', '.join(paths)}, got {api!r}{close}.")
    return paths[api]


def model_name(model: str) -> str:
    """The name of a model, which must not be empty. Raises SettingsError."""
    if not isinstance(model, str) or not model.strip():
        raise SettingsError(f"model: must be the name of a model, got {model!r}.")
    return model


def price_of(prices: Mapping[str, Mapping[str, float]], model: str) -> Mapping[str, float] | None:
    """The price of the model, None without one. All of the table are checked: a typo would just be a missing cost."""
    checked: dict[str, dict[str, float]] = {}
    for name, price in prices.items():
        where = f"prices.{name}"
        if not isinstance(price, Mapping) or set(price) != {"input", "output"}:
            raise SettingsError(
                f'{where}: must be {{"input": USD, "output": USD}} for a million tokens, got {price!r}.'
            )
        checked[name] = {side: number(value, f"{where}.{side}", low=0) for side, value in price.items()}
    return checked.get(model)


def whole_number(value: Any, where: str, low: int) -> int:
    """The option `value` as a whole number from `low`. Raises SettingsError.

    >>> whole_number(2.5, "batch_size", low=1)
    Traceback (most recent call last):
    rag_titan.errors.SettingsError: batch_size: must be a whole number from 1, got 2.5.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < low:
        raise SettingsError(f"{where}: must be a whole number from {low}, got {value!r}.")
    return value


def merged(request: dict[str, Any], extra: Mapping[str, Any]) -> dict[str, Any]:
    """The request with the further members; of an object in both the members are merged."""
    both = {
        name: {**request[name], **value}
        for name, value in extra.items()
        if isinstance(value, Mapping) and isinstance(request.get(name), dict)
    }
    return request | dict(extra) | both
