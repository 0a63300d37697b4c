"""Which facts a counterfactual test set changes, and for what."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from rag_titan.evaluation.measures.draws import words
from rag_titan.judge.facts import DATES, MODAL, MONTHS, NAMES, NUMBERS, WEEKDAYS, days, facts, starts_sentence

Key = tuple[str, str]

_SYLLABLES = ("ba", "dor", "fen", "gal", "hur", "kel", "lim", "mor", "nas", "pell", "quin", "ros", "tal", "ven", "wick")
_KNOWN = ("Mordor",)  # what the syllables make, and every model has read of
_WORD = re.compile(r"[^\W\d_]+")
_TRIES = 400
_LAST_DAY = 28  # of every month


class Vocabulary:
    """Which facts some texts hold, and which of their capital words are proper names.

    A proper name has its capital letter somewhere inside a sentence, and stands nowhere in small letters.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        self.counts: Counter[Key] = Counter()
        self.days: set[str] = set()
        self._inside: set[str] = set()
        self._small: set[str] = set()
        for text in texts:
            self._add(text)

    def _add(self, text: str) -> None:
        self.days.update(days(text))
        self._small.update(word for word in _WORD.findall(text) if word[0].islower())
        for fact in facts(text):
            self.counts[fact.kind, fact.key] += 1
            if fact.kind == NAMES and not starts_sentence(text, fact.start):
                self._inside.add(fact.key)

    def is_proper(self, name: str) -> bool:
        """True for a proper name, as far as the texts can tell."""
        return name in self._inside and name.lower() not in self._small and name not in _TITLES

    def of(self, text: str, kinds: Sequence[str]) -> Iterator[Key]:
        """The facts of a text that can be changed."""
        for fact in facts(text):
            if fact.kind in kinds and (fact.kind != NAMES or self.is_proper(fact.key)):
                yield fact.kind, fact.key


_TITLES = frozenset(("I", "Mr", "Mrs", "Ms", "Dr", "OK", "Yes", "No", "The"))


def replacements(wanted: Iterable[Key], vocabulary: Vocabulary, seed: int = 0) -> dict[Key, str]:
    """{fact: another one of its kind}, all different, so that it can be undone.

    A number keeps its size: as many digits, the decimals, the zeros at its end. It becomes one that no text has, and so
    does a name. Months change places with each other, and weekdays, all of them, for there are no others. A fact for
    which nothing is left has no entry.
    """
    taken = set(vocabulary.counts)
    found: dict[Key, str] = {}
    for place, key in enumerate(dict.fromkeys(wanted)):
        if key[0] == DATES:
            found |= _turned(key[1], seed)
            continue
        for new in _candidates(key, seed * 1_000_003 + place, vocabulary):
            if (key[0], new) not in taken:
                found[key] = new
                taken.add((key[0], new))
                break
    return {key: new for key, new in found.items() if vocabulary.counts[key]}


def _turned(old: str, seed: int) -> dict[Key, str]:
    """The months, or the weekdays, each with the one so many places later; not May, which can be another word."""
    names = WEEKDAYS if old in WEEKDAYS else tuple(month for month in MONTHS if month != MODAL)
    if old not in names:
        return {}
    step = 1 + int(words(seed, 0, 1)[0]) % (len(names) - 1)
    return {(DATES, name): names[(place + step) % len(names)] for place, name in enumerate(names)}


def _candidates(key: Key, seed: int, vocabulary: Vocabulary) -> Iterator[str]:
    kind, old = key
    if kind == NAMES:
        return _names(old, seed)
    if kind == NUMBERS and old in vocabulary.days:
        first = int(words(seed, 0, 1)[0])
        return (str(1 + (first + step) % _LAST_DAY) for step in range(_LAST_DAY))
    return _numbers(old, seed)


def _numbers(old: str, seed: int) -> Iterator[str]:
    """Numbers of the same form: years become earlier ones, all others have as many digits, or more where these are
    taken. What is below 1 stays there: 0.250 can be read in one way, and 3.250 in two.
    """
    whole, point, decimals = old.lstrip("-").partition(".")
    if not whole.isdigit() or (point and not decimals.isdigit()):
        return
    zeros = len(whole) - len(whole.rstrip("0")) if not point else 0
    drawn = [int(number) for number in words(seed, 0, 2 * _TRIES)]
    for i, number in enumerate(drawn[:_TRIES]):
        size = len(whole) - zeros + (i > _TRIES // 2)
        head = 10 ** (size - 1) + number % (9 * 10 ** (size - 1)) if size else 1 + number % 9
        if not point and len(whole) == 4 and 1500 <= int(whole) <= 2100:
            head, zeros = int(whole) - 1 - number % 60, 0  # not in the future, which would be doubted
        if str(head).endswith("0") and not point:
            continue
        head = 0 if point and not int(whole) else head
        tail = "" if not point else "." + str(1 + drawn[_TRIES + i] % (10 ** len(decimals) - 1)).zfill(len(decimals))
        if not tail.endswith("0"):
            yield f"{head}{'0' * zeros}{tail}"


def _names(old: str, seed: int) -> Iterator[str]:
    """Names that nobody has: two or three syllables, all in capitals where the old one was."""
    drawn = words(seed, 0, 3 * _TRIES)
    for i in range(_TRIES):
        size = 2 + (len(old) > 6) + (i > _TRIES // 2)
        name = "".join(_SYLLABLES[int(number) % len(_SYLLABLES)] for number in drawn[i : i + size]).capitalize()
        if name not in _KNOWN:
            yield name.upper() if old.isupper() else name
