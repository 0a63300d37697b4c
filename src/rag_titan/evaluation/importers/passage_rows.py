"""Logs with one row a passage: the rows of one request become one record."""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from rag_titan.evaluation.data.cleaning import cleaners_of
from rag_titan.evaluation.data.normal import question_key
from rag_titan.evaluation.data.notices import Notices
from rag_titan.evaluation.data.plain import plain
from rag_titan.evaluation.data.records import Query
from rag_titan.evaluation.reports.figures import count_text

# The lists of which a row may hold one element; those of one group stand side by side.
_GROUPS = (
    ("retrieved_ids", "retrieved_scores", "retrieved_texts"),
    ("reranked_ids", "reranked_texts"),
    ("context_ids",),
    ("citations",),
)
PASSAGE_KEYS = tuple(key for group in _GROUPS for key in group)
ID_KEYS = ("retrieved_ids", "reranked_ids", "context_ids", "citations")
POSITION = re.compile(r"\s*\[\s*(\d{1,6})\s*\]\s*")
"""A passage that is named by its place, as "[2]"; never an id."""

_SCORES = "retrieved_scores"
_OF_REQUEST = ("timestamp", "answer")  # two requests differ in one of them

_ANY = "", "anything"  # equal to no timestamp and no answer

_BY_PASSAGE = (
    "{name}: has one row a passage; {rows} rows became {records}, one of the rows with the same id (else "
    "question) whose timestamps and answers do not differ."
)
_DIFFER = "the rows of one question differ in {key}, of which the first was kept: {{ids}}."


@dataclass(frozen=True)
class Row:
    """A record as it was read, its single passages as lists; `passage` tells that there were any."""

    where: str
    values: dict[str, Any]
    passage: bool

    @classmethod
    def of(cls, where: str, values: dict[str, Any]) -> Row:
        """From a record whose lists may be single values.

        >>> Row.of("row 2", {"id": 1, "retrieved_ids": "c7", "retrieved_scores": "0.5"}).values
        {'id': 1, 'retrieved_ids': ['c7'], 'retrieved_scores': [0.5]}
        """
        if isinstance(values.get(_SCORES), str):
            values = {**values, _SCORES: _number(values[_SCORES])}
        values = {key: plain(value) for key, value in values.items()}  # arrays can be neither compared nor asked
        values = {key: None if key in PASSAGE_KEYS and is_nan(value) else value for key, value in values.items()}
        single = {key for key in PASSAGE_KEYS if _is_single(values.get(key))}
        return cls(where, {k: [v] if k in single else v for k, v in values.items()}, bool(single))


def _number(cell: str) -> Any:
    """The number in the cell of a sheet; a text that is none stays, to be complained of."""
    try:
        return float(cell)
    except ValueError:
        return cell


def _is_single(value: Any) -> bool:
    value = plain(value)
    return isinstance(value, str | int | float) and not isinstance(value, bool) and not is_nan(value)


def is_nan(value: Any) -> bool:
    """True for NaN, which tables write into a cell without a value."""
    return isinstance(value, float) and math.isnan(value)


@dataclass(eq=False)
class _Request:
    """The rows of one request, what they have said so far of when it was and what was answered, and its latest turn."""

    rows: list[Row] = field(default_factory=list)
    said: tuple[Hashable, ...] = (None,) * len(_OF_REQUEST)
    turn: int = 0


class _SameQuestion:
    """The requests of one id (else question), found by what they said: a popular question has thousands of them.

    Each is filed under what it said and under every part of that; the one that had a row last is at the end.
    """

    def __init__(self) -> None:
        self._filed: dict[tuple[Hashable, ...], dict[_Request, None]] = {}
        self._turn = 0

    def latest(self, said: tuple[Hashable, ...]) -> _Request | None:
        """The request that had a row last among those that a row with these words does not contradict."""
        ways = product(*((_ANY,) if word is None else (word, None) for word in said))
        found = [next(reversed(requests)) for way in ways if (requests := self._filed.get(way))]
        return max(found, key=lambda request: request.turn, default=None)

    def add(self, request: _Request, row: Row, said: tuple[Hashable, ...]) -> None:
        """Give a request a row, which makes it the latest."""
        for way in self._ways(request):
            self._filed.get(way, {}).pop(request, None)
        self._turn += 1
        request.rows.append(row)
        request.turn = self._turn
        request.said = tuple(new if old is None else old for old, new in zip(request.said, said, strict=True))
        for way in self._ways(request):
            self._filed.setdefault(way, {})[request] = None

    def _ways(self, request: _Request) -> Iterator[tuple[Hashable, ...]]:
        return product(*((word, _ANY) for word in request.said))


def _said(values: Mapping[str, Any]) -> tuple[Hashable, ...]:
    """What a row says of its request, None where it says nothing."""
    found = (plain(values.get(key)) for key in _OF_REQUEST)
    return tuple(None if is_nan(value) else repr(value) if isinstance(value, list | dict) else value for value in found)


def joined(rows: list[Row], name: str, notices: Notices) -> list[Row]:
    """The records of the rows, in the order of their first rows, the lists in the order of the rows.

    A row belongs to the request of the same id (else question) that had a row last and that it does not contradict: a
    row without an answer, as all but the first often are, goes with the one before. Records whose lists are lists
    already stay alone.

    >>> rows = [Row.of(str(i), {"id": 1, "retrieved_ids": name}) for i, name in enumerate(("c3", "c1"))]
    >>> joined(rows, "log.csv", Notices())[0].values
    {'id': 1, 'retrieved_ids': ['c3', 'c1']}
    """
    requests: list[_Request] = []
    known: dict[Hashable, _SameQuestion] = {}
    for row in rows:
        whole = any(isinstance(row.values.get(key), list) for key in PASSAGE_KEYS) and not row.passage
        key, said = _key(row.values), _said(row.values)
        same = _SameQuestion() if whole or key is None else known.setdefault(key, _SameQuestion())
        request = same.latest(said)
        if request is None:
            request = _Request()
            requests.append(request)
        same.add(request, row, said)
    notices.add(_BY_PASSAGE.format(name=name, rows=len(rows), records=count_text(len(requests), "record")))
    return [_merged(request.rows, notices) for request in requests]


def _key(values: Mapping[str, Any]) -> Hashable | None:
    """What the rows of one request have in common; None where nothing tells."""
    name, question = values.get("id"), values.get("question")
    if name is not None and not is_nan(name):
        return "id", str(name)
    return ("question", question_key(question)) if isinstance(question, str) else None


def _merged(rows: list[Row], notices: Notices) -> Row:
    if len(rows) == 1:
        return rows[0]
    values: dict[str, Any] = {}
    for row in rows:
        for key, value in row.values.items():
            known = values.setdefault(key, value)
            if known is None or is_nan(known):
                values[key] = value
            elif not (value is None or is_nan(value)) and known != value and key in _told():
                notices.add(_DIFFER.format(key=key), [rows[0].where])
    for group in _GROUPS:
        there = [row.values for row in rows if any(row.values.get(key) for key in group)]
        for key in group:
            if any(row.get(key) for row in there):
                values[key] = [item for row in there for item in _items(row.get(key))]
    return Row(rows[0].where, values, passage=True)


def _items(value: Any) -> list[Any]:
    """What a row adds to a list; what is no list stays one thing, to be complained of."""
    return (value if isinstance(value, list) else [value]) if value else [None]


def _told() -> set[str]:
    """The keys in which the rows of one request should agree."""
    return set(cleaners_of(Query)) - set(PASSAGE_KEYS)
