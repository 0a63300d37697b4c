"""Keys that stand twice in one object of a JSON text, of which every fast reader keeps the last without a word.

RFC 8259, section 4: names should be unique, and what becomes of those that are not differs between readers.
"""

from __future__ import annotations

import json
from typing import Any

from rag_titan.evaluation.data.plain import Place, quoted
from rag_titan.evaluation.data.records import Inputs, Query

WRITTEN_BY_HAND = 1 << 20  # bytes; what is larger a program wrote, and Python's parser would take longer than all else

_KNOWN = {*Inputs.__struct_fields__, *Query.__struct_fields__, "questions"}


class _Repeating(dict[str, Any]):
    """An object in which a key stands twice."""

    key = ""


def refuse_repeated(data: bytes, place: Place) -> None:
    """Raises DatasetError where a key stands twice in one object of a JSON text; what is no JSON passes.

    place  what the whole text is called

    >>> refuse_repeated(b'[{"id": 1, "tags": {"a": 1, "a": 2}}]', Place("golden.json"))
    Traceback (most recent call last):
    rag_titan.errors.DatasetError: golden.json[0].tags: must have each key once, got "a" twice. Keep one of them.
    """
    found: list[_Repeating] = []

    def read(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(pairs)
        if len(value) == len(pairs):
            return value
        keys = [key for key, _ in pairs]
        twice = _Repeating(value)
        twice.key = next(key for place, key in enumerate(keys) if key in keys[:place])
        found.append(twice)
        return twice

    try:
        value = json.loads(data.decode("utf-8", "surrogatepass"), object_pairs_hook=read)
    except (ValueError, RecursionError):
        return
    if found:
        at, key = _place_of(value, place) or (place, found[0].key)  # none where it is inside one that was dropped
        raise at.error("must have each key once", f", got {quoted(key)} twice. Keep one of them.")


def _place_of(value: Any, place: Place) -> tuple[Place, str] | None:
    """Where the first such object stands, and its key."""
    if isinstance(value, _Repeating):
        return place, value.key
    if isinstance(value, dict):
        parts = ((part, place.field(key) if key in _KNOWN else place.key(key)) for key, part in value.items())
    elif isinstance(value, list):
        parts = ((part, place.item(i)) for i, part in enumerate(value))
    else:
        return None
    return next(filter(None, (_place_of(part, at) for part, at in parts)), None)
