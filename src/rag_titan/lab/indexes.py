"""The kinds of index that can be measured, by name."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any

from rag_titan.errors import SettingsError
from rag_titan.lab.exact import exact_search
from rag_titan.lab.faiss import KINDS as FAISS
from rag_titan.lab.index_kind import IndexKind, Search, Singles
from rag_titan.lab.usearch import KINDS as USEARCH


def kind_of(name: str, parameter: str | None = None) -> IndexKind:
    """The kind of that name: faiss-hnsw, faiss-ivf, faiss-flat, usearch-hnsw, exact, or module:function.

    module:function is called as function(vectors, metric) and returns search(queries, k, **params), which returns rows
    (m, k); `parameter` is the name that the values are passed by. Raises SettingsError for what is none of these.
    Building raises MissingExtraError where the library is not installed.
    """
    if ":" in name:
        return IndexKind(name, parameter or "", (), _own(name))
    kinds = {**FAISS, **USEARCH, "exact": IndexKind("exact", "", (), _exact)}
    if name not in kinds:
        raise SettingsError(f"index: must be {', '.join(kinds)} or module:function, got {name!r}. Choose one of them.")
    return kinds[name]


def _exact(vectors: Singles, metric: str, options: Mapping[str, int]) -> Search:
    return lambda queries, k: exact_search(queries, vectors, k, metric)[0]


def _own(name: str) -> Callable[[Singles, str, Mapping[str, int]], Search]:
    module, _, attribute = name.partition(":")
    try:
        function = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        rule = f"must be module:function that Python can import, got {name!r} ({error}). Check its name and PYTHONPATH."
        raise SettingsError(f"index: {rule}") from error

    def build(vectors: Singles, metric: str, options: Mapping[str, int]) -> Search:
        search: Any = function(vectors, metric, **options)
        if not callable(search):
            rule = f"must return a function search(queries, k, **params), got {type(search).__name__}. Return one."
            raise SettingsError(f"{name}: {rule}")
        asked: Search = search
        return asked

    return build
