"""Citation markers in answers: [2] is the second of the chunks in the context, [c7] the chunk of that id.

Only what resolves is a marker: a number from 1 to the length of `context_ids`, or a known chunk id; a list such as
[1, 2] when every part of it does. So [2020], x[0] and, without `context_ids`, [1] are words of the answer and stay.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import cache
from typing import NamedTuple


class Marker(NamedTuple):
    """A citation marker at the characters [start, end) of an answer, and the ids that it cites."""

    start: int
    end: int
    ids: list[str]


class Cited(NamedTuple):
    """An answer without its markers, and the ids that they cite in order; None where the answer has no marker."""

    text: str
    ids: list[str] | None


@cache
def _brackets() -> re.Pattern[str]:
    return re.compile(r"\[([^\[\]]+)\]")


def read_markers(answer: str, context_ids: Sequence[str] | None, known: Collection[str] = ()) -> Cited:
    """Take the citation markers out of an answer.

    `context_ids` are the chunks of the prompt in order, `known` the ids of the chunk table (a set or a dict). In place
    of a marker a space is left, so that the words on its two sides stay apart.

    >>> read_markers("25 days [1][c9], see [note].", ["c2", "c4"], {"c9"})
    Cited(text='25 days   , see [note].', ids=['c2', 'c9'])
    >>> read_markers("In [2020] it rose [7].", ["c2"])  # the context has one chunk
    Cited(text='In [2020] it rose [7].', ids=None)
    """
    found = markers_of(answer, context_ids, known)
    if not found:
        return Cited(answer, None)
    edges = [0, *(edge for marker in found for edge in marker[:2]), len(answer)]
    text = " ".join(answer[start:end] for start, end in zip(edges[::2], edges[1::2], strict=True))
    return Cited(text, [name for marker in found for name in marker.ids])


def markers_of(answer: str, context_ids: Sequence[str] | None, known: Collection[str] = ()) -> list[Marker]:
    """The citation markers of an answer, in order.

    >>> markers_of("25 days [1], see [note].", ["c2"])
    [Marker(start=8, end=11, ids=['c2'])]
    """
    if "[" not in answer:
        return []
    context = context_ids or ()
    found = ((match.span(), _resolved(match[1], context, known)) for match in _brackets().finditer(answer))
    return [Marker(*span, ids) for span, ids in found if ids is not None]


def _resolved(inside: str, context: Sequence[str], known: Collection[str]) -> list[str] | None:
    """The ids that the inside of a bracket stands for, None when it is no marker."""
    whole = _id(inside.strip(), context, known)
    if whole is not None:
        return [whole]
    parts = [_id(part.strip(), context, known) for part in re.split("[,;]", inside)]
    ids = [part for part in parts if part is not None]
    return ids if len(ids) == len(parts) else None


def _id(mark: str, context: Sequence[str], known: Collection[str]) -> str | None:
    if mark.isdecimal() and len(mark) <= 6 and 1 <= int(mark) <= len(context):
        return context[int(mark) - 1]
    return mark if mark in known or mark in context else None
