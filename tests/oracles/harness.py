"""One harness for every reference: evaluate a log with ours and with theirs, and compare query by query.

A reference is a small adapter: queries in, {our metric key: {query id: their value}} out. A query that it leaves out
must be unmeasured in ours.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import pytest

from rag_titan.evaluation import RAGEvaluator, Stage

Query = dict[str, Any]
Scores = Mapping[str, Mapping[str, float]]
TOLERANCE = 1e-9


@dataclass(frozen=True)
class Reference:
    """A public implementation of some of our metrics.

    library      what must be installed for it
    score        (queries, k) -> its values
    conventions  the choices under which ours mean the same
    """

    name: str
    library: str
    stage: Stage
    score: Callable[[Sequence[Query], int], Scores]
    conventions: Any = None

    def check(self, queries: Sequence[Query], k: int = 5) -> None:
        """Fail unless every value, and every mean, is theirs."""
        pytest.importorskip(self.library)
        part = RAGEvaluator(k=k, conventions=self.conventions).evaluate(queries=list(queries))[self.stage]
        rows = {row["id"]: row for row in part["per_query"]}
        for key, wanted in self.score(queries, k).items():
            got = {name: row[key] for name, row in rows.items() if row[key] is not None}
            assert wanted, f"{self.name} measured no {key}: the comparison says nothing"
            assert got == pytest.approx(dict(wanted), abs=TOLERANCE), f"{key} of {self.name} at {k}"
            mean = part[key] if self.stage.flat else part["summary"][key]
            assert mean == pytest.approx(fmean(wanted.values()), abs=TOLERANCE), f"mean {key} of {self.name} at {k}"


def ranking_log(seed: int, queries: int = 25, chunks: int = 40, deepest: int = 30) -> list[Query]:
    """Random rankings over graded gold: judged and unjudged chunks, misses, empty lists, grades of 0 and below."""
    dice = random.Random(seed)
    names = [f"c{i:02}" for i in range(chunks)]
    log = []
    for number in range(queries):
        judged = dice.sample(names, dice.randrange(1, 15))
        grades = {name: dice.choice([-1, 0, 0, 1, 1, 2, 3]) for name in judged}
        grades[judged[0]] = dice.choice([2, 3])
        ranked = dice.sample(names, dice.randrange(0, deepest))
        log.append({"id": f"q{number}", "relevance": grades, "retrieved_ids": ranked})
    return log


WORDS = (
    "the", "lamp", "a", "river", "stone", "an", "bread", "copper", "window", "garden", "letter", "bridge", "25",
    "1,000", "don't", "U.S.", "mirror",
)  # fmt: skip


def answer_log(seed: int, queries: int = 200) -> list[Query]:
    """Random answers that share words with their references; empty ones and ones of articles alone among them."""
    dice = random.Random(seed)

    def text(most: int) -> str:
        words = dice.choices(WORDS, k=dice.randrange(0, most))
        return " ".join(word.title() if dice.random() < 0.2 else word for word in words) + dice.choice(["", ".", " !"])

    return [{"id": f"q{i}", "answer": text(12), "expected_answer": text(8)} for i in range(queries)]
