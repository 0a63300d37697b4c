"""The kinds of index that can be measured, by name."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from traceback import extract_tb
from typing import Any

from rag_titan.errors import RagTitanError, SettingsError
from rag_titan.lab.exact import exact_search
from rag_titan.lab.faiss import KINDS as FAISS
from rag_titan.lab.index_kind import Added, Build, IndexKind, Search, Singles
from rag_titan.lab.usearch import KINDS as USEARCH


def kind_of(name: str, parameter: str | None = None) -> IndexKind:
    """The kind of that name: faiss-hnsw, faiss-ivf, faiss-flat, usearch-hnsw, exact, or module:function.

    module:function is called as function(vectors, metric, **options) and returns search(queries, k, **params), which
    returns rows (m, k); `parameter` is the name that the values are passed by. Raises SettingsError for what is none of
    these. Building raises MissingExtraError where the library is not installed.
    """
    if ":" in name:
        return IndexKind(name, parameter or "", (), _own(name), options=None)
    kinds = {**FAISS, **USEARCH, "exact": IndexKind("exact", "", (), _exact, copies=False)}
    if name not in kinds:
        raise SettingsError(f"index: must be {', '.join(kinds)} or module:function, got {name!r}. Choose one of them.")
    kind = kinds[name]
    if parameter is not None and parameter != kind.parameter:
        own = f"{kind.parameter} for {name}" if kind.parameter else f"left out for {name}, which has none"
        raise SettingsError(f"parameter: must be {own}, got {parameter!r}. Leave it out.")
    return kind


@contextmanager
def working(name: str, must: str) -> Iterator[None]:
    """What somebody else's code raises becomes one sentence that says where.

    Raises SettingsError in its place.
    """
    try:
        yield
    except (RagTitanError, MemoryError):
        raise
    except Exception as error:
        if isinstance(error.__context__, KeyboardInterrupt | SystemExit):  # somebody made an error of a signal
            raise error.__context__ from None
        raise SettingsError(f"{name}: must {must}, got {_said(error)}. Try it alone in Python.") from error


def _said(error: BaseException) -> str:
    text = " ".join(f"{type(error).__name__}: {error}".split())
    last = extract_tb(error.__traceback__)[-1]
    return f"{text} ({last.filename}, line {last.lineno})"


def _exact(vectors: Singles, metric: str, options: Mapping[str, int], added: Added) -> Search:
    return lambda queries, k: exact_search(queries, vectors, k, metric)[0]


def _own(name: str) -> Build:
    module, _, attribute = name.partition(":")
    try:
        function = getattr(importlib.import_module(module), attribute)
    except (Exception, SystemExit) as error:  # whatever somebody else's module raises while it loads
        rule = f"must be module:function that Python can import, got {name!r} ({type(error).__name__}: {error})"
        raise SettingsError(f"index: {rule}. Check its name and PYTHONPATH.") from error
    if not callable(function):
        raise SettingsError(f"index: must name a function, got {name!r}, a {type(function).__name__}. Check its name.")

    def build(vectors: Singles, metric: str, options: Mapping[str, int], added: Added) -> Search:
        search: Any = function(vectors, metric, **options)
        if not callable(search):
            rule = f"must return a function search(queries, k, **params), got {type(search).__name__}. Return one."
            raise SettingsError(f"{name}: {rule}")
        asked: Search = search
        return asked

    return build
