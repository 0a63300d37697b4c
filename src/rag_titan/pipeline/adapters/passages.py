"""Documents and nodes of the frameworks -> what an evaluation must know of a passage."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

from rag_titan.errors import DatasetError

FILES = ("source", "file_path", "file_name", "filename", "path", "file")
PAGES = ("page", "page_number", "page_label")
_TEXTS = ("page_content", "content", "text")  # LangChain, Haystack, LlamaIndex
_IDS = ("id", "node_id", "id_")
_PARENTS = ("ref_doc_id", "source_id")  # LlamaIndex; Haystack's splitters, in the metadata
_STARTS = ("start_char_idx", "start_index", "split_idx_start")  # LlamaIndex; LangChain, Haystack, in the metadata
_SCORES = ("score", "relevance_score")
_LISTS = ("documents", "source_documents", "context", "source_nodes", "nodes", "docs")


@dataclass(frozen=True)
class Passage:
    """A passage as a framework holds it; None for what it does not say.

    score   of the search that found it
    parent  the id of the document it was cut from
    start   where it begins in that document, by the framework's word
    """

    text: str | None = None
    id: str | None = None
    score: float | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    parent: str | None = None
    start: int | None = None

    @property
    def file(self) -> str | None:
        """The file that it is from, as its metadata have it."""
        return _text(first(self.metadata, *FILES))

    @property
    def page(self) -> str | None:
        """The page that it is from."""
        return _text(first(self.metadata, *PAGES))


def passage_of(value: Any) -> Passage:
    """A LangChain Document, a LlamaIndex node with or without score, a Haystack Document, a dict with such keys, or
    a text; or one of these in a pair with its score.

    >>> passage_of(({"page_content": "25 days", "metadata": {"source": "leave.md", "start_index": 3}}, 0.5))
    Passage(text='25 days', id=None, score=0.5, metadata={'source': 'leave.md', 'start_index': 3}, parent=None, start=3)
    """
    value, score = value if _is_scored(value) else (value, None)
    if isinstance(value, str):
        return Passage(value, score=_number(score))
    node = first(value, "node") or value
    metadata = first(node, "metadata", "meta")
    metadata = dict(metadata) if isinstance(metadata, Mapping) else {}
    if score is None:
        score = first(value, "score")
    start = first(node, *_STARTS)
    start = first(metadata, *_STARTS) if start is None else start
    return Passage(
        text=_content(node),
        id=_text(first(node, *_IDS)),
        score=_number(first(metadata, *_SCORES) if score is None else score),
        metadata=metadata,
        parent=_text(first(node, *_PARENTS) or first(metadata, *_PARENTS)),
        start=start if isinstance(start, int) and not isinstance(start, bool) else None,
    )


def documents_in(value: Any, where: str) -> list[Any]:
    """The documents of what a step returned, still as the framework holds them: a list, or an object that has one.

    Raises DatasetError where there is none.
    """
    found = value if is_list(value) else first(value, *_LISTS)
    if not is_list(found):
        raise DatasetError(where, f"must give a list of documents, got {type(value).__name__}.")
    return list(found)


def without_scores(documents: Iterable[Any]) -> list[Any]:
    """The documents, of which some may stand in a pair with their score."""
    return [document[0] if _is_scored(document) else document for document in documents]


def first(value: Any, *names: str) -> Any:
    """The first of the keys or attributes that is there and not None."""
    for name in names:
        found = value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)
        if found is not None:
            return found
    return None


def is_list(value: Any) -> bool:
    """True for lists and tuples; a text is none."""
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


def _is_scored(value: Any) -> bool:
    """True for a pair (document, score), as LangChain's similarity_search_with_score gives it."""
    return isinstance(value, tuple) and len(value) == 2 and isinstance(value[1], Real)


def _content(node: Any) -> str | None:
    text = first(node, *_TEXTS)
    if text is None and callable(getattr(node, "get_content", None)):
        text = node.get_content()
    return _text(text)


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def _number(value: Any) -> float | None:
    if type(value) is bool or not isinstance(value, Real):
        return None
    return float(value) if math.isfinite(value) else None
