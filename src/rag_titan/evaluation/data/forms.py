"""Ids that read alike and are not: one place writes é as one character (NFC), another as two (NFD).

Ids are compared as they are written, since a store does so, too; that such a pair meets nowhere is told.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any
from unicodedata import normalize

from rag_titan.evaluation.data.gold import labels_of
from rag_titan.evaluation.data.notices import Notices

_DIFFER = "in another Unicode form (NFC, NFD): {ids}. Ids are compared as they are written; write both in one form."
OF_CHUNKS = f"gold ids that no chunk has as they are written, but one has {_DIFFER}"
OF_RANKINGS = f"gold ids that their question's lists do not hold as they are written, but {_DIFFER}"
_LISTS = ("retrieved_ids", "reranked_ids", "context_ids")


def composed(ids: Iterable[str]) -> dict[str, str]:
    """{its composed form: the id} of the ids that can have several forms.

    >>> composed(["plain", "cafe\\u0301"]) == {"caf\\xe9": "cafe\\u0301"}
    True
    """
    return {normalize("NFC", name): name for name in ids if not name.isascii()}


def one_form(lists: Iterable[Iterable[str] | None]) -> bool:
    """True where no id of any list can have several forms.

    >>> one_form([["plain"], None]), one_form([["plain"], ["cafe\\u0301"]])
    (True, False)
    """
    return "".join(chain.from_iterable(filter(None, lists))).isascii()


def pairs_of(gold: Iterable[tuple[str, str]], known: Callable[[], Mapping[str, str]]) -> list[str]:
    """Both ids of each pair, spelled so that the difference can be seen; of (query id, gold id).

    known  makes {composed form: id} of the ids that there are, and is asked only where a gold id can have several forms

    >>> print(*pairs_of([("q1", "caf\\xe9"), ("q2", "plain")], lambda: composed(["cafe\\u0301"])))
    'caf\\xe9' is 'cafe\\u0301' there (query q1)
    """
    several = [(query, chunk) for query, chunk in gold if not chunk.isascii()]
    forms = known() if several else {}
    pairs = [(query, chunk, forms.get(normalize("NFC", chunk))) for query, chunk in several]
    return [f"{chunk!a} is {other!a} there (query {query})" for query, chunk, other in pairs if other]


def tell_other_forms(notices: Notices, columns: Mapping[str, Sequence[Any]]) -> None:
    """A notice of the gold ids that stand in the lists of their question in another form, and in none of them as they
    are; `columns` holds the keys of some queries."""
    nothing = (None,) * len(columns["id"])
    graded, plain = (columns.get(name, nothing) for name in ("relevance", "expected_chunk_ids"))
    lists = [columns[name] for name in _LISTS if name in columns]
    if not lists or (one_form(graded) and one_form(plain)):
        return
    for i, labels in enumerate(zip(graded, plain, strict=True)):
        if one_form(labels):
            continue
        held = set(chain.from_iterable(column[i] or () for column in lists))
        gold = [chunk for chunk, grade in labels_of(*labels).items() if grade > 0 and chunk not in held]
        notices.add(OF_RANKINGS, pairs_of([(columns["id"][i], chunk) for chunk in gold], partial(composed, held)))
