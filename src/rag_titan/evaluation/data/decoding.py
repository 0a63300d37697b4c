"""Bytes -> records: msgspec's typed decoder at full speed, and the explaining cleaner for every record that it refuses.

A key that the format does not know is learned when it is first met: from then on records are decoded into a subclass
that has a field for it, so that logs with keys of their own are read as fast as logs without.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from msgspec import UNSET, DecodeError, Raw, Struct, UnsetType, defstruct
from msgspec.json import Decoder
from msgspec.json import decode as decode_json

from rag_titan.errors import HIDDEN, DatasetError
from rag_titan.evaluation.data.cleaning import (
    NEAR_KEY,
    build,
    clean_anything,
    clean_fields,
    cleaners_of,
    near_name,
    unknown_key,
)
from rag_titan.evaluation.data.heads import HeadDecoder
from rag_titan.evaluation.data.malformed import not_json, utf8
from rag_titan.evaluation.data.notices import Notices, Skipped
from rag_titan.evaluation.data.plain import Place, plain, shown
from rag_titan.evaluation.data.records import Chunk, Document, Query

T = TypeVar("T", bound=Struct)

MOST_EXTRAS = 100
_REFUSED = (DecodeError, RecursionError)


@dataclass
class Intake:
    """What one pass over the data leaves behind beside the records.

    skip     leave bad records out instead of stopping at the first
    skipped  those that were left out
    """

    skip: bool = False
    notices: Notices = field(default_factory=Notices)
    skipped: Skipped = field(default_factory=Skipped)


@dataclass(frozen=True)
class RecordKind(Generic[T]):
    """What the records of a file or list are.

    record   their type
    of_text  where a record may be a bare text: what makes a record of it
    keep     keep the values of unknown keys (see `extras`)
    heads    how many of the ids of a ranking are asked for; None: all (see `HeadDecoder`)
    """

    record: type[T]
    of_text: Callable[[str], T] | None = None
    keep: bool = False
    heads: int | None = None


QUERIES = RecordKind(Query, keep=True)
CHUNKS = RecordKind(Chunk, of_text=lambda text: Chunk(text=text))
DOCUMENTS = RecordKind(Document)


class RecordDecoder(Generic[T]):
    """Decodes the records of one pass over one file or list.

    place      the number of a record -> its place
    intake     where notices go, and what to do with a bad record
    next_line  the number of the line after the latest block of `lines`
    """

    def __init__(self, kind: RecordKind[T], place: Callable[[int], Place], intake: Intake) -> None:
        self.record = kind.record
        self.intake = intake
        self.next_line = 1
        self._place = place
        self._of_text = kind.of_text
        self._keep = kind.keep
        self._depth = kind.heads
        self._heads: HeadDecoder[T] | None = None
        self._attributes: dict[str, str] = {}
        self._near: dict[str, str] = {}  # unknown key: the known one that was probably meant
        self._forbid = True
        self._set_type()

    def lines(self, block: bytes, first: int) -> tuple[list[int] | range, list[T]]:
        """The records of a block of whole lines and their numbers; `first` is the number of the first line."""
        self.next_line = first + block.count(b"\n")
        lines = self.next_line - first + (not block.endswith(b"\n"))
        records = self._at_once(block)
        if len(records) == lines:
            return range(first, first + lines), self._finished(records)
        return self.each(block.removesuffix(b"\n").split(b"\n"), first)

    def _at_once(self, block: bytes) -> list[Any]:
        """The records of a block of lines; none where there is a fault in one."""
        records = None if self._heads is None else self._heads.lines(block)
        if records is not None:
            return records
        try:
            records = self._decoder.decode_lines(block)
        except _REFUSED:
            return []
        self._heads = None  # no fault, but how this file is written
        return records

    def each(self, raws: Iterable[bytes | Raw], first: int) -> tuple[list[int], list[T]]:
        """The records of JSON texts, one by one."""
        numbers, records = [], []
        for number, raw in enumerate(raws, first):
            try:
                record: Any = self._decoder.decode(raw)
            except _REFUSED:
                record = self._explained(self._from_json, raw, number)
            if record is not None:
                numbers.append(number)
                records.append(record)
        return numbers, self._finished(records)

    def values(self, values: Iterable[Any], first: int) -> tuple[list[int], list[T]]:
        """The records of Python values."""
        numbers, records = [], []
        for number, value in enumerate(values, first):
            record = self._explained(self._clean, value, number)
            if record is not None:
                numbers.append(number)
                records.append(record)
        return numbers, self._finished(records)

    def _explained(self, clean: Callable[[Any, Place], Any], value: Any, number: int) -> Any:
        """The clean record, or None where it is left out."""
        place = self._place(number)
        try:
            return clean(value, place)
        except RecursionError:
            error = place.error("must not be nested so deep that Python cannot follow. Take out some levels.")
        except DatasetError as broken:
            error = broken
        if not self.intake.skip:
            raise error from None
        self.intake.skipped.add(str(error), place.where)
        return None

    def _from_json(self, raw: bytes | Raw, place: Place) -> Any:
        if isinstance(raw, bytes) and not raw.strip():
            raise place.error(f"must hold {_article(self.record)}, got an empty line. Remove it.")
        try:
            value = decode_json(raw)
        except _REFUSED:
            value = from_json(utf8(bytes(raw), place.where, place.bare), place)
        if isinstance(value, dict) and self._learn(value):
            try:
                return self._decoder.decode(raw)
            except _REFUSED:
                pass
        return self._clean(value, place)

    def _clean(self, value: Any, place: Place) -> Any:
        value = plain(value)
        if self._of_text is not None and isinstance(value, str):
            return self._of_text(clean_anything(value, place))
        if not isinstance(value, dict):
            kinds = "an object" if self._of_text is None else "text or an object"
            raise place.error(f"must be {kinds} ({_article(self.record)})", f", got {shown(value)}.")
        self._learn(value)
        kept = clean_fields(self.record, value, place)
        for key, attribute in self._attributes.items():
            if value.get(key, UNSET) is not UNSET:
                kept[attribute] = clean_anything(value[key], place)
        return build(self.type, kept, place)

    # --- unknown keys -----------------------------------------------------------------------------

    def _learn(self, value: dict[Any, Any]) -> bool:
        """Make room for the unknown keys of a record; True when there were new ones."""
        if not self._forbid:
            return False
        known = cleaners_of(self.record)
        new = [key for key in value if key not in known and key not in self._attributes]
        for key in new:
            if len(self._attributes) == MOST_EXTRAS or not _nameable(key):
                self._forbid = False
                break
            self._attributes[key] = f"extra_{len(self._attributes)}"
            near = near_name(key, known)
            if near is not None:
                self._near[key] = near
        if new:
            self._set_type()
        return bool(new)

    def _set_type(self) -> None:
        places = [(attribute, Raw | UnsetType, UNSET) for attribute in self._attributes.values()]
        self.type: type[T] = self.record
        if places or not self._forbid:
            self.type = defstruct(  # type: ignore[assignment]  # a subclass of T made at run time
                self.record.__name__,
                places,
                bases=(self.record,),
                rename={attribute: key for key, attribute in self._attributes.items()},
                forbid_unknown_fields=self._forbid,
                omit_defaults=True,
                gc=False,
                kw_only=True,
            )
        self._decoder: Decoder[Any] = Decoder(self.type if self._of_text is None else self.type | str)
        if self._depth is not None:
            self._heads = HeadDecoder(self.type, self._depth)

    def _finished(self, records: list[Any]) -> list[T]:
        """The same records, texts made records of, and the unknown keys that need a word noticed."""
        if self._of_text is not None:
            records = [self._of_text(record) if type(record) is str else record for record in records]
        for key, near in self._near.items():
            attribute = self._attributes[key]
            ids = [str(getattr(r, "id", None)) for r in records if getattr(r, attribute, UNSET) is not UNSET]
            self.intake.notices.add(NEAR_KEY.format(key=key, near=near), ids, unknown_key(key, near))
        if not self._forbid:
            self.intake.notices.add(f"more than {MOST_EXTRAS} different unknown keys; the further ones were not read.")
        if not self._keep:
            for attribute in self._attributes.values():
                _forget(records, attribute)
        return records


def _forget(records: list[Any], attribute: str) -> None:
    for record in records:
        if getattr(record, attribute, UNSET) is not UNSET:
            setattr(record, attribute, UNSET)


def _nameable(key: Any) -> bool:
    """True for a key that a record type can have a field for."""
    return isinstance(key, str) and not any(c in '"\\' or c < " " or "\ud800" <= c <= "\udfff" for c in key)


def _article(record: type[Struct]) -> str:
    name = record.__name__.lower()
    return f"an {name}" if name[0] in "aeiou" else f"a {name}"


# --- JSON of which msgspec would have nothing --------------------------------------------------------


def from_json(text: str, place: Place) -> Any:
    """Any JSON that Python writes, NaN, infinities and lone surrogates included; DatasetError says what is wrong."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        line = f" line {error.lineno}" if "\n" in text.strip() else ""
        raise DatasetError(
            f"{place.where}{line}", not_json(text, error), f"{place.bare}: must be JSON{HIDDEN}"
        ) from None
    except ValueError:  # more digits than Python turns into a number
        return json.loads(text, parse_int=_whole)


def _whole(digits: str) -> int | float:
    return int(digits) if len(digits) < 400 else float(digits)


def extras(query: Query) -> dict[str, Any]:
    """The keys of a record that are not keys of the format, in the order in which the file first had them.

    They are decoded here and not before. Such a query may hold on to the block of text it was read from: keep what this
    function returns, not the query.

    >>> extras(Query(id="q1"))
    {}
    """
    kind, known = type(query), len(Query.__struct_fields__)
    if kind is Query:
        return {}
    names = zip(kind.__struct_encode_fields__[known:], kind.__struct_fields__[known:], strict=True)
    given = {key: getattr(query, name) for key, name in names}
    return {
        key: _decoded(value) if isinstance(value, Raw) else value for key, value in given.items() if value is not UNSET
    }


def _decoded(raw: Raw) -> Any:
    try:
        return decode_json(raw)
    except _REFUSED:  # what was passed over unread may be no UTF-8, or a number that no float holds
        text = bytes(raw).decode("utf-8", "replace")
        return clean_anything(json.loads(text, parse_int=_whole), Place("extras"))
