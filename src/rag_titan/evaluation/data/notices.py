"""Warnings that merge: of one kind the 20 smallest ids are named and the rest counted."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from heapq import nsmallest

NAMED = 20


@dataclass
class Notices:
    """Warnings by kind. A kind is the sentence itself, with "{ids}" where the ids go.

    >>> notices = Notices()
    >>> notices.add("no chunk has the gold id {ids}.", ["c10", "c9", "c3"])
    >>> notices.add("documents were not passed.")
    >>> notices.texts()
    ['documents were not passed.', 'no chunk has the gold id c3, c9, c10.']
    """

    counts: dict[str, int] = field(default_factory=dict)
    ids: dict[str, list[str]] = field(default_factory=dict)

    def add(self, sentence: str, ids: Iterable[str] = ()) -> None:
        """Count the ids under the sentence; without ids the sentence is said once."""
        new = list(ids)
        if new or "{ids}" not in sentence:
            self.counts[sentence] = self.counts.get(sentence, 0) + len(new)
            self.ids[sentence] = nsmallest(NAMED, {*self.ids.get(sentence, ()), *new})

    def merge(self, other: Notices) -> Notices:
        """Both together, whatever the order."""
        merged = Notices(dict(self.counts), {k: list(v) for k, v in self.ids.items()})
        for sentence, ids in other.ids.items():
            merged.counts[sentence] = merged.counts.get(sentence, 0) + other.counts[sentence]
            merged.ids[sentence] = nsmallest(NAMED, {*merged.ids.get(sentence, ()), *ids})
        return merged

    def take(self, other: Notices) -> None:
        """Add those of another."""
        merged = self.merge(other)
        self.counts, self.ids = merged.counts, merged.ids

    def texts(self) -> list[str]:
        """One text a kind, sorted."""
        return sorted(self._text(sentence) for sentence in self.counts)

    def _text(self, sentence: str) -> str:
        named = sorted(self.ids[sentence], key=_in_order)
        more = self.counts[sentence] - len(named)
        listed = ", ".join(named) + (f" and {more} more" if more > 0 else "")
        return sentence.replace("{ids}", listed)


def _in_order(name: str) -> list[tuple[int, str]]:
    """A key that sorts numbers by value: line 2 before line 10."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d{1,18})", name)]


@dataclass
class Skipped:
    """The records that were left out because they break a rule: how many, and the first of them, each with its place.

    >>> skipped = Skipped()
    >>> skipped.add("line 3: id: must be given; the object has no keys.")
    >>> skipped.count, skipped.first
    (1, ['line 3: id: must be given; the object has no keys.'])
    """

    count: int = 0
    first: list[str] = field(default_factory=list)

    def add(self, error: str) -> None:
        """Count a record, and remember why it was left out."""
        self.count += 1
        if len(self.first) < NAMED:
            self.first.append(error)

    def merge(self, other: Skipped) -> Skipped:
        """Both together, these before the others."""
        return Skipped(self.count + other.count, [*self.first, *other.first][:NAMED])
