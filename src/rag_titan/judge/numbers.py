"""What can be settled about the numbers of a claim before a judge is asked.

Judges are weak at numbers (whitepaper, section 4.1), and a rule is only worth it where it is never wrong. So there are
two: a claim with a number that the text has in no form is not supported; and where the text has the same number in
another writing, the judge is told so. Everything that may follow from the text is left to the judge: numbers up to 12,
which may count something, rounded or hedged ones, decades, sums, differences, products and conversions.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from contextlib import suppress
from functools import cached_property

import numpy as np

from rag_titan.evaluation.data.numerals import readings
from rag_titan.judge.prompts import SAME_NUMBER

COUNTABLE = 12  # up to here a whole number may count what the text lists
_MOST = 200  # numbers of a text of which pairs are looked at; beyond, everything is left to the judge
_CLOSE = 1e-9
_ROUNDED = 0.05  # by more nobody rounds without saying so
_WORDS_END = 1000  # in other languages than English whole numbers up to here may be written out

_NUMBER = re.compile(r"\d[\d.,'’\u00a0\u2009\u202f\u066b\u066c]*")
_SEPARATORS = ".,'’\u00a0\u2009\u202f"
_TIMES = re.compile(r"[\s-]*(thousand|million|billion|trillion|k|m|mn|bn|percent|hundred|dozen)?\b", re.IGNORECASE)
_DATE = re.compile(r"(\d{1,4})[./](\d{1,2})[./](\d{1,4})")
_HEDGED = re.compile(
    r"\b(?:about|around|approximately|approx|roughly|nearly|almost|circa|ca|some|over|under|above|below|more|less|fewer"
    r"|least|most|up to|between|early|mid|late|half|quarter|third|double|twice|several)\b|[~≈<>≤≥]",
    re.IGNORECASE,
)
_ENGLISH = re.compile(r"\b(?:the|of|and|is|are|to|in|for|with|on|at|be|has)\b", re.IGNORECASE)
_UNITS = np.array([7, 10, 12, 24, 30, 52, 60, 100, 365, 1000, 1024, 3600, 1e6, 1e9, 2.54, 1.609344, 0.45359237])
_SCALE = {"thousand": 1e3, "k": 1e3, "million": 1e6, "m": 1e6, "mn": 1e6, "billion": 1e9, "bn": 1e9,
          "trillion": 1e12, "hundred": 1e2, "dozen": 12.0}  # fmt: skip
_UNTIL_TWENTY = [
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
]  # fmt: skip
_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_SMALL = {word: float(value) for value, word in enumerate(_UNTIL_TWENTY)} | {
    word: 10.0 * value for value, word in enumerate(_TENS, 2)
}
_IN_WORDS = re.compile(rf"\b(?:(?:{'|'.join([*_SMALL, *_SCALE])}|and|a)\b[\s-]*)+", re.IGNORECASE)


class TextNumbers:
    """The numbers of a text, in all their readings, and of the question that led to it.

    >>> of = TextNumbers("Founded in 1997 with twenty-five people; revenue was 1.5 million euros on 12.05.2024.")
    >>> claims = ["It was founded in 1997.", "It was founded in 1979.", "Revenue was 1,500,000 euros.", "It had 25."]
    >>> [of.lacks(claim) for claim in claims]
    [False, True, False, False]
    >>> of.lacks("It was founded in the late 90s."), of.lacks("It has 3 offices."), of.lacks("The year was 2024.")
    (False, False, False)
    >>> TextNumbers("The fee is 27000 euros.").told("The fee is 27,000 euros.")
    'The fee is 27,000 euros. (the text writes 27,000 as 27000)'
    """

    def __init__(self, text: str, asked: str = "") -> None:
        self._text = text
        self._asked = asked

    def lacks(self, claim: str) -> bool:
        """True where a number of the claim stands in the text in no form, and nothing suggests that it may follow."""
        if not any(map(str.isdigit, claim)) or _HEDGED.search(claim):
            return False
        return any(self._absent(claim, found) for found in _NUMBER.finditer(claim))

    def told(self, claim: str) -> str:
        """The claim, with the writings of the text behind it where they are others."""
        notes = []
        for found in _NUMBER.finditer(claim):
            own = found[0].rstrip(_SEPARATORS)
            written = {self._written.get(value) for value in _values(claim, found)} - {None}
            if written and own not in self._text:
                notes.append(SAME_NUMBER.format(own=own, other=min(filter(None, written))))
        return claim + "".join(dict.fromkeys(notes))

    def _absent(self, claim: str, found: re.Match[str]) -> bool:
        before, after = claim[: found.start()][-1:], claim[found.end() :][:1]
        if before.isalpha() or after.isalpha() or (before == "-" and claim[: found.start()][-2:-1].isalpha()):
            return False  # COVID-19, Q3, 90s, 20km: a name, or glued to a unit
        values = _values(claim, found)
        if not values or not self._settles(min(values)):
            return False
        times = max(values) / max(_bare(found[0].rstrip(_SEPARATORS)), default=1.0)
        meant = values[len(values) // 2 :] if times > 1 else values  # behind the bare ones stand those of 1.5 million
        return not any(map(self._has, values)) and not any(self._may_follow(one, times, found[0]) for one in meant)

    def _settles(self, value: float) -> bool:
        """True where a missing number of that size is telling."""
        if value == int(value) and value <= COUNTABLE:
            return False
        return self._in_english or value >= _WORDS_END or value != int(value)

    @cached_property
    def _in_english(self) -> bool:
        return _ENGLISH.search(self._text) is not None

    @cached_property
    def _written(self) -> dict[float, str]:
        """{value: how the text writes it}."""
        written: dict[float, str] = {}
        for found in _NUMBER.finditer(self._text):
            own = found[0].rstrip(_SEPARATORS)
            scale = _TIMES.match(self._text, found.end())
            for value in _values(self._text, found):
                as_written = own if scale is None or not scale[1] or value in _bare(own) else own + scale[0]
                written.setdefault(value, as_written)
        for found in _IN_WORDS.finditer(self._text):
            spelled = _spelled(found[0])
            if spelled is not None:
                written.setdefault(spelled, found[0].strip(" -"))
        return written

    @cached_property
    def _values(self) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        asked = [value for found in _NUMBER.finditer(self._asked) for value in _values(self._asked, found)]
        return np.array(sorted({*self._written, *asked}), dtype=np.float64)

    def _has(self, value: float) -> bool:
        return bool(np.isclose(self._values, value, rtol=_CLOSE, atol=0).any())

    def _may_follow(self, value: float, times: float, written: str) -> bool:
        """Rounded, converted, or put together from two numbers of the text."""
        own, half = self._values, min(times * _unit_of(value / times, written) / 2, _ROUNDED * abs(value))
        if len(own) > _MOST:
            return True
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            pairs = (own[:, None] + own, own[:, None] - own, own[:, None] * own, own[:, None] / own)
            others = (own, own[:, None] * _UNITS, own[:, None] / _UNITS, 100 * pairs[3], 1 - own, 100 - own, own.sum())
        return any((np.abs(np.abs(made) - abs(value)) <= half * (1 + _CLOSE)).any() for made in (*pairs, *others))


def _values(text: str, found: re.Match[str]) -> list[float]:
    """The values that a number may have, with the word behind it, such as million, and without."""
    own = found[0].rstrip(_SEPARATORS)
    date = _DATE.fullmatch(own) or _DATE.match(text, found.start())
    values = _bare(own) if date is None else [float(part) for part in date.groups()]
    if date is not None and len(date[3]) == 2:
        values += [1900 + float(date[3]), 2000 + float(date[3])]
    scale = _TIMES.match(text, found.end())
    times = _SCALE.get((scale[1] or "").lower()) if scale is not None else None
    return values if times is None else [*values, *_finite(value * times for value in values)]


def _bare(own: str) -> list[float]:
    values = []
    for reading in readings(own):
        with suppress(ValueError):  # 1.2.3, a version
            values.append(float(reading))
    return _finite(values)


def _finite(values: Iterable[float]) -> list[float]:
    """Without those of hundreds of digits, which are no numbers to compute with."""
    return [value for value in values if math.isfinite(value)]


def _unit_of(value: float, written: str) -> float:
    """What the last digit that is not 0 counts: 1,200 is exact to hundreds, 3.4 to tenths."""
    digits = f"{value:.12g}"
    if "e" in digits:
        return abs(value) * 1e-3
    whole, _, rest = digits.partition(".")
    if rest or (len(written) > len(whole) and "." in written):
        return 10.0 ** -max(len(rest), 1)
    return 10.0 ** min(len(whole) - len(whole.rstrip("0")), len(whole) - 1)


def _spelled(words: str) -> float | None:
    """The value of English number words; None for "and" alone.

    >>> _spelled("two hundred and five"), _spelled("twenty-five thousand"), _spelled("and ")
    (205.0, 25000.0, None)
    """
    total, group, any_ = 0.0, 0.0, False
    for word in re.findall(r"[a-z]+", words.lower()):
        if word in _SMALL:
            group, any_ = group + _SMALL[word], True
        elif word == "hundred" and any_:
            group *= 100
        elif word in _SCALE and any_ and word not in ("m", "k"):
            total, group = total + (group or 1) * _SCALE[word], 0.0
    return total + group if any_ and math.isfinite(total + group) else None
