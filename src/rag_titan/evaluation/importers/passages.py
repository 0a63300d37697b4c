"""The passages that a log names, as a chunk table: whether their ids hold for the whole log or for one query alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from rag_titan.evaluation.data.normal import normal_text
from rag_titan.evaluation.data.notices import Notices


class Passage(NamedTuple):
    """A passage as a log has it: its id there, its text, and what else is known of it."""

    name: str | None
    text: str | None
    metadata: Mapping[str, Any] | None = None


LOCAL = "ids of passages are local to a query there, and got its id before them: an example is {ids}."
NAMELESS = "passages without an id got that of their query and their number: query {ids}."
TWO_TEXTS = "an id stands for several texts in one query; the later ones got a number of their own: {ids}."


class Passages:
    """Collects the passages of all queries, then names them.

    An id that stands for one text in one query and for another in a second one is local to its query. Then all of them
    are, and each gets the id of its query before it, so that no two passages are taken for one.

    local  True where the format says so itself, as for "[1]"

    >>> passages = Passages()
    >>> passages.add("q1", [Passage("000", "The Nile is long.")])
    >>> passages.add("q2", [Passage("000", "The flag is blue."), Passage(None, "It has a star.")])
    >>> passages.ids("q1"), passages.ids("q2")
    (['q1/000'], ['q2/000', 'q2/2'])
    >>> passages.chunks()[0]
    {'id': 'q1/000', 'text': 'The Nile is long.'}
    """

    def __init__(self, local: bool = False) -> None:
        self.local = local
        self._lists: dict[str, list[Passage]] = {}
        self._texts: dict[str, str] = {}  # id in the log -> the first text that it has, as words
        self._named: dict[str, list[str]] | None = None
        self._chunks: dict[str, dict[str, Any]] = {}
        self._again: list[str] = []

    def add(self, query: str, passages: Iterable[Passage]) -> None:
        """The passages of a query in order; a query is added once."""
        self._lists[query] = list(passages)
        for name, text, _ in self._lists[query]:
            if name is not None and text is not None:
                words = normal_text(text)
                self.local |= self._texts.setdefault(name, words) != words

    def queries(self) -> list[str]:
        """The queries that have passages, in the order of the log."""
        return list(self._lists)

    def ids(self, query: str) -> list[str]:
        """The ids of its passages, in order; to be asked when all queries were added."""
        return self._name_all()[query]

    def chunks(self) -> list[dict[str, Any]]:
        """The chunk table, in the order of the log."""
        self._name_all()
        return list(self._chunks.values())

    def tell(self, notices: Notices) -> None:
        """Say what was made of the ids."""
        named = self._name_all()
        called = {query: [passage.name is not None for passage in some] for query, some in self._lists.items()}
        if self.local:
            notices.add(LOCAL, [named[query][0] for query, some in called.items() if some and some[0]][:1])
        notices.add(NAMELESS, [query for query, some in called.items() if not all(some)])
        notices.add(TWO_TEXTS, self._again)

    def _name_all(self) -> dict[str, list[str]]:
        if self._named is None:
            self._named = {query: self._names(query, passages) for query, passages in self._lists.items()}
        return self._named

    def _names(self, query: str, passages: list[Passage]) -> list[str]:
        names = []
        for number, passage in enumerate(passages, 1):
            name = passage.name
            local = self.local or name is None
            wanted = f"{query}/{number if name is None else name}" if local else str(name)
            names.append(self._place(wanted, passage, number))
        return names

    def _place(self, wanted: str, passage: Passage, number: int) -> str:
        """The id under which a passage stands in the chunk table."""
        chunk = self._chunks.setdefault(wanted, {"id": wanted})
        if passage.text is None:
            return wanted
        if normal_text(chunk.setdefault("text", passage.text)) == normal_text(passage.text):
            if passage.metadata:
                chunk.setdefault("metadata", dict(passage.metadata))
            return wanted
        self._again.append(wanted)
        return self._place(f"{wanted}.{number}", passage, number)
