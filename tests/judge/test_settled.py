"""What needs no call is named in words that the evaluation knows for the judge's own, and so shows under --redact."""

from __future__ import annotations

from itertools import product
from typing import Any

from rag_titan.evaluation.data.verdicts import SETTLED
from rag_titan.judge.material import Material
from rag_titan.judge.metrics import Ask


def test_every_reason_is_one_of_those_that_are_shown() -> None:
    texts: tuple[str | None, ...] = (None, " ", "I don't know.", "x")
    chunks: tuple[Any, ...] = (None, (), (("a", None),), (("a", " "),), (("a", "x"),))
    found = set()
    for answer, reference, question, context, of, error in product(
        texts, texts, (None, "x"), (None, " ", "x"), chunks, (False, True)
    ):
        material = Material(
            id="q", question=question, answer=answer, reference=reference, context=context, chunks=of, error=error
        )
        found |= {material.settled(ask) for ask in Ask}
    assert found - {None} == SETTLED
