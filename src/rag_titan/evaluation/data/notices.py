"""Warnings that merge: of one kind the 20 smallest ids are named and the rest counted."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from heapq import nsmallest

NAMED = 20


@dataclass(frozen=True)
class Private:
    """How a kind is said where no text of the data may come out.

    sentence  with "{text}" where the text goes; None: as it is
    text      of the data
    ids       what is listed as ids are texts of the data, too
    """

    sentence: str | None = None
    text: str = ""
    ids: bool = False


@dataclass
class Notices:
    """Warnings by kind. A kind is the sentence itself, with "{ids}" where the ids go.

    A kind that holds a text of the data says so (`private`).

    >>> notices = Notices()
    >>> notices.add("no chunk has the gold id {ids}.", ["c10", "c9", "c3"])
    >>> notices.add("documents were not passed.")
    >>> notices.texts()
    ['documents were not passed.', 'no chunk has the gold id c3, c9, c10.']
    """

    counts: dict[str, int] = field(default_factory=dict)
    ids: dict[str, list[str]] = field(default_factory=dict)
    private: dict[str, Private] = field(default_factory=dict)

    def add(self, sentence: str, ids: Iterable[str] = (), private: Private | None = None) -> None:
        """Count the ids under the sentence; without ids the sentence is said once."""
        new = list(ids)
        if private is not None:
            self.private[sentence] = private
        if new or "{ids}" not in sentence:
            self.counts[sentence] = self.counts.get(sentence, 0) + len(new)
            self.ids[sentence] = nsmallest(NAMED, {*self.ids.get(sentence, ()), *new})

    def merge(self, other: Notices) -> Notices:
        """Both together, whatever the order."""
        private = {**self.private, **other.private}
        merged = Notices(dict(self.counts), {k: list(v) for k, v in self.ids.items()}, private)
        for sentence, ids in other.ids.items():
            merged.counts[sentence] = merged.counts.get(sentence, 0) + other.counts[sentence]
            merged.ids[sentence] = nsmallest(NAMED, {*merged.ids.get(sentence, ()), *ids})
        return merged

    def take(self, other: Notices) -> None:
        """Add those of another."""
        merged = self.merge(other)
        self.counts, self.ids, self.private = merged.counts, merged.ids, merged.private

    def texts(self, redaction: Callable[[str], str] | None = None) -> list[str]:
        """One text a kind, sorted; `redaction` makes what stands in the place of a text of the data."""
        return sorted(self._text(sentence, redaction) for sentence in self.counts)

    def _text(self, sentence: str, redaction: Callable[[str], str] | None) -> str:
        named = sorted(self.ids[sentence], key=_in_order)
        private = self.private.get(sentence)
        if redaction is not None and private is not None:
            named = sorted(map(redaction, named)) if private.ids else named
            masked = sentence if private.sentence is None else private.sentence
            return self._listed(masked.replace("{text}", redaction(private.text)), named, self.counts[sentence])
        return self._listed(sentence, named, self.counts[sentence])

    @staticmethod
    def _listed(sentence: str, named: list[str], count: int) -> str:
        more = count - len(named)
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

    places  of the same records, without a word of what they hold
    """

    count: int = 0
    first: list[str] = field(default_factory=list)
    places: list[str] = field(default_factory=list)

    def add(self, error: str, place: str = "a record") -> None:
        """Count a record, and remember why it was left out."""
        self.count += 1
        if len(self.first) < NAMED:
            self.first.append(error)
            self.places.append(place)

    def merge(self, other: Skipped) -> Skipped:
        """Both together, these before the others."""
        first, places = [*self.first, *other.first][:NAMED], [*self.places, *other.places][:NAMED]
        return Skipped(self.count + other.count, first, places)

    def told(self, redacted: bool = False) -> list[str]:
        """Why the first were left out; redacted: their places alone, as a reason quotes what it refuses."""
        return [f"{place}: breaks a rule." for place in self.places] if redacted else self.first
