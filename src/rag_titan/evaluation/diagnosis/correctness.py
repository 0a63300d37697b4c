"""Is the answer right? The first rule that has what it needs decides; word overlap never calls a long answer wrong.

On 1,120 public answers the mean F1 of right and wrong ones alike is 0.35 and 1.6 % reach 0.75, so that exact match and
F1 speak only where the reference is short.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rag_titan.evaluation.limits import SLACK
from rag_titan.evaluation.metric import Floats
from rag_titan.evaluation.stages.generation import GenerationInputs

SHORT = 10  # tokens
F1_ENOUGH = 0.75
ASKED = (
    "error",
    "task_success",
    "verified_claims",
    "required_facts",
    "answerable",
    "expected_answer",
    "expected_answers",
)
RULES = ("error", "task_success", "verified_claims", "required_facts", "abstention", "short_reference")


@dataclass(frozen=True)
class Correctness:
    """The verdict on n answers.

    enough  the F1 from which an answer to a short reference is right
    """

    inputs: GenerationInputs
    enough: float = F1_ENOUGH

    @cached_property
    def broken(self) -> NDArray[np.bool_]:
        """(n,) True where an error took the answer's place."""
        table = self.inputs.table
        return table.given("error") & ~table.given("answer")

    @cached_property
    def rule(self) -> NDArray[np.int64]:
        """(n,) the rule in RULES that decides, -1 where none does."""
        said = ~np.isnan(self._votes)
        return np.where(said.any(axis=1), said.argmax(axis=1), -1)

    @cached_property
    def correct(self) -> Floats:
        """(n,) 1 right, 0 wrong, NaN unjudged."""
        rows = np.arange(len(self._votes))
        return np.where(self.rule >= 0, self._votes[rows, self.rule], np.nan)

    @cached_property
    def by(self) -> list[str | None]:
        """(n,) the name of the rule that decided."""
        names = (*RULES, None)  # -1 reads the last
        return [names[rule] for rule in self.rule.tolist()]

    @cached_property
    def _votes(self) -> Floats:
        """(n, rules) what each rule says: 1, 0, or NaN where it has nothing to say."""
        inputs, table = self.inputs, self.inputs.table
        if not any(table.given(key).any() for key in ASKED):
            return np.full((len(table), len(RULES)), np.nan)
        supported, facts = inputs.claim_support(), inputs.fact_coverage()
        claims = np.where(np.isnan(supported), np.nan, (supported == 1) & ~(facts < 1))
        every_fact = np.where(np.isnan(facts), np.nan, facts == 1)
        error = np.where(self.broken, 0.0, np.nan)
        return np.column_stack(
            [error, table.flags("task_success"), claims, every_fact, self._abstention(), self._short_reference()]
        )

    def _abstention(self) -> Floats:
        """Wrong where it refused what can be answered, or answered what cannot; right where it refused rightly."""
        answerable, abstained = self.inputs.table.flags("answerable"), self.inputs.table.flags("abstained")
        wrong = answerable == abstained
        right = (answerable == 0) & (abstained == 1)
        return np.select([wrong, right], [0.0, 1.0], np.nan)

    def _short_reference(self) -> Floats:
        """Right where it meets a short reference, wrong where it is short too and meets none.

        To meet a reference is to have all of it in the answer ("It is 25 days a year." for "25 days"), or an F1 that is
        enough without a number of it missing ("within 30 days" is not "within 45 days"). A longer answer that does
        neither may say the same in other words; so it is unjudged, as it is where there is a longer reference as well.
        """
        answers = self.inputs.table.answers
        known = ~np.isnan(self.inputs.short_answer_scores(SHORT))
        if not known.any():
            return np.full(len(known), np.nan)
        longer = np.bincount(answers.pairs.rows, answers.pairs.reference_tokens > SHORT, len(answers)) > 0
        right = self.inputs.meets_short_reference(SHORT, self.enough - SLACK)
        wrong = ~right & ~longer & (answers.sizes <= SHORT)
        return np.select([known & right, known & wrong], [1.0, 0.0], np.nan)
