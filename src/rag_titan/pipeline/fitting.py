"""How well a sentence fits a question: by its words and by its vector."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import log

import numpy as np

from rag_titan.pipeline.parts import Chunk, Embedder
from rag_titan.pipeline.sentences import quotable
from rag_titan.pipeline.stems import stems

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


def quotes_at(place: int, chunk: Chunk) -> list[Quote]:
    """The sentences of the chunk at a place of the context."""
    return [Quote(place, one.text, one.above, chunk, one.is_whole) for one in quotable(chunk)]


def fits(question: str, quotes: Sequence[Quote], embedder: Embedder) -> list[float]:
    """(n,) how well each fits the question, 0..1: by its cosine, and by the share of the question's words that it has.

    Rare words count more, and those that no sentence here has the most.
    """
    asked = embedder.embed([question], query=True)[0]
    cosines = embedder.embed([quote.text for quote in quotes]) @ asked
    usual = float(np.mean(embedder.embed(UNRELATED) @ asked))
    nearness = np.clip((cosines - usual) / max(1 - usual, 1e-6), 0.0, 1.0)
    mixed = _WORDS * np.array(_shares(question, quotes)) + (1 - _WORDS) * nearness
    if _ASKS_FOR_NUMBER.search(question):
        mixed *= [1.0 if _NUMBER.search(quote.text) else _NUMBERLESS for quote in quotes]
    return [round(float(score), 6) for score in mixed]


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
