"""What JSON importers share: the value of a file, and those of its records that can be read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from msgspec import Struct

from rag_titan.errors import DatasetError
from rag_titan.evaluation.data.cleaning import build, clean_anything, clean_fields
from rag_titan.evaluation.data.files import File, decoded, read_json
from rag_titan.evaluation.data.notices import Notices
from rag_titan.evaluation.data.plain import Place, plain, shown
from rag_titan.evaluation.importers.json_values import json_records

T = TypeVar("T", bound=Struct)

LEFT_OUT = "records that could not be read were left out: {ids}."
TWICE = "an id that came before was left out with its record: {ids}."


def json_value(path: Path, notices: Notices) -> dict[str, Any] | list[Any]:
    """The object or list in a JSON file, as strict JSON can hold it; raises DatasetError with the place where it is
    neither."""
    file = File(path)
    value, encoded = read_json(file)
    if not isinstance(value, dict | list):
        raise DatasetError(file.name, f"must hold a JSON object or list, got {shown(value)}.")
    if encoded and isinstance(value, list):
        value = [decoded(part, f"{file.name}[{i}]") for i, part in enumerate(value)]
    elif encoded and isinstance(value, dict):
        value = {key: decoded(part, f"{file.name}: {key}") for key, part in value.items()}
    try:
        clean: dict[str, Any] | list[Any] = clean_anything(value, Place(file.name, notices=notices))
    except RecursionError:
        raise DatasetError(file.name, "must not be nested so deep that Python cannot follow.") from None
    return clean


def records_before(error: DatasetError, file: File, notices: Notices) -> Iterator[tuple[str, dict[str, Any]]]:
    """The objects in a JSON list before the place where the file is cut off or broken, each with its place.

    Raises the error about that place where there are none.
    """
    found = False
    for place, record in json_records(file, notices):
        if isinstance(record, dict):
            found = True
            yield f"{file.name} {place}", record
    if not found:
        raise error


def readable(record: type[T], values: Iterable[tuple[str, Any]], notices: Notices) -> Iterator[tuple[str, T]]:
    """The values, each with its place, that are such records; the others are counted and named, other keys left alone.

    Raises DatasetError with the first of them where all break a rule: then it is another kind of file.

    >>> from rag_titan.evaluation.data.records import Claim
    >>> notices = Notices()
    >>> values = [("claims[0]", {"supported": True}), ("claims[1]", "yes")]
    >>> list(readable(Claim, values, notices)), notices.texts()
    ([('claims[0]', Claim(supported=True, text=None))], ['records that could not be read were left out: \
claims[1]: must be an object, got the text "yes".'])
    """
    refused: list[DatasetError] = []
    read = 0
    for where, value in values:
        try:
            place = Place(where, notices=notices)
            kept: T = build(record, clean_fields(record, plain(value), place), place)
        except DatasetError as error:
            refused.append(error)
            continue
        read += 1
        yield where, kept
    if refused and not read:
        raise refused[0]
    notices.add(LEFT_OUT, [str(error).removesuffix(".") for error in refused])


def items_of(value: Any, name: str, rule: str) -> Iterator[tuple[str, Any]]:
    """The elements of a list, each with its place; raises DatasetError where it is none or has none."""
    if not isinstance(value, list) or not value:
        raise DatasetError(name, f"{rule}, got {'an empty list' if value == [] else shown(value)}.")
    return ((f"{name}[{i}]", item) for i, item in enumerate(value))
