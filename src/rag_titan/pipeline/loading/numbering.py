"""The numbers and bullets of lists in Word, which the text of a paragraph does not hold."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from rag_titan.pipeline.loading.wordml import attribute, child, tag, value_of

_PLACE = re.compile(r"%([1-9])")
_ROMAN = ((1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"), (40, "xl"), (10, "x"),
          (9, "ix"), (5, "v"), (4, "iv"), (1, "i"))  # fmt: skip
BULLET = "-"


@dataclass(frozen=True)
class Level:
    """One level of a list: the form of its numbers, and the text around them ("%1.%2")."""

    form: str = "bullet"
    text: str = ""
    start: int = 1


@dataclass
class Numbering:
    """The lists of a document, and how far each has been counted.

    levels  {list: {depth from 0: its level}}
    family  {list: the definition that it shares with others}: lists of one definition count on
    styles  {style: the depth that it stands for}
    """

    levels: dict[str, dict[int, Level]] = field(default_factory=dict)
    family: dict[str, str] = field(default_factory=dict)
    styles: dict[str, int] = field(default_factory=dict)
    _counts: dict[str, dict[int, int]] = field(default_factory=dict)
    _restarted: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, part: Any) -> Numbering:
        """Of the root of numbering.xml; None: there are no lists."""
        numbering = cls()
        definitions: dict[str, dict[int, Level]] = {}
        for element in [] if part is None else part.iter(tag("abstractNum")):
            name = attribute(element, "abstractNumId")
            definitions[name] = {_depth(level): _level(level) for level in element.iter(tag("lvl"))}
            for level in element.iter(tag("lvl")):
                if style := value_of(level, "pStyle"):
                    numbering.styles[style] = _depth(level)
        for element in [] if part is None else part.iter(tag("num")):
            name, family = attribute(element, "numId"), value_of(element, "abstractNumId")
            changed = {_depth(e): e for e in element.iter(tag("lvlOverride"))}
            numbering.levels[name] = {**definitions.get(family, {})}
            for depth, change in changed.items():
                numbering._override(name, depth, change)
            numbering.family[name] = f"{family} of {name}" if changed else family
        return numbering

    def _override(self, name: str, depth: int, change: Any) -> None:
        own = child(change, "lvl")
        level = _level(own) if own is not None else self.levels[name].get(depth, Level())
        start = value_of(change, "startOverride")
        self.levels[name][depth] = Level(level.form, level.text, int(start)) if start.isdecimal() else level

    def next(self, name: str, depth: int) -> str:
        """What stands before the next paragraph of a list: "-", "3.", "2.1", or "" for nothing."""
        levels = self.levels.get(name, {})
        level = levels.get(depth, Level())
        if level.form == "bullet":
            return BULLET
        counts = self._counts.setdefault(self.family.get(name, name), {})
        counts[depth] = counts.get(depth, level.start - 1) + 1
        for deeper in [d for d in counts if d > depth]:
            del counts[deeper]
        return _PLACE.sub(lambda place: _shown(levels, counts, int(place[1]) - 1), level.text).strip()


def _shown(levels: dict[int, Level], counts: dict[int, int], depth: int) -> str:
    level = levels.get(depth, Level("decimal"))
    return written(counts.get(depth, level.start), level.form)


def written(number: int, form: str) -> str:
    """A number in one of Word's forms; those that are not known here are written as digits.

    >>> [written(28, form) for form in ("decimal", "lowerLetter", "upperRoman", "decimalZero")]
    ['28', 'bb', 'XXVIII', '28']
    """
    if form in ("lowerLetter", "upperLetter") and 0 < number < 1000:
        letters = chr(ord("a") + (number - 1) % 26) * ((number - 1) // 26 + 1)
        return letters.upper() if form == "upperLetter" else letters
    if form in ("lowerRoman", "upperRoman") and 0 < number < 4000:
        numerals = ""
        for value, sign in _ROMAN:
            numerals += sign * (number // value)
            number %= value
        return numerals.upper() if form == "upperRoman" else numerals
    return "" if form == "none" else str(number)


def _depth(level: Any) -> int:
    depth = attribute(level, "ilvl")
    return int(depth) if depth.isdecimal() else 0


def _level(element: Any) -> Level:
    start = value_of(element, "start")
    text = value_of(element, "lvlText")
    form = value_of(element, "numFmt") or "decimal"
    return Level(form, text, int(start) if start.isdecimal() else 1)
