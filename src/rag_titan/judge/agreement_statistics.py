"""How far two sets of labels agree, with intervals of 95 % from resamples of whole questions.

Labels of one question are no independent evidence, so the bootstrap (Efron 1979) draws questions and takes all labels
of each (the cluster bootstrap, Field and Welsh 2007). A statistic gets (R, q) weights, how often each of q questions
was drawn in each of R resamples, and gives (R, m) values; NaN is undefined (0/0).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rag_titan.evaluation.measures.draws import picks
from rag_titan.evaluation.measures.resampling import RESAMPLES, interval95
from rag_titan.evaluation.measures.sums import Moments

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Statistic = Callable[[Floats], Floats]

LEAST_DEFINED = 0.95  # of the resamples; an interval from fewer would leave out what it is about
_BLOCK = 1 << 21  # weights of one block of resamples: 16 MB
_ROUNDING = 1e-13  # of the greatest number: the spread that rounding makes of none


def estimates(statistic: Statistic, questions: int, width: int, seed: int = 0) -> tuple[Floats, Floats]:
    """(m,) the values of a statistic, and (m, 2) the ends of their intervals of 95 %; NaN where not known.

    width  how many numbers a resample needs at the same time, which bounds the size of a block

    An end is NaN for fewer than 2 questions, where all resamples are equal (nothing is known of the spread), and where
    the statistic is undefined in more than one resample of twenty.
    """
    values = statistic(np.ones((1, questions)))[0]
    ends = np.full((len(values), 2), np.nan)
    if questions < 2:
        return values, ends
    rows = max(1, min(RESAMPLES, _BLOCK // max(width, questions)))
    blocks = [
        statistic(picks(seed + first, min(rows, RESAMPLES - first), questions)) for first in range(0, RESAMPLES, rows)
    ]
    drawn = np.concatenate(blocks)
    for i in np.flatnonzero(~np.isnan(values)).tolist():
        known = drawn[~np.isnan(drawn[:, i]), i]
        if len(known) >= LEAST_DEFINED * RESAMPLES and known.min() < known.max():
            ends[i] = np.quantile(known, (0.025, 0.975), method="weibull")
    return values, ends


@dataclass(frozen=True)
class Labels:
    """Labels of two sides on n things, as codes below k.

    question  (n,) the number of the question that a thing belongs to, from 0 without gaps
    judge     (n,) int64
    human     (n,) int64
    k         how many labels there are

    >>> labels = Labels(np.arange(4), np.array([0, 0, 1, 1]), np.array([0, 0, 1, 0]), 2)
    >>> labels.kappas(np.ones((1, 4)), 1 - np.eye(2)).tolist()
    [[0.5]]
    """

    question: Ints
    judge: Ints
    human: Ints
    k: int

    @cached_property
    def questions(self) -> int:
        """How many questions there are."""
        return int(self.question.max(initial=-1)) + 1

    @cached_property
    def counts(self) -> Floats:
        """(questions, k * k) how often each pair of labels stands in a question; row = judge, column = human."""
        cells = (self.question * self.k + self.judge) * self.k + self.human
        counted = np.bincount(cells, minlength=self.questions * self.k * self.k)
        return counted.reshape(self.questions, self.k * self.k).astype(np.float64)

    def tables(self, weights: Floats) -> Floats:
        """(R, k, k) the confusion table of each resample."""
        return (weights @ self.counts).reshape(len(weights), self.k, self.k)

    def agreed(self, weights: Floats) -> Floats:
        """(R, 1) the share of things with the same label."""
        tables = self.tables(weights)
        return _divided(np.trace(tables, axis1=1, axis2=2), tables.sum(axis=(1, 2)))[:, None]

    def kappas(self, weights: Floats, disagreement: Floats) -> Floats:
        """(R, 1) Cohen's kappa (1960), weighted by how much two labels disagree (1968).

        disagreement  (k, k), 0 on the diagonal; 1 elsewhere gives the plain kappa

        1 is full agreement, 0 what chance gives; NaN where both sides gave one and the same label throughout.
        """
        tables = self.tables(weights)
        by_judge, by_human = tables.sum(axis=2), tables.sum(axis=1)
        observed = (tables * disagreement).sum(axis=(1, 2)) * tables.sum(axis=(1, 2))
        expected = ((by_judge @ disagreement) * by_human).sum(axis=1)
        return (1 - _divided(observed, expected))[:, None]

    def precisions(self, weights: Floats) -> Floats:
        """(R, k) of the things that the judge gave a label, the share to which people gave it, too."""
        tables = self.tables(weights)
        return _divided(np.diagonal(tables, axis1=1, axis2=2), tables.sum(axis=2))

    def recalls(self, weights: Floats) -> Floats:
        """(R, k) of the things to which people gave a label, the share to which the judge gave it, too."""
        tables = self.tables(weights)
        return _divided(np.diagonal(tables, axis1=1, axis2=2), tables.sum(axis=1))


@dataclass(frozen=True)
class Scores:
    """Numbers of two sides for n things.

    question  (n,) the number of the question that a thing belongs to, from 0 without gaps
    judge     (n,) float64, no NaN
    human     (n,) float64, no NaN

    >>> scores = Scores(np.arange(4), np.array([0.0, 1, 2, 9]), np.array([1.0, 2, 3, 4]))
    >>> scores.spearman(np.ones((1, 4))).round(6).tolist(), scores.pearson(np.ones((1, 4))).round(3).tolist()
    ([[1.0]], [[0.885]])
    """

    question: Ints
    judge: Floats
    human: Floats

    @cached_property
    def questions(self) -> int:
        """How many questions there are."""
        return int(self.question.max(initial=-1)) + 1

    def pearson(self, weights: Floats) -> Floats:
        """(R, 1) the correlation of the numbers; NaN where one side has no spread."""
        ones = np.ones((len(weights), 1))
        return _correlation(self.judge * ones, self.human * ones, weights[:, self.question])

    def spearman(self, weights: Floats) -> Floats:
        """(R, 1) the correlation of the ranks, which are those of the resample; equal numbers share their mean rank."""
        each = weights[:, self.question]
        return _correlation(_ranks(self.judge, each), _ranks(self.human, each), each)


def _ranks(values: Floats, weights: Floats) -> Floats:
    """(R, n) mean ranks of the values where each stands as often as its weight (R, n) says."""
    different, codes = np.unique(values, return_inverse=True)
    order = np.argsort(codes, kind="stable")
    firsts = np.searchsorted(codes[order], np.arange(len(different)))
    counts = np.add.reduceat(weights[:, order], firsts, axis=1)
    ranks: Floats = np.cumsum(counts, axis=1) - (counts - 1) / 2
    return ranks[:, codes]


def _correlation(x: Floats, y: Floats, weights: Floats) -> Floats:
    """(R, 1) Pearson's correlation of each row of x and y (R, n), weighted."""
    (x, x_squares), (y, y_squares) = (_centred(side, weights) for side in (x, y))
    found = _divided((weights * x * y).sum(axis=1), np.sqrt(x_squares * y_squares))
    return np.clip(found, -1.0, 1.0)[:, None]


def _centred(side: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """(R, n) the numbers less their weighted mean, and (R,) the sum of their squares; 0 where all are equal."""
    greatest = np.abs(side).max(initial=0.0) or 1.0
    side = side / greatest
    total = weights.sum(axis=1, keepdims=True)
    side = side - (weights * side).sum(axis=1, keepdims=True) / total
    squares = (weights * side * side).sum(axis=1)
    return side, np.where(squares <= total[:, 0] * _ROUNDING**2, 0.0, squares)


def share_interval(hits: int, questions: int, n: int, ends: Floats) -> list[float] | None:
    """The interval of a share; where all or none of n things were hit, that of so many questions (Wilson 1927).

    Such a share is the same in every resample; that the things of a question are alike is then the cautious guess.

    >>> share_interval(5, 1, 5, np.array([np.nan, np.nan])) is None
    True
    >>> [round(end, 3) for end in share_interval(20, 10, 20, np.array([np.nan, np.nan]))]
    [0.722, 1.0]
    """
    if not np.isnan(ends).any():
        return [float(end) for end in ends]
    if n == 0 or hits not in (0, n):
        return None
    return interval95(Moments.of(np.full(questions, float(hits > 0))), 0.0, 1.0)


def _divided(above: Floats, below: Floats) -> Floats:
    quotients: Floats = np.divide(above, below, out=np.full(np.shape(above), np.nan), where=below != 0)
    return quotients
