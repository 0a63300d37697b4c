"""In which order what was retrieved goes into the context."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from rag_titan.errors import SettingsError
from rag_titan.pipeline.fitting import Quote, fits, quotes_at
from rag_titan.pipeline.parts import Embedder, Found, Reranker
from rag_titan.pipeline.retrieval import fused
from rag_titan.pipeline.settings import Settings

_DIGITS = 12  # of a fused score: below these, what differs is the order of the additions


def reranker_of(settings: Settings, embedder: Embedder) -> Reranker:
    """The reranker that the settings name."""
    return SentenceReranker(embedder) if settings.reranker == "sentence" else FirstReranker()


class FirstReranker:
    """No reranking: the order of the retriever."""

    def rerank(self, question: str, found: Sequence[Found], k: int) -> list[Found]:
        """The first k of them."""
        return list(found[:k])


class SentenceReranker:
    """By the sentence of a chunk that fits the question best: a long chunk does not hide a good sentence.

    A sentence is scored as for an extractive answer, by its words and its vector: a small model's cosine alone would
    throw away what a search for words found. That order and the retriever's are fused by their ranks.
    """

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    def rerank(self, question: str, found: Sequence[Found], k: int) -> list[Found]:
        """At most k of them, best first, with their fused score; ties keep the order of the retriever.

        A chunk without a sentence, as one of headings alone, is compared as a whole.
        """
        if not found:
            return []
        lists = [
            quotes_at(place, one.chunk) or [Quote(place, one.chunk.text, "", one.chunk)]
            for place, one in enumerate(found)
        ]
        scores = np.array(fits(question, [quote for some in lists for quote in some], self._embedder))
        ends = np.cumsum([len(some) for some in lists])
        best = np.maximum.reduceat(scores, np.concatenate([[0], ends[:-1]]))
        fitting = [found[place] for place in np.argsort(-best, kind="stable")]
        order = {one.chunk.id: place for place, one in enumerate(found)}
        both = fused([found, fitting], (0.5, 0.5))
        return sorted(both, key=lambda one: (-round(one.score, _DIGITS), order[one.chunk.id]))[:k]


class CallableReranker:
    """A function of your own: question and texts -> a score for each text, higher is better."""

    def __init__(self, function: Callable[[str, list[str]], Sequence[float]]) -> None:
        self._function = function

    def rerank(self, question: str, found: Sequence[Found], k: int) -> list[Found]:
        """At most k of them, best first; ties keep their order. Raises SettingsError for what are no scores.

        >>> from rag_titan.pipeline.parts import Chunk
        >>> found = [Found(Chunk(name, name, 0, 1, "d"), 1.0) for name in "abc"]
        >>> [one.chunk.id for one in CallableReranker(lambda question, texts: map(ord, texts)).rerank("?", found, 2)]
        ['c', 'b']
        """
        given = self._function(question, [one.chunk.text for one in found])
        rule = f"must give one finite number for each of {len(found)} texts"
        try:
            scores = np.asarray(list(given), dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise SettingsError(f"reranker: {rule}, got something else ({error}).") from None
        if scores.shape != (len(found),):
            raise SettingsError(f"reranker: {rule}, got {len(scores) if scores.ndim == 1 else 'others'}.")
        if not np.isfinite(scores).all():
            raise SettingsError(f"reranker: {rule}, got NaN or infinity.")
        order = np.argsort(-scores, kind="stable")[:k]
        return [Found(found[place].chunk, float(scores[place])) for place in order]
