"""The JSON Schema of a dataset file, derived from the record types."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import inspect, json

from rag_titan.evaluation.data.records import ID, Evidence, Inputs

Schema = dict[str, Any]

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_STRICT = {Evidence.__name__}  # elsewhere unknown keys are kept, and warned about where they are near a known one


def dataset_schema() -> Schema:
    """The schema of a dataset file; `$defs.Query` is that of a line of JSON Lines.

    >>> schema = dataset_schema()
    >>> schema["$defs"]["Query"]["required"], schema["$defs"]["Query"]["properties"]["id"]["type"]
    (['id'], ['string', 'integer'])
    """
    schema = json.schema(Inputs)
    for struct in _structs(inspect.type_info(Inputs)):
        definition = schema["$defs"][struct.cls.__name__]
        if struct.cls.__name__ not in _STRICT:
            definition.pop("additionalProperties", None)
        for field in struct.fields:
            if _is_id(field.type):
                _allow_numbers(definition["properties"][field.encode_name])
    return {"$schema": DIALECT, "title": "A dataset of rag-titan", **schema}


def _inside(kind: inspect.Type) -> list[inspect.Type]:
    """The types that a type is made of; keys of objects are left out, they are text in any JSON."""
    if isinstance(kind, inspect.Metadata):
        return [kind.type]
    if isinstance(kind, inspect.UnionType):
        return list(kind.types)
    if isinstance(kind, inspect.ListType):
        return [kind.item_type]
    return [kind.value_type] if isinstance(kind, inspect.DictType) else []


def _structs(kind: inspect.Type, seen: frozenset[type] = frozenset()) -> Iterator[inspect.StructType]:
    """Every record type that a type refers to."""
    if isinstance(kind, inspect.StructType):
        if kind.cls in seen:
            return
        yield kind
        for field in kind.fields:
            yield from _structs(field.type, seen | {kind.cls})
    for part in _inside(kind):
        yield from _structs(part, seen)


def _is_id(kind: inspect.Type) -> bool:
    if isinstance(kind, inspect.Metadata) and (kind.extra or {}).get("role") == ID:
        return True
    return any(_is_id(part) for part in _inside(kind))


def _allow_numbers(node: Schema) -> None:
    """Wherever the node allows text, let it allow a whole number too."""
    if node.get("type") == "string":
        node["type"] = ["string", "integer"]
    for part in (*node.get("anyOf", ()), node.get("items"), node.get("additionalProperties")):
        if isinstance(part, dict):
            _allow_numbers(part)
