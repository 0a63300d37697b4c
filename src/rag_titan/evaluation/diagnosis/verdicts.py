"""One verdict a question: where its evidence was lost, whether the answer is right, and which scenario that makes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from heapq import nsmallest
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag_titan.evaluation.data.redaction import Redaction
from rag_titan.evaluation.diagnosis.correctness import Correctness
from rag_titan.evaluation.diagnosis.funnel import STEPS, Funnel
from rag_titan.evaluation.diagnosis.judged import JudgedFaults
from rag_titan.evaluation.metric import Floats, Stage

EXAMPLES = 100
PLACES: tuple[str, ...] = (*(str(step) for step in STEPS), str(Stage.GENERATION), str(Stage.END_TO_END))
_RIGHT = {1.0: True, 0.0: False}
_ANSWER, _REQUEST = len(STEPS), len(STEPS) + 1


@dataclass(frozen=True)
class Verdicts:
    """The verdicts on n queries.

    A loss before the answer is counted even when the answer came out right; a question failed when its answer is
    wrong, or when nobody can say and its evidence was lost.

    redaction  what stands in the place of the texts of the data, where these may not come out
    judged     what is wrong by the scores of a judge, where the data hold verdicts
    """

    funnel: Funnel
    answers: Correctness
    redaction: Redaction | None = None
    judged: JudgedFaults | None = None

    def shown(self, text: str) -> str:
        """A text of the data as it may come out."""
        return text if self.redaction is None else self.redaction(text)

    @cached_property
    def correct(self) -> Floats:
        """(n,) 1 right, 0 wrong, NaN unjudged."""
        return self.answers.correct

    @cached_property
    def answer_decides(self) -> NDArray[np.bool_]:
        """(n,) True where the answer alone can be wrong: its evidence came through, or the documents have none."""
        unanswerable = self.funnel.table.flags("answerable") == 0
        return np.asarray((self.funnel.arrived == 1) | unanswerable, dtype=bool)

    @cached_property
    def lost_at(self) -> NDArray[np.int64]:
        """(n,) place in PLACES, -1 where nothing was lost or nobody can say where.

        Without an answer because of an error: the request. Evidence that came through and a wrong answer, or a wrong
        answer to what the documents cannot answer: the answer.
        """
        wrong_answer = (self.correct == 0) & self.answer_decides
        lost = np.where(self.funnel.lost_step >= 0, self.funnel.lost_step, np.where(wrong_answer, _ANSWER, -1))
        return np.where(self.answers.broken, _REQUEST, lost)

    @cached_property
    def failed(self) -> NDArray[np.bool_]:
        """(n,) True for wrong ones, and for unjudged ones whose evidence was lost."""
        failed: NDArray[np.bool_] = (self.correct == 0) | (np.isnan(self.correct) & (self.lost_at >= 0))
        return failed

    @cached_property
    def scenarios(self) -> list[str | None]:
        """(n,) whitepaper, section 1: A right with its evidence, B wrong in spite of it, C wrong without, D refused
        without; None where that cannot be said, and where an error took the answer's place."""
        arrived, wrong = self.funnel.arrived, self.correct == 0
        refused = self.funnel.table.flags("abstained") == 1
        rules = (
            (arrived == 1) & (self.correct == 1),
            (arrived == 1) & wrong,
            (arrived == 0) & refused,
            (arrived == 0) & wrong,
        )
        codes = np.where(self.answers.broken, len(rules), np.select(rules, range(len(rules)), len(rules)))
        names = ("A", "B", "D", "C", None)
        return [names[code] for code in codes.tolist()]

    @cached_property
    def agrees(self) -> Floats:
        """(n,) 1 where the judge's verdicts find the fault where the funnel does, 0 where elsewhere, NaN where one of
        both says nothing."""
        if self.judged is None:
            return np.full(len(self.correct), np.nan)
        return self.judged.agrees(self.lost_at, PLACES, self.funnel.known, self.correct)

    def rows(self, why: Sequence[Sequence[str]]) -> list[dict[str, Any]]:
        """The report's `queries`: one dict a query."""
        return [self.row(i, reasons) for i, reasons in enumerate(why)]

    def row(self, i: int, why: Sequence[str]) -> dict[str, Any]:
        """The same of query i; without verdicts of a judge it has no key `judge`."""
        table = self.funnel.table
        judged = None if self.judged is None else self.judged.row(i, float(self.agrees[i]))
        return {
            "id": table.ids[i],
            "lost_at": _place(int(self.lost_at[i])),
            "correct": _RIGHT.get(float(self.correct[i])),
            "correct_by": self.answers.by[i],
            "scenario": self.scenarios[i],
            "why": list(why),
            "tags": table.column("tags")[i],
            **({} if judged is None else {"judge": judged}),
        }


def _place(lost: int) -> str | None:
    return PLACES[lost] if lost >= 0 else None


@dataclass
class VerdictTally:
    """Counts over verdicts that merge.

    steps      {stage: [questions that came to the step with their evidence known, kept, lost there]}
    counts     {"right", "wrong", "unjudged", "failed", ...: number}; see `report`
    scenarios  {"A".."D": number}
    examples   {stage: up to 100 ids of failed questions, the smallest}
    """

    steps: Counter[tuple[str, str]] = field(default_factory=Counter)
    counts: Counter[str] = field(default_factory=Counter)
    scenarios: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, verdicts: Verdicts) -> VerdictTally:
        """From the verdicts of one batch."""
        tally = cls()
        tally._count_steps(verdicts)
        correct, funnel = verdicts.correct, verdicts.funnel
        tally.counts.update(
            questions=len(correct),
            right=int((correct == 1).sum()),
            wrong=int((correct == 0).sum()),
            unjudged=int(np.isnan(correct).sum()),
            failed=int(verdicts.failed.sum()),
            known=int(funnel.known.sum()),
            unanswerable_answered=int(((verdicts.lost_at == _ANSWER) & (funnel.arrived != 1)).sum()),
            lost=int(((verdicts.lost_at >= 0) & (verdicts.lost_at < len(STEPS))).sum()),
            errors=int(verdicts.answers.broken.sum()),
        )
        tally.scenarios.update(name for name in verdicts.scenarios if name)
        return tally

    def _count_steps(self, verdicts: Verdicts) -> None:
        """A step is followed by what it was given, also where an error ended the question later."""
        lost_at, lost_step, ids = verdicts.lost_at, verdicts.funnel.lost_step, verdicts.funnel.table.ids
        for place, name in enumerate(PLACES):
            here = lost_at == place
            self.steps[name, "lost"] += int(here.sum())
            if place < len(STEPS):
                seen = ~np.isnan(verdicts.funnel.kept[:, place])
                self.steps[name, "kept"] += int((seen & ((lost_step < 0) | (lost_step > place))).sum())
                self.steps[name, "seen"] += int(seen.sum())
            elif place == _ANSWER:
                judged = verdicts.answer_decides & ~np.isnan(verdicts.correct)
                self.steps[name, "kept"] += int((judged & (verdicts.correct == 1)).sum())
                self.steps[name, "seen"] += int(judged.sum())
            failures = np.flatnonzero(here & verdicts.failed).tolist()
            if failures:
                self.examples[name] = nsmallest(EXAMPLES, [ids[i] for i in failures])

    def merge(self, other: VerdictTally) -> VerdictTally:
        """Both together, whatever the order."""
        examples = {
            name: nsmallest(EXAMPLES, [*self.examples.get(name, ()), *other.examples.get(name, ())])
            for name in {**self.examples, **other.examples}
        }
        return VerdictTally(
            self.steps + other.steps, self.counts + other.counts, self.scenarios + other.scenarios, examples
        )

    def report(self) -> dict[str, Any]:
        """The report's `diagnosis`."""
        funnel = [
            {
                "stage": name,
                "lost": self.steps[name, "lost"],
                "kept": self.steps[name, "kept"] if self.steps[name, "seen"] else None,
            }
            for name in PLACES
            if self.steps[name, "seen"] or self.steps[name, "lost"]
        ]
        names = (
            "questions", "known", "lost", "right", "wrong", "unjudged", "failed", "errors", "unanswerable_answered",
        )  # fmt: skip
        return {
            "funnel": funnel,
            "counts": {name: self.counts[name] for name in names},
            "scenarios": {name: self.scenarios[name] for name in "ABCD"},
            "examples": {name: self.examples[name] for name in PLACES if name in self.examples},
        }
