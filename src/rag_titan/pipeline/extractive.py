"""Answers without a model: the sentences of the context that are nearest to the question, or none."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import log

import numpy as np

from rag_titan.pipeline.parts import Chunk, Embedder, Generated
from rag_titan.pipeline.prompts import ABSTENTION
from rag_titan.pipeline.routing import parts_of
from rag_titan.pipeline.sentences import quotable
from rag_titan.pipeline.stems import stems

MOST_QUOTES = 3
_BESIDE = 0.9  # of the best: what is quoted beside it
_PART = 0.67  # of the score for a part of a question; the rest is that for the whole question
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
    """A sentence of the chunk at a place of the context, from 1, and the heading above it.

    is_whole  False for a label, a line of a form, or a piece of a sentence: it may answer, but stands beside no other
    """

    place: int
    text: str
    heading: str
    chunk: Chunk
    is_whole: bool = True


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
        whole = self.scores(question, quotes)
        parts = parts_of(question)[:MOST_QUOTES]
        if len(parts) == 1:
            return self._best(whole, quotes)
        kept: list[Quote] = []
        for part in parts:
            own = self.scores(part, quotes)
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
        for one in quotable(chunk):
            quotes.setdefault(one.text, Quote(place, one.text, one.above, chunk, one.is_whole))
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
