"""Facts in a text that can be changed for others: numbers, names of months and weekdays, proper names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from rag_titan.evaluation.data.numerals import readings

NUMBERS, DATES, NAMES = "numbers", "dates", "names"
KINDS = (NUMBERS, DATES, NAMES)
MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

MODAL = "May"  # which a sentence may begin with
_LONGEST_MONTH = 31
_GROUP = 3  # digits

_NUMBER = r"(?<![\w.,:/])(?<!\w-)\d+(?:[.,]\d+)*(?![\w:/]|[.,]\d|-[A-Z\d])"
_ISO = r"(?<![\w.,:/-])(?P<year>[12]\d{3})-(?P<month>0[1-9]|1[0-2])-(?P<day>0[1-9]|[12]\d|3[01])(?![\w:/-])"
_MONTH = rf"\b(?:{'|'.join(MONTHS)})\b"
_WEEKDAY = rf"\b(?:{'|'.join(WEEKDAYS)})(?=s?\b)"
_FACT = re.compile(rf"(?P<iso>{_ISO})|(?P<number>{_NUMBER})|(?P<calendar>{_MONTH}|{_WEEKDAY})|(?P<name>[^\W\d_]{{2,}})")
_SENTENCE_BEFORE = re.compile(r"(?:^|[.!?:\n•“\"(]|^[-*#]+)\s*$")
_MONTH_BEFORE = re.compile(r"(?:\d\.?|\b(?:in|of|until|by|since|from|last|next))\s+$")
_DAY_BEHIND = re.compile(r",?\s+\d")


class Fact(NamedTuple):
    """A fact, and where it stands: text[start:end] of some text.

    key    what is the same fact: a number by its value, a month, a weekday, a name as it is written
    width  digits of a part of a date that is written as 2024-05-12, else 0
    """

    kind: str
    key: str
    start: int
    end: int
    width: int = 0


def facts(text: str) -> Iterator[Fact]:
    """The facts of a text in order. A date as 2024-05-12 is a year, a month and a day, each by itself.

    Codes (A4, hr-7), times of day (10:30) and dates with slashes, which can be read in two ways, are none. A name is
    any word with a capital letter; whether it is a proper name only many texts together can tell.

    >>> [(fact.kind, fact.key) for fact in facts("Ada paid 1,000 euros on 2024-05-12, form A4.")]
    [('names', 'Ada'), ('numbers', '1000'), ('numbers', '2024'), ('dates', 'May'), ('numbers', '12')]
    """
    for match in _FACT.finditer(text):
        span, word = match.span(), match[0]
        if match["iso"]:
            yield from _of_date(match)
        elif match["number"]:
            yield from (Fact(NUMBERS, value, *span) for value in _value(word))
        elif match["calendar"]:
            if word != MODAL or _beside_number(text, *span):
                yield Fact(DATES, word, *span)
        elif word[0].isupper():
            yield Fact(NAMES, word, *span)


def _of_date(match: re.Match[str]) -> Iterator[Fact]:
    yield Fact(NUMBERS, match["year"], *match.span("year"))
    yield Fact(DATES, MONTHS[int(match["month"]) - 1], *match.span("month"), width=2)
    yield Fact(NUMBERS, str(int(match["day"])), *match.span("day"), width=2)


def _value(digits: str) -> tuple[str, ...]:
    """The value of a number; none of 1.500, which is two numbers in two languages, and of 007, which is a name."""
    values = readings(digits)
    strange = ("." in digits and len(values) > 1) or (digits[:2].isdigit() and len(digits) > 1 and int(digits[0]) == 0)
    return () if strange else values[:1]


def _beside_number(text: str, start: int, end: int) -> bool:
    """ "May" is a month beside a number, or behind "in" and the like."""
    return bool(_DAY_BEHIND.match(text, end) or _MONTH_BEFORE.search(text[max(start - 12, 0) : start]))


def days(text: str) -> Iterator[str]:
    """The numbers of a text that are days of a month.

    >>> list(days("From 2024-05-12 to 3 June, 25 days"))
    ['12', '3']
    """
    last: Fact | None = None
    for fact in facts(text):
        if fact.kind == NUMBERS and fact.width:
            yield fact.key
        elif last is not None and {fact.kind, last.kind} == {NUMBERS, DATES} and _side_by_side(text, last, fact):
            number = fact if fact.kind == NUMBERS else last
            if number.key.isdigit() and int(number.key) <= _LONGEST_MONTH:
                yield number.key
        last = fact


def _side_by_side(text: str, first: Fact, second: Fact) -> bool:
    return not text[first.end : second.start].strip(". ")


def starts_sentence(text: str, place: int) -> bool:
    """True where a word has its capital letter for its place.

    >>> starts_sentence("Yes. Ada left.", 5), starts_sentence("Then Ada left.", 5)
    (True, False)
    """
    return bool(_SENTENCE_BEFORE.search(text[max(place - 40, 0) : place]))


def written(fact: Fact, original: str, replacement: str) -> str:
    """The replacement in the writing of the original: separators, decimals, digits, a month as two digits.

    >>> written(Fact("numbers", "1000", 0, 5), "1,000", "7300"), written(Fact("dates", "May", 5, 7, 2), "05", "August")
    ('7,300', '08')
    """
    if fact.width and fact.kind == DATES:
        return f"{MONTHS.index(replacement) + 1:02}"
    new = replacement.zfill(fact.width)
    if fact.kind != NUMBERS:
        return new
    zero = ord(original[0]) - int(original[0])  # of the script that the original is written in
    if not original.isdigit():
        new = _separated(original, replacement)
    return new.translate({ord("0") + digit: zero + digit for digit in range(10)})


def _separated(original: str, replacement: str) -> str:
    """A number with the separators that the original has.

    >>> _separated("1.000,50", "7300.2"), _separated("3.50", "8"), _separated("1,000,000", "7000000")
    ('7.300,20', '8.00', '7,000,000')
    """
    *_, last = re.split(r"[.,]", original)
    mark = original[-len(last) - 1]
    groups_only = (mark == "," and len(last) == _GROUP) or original.count(mark) > 1
    whole, _, decimals = replacement.partition(".")
    grouping = mark if groups_only else ("," if mark == "." else ".")
    grouped = f"{int(whole):,}".replace(",", grouping) if groups_only or grouping in original else whole
    return grouped if groups_only else f"{grouped}{mark}{decimals.ljust(len(last), '0')}"


class Rewritten(NamedTuple):
    """A text with other facts; `edits` are (start, end, new length) of what was replaced in the text as it was."""

    text: str
    edits: tuple[tuple[int, int, int], ...]

    def moved(self, place: int) -> int:
        """Where a place of the old text is in the new one; inside of a replaced fact its end."""
        shift = 0
        for start, end, length in self.edits:
            if place <= start:
                break
            if place < end:
                return start + shift + length
            shift += length - (end - start)
        return place + shift


def rewritten(text: str, replacements: Mapping[tuple[str, str], str]) -> Rewritten:
    """The text with each fact replaced that has a replacement: {(kind, key): new key}.

    >>> found = rewritten("25 days, or 25.0", {("numbers", "25"): "61"})
    >>> found.text, found.moved(3)
    ('61 days, or 61.0', 3)
    """
    parts, edits, at = [], [], 0
    for fact in facts(text):
        new = replacements.get((fact.kind, fact.key))
        if new is None:
            continue
        own = written(fact, text[fact.start : fact.end], new)
        parts += [text[at : fact.start], own]
        edits.append((fact.start, fact.end, len(own)))
        at = fact.end
    return Rewritten("".join([*parts, text[at:]]), tuple(edits))
