"""The texts in the cells of a sheet -> the numbers, truth values, lists and objects that a record type wants there."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, get_args, get_origin, get_type_hints

from msgspec import Struct

_FLAGS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def typed_cells(record: type[Struct], row: Mapping[str, Any]) -> dict[str, Any]:
    """The same row with every cell as its key wants it; a text that is nothing of the kind stays, to be complained of.

    A list may be written as JSON or as Python and numpy print it. A cell that is no list stays a text.

    >>> from rag_titan.evaluation.data.records import Query
    >>> typed_cells(Query, {"id": "7", "retrieved_ids": "['c1' 'c2']", "latency_ms": "12.5", "abstained": "FALSE"})
    {'id': '7', 'retrieved_ids': ['c1', 'c2'], 'latency_ms': 12.5, 'abstained': False}
    >>> typed_cells(Query, {"retrieved_ids": "c1", "latency_ms": "fast"})
    {'retrieved_ids': 'c1', 'latency_ms': 'fast'}
    """
    readers = _readers(record)
    return {
        key: readers[key](value) if isinstance(value, str) and key in readers else value for key, value in row.items()
    }


@cache
def _readers(record: type[Struct]) -> dict[str, Callable[[str], Any]]:
    readers: dict[str, Callable[[str], Any]] = {}
    for name, hint in get_type_hints(record).items():
        parts = (hint, *get_args(hint))
        origins = [get_origin(part) for part in parts]
        if list in origins or dict in origins:
            readers[name] = _container
        elif str not in parts and bool in parts:
            readers[name] = _flag
        elif str not in parts and float in parts:
            readers[name] = _number
    return readers


def _number(text: str) -> Any:
    try:
        return float(text) if text.isascii() else text
    except ValueError:
        return text


def _flag(text: str) -> Any:
    return _FLAGS.get(text.strip().lower(), text)


def _container(text: str) -> Any:
    if text.lstrip()[:1] not in ("[", "{"):
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    return _literal(text)


def _literal(text: str) -> Any:
    """What Python prints of a list or a dict, and numpy of texts (which has no commas)."""
    import ast
    import io
    import tokenize

    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(text.strip()).readline))
        words: list[str] = []
        for token, before in zip(tokens, [None, *tokens], strict=False):
            both = before is not None and before.type == token.type == tokenize.STRING
            words.append(f", {token.string}" if both else token.string)
        value = ast.literal_eval(" ".join(words).strip())
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError, tokenize.TokenError):
        return text
    return value if isinstance(value, list | dict) else text
