"""Options that are lists of whole numbers, checked before anything is measured."""

from __future__ import annotations

from operator import index
from typing import Any

from rag_titan.errors import SettingsError
from rag_titan.evaluation.limits import listed


def whole_numbers(name: str, given: Any, least: int) -> list[int]:
    """The whole numbers of a list, also those of numpy. Raises SettingsError for others and for what is below `least`.

    >>> whole_numbers("overlaps", range(0, 30, 10), 0)
    [0, 10, 20]
    """
    return [_whole(name, value, least) for value in listed(given, name, "whole numbers")]


def _whole(name: str, value: Any, least: int) -> int:
    try:
        number = least - 1 if isinstance(value, bool) else index(value)
    except TypeError:
        number = least - 1
    if number < least:
        raise SettingsError(f"{name}: must be whole numbers from {least}, got {value!r}. Write others.")
    return number
