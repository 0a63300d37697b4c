"""Answers against their references: the scores of a batch, made in one pass and shared by the stages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rag_titan.evaluation.conventions import SEED, Conventions
from rag_titan.evaluation.data import squad
from rag_titan.evaluation.data.numerals import join_percent
from rag_titan.evaluation.data.tokens import Split, words
from rag_titan.evaluation.data.vocabulary import CodedTexts, Vocabulary
from rag_titan.evaluation.measures import text
from rag_titan.evaluation.measures.ragged import Ragged

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

_BLOCK = 1 << 17  # white-space pieces that are compared at once, so that the arrays stay in the processor's cache


def references_of(one: str | None, several: Sequence[str] | None) -> Sequence[str]:
    """`expected_answer` and `expected_answers` together, each text once."""
    if not several:
        return () if one is None else (one,)
    return tuple(dict.fromkeys(several if one is None else (one, *several)))


@dataclass(frozen=True)
class PairScores:
    """Each answer against each of its references; all (n_pairs,).

    rows              the query of the pair, rising
    exact             1 where both are the same after normalisation, else 0
    precision, recall, f1   of the normalised tokens
    rouge_l           of the plain tokens; NaN of two empty texts
    reference_tokens  normalised tokens of the reference
    """

    rows: Ints
    exact: Floats
    precision: Floats
    recall: Floats
    f1: Floats
    rouge_l: Floats
    reference_tokens: Ints


class Answers:
    """The answers of n queries, with or without references; NaN where there is no answer or no reference.

    Of several references the best one counts: the highest exact match, F1 and ROUGE-L; precision and recall are those
    of the reference with the highest F1 (the first of equals).

    >>> answers = Answers(["The 25 days.", None], [["25 days", "a month"], ["x"]])
    >>> answers.exact_match.tolist(), answers.rouge_l.tolist()
    ([1.0, nan], [0.8, nan])
    """

    def __init__(
        self,
        texts: Sequence[str | None],
        references: Sequence[Sequence[str]],
        vocabulary: Vocabulary | None = None,
        conventions: Conventions = SEED,
    ) -> None:
        self.given: Mask = np.array([t is not None for t in texts], dtype=bool)
        self.vocabulary = vocabulary if vocabulary is not None else Vocabulary()
        self.coded = CodedTexts(self.vocabulary, ["" if t is None else join_percent(t) for t in texts])
        self.words = words(conventions.tokenizer)
        self._references = references
        self._official = conventions.answer_normalization == "squad"

    def __len__(self) -> int:
        return len(self.given)

    @cached_property
    def pairs(self) -> PairScores:
        """Every score of every pair."""
        counts = np.fromiter(map(len, self._references), np.int64, len(self)) * self.given
        rows = np.repeat(np.arange(len(self)), counts)
        kept = (refs for refs, n in zip(self._references, counts.tolist(), strict=True) if n)
        references = CodedTexts(self.vocabulary, [text for refs in kept for text in refs])
        sizes = self.coded.pieces.lengths[rows] + references.pieces.lengths
        blocks = [self._compared(references, rows[start:stop], start) for start, stop in text.blocks(sizes, _BLOCK)]
        exact, precision, recall, f1, rouge_l, tokens = (np.concatenate(x) for x in zip(*blocks, strict=True))
        return PairScores(rows, exact, precision, recall, f1, rouge_l, tokens.astype(np.int64))

    def _compared(self, references: CodedTexts, rows: Ints, start: int) -> tuple[Floats, ...]:
        others = np.arange(start, start + len(rows))
        mine, theirs = self._normalised(self.coded, rows), self._normalised(references, others)
        rouge_l = text.rouge_l(self.coded.tokens(self.words, rows), references.tokens(self.words, others))
        exact = text.equal(mine, theirs).astype(np.float64)
        return exact, *text.overlap(mine, theirs), rouge_l, theirs.lengths.astype(np.float64)

    def _normalised(self, texts: CodedTexts, rows: Ints) -> Ragged:
        """Tokens for exact match and the token scores; a text of which nothing would be left keeps its articles."""
        if self._official:
            return texts.tokens(squad.OFFICIAL, rows)
        tokens = texts.tokens(squad.IN_ANY_SCRIPT, rows)
        bare = np.flatnonzero(tokens.lengths == 0)
        if not len(bare):
            return tokens
        kept = texts.tokens(squad.WITH_ARTICLES, rows[bare])
        values = np.concatenate([tokens.values, kept.values])
        both = Ragged(values, np.concatenate([tokens.offsets, kept.offsets[1:] + tokens.offsets[-1]]))
        order = np.arange(len(rows))
        order[bare] = len(rows) + np.arange(len(bare))
        return text.take(both, order)

    def _best(self, values: Floats) -> Floats:
        """(n,) the highest value over the references of each query, NaN where there is none."""
        best = np.full(len(self), np.nan)
        np.fmax.at(best, self.pairs.rows, values)
        return best

    @cached_property
    def _chosen(self) -> tuple[Ints, Ints]:
        """The queries that have pairs, and of each the first pair with its highest F1."""
        pairs = self.pairs
        order = np.lexsort((-pairs.f1, pairs.rows))
        rows = pairs.rows[order]
        first = np.flatnonzero(np.diff(rows, prepend=-1))
        return rows[first], order[first]

    def _of_chosen(self, values: Floats) -> Floats:
        out = np.full(len(self), np.nan)
        rows, pairs = self._chosen
        out[rows] = values[pairs]
        return out

    @cached_property
    def exact_match(self) -> Floats:
        """(n,) 1 where the answer is a reference, after normalisation."""
        return self._best(self.pairs.exact)

    @cached_property
    def precision(self) -> Floats:
        """(n,) share of the answer's tokens that the reference has."""
        return self._of_chosen(self.pairs.precision)

    @cached_property
    def recall(self) -> Floats:
        """(n,) share of the reference's tokens that the answer has."""
        return self._of_chosen(self.pairs.recall)

    @cached_property
    def f1(self) -> Floats:
        """(n,) token F1."""
        return self._of_chosen(self.pairs.f1)

    @cached_property
    def rouge_l(self) -> Floats:
        """(n,) ROUGE-L F1."""
        return self._best(self.pairs.rouge_l)

    @cached_property
    def sizes(self) -> Ints:
        """(n,) normalised tokens of each answer."""
        return self._normalised(self.coded, np.arange(len(self))).lengths

    def short(self, most: int) -> ShortReferences:
        """The pairs whose reference has at most `most` tokens."""
        pairs = self.pairs
        chosen = np.flatnonzero(pairs.reference_tokens <= most)
        texts = [text for refs, has in zip(self._references, self.given.tolist(), strict=True) if has for text in refs]
        return ShortReferences(self, chosen, pairs.rows[chosen], [texts[i] for i in chosen.tolist()])

    def short_f1(self, most: int) -> Floats:
        """(n,) token F1 over the references of at most `most` tokens; NaN where there is none."""
        return self._best(np.where(self.pairs.reference_tokens <= most, self.pairs.f1, np.nan))

    def found(self, phrases: Sequence[str], rows: Ints, splits: tuple[Split, Split]) -> Mask:
        """(n_phrases,) True where the answer of query rows[i] has phrase i, as a run of whole tokens.

        `splits` are the two readings that tokens can have (see numerals.facts).
        """
        queries, places = np.unique(rows, return_inverse=True)
        wanted = CodedTexts(self.vocabulary, list(map(join_percent, phrases)))
        asked = text.Readings(*(wanted.tokens(split) for split in splits))
        given = text.Readings(*(self.coded.tokens(split, queries) for split in splits))
        return text.phrases_found(asked, given, places)


@dataclass(frozen=True)
class ShortReferences:
    """Some pairs of answers and references: their places among all pairs, the query of each, and the reference."""

    answers: Answers
    places: Ints
    rows: Ints
    texts: Sequence[str]

    def met(self, enough: float, facts: tuple[Split, Split], numbers: tuple[Split, ...]) -> Mask:
        """(n,) True where an answer has a whole reference in it, or its F1 is enough and no number of it is missing."""
        pairs = self.answers.pairs
        close = (pairs.f1[self.places] >= enough) & ~self._lacks_numbers(numbers)
        worded = np.flatnonzero(pairs.reference_tokens[self.places] > 0)
        whole = np.zeros(len(self.places), dtype=bool)
        if len(worded):
            whole[worded] = self.answers.found([self.texts[i] for i in worded.tolist()], self.rows[worded], facts)
        met = np.zeros(len(self.answers), dtype=bool)
        met[self.rows[close | whole]] = True
        return met

    def _lacks_numbers(self, numbers: tuple[Split, ...]) -> Mask:
        wanted = CodedTexts(self.answers.vocabulary, self.texts)
        asked = [wanted.tokens(split) for split in numbers]
        given = [self.answers.coded.tokens(split, self.rows) for split in numbers]
        there = [text.contained(mine, theirs) for mine in asked for theirs in given]
        return asked[0].sums(~np.logical_or.reduce(there)) > 0
