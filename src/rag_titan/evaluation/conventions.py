"""The choices that the field argues about, as one object with presets; every report says which were used."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Literal, get_args, get_type_hints

from rag_titan.errors import SettingsError, nearest

Tokenizer = Callable[[str], "list[tuple[int, int]]"]


@dataclass(frozen=True)
class Conventions:
    """How the metrics are defined where tools differ.

    gain              nDCG gain of grade g: "exponential" 2^g - 1 (metrics.txt) or "linear" g (trec_eval)
    ap_denominator    average precision divides by "min" of #relevant and K, "relevant" (trec_eval) or "retrieved"
                      (the relevant ones in the top K, as Ragas does)
    relevance_level   the lowest grade that counts as relevant in the binary metrics; 0: every grade above 0
    all_topics        a labelled query without `retrieved_ids` counts 0 in the mean (trec_eval -c)
    no_relevant       a labelled query without any relevant chunk is "unmeasured", or "zero" (trec_eval)
    answer_normalization   "squad_unicode" (NFC, SQuAD rules, text of which nothing would be left keeps its articles,
                      scripts without spaces split by character) or "squad" (the official script to the letter)
    strip_citations   citation markers are taken out of the answer before it is scored
    tokenizer         "unicode" (words with their combining marks, one token a character in scripts without spaces),
                      "word" (Python's \\w+), or a callable text -> [(start, end)]

    >>> Conventions().with_changes({"gain": "linear"}).named()
    {'gain': 'linear'}
    """

    gain: Literal["exponential", "linear"] = "exponential"
    ap_denominator: Literal["min", "relevant", "retrieved"] = "min"
    relevance_level: float = 0.0
    all_topics: bool = False
    no_relevant: Literal["unmeasured", "zero"] = "unmeasured"
    answer_normalization: Literal["squad_unicode", "squad"] = "squad_unicode"
    strip_citations: bool = True
    tokenizer: Literal["unicode", "word"] | Tokenizer = "unicode"

    def __post_init__(self) -> None:
        hints = get_type_hints(type(self))
        for name in ("gain", "ap_denominator", "no_relevant", "answer_normalization"):
            allowed, got = get_args(hints[name]), getattr(self, name)
            if got not in allowed:
                raise SettingsError(f"conventions.{name}: must be one of {', '.join(allowed)}, got {got!r}.")
        if not callable(self.tokenizer) and self.tokenizer not in ("unicode", "word"):
            rule = f"must be unicode, word or a callable text -> [(start, end)], got {self.tokenizer!r}."
            raise SettingsError(f"conventions.tokenizer: {rule}")
        for name in ("all_topics", "strip_citations"):
            if not isinstance(getattr(self, name), bool):
                raise SettingsError(f"conventions.{name}: must be true or false, got {getattr(self, name)!r}.")
        level = self.relevance_level
        if isinstance(level, bool) or not isinstance(level, int | float) or not 0 <= level <= sys.float_info.max:
            raise SettingsError(f"conventions.relevance_level: must be a number from 0, got {level!r}.")

    @property
    def relevant_from(self) -> float:
        """The least grade that counts as relevant in the binary metrics, always above 0.

        >>> 0.5 >= Conventions().relevant_from, 0 >= Conventions().relevant_from
        (True, False)
        """
        return self.relevance_level or math.ulp(0.0)

    @property
    def tokenizer_name(self) -> str:
        """The tokenizer as a report names it."""
        if isinstance(self.tokenizer, str):
            return self.tokenizer
        return str(getattr(self.tokenizer, "__qualname__", type(self.tokenizer).__qualname__))

    def as_dict(self) -> dict[str, Any]:
        """Plain values, as they are written into `meta.conventions`."""
        return {**asdict(replace(self, tokenizer="unicode")), "tokenizer": self.tokenizer_name}

    def named(self) -> dict[str, Any]:
        """Only the choices that differ from the default."""
        default = SEED.as_dict()
        return {key: value for key, value in self.as_dict().items() if value != default[key]}

    def with_changes(self, changes: Mapping[str, Any]) -> Conventions:
        """A copy with some choices changed; an unknown name is an error that names the nearest."""
        known = [f.name for f in fields(self)]
        for key in changes:
            if key not in known:
                raise SettingsError(f"conventions: unknown name {key!r}{nearest(key, known)}.")
        return replace(self, **changes)


SEED = Conventions()
PRESETS: dict[str, Conventions] = {
    "seed": SEED,
    "trec_eval": Conventions(gain="linear", ap_denominator="relevant", no_relevant="zero"),
    "squad": Conventions(answer_normalization="squad", strip_citations=False),
}


def conventions_of(given: Any) -> Conventions:
    """A preset's name, a mapping of changes (with an optional `preset`), or the object itself.

    >>> conventions_of("trec_eval").gain
    'linear'
    >>> conventions_of({"preset": "trec_eval", "relevance_level": 2}).named()
    {'gain': 'linear', 'ap_denominator': 'relevant', 'relevance_level': 2, 'no_relevant': 'zero'}
    """
    if given is None:
        return SEED
    if isinstance(given, Conventions):
        return given
    if isinstance(given, str):
        if given not in PRESETS:
            raise SettingsError(f"conventions: unknown preset {given!r}{nearest(given, PRESETS)}.")
        return PRESETS[given]
    if not isinstance(given, Mapping):
        rule = "must be the name of a preset, a mapping of changes or Conventions"
        raise SettingsError(f"conventions: {rule}, got {given!r}. There are {', '.join(PRESETS)}.")
    changes = dict(given)
    base = conventions_of(changes.pop("preset", None))
    return base.with_changes(changes)
