"""Citation markers of logs in which [n] can be nothing else: the n-th passage, or the passage that is called n."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

ASTRAY = "an answer cites what its query has not; it counts as cited, outside of the context: {ids}."

_MARKER = re.compile(r"\[\s*[0-9]+(?:\s*[,;]\s*[0-9]+)*\s*\]")
_NUMBER = re.compile(r"[0-9]+")


class Cited(NamedTuple):
    """An answer whose markers an evaluation reads as the log means them, what it cites, and the markers gone astray."""

    answer: str
    ids: list[str]
    astray: list[str]


def read_citations(answer: str, passages: Mapping[str, str], query: str) -> Cited:
    """The citations of an answer; `passages` is {number: id} in the order of the context.

    A marker stays as it is where its numbers are the places of passages that are there: so an evaluation reads it. Else
    the ids stand in its place. A number that no passage has is cited as "query/number", which is in no context, and
    taken out of the answer.

    >>> read_citations("Seven [2], or nine [5].", {"2": "q/2", "3": "q/3"}, "q")
    Cited(answer='Seven [q/2], or nine .', ids=['q/2', 'q/5'], astray=['[5]'])
    """
    numbered = list(passages) == [str(place) for place in range(1, len(passages) + 1)]
    ids: list[str] = []
    astray: list[str] = []

    def read_marker(match: re.Match[str]) -> str:
        numbers = [str(int(number[:20])) for number in _NUMBER.findall(match[0])]
        known = [passages[number] for number in numbers if number in passages]
        ids.extend(passages.get(number, f"{query}/{number}") for number in numbers)
        if len(known) < len(numbers):
            astray.append(match[0])
        elif numbered:
            return match[0]
        return f"[{', '.join(known)}]" if known else ""

    text = _MARKER.sub(read_marker, answer)
    return Cited(text, list(dict.fromkeys(ids)), astray)
