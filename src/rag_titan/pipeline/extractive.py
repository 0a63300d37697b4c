"""Answers without a model: the sentences of the context that are nearest to the question, or none."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import log

import numpy as np

from rag_titan.pipeline.parts import Chunk, Embedder, Generated
from rag_titan.pipeline.prompts import ABSTENTION
from rag_titan.pipeline.sentences import quotable
from rag_titan.pipeline.stems import stems

MOST_QUOTES = 3
_BESIDE = 0.9  # of the best: what is quoted beside it
_WORDS = 0.6  # the weight of the words; the rest is the vectors'
_ABOVE = 0.9  # what a word counts that stands in the headings of the chunk, not in the sentence
_ELSEWHERE = 0.3  # what a word counts that stands elsewhere in the chunk
_UNHEARD = 2.0  # how much more a word weighs that no sentence of the context has: the question may be about it
_NUMERAL = 3.0  # how much more a number of the question weighs: 2019 is not 2020
_NUMBERLESS = 0.7  # of the score of a sentence without a number, where the question asks for one
_ASKS_FOR_NUMBER = re.compile(
    r"\b(how (many|much|long|often|old|high|far|late|early)|what (time|date|year)|when)\b", re.IGNORECASE
)
_NUMBER = re.compile(
    r"\d|\b(one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|hundred|half|once|twice|"
    r"daily|weekly|monthly|monday|tuesday|wednesday|thursday|friday|saturday|sunday)\b",
    re.IGNORECASE,
)

UNRELATED = (  # what a cosine means differs between models: it is counted from that of the question to these
    "The river froze over before the boats were ashore.",
    "She tuned the violin and waited for the conductor.",
    "Add the flour slowly and stir until it is smooth.",
    "A comet crosses the orbit of Jupiter every few decades.",
    "The goalkeeper slipped and the ball rolled into the net.",
)


@dataclass(frozen=True)
class Quote:
    """A sentence of the chunk at a place of the context, from 1, and the heading above it."""

    place: int
    text: str
    heading: str
    chunk: Chunk


class ExtractiveGenerator:
    """Quotes the one to three sentences of the context that fit the question best, each with its marker.

    A sentence is scored 0..1 by its cosine with the question and by the share of the question's words that it has,
    rare words counting more, and those that no sentence of the context has the most. Below `abstain_below` it abstains.
    """

    name = "extractive"

    def __init__(self, embedder: Embedder, abstain_below: float) -> None:
        self._embedder = embedder
        self._abstain_below = abstain_below

    def generate(self, question: str, context: Sequence[Chunk]) -> Generated:
        """The quotes, best first, or the sentence of abstention."""
        quotes = quotes_of(context)
        scores = self.scores(question, quotes) if quotes else []
        best = max(scores, default=0.0)
        if best < self._abstain_below or best == 0:
            return Generated(ABSTENTION, abstained=True)
        order = sorted(range(len(quotes)), key=lambda place: -scores[place])[:MOST_QUOTES]
        kept = [quotes[place] for place in order if scores[place] >= max(self._abstain_below, _BESIDE * best)]
        return Generated(" ".join(f"{quote.text} [{quote.place}]" for quote in kept))

    def scores(self, question: str, quotes: Sequence[Quote]) -> list[float]:
        """(n,) how well each fits, 0..1."""
        asked = self._embedder.embed([question], query=True)[0]
        cosines = self._embedder.embed([quote.text for quote in quotes]) @ asked
        usual = float(np.mean(self._embedder.embed(UNRELATED) @ asked))
        nearness = np.clip((cosines - usual) / max(1 - usual, 1e-6), 0.0, 1.0)
        mixed = _WORDS * np.array(_shares(question, quotes)) + (1 - _WORDS) * nearness
        if _ASKS_FOR_NUMBER.search(question):
            mixed *= [1.0 if _NUMBER.search(quote.text) else _NUMBERLESS for quote in quotes]
        return [round(float(score), 6) for score in mixed]


def quotes_of(context: Sequence[Chunk]) -> list[Quote]:
    """Every sentence once: chunks that overlap share some."""
    quotes: dict[str, Quote] = {}
    for place, chunk in enumerate(context, start=1):
        for text, heading in quotable(chunk):
            quotes.setdefault(text, Quote(place, text, heading, chunk))
    return list(quotes.values())


def _shares(question: str, quotes: Sequence[Quote]) -> list[float]:
    """(n,) the share of the question's words that each sentence has, by their weights, 0..1."""
    asked = set(stems([question])[0])
    if not asked:
        return [0.0] * len(quotes)
    own = _among(asked, [quote.text for quote in quotes])
    above = _among(asked, [quote.heading for quote in quotes])
    texts = {quote.chunk.id: quote.chunk.text for quote in quotes}
    around = dict(zip(texts, _among(asked, list(texts.values())), strict=True))
    weights = _weights(asked, [found | heading for found, heading in zip(own, above, strict=True)])
    shares = []
    for quote, found, heading in zip(quotes, own, above, strict=True):
        credit = dict.fromkeys(around[quote.chunk.id], _ELSEWHERE)
        credit |= dict.fromkeys(heading, _ABOVE) | dict.fromkeys(found, 1.0)
        shares.append(sum(weights[stem] * credit[stem] for stem in sorted(credit)) / sum(weights.values()))
    return shares


def _among(asked: set[str], texts: Sequence[str]) -> list[set[str]]:
    return [set(found) & asked for found in stems(texts)]


def _weights(asked: set[str], sentences: Sequence[set[str]]) -> dict[str, float]:
    """Each word's inverse document frequency among the sentences, which is above 0."""
    n = len(sentences)
    counts = {stem: sum(stem in found for found in sentences) for stem in sorted(asked)}
    return {
        stem: log(1 + (n + 0.5) / (count + 0.5))
        * (1 if count else _UNHEARD)
        * (_NUMERAL if any(map(str.isdigit, stem)) else 1)
        for stem, count in counts.items()
    }
