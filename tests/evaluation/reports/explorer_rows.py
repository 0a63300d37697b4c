"""Small reports with explorer rows, made by hand: a question whose evidence the reranker pushed down, and others."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

TEXT = "Refunds are paid within 5 days of the return. A parcel that is lost is replaced at no cost."
CHUNKS: dict[str, dict[str, Any]] = {
    "c1": {"text": TEXT, "document": "refunds.md", "cut": False},
    "c2": {"text": "Opening hours: 9 to 17 on working days.", "document": "hours.md", "cut": False},
    "c3": {"text": None, "document": None, "cut": False},
}


def verdict(query: str, **changes: Any) -> dict[str, Any]:
    """A wrong answer whose evidence the reranker pushed down."""
    found = {
        "id": query, "lost_at": "reranking", "correct": False, "correct_by": "required_facts", "scenario": "C",
        "why": ["gold chunk c1 went from rank 1 to rank 3, K is 2"], "tags": {"language": "en"},
    }  # fmt: skip
    return {**found, **changes}


def row(query: str = "q1", *, of_verdict: dict[str, Any] | None = None, **changes: Any) -> dict[str, Any]:
    """An explorer row with everything that one can hold."""
    quote = "within 5 days"
    start = TEXT.index(quote)
    answer = "It takes 7 days [c9]."
    found = {
        "id": query, "question": "How fast is a refund paid?", "tags": {"language": "en"}, "error": None,
        "answer": answer, "references": ["Within 5 days."], "abstained": False, "answerable": True,
        "facts": [{"text": "5 days", "found": False}, {"text": "refund", "found": True}],
        "answer_marks": [{"start": answer.index("7"), "end": answer.index("7") + 1, "what": "number"},
                         {"start": answer.index("[c9]"), "end": answer.index("[c9]") + 4, "what": "citation"}],
        "gold": [{"id": "c1", "grade": 1.0, "retrieved_rank": 1, "reranked_rank": 3, "in_context": False}],
        "evidence": [{"quotes": [quote], "places": [{"chunk": "c1", "start": start, "end": start + len(quote)}],
                      "whole_in": ["c1"], "retrieved_rank": 1, "reranked_rank": 3, "in_context": False}],
        "retrieved": [{"id": "c1", "grade": 1.0, "score": 0.9}, {"id": "c2", "grade": None, "score": 0.5},
                      {"id": "c3", "grade": None, "score": 0.25}],
        "reranked": [{"id": "c2", "grade": None, "score": None}, {"id": "c3", "grade": None, "score": None},
                     {"id": "c1", "grade": 1.0, "score": None}],
        "context": [{"id": "c2", "tokens": 9}, {"id": "c3", "tokens": 12}], "budget": {"used": 21, "max": 20},
        "metrics": {"retrieval.recall_at_k": 1.0, "reranking.mrr_at_k": 0.0, "generation.latency_ms": 480.0},
        "verdict": of_verdict or verdict(query),
    }  # fmt: skip
    return {**found, **changes}


def right(query: str) -> dict[str, Any]:
    """A row of a question that came out right."""
    fine = verdict(query, lost_at=None, correct=True, scenario="A", why=[], tags={"language": "de"})
    metrics = {"retrieval.recall_at_k": 0.5, "reranking.mrr_at_k": 1.0}
    return row(query, of_verdict=fine, tags={"language": "de"}, question="Wie lange?", answer_marks=[], metrics=metrics)


def report_of(rows: Iterable[dict[str, Any]], chunks: dict[str, dict[str, Any]] | None = None) -> dict[str, Any]:
    """A report of these rows."""
    rows = list(rows)
    failed = [entry["verdict"] for entry in rows if entry["verdict"]["correct"] is False]
    lost = sum(entry["lost_at"] == "reranking" for entry in failed)
    return {
        "meta": {"k": 2, "rag_titan": "0.1.0", "counts": {"queries": len(rows)}, "conventions": {}},
        "retrieval": {"summary": {"recall_at_k": 0.75}, "detail": {}},
        "queries": [entry["verdict"] for entry in rows],
        "diagnosis": {"funnel": [{"stage": "reranking", "lost": lost, "kept": len(rows) - lost}],
                      "counts": {"questions": len(rows), "known": len(rows), "failed": len(failed)}},
        "explorer": {"queries": rows, "chunks": CHUNKS if chunks is None else chunks, "left_out": 0, "redacted": False},
    }  # fmt: skip
