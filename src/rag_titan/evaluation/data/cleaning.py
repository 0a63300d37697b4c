"""The slow, explaining path: one record of Python values -> a clean one, or exactly what is wrong with it and where.

The rules come from the annotations in `records.py`: for each there is one cleaner, a function of a value and its place.
Clean means: ids are text, numbers are plain Python numbers, every text can be written as UTF-8.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from msgspec import NODEFAULT, UNSET, Meta, Struct
from msgspec.structs import fields

from rag_titan.evaluation.data.notices import Private
from rag_titan.evaluation.data.plain import PLAIN, SHOWN, Place, keys_of, plain, quoted, shown, without_surrogates
from rag_titan.evaluation.data.records import EXACT, GRADE, ID, SLICE

NEAR_KEY = "the key {key!r} is not known and was not read; did you mean {near!r}? It stands in {{ids}}."
_SURROGATES = "a lone surrogate (half of a character) was replaced by U+FFFD in {ids}."

Clean = Callable[[Any, Place], Any]


@cache
def cleaners_of(record: type[Struct]) -> dict[str, Clean]:
    """{key: its cleaner} for each key of a record type."""
    hints = get_type_hints(record, include_extras=True)
    return {name: _cleaner(hints[name]) for name in record.__struct_fields__}


@cache
def numbers_of(record: type[Struct]) -> frozenset[str]:
    """The keys of a record type that hold a number, or may."""
    hints = get_type_hints(record)
    return frozenset(name for name, hint in hints.items() if float in (hint, *get_args(hint)))


@cache
def _required_of(record: type[Struct]) -> tuple[str, ...]:
    return tuple(field.name for field in fields(record) if field.default is NODEFAULT)


def clean_record(record: type[Struct], value: Any, place: Place) -> Any:
    """A record of that type; an unknown key is left out, and noticed when it is near a known one.

    Raises DatasetError with the place that breaks a rule.

    >>> from rag_titan.evaluation.data.records import Claim
    >>> clean_record(Claim, {"supported": True, "text": None}, Place("claims[0]"))
    Claim(supported=True, text=None)
    >>> clean_record(Claim, {"suported": True}, Place("claim"))
    Traceback (most recent call last):
    rag_titan.errors.DatasetError: claim.supported: must be given; the object has the key suported. Add "supported".
    """
    value = plain(value)
    kept = clean_fields(record, value, place)
    for key in value.keys() - cleaners_of(record).keys():
        near = near_name(key, cleaners_of(record))
        if near is not None:
            place.notices.add(NEAR_KEY.format(key=key, near=near), [place.where], unknown_key(key, near))
    return build(record, kept, place)


def unknown_key(key: Any, near: str) -> Private:
    """The notice about an unknown key without the key."""
    return Private(NEAR_KEY.replace("{key!r}", "{{text}}").format(near=near), str(key))


def clean_fields(record: type[Struct], value: Any, place: Place) -> dict[str, Any]:
    """{key: clean value} of the known keys that are given; None, and NaN where no number belongs, is not given."""
    if not isinstance(value, dict):
        raise place.error("must be an object", f", got {shown(value)}.")
    cleaners = cleaners_of(record)
    kept = {}
    for key, item in value.items():
        if key in cleaners and item is not None and item is not UNSET and not _empty_cell(item, record, key):
            kept[key] = cleaners[key](item, place.field(key))
    for name in _required_of(record):
        if name not in kept:
            got = "got null" if name in value else f'the object has {keys_of(value)}. Add "{name}"'
            raise place.field(name).error("must be given", f"; {got}.")
    return kept


def build(record: type[Struct], kept: dict[str, Any], place: Place) -> Any:
    """The record of clean values; what the type itself demands of them is an error with the place."""
    try:
        return record(**kept)
    except ValueError as rule:
        must, got, came = str(rule).partition(", got ")
        raise place.error(must, f"{got}{came}.") from None


def _empty_cell(value: Any, record: type[Struct], key: str) -> bool:
    """True for the NaN that pandas writes where a text or a list is missing; a number may be NaN."""
    return isinstance(value, float) and math.isnan(value) and key not in numbers_of(record)


def near_name(key: Any, known: Iterable[str]) -> str | None:
    """The known name that an unknown key was probably meant to be, if there is one.

    >>> near_name("expected_chunk_id", ["id", "expected_chunk_ids"]), near_name("user_agent", ["id", "answer"])
    ('expected_chunk_ids', None)
    """
    normal = str(key).strip().lower().replace("-", "_").replace(" ", "_")
    return next(iter(get_close_matches(normal, list(known), n=1, cutoff=0.8)), None)


# --- one cleaner for each kind of annotation ------------------------------------------------------


def _cleaner(annotation: Any, meta: Meta | None = None) -> Clean:
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _cleaner(args[0], args[1] if args[1].extra or args[1].ge is not None else meta)
    if origin in (Union, UnionType):
        return _any_of([arg for arg in args if arg is not NoneType], optional=NoneType in args)
    if origin is list:
        return _list_of(args[0])
    if origin is dict:
        return _mapping_of(_cleaner(args[1]), ids=get_origin(args[0]) is Annotated)
    if origin is tuple:
        return _tuple_of([_cleaner(arg) for arg in args])
    if origin is Literal:
        return _one_of(args)
    if annotation is Any:
        return clean_anything
    if isinstance(annotation, type) and issubclass(annotation, Struct):
        return lambda value, place: clean_record(annotation, value, place)
    return _cleaner_of_scalar(annotation, meta)


def _cleaner_of_scalar(annotation: Any, meta: Meta | None) -> Clean:
    role = (meta.extra or {}).get("role") if meta is not None else None
    least = meta.ge if meta is not None else None
    if annotation is str:
        return clean_id if role == ID else _text
    if annotation is float:
        return _grade if role == GRADE else _slice if role == SLICE else _number_from(least)
    if annotation is int:
        return _whole_from(least) if meta is not None else _slice_of_whole
    return _flag


def _text(value: Any, place: Place) -> str:
    if type(value) is not str:
        value = plain(value)
        if not isinstance(value, str):
            write = f" Write {quoted(str(value))}." if type(value) in (int, float) else ""
            raise place.error("must be text", f", got {shown(value)}.{write}")
    return value if value.isascii() else _encodable(value, place)


def _encodable(text: str, place: Place) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        place.notices.add(_SURROGATES, [place.where], Private(ids=True))  # keys of metadata may be part of a place
        return without_surrogates(text)
    return text


def clean_id(value: Any, place: Place) -> str:
    """An id as text. A whole number means the same as its digits, also as the float that pandas makes of it.

    >>> [clean_id(x, Place("id")) for x in (7, "7", 7.0)]
    ['7', '7', '7']
    """
    value = plain(value)
    kind = type(value)
    if kind is str and value:
        return value if value.isascii() else _encodable(value, place)
    if kind is int and abs(value) < 10**SHOWN:
        return str(value)
    if kind is float and value.is_integer() and abs(value) < EXACT:
        return str(int(value))
    if value == "":
        raise place.error("must be an id (text or whole number), got an empty text. Remove it, or write the id.")
    end = " Remove it." if value is None else " Write it as text." if kind in (int, float) else ""
    raise place.error("must be an id (text or whole number)", f", got {shown(value)}.{end}")


def _one_of(words: tuple[str, ...]) -> Clean:
    def clean(value: Any, place: Place) -> str:
        if value not in words:
            raise place.error(f"must be one of {', '.join(words)}", f", got {shown(plain(value))}.")
        return str(value)

    return clean


def _as_float(value: Any, place: Place, rule: str = "a number") -> float:
    value = plain(value)
    if type(value) not in (int, float):
        write = f" Write {value} without quotes." if isinstance(value, str) and _reads_as_number(value) else ""
        raise place.error(f"must be {rule}", f", got {shown(value)}.{write}")
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _reads_as_number(text: str) -> bool:
    try:
        return len(text) <= SHOWN and text.isascii() and math.isfinite(float(text))
    except ValueError:
        return False


def _grade(value: Any, place: Place) -> float:
    grade = _as_float(value, place)
    if not math.isfinite(grade):
        raise place.error("must be a finite number", f", got {shown(grade)}. Write the grade, or leave the id out.")
    return grade


def _slice(value: Any, place: Place) -> float | None:
    number = _as_float(value, place)
    return number if math.isfinite(number) else None


def _number_from(least: float | None) -> Clean:
    def clean(value: Any, place: Place) -> float:
        number = _as_float(value, place)
        if least is not None and not least <= number < math.inf:
            raise place.error(f"must be a number from {least:g}", f", got {shown(value)}.")
        return number

    return clean


def _whole_from(least: float | None) -> Clean:
    rule = "a whole number" if least is None or least < 0 else f"a whole number from {least:g}"

    def clean(value: Any, place: Place) -> int:
        number = _as_float(value, place, rule)
        if not number.is_integer() or abs(number) > EXACT or (least is not None and number < least):
            raise place.error(f"must be {rule}", f", got {shown(value)}.")
        return int(number)

    return clean


def _slice_of_whole(value: int, place: Place) -> int:
    if abs(value) >= 10**SHOWN:
        raise place.error(f"must be a number of at most {SHOWN} digits, got more.")
    return value


def _flag(value: Any, place: Place) -> bool:
    value = plain(value)
    if type(value) is not bool:
        raise place.error("must be true or false", f", got {shown(value)}.")
    return value


def clean_anything(value: Any, place: Place) -> Any:
    """Any value as strict JSON can hold it: NaN and infinities as None, unknown objects as their text."""
    value = plain(value)
    kind = type(value)
    if kind is str:
        return _text(value, place)
    if kind is float:
        return value if math.isfinite(value) else None
    if kind is list:
        return [clean_anything(item, place) for item in value]
    if kind is dict:
        return {_text(str(key), place): clean_anything(item, place) for key, item in value.items()}
    return value if kind in PLAIN else _text(str(value), place)


def _as_list(value: Any, place: Place) -> list[Any]:
    value = plain(value)
    if type(value) is list:
        return value
    write = "; write [{...}]" if isinstance(value, dict) else ""
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        write = f"; write [{quoted(value) if isinstance(value, str) else shown(value).removeprefix('the number ')}]"
    raise place.error("must be a list", f", got {shown(value)}{write}.")


def _list_of(annotation: Any) -> Clean:
    item = _cleaner(annotation)
    holds_texts = str in (annotation, *get_args(annotation))
    holds_ids = item is clean_id

    def clean(value: Any, place: Place) -> list[Any]:
        value = _as_list(value, place)
        kinds = set(map(type, value))
        if kinds == {str} and holds_texts and "".join(value).isascii() and not (holds_ids and "" in value):
            return list(value)
        if kinds == {int} and holds_ids and min(value) > -EXACT and max(value) < EXACT:
            return list(map(str, value))
        return [item(v, place.item(i)) for i, v in enumerate(value)]

    return clean


def _tuple_of(items: list[Clean]) -> Clean:
    def clean(value: Any, place: Place) -> tuple[Any, ...]:
        value = _as_list(value, place)
        if len(value) != len(items):
            raise place.error(f"must have {len(items)} elements", f", got {len(value)}.")
        return tuple(item(v, place.item(i)) for i, (item, v) in enumerate(zip(items, value, strict=True)))

    return clean


def _mapping_of(item: Clean, ids: bool) -> Clean:
    def clean(value: Any, place: Place) -> dict[str, Any]:
        value = plain(value)
        if not isinstance(value, dict):
            raise place.error("must be an object", f", got {shown(value)}.")
        if item is _grade and _all_plain(value):
            return dict(zip(value, map(float, value.values()), strict=True))
        kept: dict[str, Any] = {}
        for key, v in value.items():
            name = clean_id(key, place.key(key)) if ids or key != "" else ""  # a tag may have any name
            if name in kept:
                raise place.key(name).error("must stand there once; the whole number and the text are the same id.")
            kept[name] = item(v, place.key(name))
        return kept

    return clean


def _all_plain(grades: dict[Any, Any]) -> bool:
    """True when nothing has to be said about any of the grades, as nearly always."""
    kinds = set(map(type, grades.values()))
    if set(map(type, grades)) != {str} or "" in grades or not kinds <= {int, float} or not "".join(grades).isascii():
        return False
    return all(-EXACT < grade < EXACT for grade in grades.values())


_WORDS = {str: "text", bool: "true or false", int: "a number", float: "a number", list: "a list", dict: "an object"}


def _any_of(annotations: list[Any], optional: bool) -> Clean:
    """A union: which of its cleaners is asked depends on the kind of the value alone."""
    by_kind: dict[type, Clean] = {}
    for annotation in annotations:
        by_kind[_kind(annotation)] = _cleaner(annotation)
    if float in by_kind:
        by_kind.setdefault(int, by_kind[float])
    only = _cleaner(annotations[0]) if len(annotations) == 1 else None
    words = " or ".join(dict.fromkeys(_WORDS[kind] for kind in by_kind))

    def clean(value: Any, place: Place) -> Any:
        value = plain(value)
        if value is None and optional:
            return None
        chosen = only or by_kind.get(type(value))
        if chosen is None:
            raise place.error(f"must be {words}", f", got {shown(value)}.")
        return chosen(value, place)

    return clean


def _kind(annotation: Any) -> Any:
    base = get_args(annotation)[0] if get_origin(annotation) is Annotated else annotation
    base = get_origin(base) or base
    if isinstance(base, type) and issubclass(base, Struct):
        return dict
    return {tuple: list, Literal: str}.get(base, base)
