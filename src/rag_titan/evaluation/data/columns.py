"""A column mapping: where in the records of another system each key of a query stands.

A path is names joined by dots; behind a name `[]` stands for every element of a list and `[0]` for one of them (`[-1]`
for the last); a name that holds a dot or a bracket is written in double quotes. Behind the path of a number a factor
may stand, for another unit: "timing.total_s * 1000".
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from rag_titan.errors import SettingsError, nearest
from rag_titan.evaluation.data.cleaning import cleaners_of, numbers_of
from rag_titan.evaluation.data.notices import Private
from rag_titan.evaluation.data.plain import keys_of, plain, quoted
from rag_titan.evaluation.data.records import Query

_EXAMPLE = 'Write a path such as "docs[].metadata.id".'
_NAME = re.compile(r'\s*(?:"((?:[^"\\]|\\.)*)"|([^."\[\]*]*[^."\[\]*\s]))\s*')
_BRACKET = re.compile(r"\[(-?\d{1,9}|)\]\s*")
_FACTOR = re.compile(r"\*\s*(\d+(?:\.\d*)?(?:[eE][+-]?\d{1,3})?)\s*$")
_KEPT = "columns: read as they are, as their paths are in no record and keys of these names are: {keys}."
_NOT_USED = "columns: the mapping was not used, as its paths are in no record, and keys of the format are: {keys}."
_TABLE = "tags"  # the key whose entries may each have a path


@dataclass(frozen=True)
class Each:
    """The step `[]`: into every element of a list."""


@dataclass(frozen=True)
class SourcePath:
    """A path into a record, read.

    text    as it was written
    steps   names, indexes, and Each for `[]`
    factor  what a number at its end is multiplied with

    >>> path = SourcePath.of("docs[].ids[]")
    >>> path.value({"docs": [{"ids": [1, 2]}, {"ids": []}, {"ids": [3]}]})
    [1, 2, 3]
    >>> path.value({"docs": []}), path.value({"answer": "no documents logged"})
    ([], None)
    """

    text: str
    steps: tuple[str | int | Each, ...]
    factor: float | None = None

    @classmethod
    def of(cls, text: str, where: str = "columns") -> SourcePath:
        """The path that a text spells; raises SettingsError where it is none."""
        steps, at = _steps(text, where)
        factor = _FACTOR.match(text, at)
        if at < len(text) and factor is None:
            raise _no_path(where, text, at)
        return cls(text.strip(), tuple(steps), float(factor[1]) if factor else None)

    def value(self, record: Mapping[str, Any]) -> Any:
        """What stands there; None where the path ends before, or null does.

        An element of a list in which the rest of the path is absent is None, so that what stands behind it keeps its
        place; a list without any other element is absent itself.
        """
        value = _walk(record, self.steps)
        return value if self.factor is None else _times(value, self.factor)

    def nearest_keys(self, record: Mapping[str, Any]) -> str:
        """Where the path leaves a record and what is there in its place, for a warning.

        >>> SourcePath.of("docs[].meta.id").nearest_keys({"docs": [{"metadata": {"id": 3}}]})
        'docs[] has the key metadata'
        """
        value: Any = record
        gone = ""
        for step in self.steps:
            value = _opened(value)
            into = value[0] if isinstance(step, Each) and isinstance(value, list) and value else _step(value, step)
            if into is None:
                break
            value, gone = into, gone + _spelled(step, gone)
        value = _opened(value)
        there = f"has {keys_of(value)}" if isinstance(value, dict) else "holds no object"
        return f"{gone or 'the record'} {there}"


def _steps(text: str, where: str) -> tuple[list[str | int | Each], int]:
    """The steps of a path, and where they end."""
    steps: list[str | int | Each] = []
    at = 0
    while True:
        name = _NAME.match(text, at)
        if name is None:
            raise _no_path(where, text, at)
        steps.append(re.sub(r"\\(.)", r"\1", name[1]) if name[1] is not None else name[2])
        at = name.end()
        while bracket := _BRACKET.match(text, at):
            steps.append(int(bracket[1]) if bracket[1] else Each())
            at = bracket.end()
        if text[at : at + 1] != ".":
            return steps, at
        at += 1


def _no_path(where: str, text: str, at: int) -> SettingsError:
    rest = text[at:].strip()
    got = f"got {quoted(text)}, in which {quoted(rest)} is no name" if rest else f"got {quoted(text)}, which ends early"
    return SettingsError(f"{where}: must be a path into a record, {got}. {_EXAMPLE}")


def _walk(value: Any, steps: tuple[str | int | Each, ...]) -> Any:
    for number, step in enumerate(steps):
        if type(value) is dict and type(step) is str:  # nearly always
            value = value.get(step)
        elif isinstance(step, Each):
            return _every(_opened(value), steps[number + 1 :])
        else:
            value = _step(_opened(value), step)
        if value is None:
            return None
    return value


def _step(value: Any, step: str | int | Each) -> Any:
    if isinstance(step, str):
        return value.get(step) if isinstance(value, dict) else None
    if isinstance(step, int) and isinstance(value, list) and -len(value) <= step < len(value):
        return value[step]
    return None


def _every(value: Any, rest: tuple[str | int | Each, ...]) -> list[Any] | None:
    """The values of the rest of the path in every element, one level flatter for each further `[]`."""
    if not isinstance(value, list):
        return None
    found = [_walk(item, rest) for item in value]
    if value and all(item is None for item in found):
        return None
    if any(isinstance(step, Each) for step in rest):
        return [item for items in found for item in (items if isinstance(items, list) else ())]
    return found


def _times(value: Any, factor: float) -> Any:
    """A number, also one that is written as text, times the factor; anything else as it is."""
    value = plain(value)
    if isinstance(value, str):
        try:
            return float(value) * factor if value.isascii() else value
        except ValueError:
            return value
    return value * factor if isinstance(value, int | float) and not isinstance(value, bool) else value


def _opened(value: Any) -> Any:
    """The value that a path goes into: plain, and read where it is a JSON text, as tables hold it."""
    if type(value) in (dict, list):
        return value
    value = plain(value)
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def _spelled(step: str | int | Each, before: str) -> str:
    if isinstance(step, str):
        plainly = _NAME.fullmatch(step)
        name = step if plainly and plainly[2] else json.dumps(step, ensure_ascii=False)
        return f".{name}" if before else name
    return f"[{step}]" if isinstance(step, int) else "[]"


@dataclass(frozen=True)
class Columns:
    """Which keys of a query come from which paths.

    paths  {key: path}
    tags   {tag: path}
    off    keys of the records that are not what the format calls so, and are not read

    A record keeps the keys that the mapping says nothing of, but for those that its paths go through.

    >>> columns = Columns.of({"id": "request.id", "retrieved_ids": "docs[].id", "latency_ms": "seconds * 1000"})
    >>> columns.record({"request": {"id": 7}, "docs": [{"id": "c2"}], "seconds": 0.5, "answer": "yes"})
    {'answer': 'yes', 'id': 7, 'retrieved_ids': ['c2'], 'latency_ms': 500.0}
    >>> Columns.of({"retrieved_id": "docs[].id"})
    Traceback (most recent call last):
    rag_titan.errors.SettingsError: columns: unknown key 'retrieved_id'; the nearest is 'retrieved_ids'.
    """

    paths: Mapping[str, SourcePath] = field(default_factory=dict)
    tags: Mapping[str, SourcePath] = field(default_factory=dict)
    off: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        """What was not read by `of` is no mapping of read paths."""
        for name, part in (("paths", self.paths), ("tags", self.tags)):
            if not isinstance(part, Mapping) or not all(isinstance(path, SourcePath) for path in part.values()):
                raise SettingsError(f"columns.{name}: must be {{key: SourcePath}}, got {part!r:.60}. Use Columns.of.")
        if not isinstance(self.off, frozenset):
            raise SettingsError(f"columns.off: must be a frozenset of keys, got {self.off!r:.60}. Use Columns.of.")

    @classmethod
    def of(cls, mapping: Mapping[str, Any] | Columns | None, where: str = "columns") -> Columns:
        """From {key of a query: path}; `false` for a path leaves the key of that name unread; `tags` may be a table of
        paths. Raises SettingsError for a key that no query has, and for what is no path."""
        if mapping is None or isinstance(mapping, Columns):
            return mapping or cls()
        if not isinstance(mapping, Mapping):
            raise SettingsError(f"{where}: must be a table {{key: path}}, got {mapping!r:.60}.")
        paths, tags, off = {}, {}, set()
        for key, path in mapping.items():
            if key not in cleaners_of(Query):
                raise SettingsError(f"{where}: unknown key {key!r}{nearest(str(key), cleaners_of(Query))}.")
            if path is False:
                off.add(key)
            elif key == _TABLE and isinstance(path, Mapping):
                tags = {str(tag): _path(part, f"{where}.{key}.{tag}") for tag, part in path.items()}
            else:
                paths[key] = _path(path, f"{where}.{key}")
                _check_factor(paths[key], key, f"{where}.{key}")
        return cls(paths, tags, frozenset(off))

    @cached_property
    def _left(self) -> frozenset[str]:
        """The keys of a record that are not kept as they are."""
        roots = {str(path.steps[0]) for path in (*self.paths.values(), *self.tags.values())}
        return frozenset({*roots, *self.paths, *self.off, *([_TABLE] if self.tags else ())})

    def record(self, source: Mapping[str, Any]) -> dict[str, Any]:
        """The record under the names of the format."""
        kept = {key: value for key, value in source.items() if key not in self._left}
        found = ((key, path.value(source)) for key, path in self.paths.items())
        kept.update((key, value) for key, value in found if value is not None)
        tags = {tag: value for tag, path in self.tags.items() if (value := path.value(source)) is not None}
        return {**kept, _TABLE: tags} if tags else kept

    def fitted(self, records: Iterable[Mapping[str, Any]]) -> tuple[Columns, str | None]:
        """The mapping as it is for these records, all of one source, and what there is to say about it.

        A key is not mapped where its path is absent in every record while the key itself is there, as in files that
        have the names of the format already. Where no path at all leads anywhere that is no key of the format, nothing
        is mapped. Reads no further than to the record that has the last of the paths.

        >>> columns = Columns.of({"answer": "output.text", "error": False})
        >>> columns.fitted([{"id": "q1", "answer": "25 days"}])[0] == Columns()
        True
        >>> columns.fitted([{"id": "q1", "answer": "no"}, {"output": {"text": "yes"}}])[0] == columns
        True
        """
        there: set[str] = set()
        absent = {("", key): path for key, path in self.paths.items()}
        absent |= {(_TABLE, tag): path for tag, path in self.tags.items()}
        foreign = False
        for record in records if absent else ():
            there.update(key for key in self.paths if record.get(key) is not None)
            for name in [name for name, path in absent.items() if path.value(record) is not None]:
                foreign |= str(absent.pop(name).steps[0]) not in cleaners_of(Query)
            if not absent:
                break
        kept = sorted(key for key in there if ("", key) in absent)
        if not kept:
            return self, None
        if not foreign:
            return Columns(), _NOT_USED.format(keys=", ".join(kept))
        paths = {key: path for key, path in self.paths.items() if key not in kept}
        return replace(self, paths=paths), _KEPT.format(keys=", ".join(kept))

    def renamed(self, where: str, record: str) -> str:
        """The place of an error inside a record (whose name is `record`) with the path that the value came from.

        >>> Columns.of({"answer": "output.text"}).renamed("line 3: answer", "line 3")
        'line 3: answer (output.text)'
        """
        inside = where.removeprefix(record)
        start = re.match(r"(?:: |\.)?(\w+)", inside)
        path = self.paths.get(start[1]) if start else None
        if start is None or path is None:
            return where
        return f"{record}{start[0]} ({path.text}){inside[start.end() :]}"

    def absent(self, found: set[str], missed: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, Private]]:
        """A sentence about each path that led nowhere in any record.

        found   the keys that had a value somewhere; an empty list may come from a path that is right only by half
        missed  {key: the first record that did not have it}
        """
        for key, example in missed.items():
            if key not in found:
                text = quoted(self.paths[key].text)
                there = self.paths[key].nearest_keys(example)
                said = f"columns: {key} was not given, as {text} is in no record; in the first, {there}."
                yield said, Private(f"columns: {key} was not given, as its path is in no record.")


def _path(value: Any, where: str) -> SourcePath:
    if not isinstance(value, str):
        raise SettingsError(f"{where}: must be a path, got {value!r:.60}. {_EXAMPLE}")
    return SourcePath.of(value, where)


def _check_factor(path: SourcePath, key: str, where: str) -> None:
    if path.factor is None:
        return
    if key not in numbers_of(Query):
        raise SettingsError(f"{where}: must be a path without a factor, as {key} is no number, got {path.text!r}.")
    if not 0 < path.factor < math.inf:
        raise SettingsError(f"{where}: must have a factor above 0, got {path.text!r}.")
