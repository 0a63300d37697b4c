"""Limits: what an option may be (a weight, a threshold, a list, a switch), the one way of comparing with it, and how a
sentence about it says values and counts."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from rag_titan.errors import SettingsError

SLACK = 1e-9  # far above the rounding of a mean of rates, far below any difference that matters
MOST_COUNTED = 10**15  # far beyond every count of a run, and still exact as a float
_LONGEST_PATH, _LONGEST_NAME = 4096, 255  # bytes, PATH_MAX and NAME_MAX of Linux; other systems have no more
_LONGEST = 60  # characters of a value that an error names

Option = TypeVar("Option")


def below(value: float, minimum: float) -> bool:
    """True where the value is below the minimum by more than rounding.

    >>> 0.9 - 0.88 > 0.02, below(0.88, 0.9 - 0.02), below(0.87, 0.9 - 0.02)
    (True, False, True)
    """
    return value < minimum - SLACK


def above(value: float, maximum: float) -> bool:
    """True where the value is above the maximum by more than rounding.

    >>> above(0.1 + 0.2, 0.3), above(0.31, 0.3)
    (False, True)
    """
    return value > maximum + SLACK


def finite(value: Any) -> float | None:
    """A finite number of any type as a float; None for anything else: None, NaN, infinity, truth values, text.

    >>> finite(0), finite(None), finite(float("nan")), finite(True)
    (0.0, None, None, None)
    """
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        return None
    try:
        number = float(value)
    except OverflowError:  # a whole number of hundreds of digits
        return None
    return number if math.isfinite(number) else None


def number(value: Any, where: str, low: float = -math.inf, high: float = math.inf) -> float:
    """The option `value` as a finite float from `low` to `high`; `where` is its place in the settings.

    Raises SettingsError, also for truth values and for text that holds a number.

    >>> number(-1, "stage_weights.retrieval", low=0)
    Traceback (most recent call last):
    rag_titan.errors.SettingsError: stage_weights.retrieval: must be a finite number from 0, got -1.
    """
    got = finite(value)
    if got is not None and low <= got <= high:
        return got
    span = (f" from {low:g}" if low > -math.inf else "") + (f" to {high:g}" if high < math.inf else "")
    raise SettingsError(f"{where}: must be a finite number{span}, got {said(value)}.")


def listed(value: Any, where: str, of: str) -> list[Any]:
    """The option `value` as a list; a text, bytes, a mapping and what holds nothing are a SettingsError.

    >>> listed("answer_f1", "primary", "metrics")
    Traceback (most recent call last):
    rag_titan.errors.SettingsError: primary: must be a list of metrics, got the text 'answer_f1'. Write ['answer_f1'].
    """
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        got = f"the text {said(value)}. Write [{said(value)}]." if isinstance(value, str) else f"{said(value)}."
        raise SettingsError(f"{where}: must be a list of {of}, got {got}")
    return list(value)


def names(value: Any, where: str, of: str) -> list[str]:
    """The same for names, each a text with something in it.

    >>> names(["language", 5], "by", "tags")
    Traceback (most recent call last):
    rag_titan.errors.SettingsError: by: must be a list of tags, got 5 in it.
    """
    found = listed(value, where, of)
    for name in found:
        if not isinstance(name, str) or not name:
            raise SettingsError(f"{where}: must be a list of {of}, got {said(name)} in it.")
    return found


def mapped(value: Any, where: str, of: str) -> Mapping[Any, Any]:
    """The option `value`, which must be a mapping; SettingsError for anything else.

    >>> mapped([1], "gates", "{stage: {metric: limit}}")
    Traceback (most recent call last):
    rag_titan.errors.SettingsError: gates: must be a mapping {stage: {metric: limit}}, got [1].
    """
    if not isinstance(value, Mapping):
        raise SettingsError(f"{where}: must be a mapping {of}, got {said(value)}.")
    return value


def mapped_or_none(value: Any, where: str, of: str) -> Mapping[Any, Any]:
    """The same; an option that is not given, None, is an empty mapping."""
    return {} if value is None else mapped(value, where, of)


def checked_path(value: Any, where: str) -> Path:
    """The option `value` as a path, which need not lead anywhere, but must be one that a system could have.

    >>> checked_path("a\\0b", "chunks")
    Traceback (most recent call last):
    rag_titan.errors.SettingsError: chunks: must be the path of a file or folder, got 'a\\x00b'.
    """
    if isinstance(value, str | os.PathLike):
        try:
            path = Path(value)
            sizes = [len(os.fsencode(part)) for part in path.parts]
            if "\0" not in str(path) and sum(sizes) < _LONGEST_PATH and max(sizes, default=0) <= _LONGEST_NAME:
                return path
        except (TypeError, UnicodeEncodeError):  # a path of bytes; a lone surrogate
            pass
    raise SettingsError(f"{where}: must be the path of a file or folder, got {said(value)}.")


def switch(value: Any, where: str) -> bool:
    """The option `value`, which must be true or false: a text "no" would otherwise count as a yes.

    >>> switch("no", "redact")
    Traceback (most recent call last):
    rag_titan.errors.SettingsError: redact: must be True or False, got 'no'.
    """
    if not isinstance(value, bool | np.bool_):
        raise SettingsError(f"{where}: must be True or False, got {said(value)}.")
    return bool(value)


def callback(value: Option, where: str) -> Option:
    """The option `value`, which must be a function that is called now and then, or None: found before the work begins.

    >>> callback("yes", "progress")
    Traceback (most recent call last):
    rag_titan.errors.SettingsError: progress: must be a function or None, got 'yes'.
    """
    if value is not None and not callable(value):
        raise SettingsError(f"{where}: must be a function or None, got {said(value)}.")
    return value


def said(value: Any) -> str:
    """A value as an error names it: as Python writes it, on one line and not longer than somebody reads.

    >>> said(5), said("x" * 100)[-5:], said(object())
    ('5', 'xxxx…', 'an object of type object')
    """
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 10**_LONGEST:
        return f"a number of more than {_LONGEST} digits"
    if not isinstance(value, str | bytes | int | float | list | tuple | dict | set | type(None)):
        return f"an object of type {type(value).__name__}"
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # a number of thousands of digits inside
        return f"a {type(value).__name__}"
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def count_text(count: int, noun: str) -> str:
    """A number of things.

    >>> count_text(1, "question"), count_text(1200, "boundary")
    ('1 question', '1,200 boundaries')
    """
    several = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{count:,} {noun if count == 1 else several}"
