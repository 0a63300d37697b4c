"""Slow twins of what the stages compute: one query, plain lists, dicts and sets, straight from the formulas."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
from msgspec import convert
from tests.strategies import World

from rag_titan.evaluation.conventions import Conventions
from rag_titan.evaluation.data.corpus import Corpus
from rag_titan.evaluation.data.documents import Documents
from rag_titan.evaluation.data.records import Chunk, Query
from rag_titan.evaluation.data.tables import QueryTable, Settings


def table_of(world: World, k: int, also_at: tuple[int, ...] = (), **conventions: Any) -> QueryTable:
    """The world's queries as columns."""
    corpus = Corpus(tuple(convert(world.chunks, list[Chunk])), Documents.of(world.documents), True)
    return QueryTable(convert(world.queries, list[Query]), corpus, Settings(k, also_at, Conventions(**conventions)))


def assert_columns(got: dict[str, Any], wanted: dict[str, list[float | None]]) -> None:
    """Every wanted column, NaN for None; all of them to 1e-12."""
    for key, column in wanted.items():
        values = np.array([math.nan if v is None else v for v in column], dtype=np.float64)
        np.testing.assert_allclose(got[key], values, rtol=1e-12, atol=1e-15, err_msg=key)


def gold_of(query: dict[str, Any]) -> dict[str, float] | None:
    """{chunk id: grade}, None without labels; grades from 0 down are no gold, expected ids without a grade have 1."""
    if "relevance" not in query and "expected_chunk_ids" not in query:
        return None
    gold = {**dict.fromkeys(query.get("expected_chunk_ids", ()), 1.0), **query.get("relevance", {})}
    return {chunk: grade for chunk, grade in gold.items() if grade > 0}


def first_ranks(ids: list[str] | None, k: int | None = None) -> list[str]:
    """The list without repeated ids, cut at k."""
    kept: list[str] = []
    for chunk in ids or ():
        if chunk not in kept:
            kept.append(chunk)
    return kept[:k]


def ranking_scores(gold: dict[str, float], ids: list[str], k: int, level: float, gain: str) -> dict[str, float]:
    """The @K metrics of one list, for a query with at least one relevant chunk."""
    top = first_ranks(ids, k)
    relevant = [chunk for chunk, grade in gold.items() if grade >= level]
    ranks = [rank for rank, chunk in enumerate(top, 1) if chunk in relevant]
    p, r = len(ranks) / k, len(ranks) / len(relevant)
    return {
        "precision_at_k": p,
        "recall_at_k": r,
        "f1_at_k": 2 * p * r / (p + r) if ranks else 0.0,
        "mrr_at_k": 1 / ranks[0] if ranks else 0.0,
        "hit_at_k": float(bool(ranks)),
        "average_precision_at_k": sum(n / rank for n, rank in enumerate(ranks, 1)) / min(len(relevant), k),
        "ndcg_at_k": ndcg(gold, ids, k, gain),
    }


def ndcg(gold: dict[str, float], ids: list[str], k: int, gain: str = "exponential") -> float:
    """Gains of the grades found, over those of the best order of all gold."""
    found = [gold.get(chunk, 0.0) for chunk in first_ranks(ids, k)]
    return _dcg(found, gain) / _dcg(sorted(gold.values(), reverse=True)[:k], gain)


def _dcg(grades: list[float], gain: str) -> float:
    gains = [2**grade - 1 if gain == "exponential" else grade for grade in grades]
    return sum(value / math.log2(rank + 1) for rank, value in enumerate(gains, 1))


Positions = set[tuple[str, int]]


def tokens_inside(world: World, doc_id: str, start: int, end: int) -> Positions:
    """The words that lie wholly in text[start:end], each as (document, first character)."""
    words = re.finditer(r"\w+", world.documents[doc_id])
    return {(doc_id, word.start()) for word in words if start <= word.start() and word.end() <= end}


def options_of(item: dict[str, Any]) -> list[dict[str, Any]]:
    """The alternatives of an evidence item."""
    found: list[dict[str, Any]] = item.get("any_of", [item])
    return found


def token_scores(world: World, query: dict[str, Any], ids: list[str] | None) -> dict[str, float | None]:
    """Recall, precision, IoU and complete recall of a list of chunks, all None where one chunk is unknown."""
    names = ("token_recall", "token_precision", "token_iou", "complete_evidence_recall")
    chunks = {chunk["id"]: chunk for chunk in world.chunks}
    items = query.get("expected_evidence")
    if not items or ids is None or any(chunk not in chunks for chunk in ids):
        return dict.fromkeys(names)
    covered: Positions = set()
    for chunk in ids:
        covered |= tokens_inside(world, *place(chunks[chunk]))
    gold: Positions = set()
    for item in items:
        spans = [tokens_inside(world, *place(option)) for option in options_of(item)]
        gold |= max(spans, key=lambda span: len(span & covered) / len(span))
    whole = [any(inside(option, chunks[c]) for c in ids for option in options_of(item)) for item in items]
    shared = covered & gold
    return {
        "token_recall": len(shared) / len(gold),
        "token_precision": len(shared) / len(covered) if covered else None,
        "token_iou": len(shared) / len(covered | gold),
        "complete_evidence_recall": sum(whole) / len(items),
    }


def place(span: dict[str, Any]) -> tuple[str, int, int]:
    """Document, start and end."""
    return span["doc_id"], span["start"], span["end"]


def inside(option: dict[str, Any], chunk: dict[str, Any]) -> bool:
    """True where the option's characters lie in the chunk."""
    same = option["doc_id"] == chunk["doc_id"]
    return bool(same and chunk["start"] <= option["start"] and option["end"] <= chunk["end"])
