"""Keyword search by bm25s: BM25 as Lucene has it, k1 = 1.5, b = 0.75."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rag_titan.errors import MissingExtraError
from rag_titan.pipeline.quiet import quietly
from rag_titan.pipeline.stems import stems


class Bm25Index:
    """An index of some texts. Raises MissingExtraError without bm25s or PyStemmer."""

    def __init__(self, texts: Sequence[str]) -> None:
        found = stems(texts)
        self._places = np.array([place for place, terms in enumerate(found) if terms], dtype=np.int64)
        self._index = _bm25([found[place] for place in self._places]) if len(self._places) else None

    def best(self, question: str, k: int) -> list[tuple[int, float]]:
        """At most k texts that share stems with the question, as (place, score), best first; ties by place."""
        if self._index is None:
            return []
        known = self._index.vocab_dict
        asked = [stem for stem in dict.fromkeys(stems([question])[0]) if stem in known]
        if not asked:
            return []
        scores = self._index.get_scores(asked)
        hits = np.flatnonzero(scores > 0)
        order = hits[np.argsort(-scores[hits], kind="stable")][:k]
        return [(int(self._places[hit]), float(scores[hit])) for hit in order]

    def frequencies(self, words: Sequence[str]) -> list[int]:
        """(n,) how many texts have each word's stems, the least of them where it has several; 0 without a stem."""
        if self._index is None:
            return [0] * len(words)
        known, starts = self._index.vocab_dict, self._index.scores["indptr"]
        lists = [[known.get(stem) for stem in some] for some in stems(words)]
        counts = [[0 if place is None else int(starts[place + 1] - starts[place]) for place in some] for some in lists]
        return [min(some, default=0) for some in counts]


def _bm25(tokens: list[list[str]]) -> Any:
    try:
        with quietly("bm25s"):  # it would log every step to whoever listens
            import bm25s
    except ImportError:
        raise MissingExtraError("bm25s", "pipeline") from None
    index = bm25s.BM25()
    index.index(tokens, show_progress=False)
    return index
