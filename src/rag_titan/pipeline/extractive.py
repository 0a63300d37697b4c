"""Answers without a model: the sentences of the context that are nearest to the question, or none."""

from __future__ import annotations

from collections.abc import Sequence

from rag_titan.pipeline.fitting import Quote, fits, quotes_at
from rag_titan.pipeline.parts import Chunk, Embedder, Generated
from rag_titan.pipeline.prompts import ABSTENTION
from rag_titan.pipeline.routing import parts_of

MOST_QUOTES = 3
_BESIDE = 0.9  # of the best: what is quoted beside it
_PART = 0.67  # of the score for a part of a question; the rest is that for the whole question


class ExtractiveGenerator:
    """Quotes the one to three sentences of the context that fit the question best, each with its marker.

    A sentence is scored 0..1 by its cosine with the question and by the share of the question's words that it has,
    rare words counting more, and those that no sentence of the context has the most. Below `abstain_below` it abstains.
    Of a question of several parts each part that is answered has a quote of its own, in the order of the parts.
    """

    name = "extractive"

    def __init__(self, embedder: Embedder, abstain_below: float) -> None:
        self._embedder = embedder
        self._abstain_below = abstain_below

    def generate(self, question: str, context: Sequence[Chunk]) -> Generated:
        """The quotes, best first, or the sentence of abstention."""
        quotes = quotes_of(context)
        kept = self._kept(question, quotes) if quotes else []
        if not kept:
            return Generated(ABSTENTION, abstained=True)
        return Generated(" ".join(f"{quote.text} [{quote.place}]" for quote in kept))

    def _kept(self, question: str, quotes: Sequence[Quote]) -> list[Quote]:
        whole = fits(question, quotes, self._embedder)
        parts = parts_of(question)[:MOST_QUOTES]
        if len(parts) == 1:
            return self._best(whole, quotes)
        kept: list[Quote] = []
        for part in parts:
            own = fits(part, quotes, self._embedder)
            mixed = [  # "when does it lapse?" does not say what: the whole question does
                _PART * score + (1 - _PART) * other if score >= self._abstain_below else 0.0
                for score, other in zip(own, whole, strict=True)
            ]
            kept += [quote for quote in self._best(mixed, quotes)[:1] if quote not in kept]
        return kept or self._best(whole, quotes)

    def _best(self, scores: Sequence[float], quotes: Sequence[Quote]) -> list[Quote]:
        """The best, and whole sentences that are nearly as good beside it; nothing below the threshold."""
        best = max(scores)
        if best < self._abstain_below or best == 0:
            return []
        least = max(self._abstain_below, _BESIDE * best)
        order = sorted(
            (place for place, score in enumerate(scores) if score >= least), key=lambda place: -scores[place]
        )
        near = [quotes[place] for place in order]
        return [quote for quote in near if quote.is_whole][:MOST_QUOTES] or near[:1]


def quotes_of(context: Sequence[Chunk]) -> list[Quote]:
    """Every sentence once: chunks that overlap share some."""
    quotes: dict[str, Quote] = {}
    for place, chunk in enumerate(context, start=1):
        for quote in quotes_at(place, chunk):
            quotes.setdefault(quote.text, quote)
    return list(quotes.values())
