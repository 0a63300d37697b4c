"""Numbers in texts, compared by value, and the tokens that required facts are matched on.

A number is a run of digits of any script with the separators between them and the % behind them; "-" is its sign only
at the start of the text or after white space (DESIGN: "Facts and numbers").
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import cache, partial

import numpy as np

from rag_titan.evaluation.conventions import Tokenizer
from rag_titan.evaluation.data.edits import Edits
from rag_titan.evaluation.data.tokens import Split, normal, token_spans
from rag_titan.evaluation.measures.ragged import Ints

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
def _loose_percent() -> re.Pattern[str]:
    return re.compile(rf"(?<=\d)\s+(?=[{_PERCENT}](?!\w))")


def join_percent(text: str) -> str:
    """The text with "20 %" written "20%", so that no number reaches over white space.

    >>> join_percent("20 % of 5")
    '20% of 5'
    """
    return _loose_percent().sub("", text) if _may_have_loose_percent(text) else text


def _may_have_loose_percent(text: str) -> bool:
    return " %" in text or not (text.isascii() or not any(f" {sign}" in text for sign in _PERCENT))


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
    return _find_numbers(text, reading)[0]


def written(text: str) -> list[str]:
    """The same numbers as the text writes them.

    >>> written("-5 of 1,000 (2.5%)")
    ['-5', '1,000', '2.5%']
    """
    return [m[0] for m in _number().finditer(text)]


def number_spans(text: str) -> list[Span]:
    """The characters [start, end) of the numbers that `join_percent` of the text has, in the text itself.

    >>> text = "20 % of 5"
    >>> [text[start:end] for start, end in number_spans(text)]
    ['20 %', '5']
    """
    found = np.array([m.span() for m in _number().finditer(join_percent(text))], dtype=np.int64).reshape(-1, 2)
    loose = _loose_percent().finditer(text) if _may_have_loose_percent(text) else ()
    edits = Edits.of([m.span() for m in loose], kept=0)
    starts, ends = edits.original(found[:, 0]), edits.original(found[:, 1] - 1) + 1
    return list(zip(starts.tolist(), ends.tolist(), strict=True))


def fact_tokens(text: str, reading: int = 0, tokenizer: str | Tokenizer = "unicode") -> list[str]:
    """The tokens that facts are matched on: words, and numbers by value; what a number touches is one token with it.

    >>> fact_tokens("3.5 days, 3.5km, 20%")
    ['3.5', 'days', '3.5km', '20', '%']
    """
    return _find_facts(text, reading, tokenizer)[0]


def _find_numbers(text: str, reading: int) -> tuple[list[str], Ints]:
    found = list(_number().finditer(text))
    tokens = [_reading(m, reading) + ("%" if m["percent"] else "") for m in found]
    return tokens, np.array([m.start() for m in found], dtype=np.int64)


def _find_facts(text: str, reading: int, tokenizer: str | Tokenizer) -> tuple[list[str], Ints]:
    found = {match.span("digits"): match for match in _number().finditer(text)}
    starts, ends = token_spans(text, tokenizer)
    tokens: list[tuple[str, int]] = []
    for start, end in _merged(sorted([*zip(starts.tolist(), ends.tolist(), strict=True), *found])):
        match = found.get((start, end))
        tokens.append((normal(text[start:end]) if match is None else _reading(match, reading), start))
        if match is not None and match["percent"]:
            tokens.append(("%", start))
    return [token for token, _ in tokens], np.array([start for _, start in tokens], dtype=np.int64)


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


NUMBERS = (Split(partial(_find_numbers, reading=0)), Split(partial(_find_numbers, reading=1)))


def _fact_splits(tokenizer: str | Tokenizer, by_piece: bool) -> tuple[Split, Split]:
    one, other = (partial(_find_facts, reading=reading, tokenizer=tokenizer) for reading in (0, 1))
    return Split(one, by_piece), Split(other, by_piece)


_FACTS = {name: _fact_splits(name, by_piece=True) for name in ("unicode", "word")}


def facts(tokenizer: str | Tokenizer = "unicode") -> tuple[Split, Split]:
    """How facts, and answers that they are looked for in, are cut: in each of the two readings of their numbers."""
    return _FACTS[tokenizer] if isinstance(tokenizer, str) else _fact_splits(tokenizer, by_piece=False)
