"""A small handbook with three chunks, and the verdicts on what a system logged about it."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from msgspec import convert

from rag_titan.evaluation.conventions import Conventions
from rag_titan.evaluation.data.corpus import Corpus
from rag_titan.evaluation.data.documents import Documents
from rag_titan.evaluation.data.records import Chunk, Query
from rag_titan.evaluation.data.tables import QueryTable, Settings
from rag_titan.evaluation.diagnosis.correctness import Correctness
from rag_titan.evaluation.diagnosis.funnel import STEPS, Funnel
from rag_titan.evaluation.diagnosis.verdicts import Verdicts
from rag_titan.evaluation.stages.generation import GenerationInputs

HANDBOOK = {"handbook": "Parking costs 12 euros a month. The canteen opens at 11. Badges expire after two years."}
CHUNKS = [
    {"id": "parking", "text": "Parking costs 12 euros a month. "},
    {"id": "canteen", "text": "The canteen opens at 11. "},
    {"id": "badges", "text": "Badges expire after two years."},
]


def verdicts_of(
    queries: list[dict[str, Any]],
    k: int = 2,
    chunks: list[dict[str, Any]] | None = CHUNKS,
    documents: dict[str, str] | None = HANDBOOK,
    indexed: Collection[str] | None = None,
    **conventions: Any,
) -> Verdicts:
    """The verdicts on queries that get the ids q0, q1, ... unless they have some."""
    rows = [{"id": f"q{i}", **query} for i, query in enumerate(queries)]
    corpus = Corpus(tuple(convert(chunks or [], list[Chunk])), Documents.of(documents), chunks is not None)
    table = QueryTable(convert(rows, list[Query]), corpus, Settings(k, (), Conventions(**conventions)))
    return Verdicts(Funnel(table, indexed), Correctness(GenerationInputs(table)))


def step_names(verdicts: Verdicts) -> list[str | None]:
    """The step at which the evidence of each query was lost."""
    return [str(STEPS[step]) if step >= 0 else None for step in verdicts.funnel.lost_step.tolist()]
