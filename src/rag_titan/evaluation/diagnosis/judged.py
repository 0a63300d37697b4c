"""What is wrong with a question by its judge's scores: the table of the whitepaper, section 4.

A row of the table stands on what its words say: a hallucination "despite good context" needs a context that is known to
be good. What a row does not speak of may be unmeasured; where it is measured and low as well, several things are wrong,
and no row stands for that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from heapq import nsmallest
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rag_titan.evaluation.data.records import Verdicts
from rag_titan.evaluation.limits import SLACK
from rag_titan.evaluation.metric import Floats, Stage

Mask = NDArray[np.bool_]

EXAMPLES = 100


class Row(NamedTuple):
    """A row of the table.

    low     the score that is low
    high    scores that must be known, and not low
    stages  where the funnel loses a question with that fault; None: nowhere
    """

    name: str
    low: str
    high: tuple[str, ...]
    stages: tuple[str | None, ...]


_BEFORE = (Stage.CHUNKING, Stage.EMBEDDING, Stage.RETRIEVAL, Stage.RERANKING, Stage.AUGMENTATION)

ROWS: tuple[Row, ...] = (
    Row("evidence_not_retrieved", "context_recall", (), _BEFORE),
    Row("wrong_order", "context_precision", ("context_recall",), (Stage.RERANKING, None)),
    Row("hallucination", "faithfulness", ("context_recall",), (Stage.GENERATION,)),
    Row("question_not_answered", "answer_relevance", ("faithfulness",), (Stage.GENERATION,)),
)
"""In pipeline order."""

SIGNS: tuple[str, ...] = tuple(row.low for row in ROWS)
HEALTHY, SEVERAL, UNDETERMINED = "healthy", "several", "undetermined"
NAMES: tuple[str, ...] = (HEALTHY, *(row.name for row in ROWS), SEVERAL, UNDETERMINED)
_UNDETERMINED, _SEVERAL = len(NAMES) - 1, len(NAMES) - 2


@dataclass(frozen=True)
class JudgedFaults:
    """The rows of the table for n questions.

    scores   {sign: (n,) the score, NaN where it is not measured}
    limits   {sign: below it a score is low}
    judged   (n,) the question has verdicts

    >>> scores = {"faithfulness": [0.5, 0.5], "context_recall": [1.0, 0.5]}
    >>> arrays = {sign: np.array(scores.get(sign, [1.0, 1.0])) for sign in SIGNS}
    >>> found = JudgedFaults(arrays, dict.fromkeys(SIGNS, 0.8), np.array([True, True]))
    >>> found.names
    ['hallucination', 'several']
    """

    scores: Mapping[str, Floats]
    limits: Mapping[str, float]
    judged: Mask

    @cached_property
    def known(self) -> Mask:
        """(n, signs) True where the score is measured."""
        return ~np.isnan(self._matrix)

    @cached_property
    def low(self) -> Mask:
        """(n, signs) True where the score is measured and low."""
        limits = np.array([self.limits[sign] for sign in SIGNS])
        low: Mask = self._matrix < limits - SLACK
        return low

    @cached_property
    def _matrix(self) -> Floats:
        return np.column_stack([self.scores[sign] for sign in SIGNS])

    @cached_property
    def codes(self) -> NDArray[np.int64]:
        """(n,) place in NAMES; -1 for a question without verdicts."""
        lows = self.low.sum(axis=1)
        codes = np.where(lows > 1, _SEVERAL, np.where((lows == 0) & self.known.all(axis=1), 0, _UNDETERMINED))
        for place, row in enumerate(ROWS):
            needed = [SIGNS.index(sign) for sign in row.high]
            stands = (lows == 1) & self.low[:, place] & self.known[:, needed].all(axis=1)
            codes = np.where(stands, place + 1, codes)
        return np.where(self.judged, codes, -1)

    @property
    def names(self) -> list[str | None]:
        """(n,) the row of each question."""
        return [NAMES[code] if code >= 0 else None for code in self.codes.tolist()]

    def agrees(self, lost: NDArray[np.int64], places: Sequence[str], known: Mask, right: Floats) -> Floats:
        """(n,) 1 where the funnel's verdict is one that the row allows, 0 where it is another, NaN where one of both
        says nothing.

        lost   (n,) where the funnel lost the question, as its place in `places`; -1: nowhere, or nobody knows where
        known  (n,) the funnel knows what became of the evidence
        right  (n,) 1 where the answer is right by the gold labels, 0 where it is wrong, NaN where nobody can say
        """
        columns = [None, *places]
        of_rows = np.array([[stage in row.stages for stage in columns] for row in ROWS])
        allowed = self.low.astype(np.int64) @ of_rows.astype(np.int64) > 0
        healthy = self.codes == 0
        allowed[healthy] = [stage is None for stage in columns]
        kept, unplaced = lost < 0, (lost < 0) & (right == 0)  # wrong, and the labels do not say where it went wrong
        same = allowed[np.arange(len(lost)), lost + 1] & ~unplaced
        answers_only = allowed[:, columns.index(Stage.GENERATION)] & (allowed.sum(axis=1) == 1)
        unsaid = np.where(healthy, ~known & np.isnan(right), np.where(answers_only, np.isnan(right), ~known))
        silent = np.isin(self.codes, (-1, _UNDETERMINED)) | (lost == places.index(Stage.END_TO_END))
        silent |= kept & (unsaid | (unplaced & ~healthy))
        return np.where(silent, np.nan, same.astype(np.float64))

    def row(self, i: int, agrees: float) -> dict[str, Any] | None:
        """What the report says of question i beside the funnel's verdict; None without verdicts."""
        if self.codes[i] < 0:
            return None
        low, known = self.low[i].tolist(), self.known[i].tolist()
        return {
            "diagnosis": NAMES[int(self.codes[i])],
            "low": {sign: float(self.scores[sign][i]) for sign, is_low in zip(SIGNS, low, strict=True) if is_low},
            "unmeasured": [sign for sign, is_known in zip(SIGNS, known, strict=True) if not is_known],
            "agrees_with_funnel": None if np.isnan(agrees) else bool(agrees),
        }


@dataclass
class JudgedTally:
    """Counts over such rows that merge.

    counts    {name of a row: questions}, and {"agree", "differ"} of those that the funnel speaks of as well
    signs     {(sign, "low" or "measured"): questions}
    unjudged  {metric: questions of which the data say why it has no verdict}
    examples  {name, or "differ": up to 100 ids, the smallest}
    """

    counts: Counter[str] = field(default_factory=Counter)
    signs: Counter[tuple[str, str]] = field(default_factory=Counter)
    unjudged: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[str]] = field(default_factory=dict)
    limits: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def of(
        cls, faults: JudgedFaults, agrees: Floats, ids: Sequence[str], given: Sequence[Verdicts | None]
    ) -> JudgedTally:
        """Of one batch; `agrees` as `JudgedFaults.agrees` has it."""
        groups = {name: faults.codes == code for code, name in enumerate(NAMES)}
        groups |= {"agree": agrees == 1, "differ": agrees == 0}
        signs = {
            (sign, what): int(flags[:, place].sum())
            for what, flags in (("low", faults.low), ("measured", faults.known))
            for place, sign in enumerate(SIGNS)
        }
        reasons = (metric for verdicts in given if verdicts is not None for metric in verdicts.unjudged or ())
        examples = {
            name: nsmallest(EXAMPLES, [ids[i] for i in np.flatnonzero(group).tolist()])
            for name, group in groups.items()
            if name not in _UNLISTED and group.any()
        }
        counts = Counter({name: int(group.sum()) for name, group in groups.items()})
        return cls(counts, Counter(signs), Counter(reasons), examples, faults.limits)

    def merge(self, other: JudgedTally) -> JudgedTally:
        """Both together, whatever the order."""
        examples = {
            name: nsmallest(EXAMPLES, [*self.examples.get(name, ()), *other.examples.get(name, ())])
            for name in {**self.examples, **other.examples}
        }
        return JudgedTally(
            self.counts + other.counts,
            self.signs + other.signs,
            self.unjudged + other.unjudged,
            examples,
            self.limits or other.limits,
        )

    def add_to(self, report: dict[str, Any]) -> None:
        """Puts the table into the report's `judge`, where there is one."""
        if not self.limits or report.get(Stage.JUDGE) is None:
            return
        report[Stage.JUDGE]["diagnosis"] = {
            "limits": dict(self.limits),
            "rows": {name: self.counts[name] for name in NAMES},
            "signs": {sign: {what: self.signs[sign, what] for what in ("low", "measured")} for sign in SIGNS},
            "funnel": {name: self.counts[name] for name in ("agree", "differ")},
            "examples": {name: self.examples[name] for name in (*NAMES, "differ") if name in self.examples},
        }
        report[Stage.JUDGE]["unjudged"] = dict(sorted(self.unjudged.items()))


_UNLISTED = (HEALTHY, "agree")
