"""Numbers in texts, compared by value, and the tokens that required facts are matched on.

A number is a run of digits of any script with the separators between them and the % behind them; "-" is its sign only
at the start of the text or after white space (DESIGN: "Facts and numbers").
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache, partial

from rag_titan.evaluation.conventions import Tokenizer
from rag_titan.evaluation.data.tokens import Split, normal, token_spans, words

Span = tuple[int, int]

_POINTS, _COMMAS = ".\u066b", ",\u066c"  # with the Arabic decimal and thousands separators
_THIN = "\u00a0\u2009\u202f"  # spaces that do not break a line
_GROUPING = "'’" + _THIN  # these only ever part groups of three
_PERCENT = "%\u066a\uff05"
_MINUS = "-\u2212"


@cache
def _number() -> re.Pattern[str]:
    separated = rf"[{_POINTS}{_COMMAS}]\d+|[{_GROUPING}]\d{{3}}(?!\d)"
    return re.compile(
        rf"(?P<sign>(?<!\S)[{_MINUS}])?(?P<digits>\d+(?:{separated})*)(?P<percent>[{_THIN}]?[{_PERCENT}])?"
    )


@cache
def _digit() -> re.Pattern[str]:
    return re.compile(r"\d")


@cache
def _loose_percent() -> re.Pattern[str]:
    return re.compile(rf"(?<=\d)\s+(?=[{_PERCENT}](?!\w))")


def join_percent(text: str) -> str:
    """The text with "20 %" written "20%", so that no number reaches over white space.

    >>> join_percent("20 % of 5")
    '20% of 5'
    """
    return _loose_percent().sub("", text) if any(f" {sign}" in text for sign in _PERCENT) else text


def readings(digits: str) -> tuple[str, ...]:
    """The values that digits with separators can have, each written in one way; the text itself where it has none.

    >>> readings("1,000"), readings("3.50"), readings("1.500"), readings("1.000,50"), readings("12.05.2024")
    (('1000',), ('3.5',), ('1.5', '1500'), ('1000.5',), ('12.05.2024',))
    """
    plain = _ascii(digits)
    english = _value(plain, grouping=",", decimal=".")
    other = _value(plain, grouping=".", decimal=",")
    if english is not None and re.fullmatch(r"\d+,000", plain):
        other = None  # nobody writes one as 1,000
    found = tuple(dict.fromkeys(value for value in (english, other) if value is not None))
    return found or (plain,)


def _ascii(digits: str) -> str:
    """ASCII digits, "." and ","; what only parts groups is left out."""
    table = {**dict.fromkeys(map(ord, _GROUPING)), ord(_POINTS[1]): ".", ord(_COMMAS[1]): ","}
    plain = digits.translate(table)
    return plain if plain.isascii() else "".join(str(unicodedata.decimal(c, c)) for c in plain)


def _value(text: str, grouping: str, decimal: str) -> str | None:
    whole, point, rest = text.partition(decimal)
    groups = whole.split(grouping)
    if (point and not rest.isdigit()) or not _grouped(groups):
        return None
    digits, rest = "".join(groups).lstrip("0") or "0", rest.rstrip("0")
    return f"{digits}.{rest}" if rest else digits


def _grouped(groups: list[str]) -> bool:
    """One group; or a head and groups of three; or, as in India, a head, groups of two and a last one of three."""
    head, *middle = groups
    if not middle:
        return True
    sizes = {len(group) for group in middle[:-1]}
    return 0 < len(head) <= 3 and head[0] != "0" and len(middle[-1]) == 3 and sizes in (set(), {3}, {2})


def _reading(match: re.Match[str], reading: int) -> str:
    values = readings(match["digits"])
    value = values[min(reading, len(values) - 1)]
    return f"-{value}" if match["sign"] and value != "0" else value


def numbers(text: str, reading: int = 0) -> list[str]:
    """The numbers of a text by value, each occurrence, in one of the two readings (the same where there is only one).

    >>> numbers("Q3: -5 of 1,000 (2.5%) in 5-7 days, ٣")
    ['3', '-5', '1000', '2.5%', '5', '7', '3']
    """
    return [_reading(m, reading) + ("%" if m["percent"] else "") for m in _number().finditer(text)]


def written(text: str) -> list[str]:
    """The same numbers as the text writes them.

    >>> written("-5 of 1,000 (2.5%)")
    ['-5', '1,000', '2.5%']
    """
    return [m[0] for m in _number().finditer(text)]


def fact_tokens(text: str, reading: int = 0, tokenizer: str | Tokenizer = "unicode") -> list[str]:
    """The tokens that facts are matched on: words, and numbers by value; what a number touches is one token with it.

    >>> fact_tokens("3.5 days, 3.5km, 20%")
    ['3.5', 'days', '3.5km', '20', '%']
    """
    found = {match.span("digits"): match for match in _number().finditer(text)}
    starts, ends = token_spans(text, tokenizer)
    tokens: list[str] = []
    for start, end in _merged(sorted([*zip(starts.tolist(), ends.tolist(), strict=True), *found])):
        match = found.get((start, end))
        tokens.append(normal(text[start:end]) if match is None else _reading(match, reading))
        if match is not None and match["percent"]:
            tokens.append("%")
    return tokens


def _merged(spans: list[Span]) -> Iterator[Span]:
    """Spans in order, those that overlap as one."""
    at = 0
    while at < len(spans):
        start, end = spans[at]
        at += 1
        while at < len(spans) and spans[at][0] < end:
            end = max(end, spans[at][1])
            at += 1
        yield start, end


def _where_digits(split: Split, otherwise: Callable[[list[str]], list[list[str]]]) -> Split:
    """The same split, faster: it looks only at the ASCII pieces that have a digit; the others go to `otherwise`."""

    def at_once(pieces: list[str]) -> list[list[str]]:
        digit = _digit().search
        plain = iter(otherwise([piece for piece in pieces if not digit(piece)]))
        return [split.tokens(piece) if digit(piece) else next(plain) for piece in pieces]

    return replace(split, at_once=at_once)


def _none(pieces: list[str]) -> list[list[str]]:
    return [[] for _ in pieces]


def _number_split(reading: int) -> Split:
    return _where_digits(Split(partial(numbers, reading=reading)), _none)


def _fact_split(tokenizer: str, reading: int) -> Split:
    split = Split(partial(fact_tokens, reading=reading, tokenizer=tokenizer))
    return _where_digits(split, words(tokenizer).of_pieces)


NUMBERS = (_number_split(0), _number_split(1))
_FACTS = {name: (_fact_split(name, 0), _fact_split(name, 1)) for name in ("unicode", "word")}


def facts(tokenizer: str | Tokenizer = "unicode") -> tuple[Split, Split]:
    """How facts, and answers that they are looked for in, are cut: in each of the two readings of their numbers."""
    if isinstance(tokenizer, str):
        return _FACTS[tokenizer]
    one, other = (partial(fact_tokens, reading=reading, tokenizer=tokenizer) for reading in (0, 1))
    return Split(one, by_piece=False), Split(other, by_piece=False)
