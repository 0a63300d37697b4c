"""The same rankings with equally much text each: what makes large and small chunks comparable."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

Record = dict[str, Any]
_WORD = re.compile(r"\w+")
_CUT = "{chunk}|first {words} words"


def with_equal_text(dataset: Mapping[str, Any], words: int) -> tuple[Record, int]:
    """Every ranking cut after so many words, inside a chunk if need be, and the length of the longest ranking.

    A chunk that is cut becomes one of its own, with its place in the document. A ranking that holds less text stays as
    it is. A word that two chunks have in common counts twice, as whoever reads them reads it twice.

    >>> chunks = [{"id": "a", "text": "one two three", "start": 4, "end": 17, "doc_id": "d"}]
    >>> queries = [{"id": "q", "retrieved_ids": ["a"]}]
    >>> cut, depth = with_equal_text({"chunks": chunks, "queries": queries, "documents": {}}, 2)
    >>> cut["queries"][0]["retrieved_ids"], cut["chunks"][-1]["text"], cut["chunks"][-1]["end"], depth
    (['a|first 2 words'], 'one two', 11, 1)
    """
    cutting = _Cutting(dataset["chunks"])
    queries, depth = [], 1
    for query in dataset["queries"]:
        kept = {key: query[key] for key in ("id", "expected_evidence", "error") if key in query}
        if "retrieved_ids" in query:
            kept["retrieved_ids"] = cutting.cut(query["retrieved_ids"], words)
            depth = max(depth, len(kept["retrieved_ids"]))
        queries.append(kept)
    chunks = [*dataset["chunks"], *cutting.made.values()]
    return {"chunks": chunks, "documents": dataset["documents"], "queries": queries}, depth


def count_words(text: str) -> int:
    """How many words a text has, as rankings are cut by them.

    >>> count_words("Leave: 25 days.")
    3
    """
    return sum(1 for _ in _WORD.finditer(text))


class _Cutting:
    """Chunks, and what was made of those that were cut."""

    def __init__(self, chunks: list[Record]) -> None:
        self._chunks = {chunk["id"]: chunk for chunk in chunks}
        self._ends = {chunk["id"]: [found.end() for found in _WORD.finditer(chunk["text"])] for chunk in chunks}
        self.made: dict[str, Record] = {}

    def cut(self, ids: list[str], words: int) -> list[str]:
        """The first of the chunks, so that together they have at most so many words."""
        kept = []
        for name in dict.fromkeys(ids):
            ends = self._ends[name]
            if len(ends) > words:
                if words:
                    kept.append(self._first(name, words))
                break
            kept.append(name)
            words -= len(ends)
        return kept

    def _first(self, name: str, words: int) -> str:
        made = _CUT.format(chunk=name, words=words)
        chunk, length = self._chunks[name], self._ends[name][words - 1]
        self.made[made] = {**chunk, "id": made, "text": chunk["text"][:length], "end": chunk["start"] + length}
        return made
