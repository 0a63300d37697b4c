"""What is put under load, and what became of one request."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

MOST_PARTS = 20
NO_ROOM = "the generator ran out of files, ports, threads or memory"
_LONGEST_HEADER = 2**13  # characters, far more than twenty parts take
_LONGEST_NAME = 60
_METRIC = re.compile(r'(?:[^",]|"(?:[^"\\]|\\.)*"?)+')  # a comma in quotes separates nothing
_PARAMETER = re.compile(r'(?:[^";]|"(?:[^"\\]|\\.)*"?)+')
_WHOLE = frozenset(("latency_ms", "total_ms", "total_latency_ms", "end_to_end_latency_ms", "time_to_first_token_ms"))


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one request.

    error      its kind in a few words, as "HTTP 500"; None where it was answered
    first      when the first token of a stream came, by the clock of the event loop; None where nothing was streamed
    parts      {name: ms}: the steps of the answer as the target reports them
    generator  True for an error that is the generator's: the system gave it no file, no port, no memory
    """

    error: str | None = None
    first: float | None = None
    parts: Mapping[str, float] | None = None
    generator: bool = False


class Target(Protocol):
    """Something to ask. `ask` must be cancellable; all of it runs in one event loop."""

    async def aopen(self) -> None:
        """Make what all requests share."""

    async def ask(self, question: str) -> Outcome:
        """Send one request and take all of its answer."""

    async def aclose(self) -> None:
        """Close it."""


def parts_of(answer: Any) -> dict[str, float] | None:
    """The parts of an answer: keys that end with _ms, without those that stand for all of it.

    >>> parts_of({"answer": "x", "search_latency_ms": 12, "total_latency_ms": 40, "embedding_latency_ms": None})
    {'search': 12.0}
    """
    if not isinstance(answer, Mapping):
        return None
    found = {
        _name(key.removesuffix("_ms").removesuffix("_latency")): float(value)
        for key, value in answer.items()
        if isinstance(key, str) and key.endswith("_ms") and key not in _WHOLE and _is_time(value)
    }
    found.pop("", None)
    return dict(sorted(found.items())[:MOST_PARTS]) or None


def server_timing(header: str) -> dict[str, float] | None:
    """The parts in a Server-Timing header (W3C, Server Timing, 2023), of which 8,192 characters are read.

    >>> server_timing('search;desc="a, b";dur=12.5, cache, generate;dur=80')
    {'search': 12.5, 'generate': 80.0}
    """
    found: dict[str, float] = {}
    for metric in _METRIC.findall(header[:_LONGEST_HEADER]):
        name, *params = (part.strip() for part in _PARAMETER.findall(metric))
        for param in params:
            key, _, value = param.partition("=")
            if key.strip().lower() == "dur" and name and _number(value) is not None:
                found.setdefault(_name(name), float(value.strip().strip('"')))
    kept = {name: value for name, value in found.items() if name.lower() != "total"}
    return dict(list(kept.items())[:MOST_PARTS]) or None


def _name(text: str) -> str:
    """A name that somebody else chose, fit for a file and a terminal."""
    return "".join(sign if sign.isprintable() else "?" for sign in text[:_LONGEST_NAME])


def _number(text: str) -> float | None:
    try:
        value = float(text.strip().strip('"'))
    except ValueError:
        return None
    return value if _is_time(value) else None


def _is_time(value: Any) -> bool:
    return not isinstance(value, bool) and isinstance(value, int | float) and 0 <= value < 1e9
