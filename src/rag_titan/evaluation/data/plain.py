"""Plain Python values, the places where they stand, and how an error names both."""

from __future__ import annotations

import json
import math
import numbers
from collections.abc import Mapping
from itertools import islice
from types import NoneType
from typing import Any

from msgspec import Struct

from rag_titan.errors import HIDDEN, DatasetError
from rag_titan.evaluation.data.notices import Notices

SHOWN = 40  # characters of a value that an error shows
PLAIN = frozenset((str, int, float, bool, NoneType, list, dict))
_MISSING = frozenset(("NaTType", "NAType"))  # what pandas writes into a cell without a value


_Part = str | int | tuple[object]  # a name, the number of an element, a key


class Place:
    """A place in the data: knows its name, the names of the places inside it, and where notices go.

    A name is put together when it is asked for, since nearly none ever is.

    >>> Place("queries[3]").field("retrieved_ids").item(2).where
    'queries[3].retrieved_ids[2]'
    >>> print(Place("line 12", ": ").field("id").error("must be text or a whole number, got null."))
    line 12: id: must be text or a whole number, got null.
    """

    __slots__ = ("_above", "_joint", "_part", "notices")

    def __init__(
        self, part: _Part, joint: str = ".", notices: Notices | None = None, above: Place | None = None
    ) -> None:
        self._part = part
        self._joint = joint
        self._above = above
        self.notices = notices if notices is not None else Notices()

    @property
    def where(self) -> str:
        """The name."""
        part = self._part
        if not isinstance(part, str):
            part = f"[{part}]" if isinstance(part, int) else f"[{quoted(str(part[0]))}]"
        return part if self._above is None else self._above.where + part

    def field(self, name: str) -> Place:
        """A key of the object that stands here."""
        return Place(self._joint + name, ".", self.notices, self)

    def item(self, index: int) -> Place:
        """An element, from 0, of the list that stands here."""
        return Place(index, ".", self.notices, self)

    def key(self, key: object) -> Place:
        """An entry of the mapping that stands here."""
        return Place((key,), ".", self.notices, self)

    @property
    def bare(self) -> str:
        """The name without the keys that the data chose.

        >>> Place("line 12", ": ").field("relevance").key("a secret").bare
        'line 12: relevance[...]'
        """
        part = self._part
        if not isinstance(part, str):
            part = f"[{part}]" if isinstance(part, int) else "[...]"
        return part if self._above is None else self._above.bare + part

    def error(self, must: str, came: str = "") -> DatasetError:
        """What to raise when a rule is broken here: what must hold, in which nothing of the data stands, and then what
        came and what to do.

        >>> error = Place("queries[3]").field("tags").key("x").error("must be a number", ', got the text "y".')
        >>> print(error)
        queries[3].tags["x"]: must be a number, got the text "y".
        >>> print(error.redacted)
        queries[3].tags[...]: must be a number, got what --redact hides. Run it without --redact to see it.
        """
        return DatasetError(self.where, must + came, f"{self.bare}: {must}{HIDDEN if came else ''}")


def plain(value: Any) -> Any:
    """numpy values, tuples, sets, dates, decimals, records and subclasses as plain Python values, one level deep.

    What is none of these comes back as it is, for the cleaner to refuse.
    """
    kind = type(value)
    if kind in PLAIN:
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, Struct):
        names = zip(value.__struct_encode_fields__, value.__struct_fields__, strict=True)
        return {key: getattr(value, name) for key, name in names}
    if isinstance(value, Mapping):
        return dict(value)
    if kind.__name__ in _MISSING:
        return None
    return _plain_by_method(value)


def _plain_by_method(value: Any) -> Any:
    for method in ("tolist", "to_pylist", "as_py", "isoformat"):  # numpy, Arrow arrays, Arrow scalars, dates
        if callable(getattr(value, method, None)):
            turned = getattr(value, method)()
            if type(turned) is not type(value):
                return plain(turned)
    if isinstance(value, set | frozenset):
        return sorted(value, key=str)  # a set has no order; a sorted one is the same in every process
    if isinstance(value, numbers.Number) and not isinstance(value, numbers.Complex | int):
        return float(value)  # type: ignore[arg-type]  # a Decimal
    if isinstance(value, int):
        return int(value)
    if isinstance(value, numbers.Real):
        return float(value)
    return list(value) if isinstance(value, tuple | range) else value


def shown(value: Any) -> str:
    """A value as an error names it.

    >>> [shown(v) for v in (None, 3, "c1", [1], {"a": 1}, float("nan"))]
    ['null', 'the number 3', 'the text "c1"', 'a list', 'an object', 'NaN']
    """
    value = plain(value)
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and math.isnan(value):
        return "NaN"
    if isinstance(value, int | float):
        return f"the number {value!r}" if abs(value) < 10**SHOWN else f"a number of more than {SHOWN} digits"
    if isinstance(value, str):
        return f"the text {quoted(value)}"
    if isinstance(value, list | dict):
        return "a list" if isinstance(value, list) else "an object"
    return f"a {type(value).__name__}"


def quoted(text: str) -> str:
    """A text in double quotes as one would write it in JSON, cut when it is long; always printable, on one line.

    >>> print(quoted("a\\u2028\\x7f"))
    "a\\u2028\\u007f"
    """
    return _printable(json.dumps(_short(without_surrogates(text)), ensure_ascii=False))


def _short(text: str) -> str:
    return text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"


def _printable(text: str) -> str:
    """The text with everything that a terminal would not show as JSON escapes."""
    return text if text.isprintable() else "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text)


def keys_of(value: Mapping[Any, Any]) -> str:
    """The keys of a record as an error lists them."""
    keys = [_printable(_short(without_surrogates(str(key)))) for key in islice(value, 8)]
    more = len(value) - len(keys)
    if len(keys) < 2:
        return f"the key {keys[0]}" if keys else "no keys"
    return f"the keys {', '.join(keys)}" + (f" and {more} more" if more else "")


def without_surrogates(text: str) -> str:
    """The same text, pairs of surrogates joined and lone ones replaced by U+FFFD."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
