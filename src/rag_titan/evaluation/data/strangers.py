"""Chunks in the logged lists that cannot be judged: which they are, said once, whichever stages are in want of them."""

from __future__ import annotations

from collections.abc import Sequence

from rag_titan.evaluation.data.tables import NO_IDS, QueryTable
from rag_titan.evaluation.measures.ragged import Ragged


def tell_strangers(table: QueryTable, kind: str, lists: Ragged, ids: Sequence[Sequence[str]], effect: str) -> None:
    """A notice that names each query with such a chunk, and the first such chunk; none without a chunk table.

    kind    of the lists: "retrieved" or "context"
    lists   the n lists as chunk codes
    ids     the same as ids, element for element
    effect  a sentence about what is not measured
    """
    sentence = f"`{kind}_ids` name a chunk that is unknown or has no text or sure place: query {{ids}}. {effect}"
    if table.corpus.given and sentence not in table.notices.counts:
        table.notices.add(sentence, table.spans.strangers(lists, ids, table.ids))


def tell_contexts(table: QueryTable) -> None:
    """The same of the contexts, for whichever stage finds out first."""
    ids = [NO_IDS if some is None else some for some in table.lists("context")]
    tell_strangers(table, "context", table.codes(ids), ids, "Its context is measured in part, or not at all.")
