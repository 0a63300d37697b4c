"""A small dataset in which every input is given and every metric is measured; the same one for the same seed."""

from __future__ import annotations

import random
from typing import Any

WORDS = (
    "lamp", "river", "stone", "bread", "copper", "window", "garden", "letter", "bridge", "candle", "mirror", "basket",
    "anchor", "saddle", "ribbon",
)  # fmt: skip
TIMES = (
    "latency_ms", "embedding_latency_ms", "search_latency_ms", "retrieval_latency_ms", "rerank_latency_ms",
)  # fmt: skip


def rich_dataset(seed: int = 7, queries: int = 12) -> dict[str, Any]:
    """Keyword arguments of `RAGEvaluator.evaluate`."""
    dice = random.Random(seed)
    documents = {name: _text(dice, name) for name in ("alpha", "beta")}
    chunks = _chunks(documents)
    ids = [chunk["id"] for chunk in chunks]
    rows = [_query(dice, f"q{i:02}", documents, chunks) for i in range(queries)]
    return {
        "documents": documents,
        "chunks": chunks,
        "queries": rows,
        "embeddings": {
            "vectors": {chunk: _vector(dice) for chunk in ids},
            "query_vectors": {row["id"]: _vector(dice) for row in rows},
            "relevant_ids": {row["id"]: row["expected_chunk_ids"] for row in rows},
            "indexed_ids": ids[:-1],
            "index_results": {row["id"]: dice.sample(ids, 4) for row in rows},
        },
        "max_context_tokens": 40,
        "expected_chunks": [
            {"doc_id": n, "start": a, "end": b} for n, t in documents.items() for a, b in _sentences(t)
        ],
        "structural_blocks": [{"doc_id": n, "start": 0, "end": 30} for n in documents],
        "required_metadata": ["source", "page"],
        "expected_metadata": {chunk["id"]: {"page": 1} for chunk in chunks},
        "size_limits": (5, 14),
        "boundary_tolerance": 3,
        "sentence_vectors": {chunk: [_vector(dice) for _ in range(2)] for chunk in ids},
        "chunk_vectors": {chunk: _vector(dice) for chunk in ids},
    }


def _text(dice: random.Random, name: str) -> str:
    """Eight sentences; the numbers make every quote with one of them unique."""
    first = {"alpha": 10, "beta": 50}[name]
    sentences = [" ".join([*dice.sample(WORDS, 6), f"{name}{first + i}", str(first + i)]) + "." for i in range(8)]
    return " ".join(sentences)


def _sentences(text: str) -> list[tuple[int, int]]:
    ends = [i + 1 for i, char in enumerate(text) if char == "."]
    return list(zip([0, *(end + 1 for end in ends[:-1])], ends, strict=True))


def _chunks(documents: dict[str, str]) -> list[dict[str, Any]]:
    """Windows of 70 characters, every 55: they overlap, and cut sentences and words."""
    chunks = []
    for name, text in documents.items():
        for page, start in enumerate(range(0, len(text), 55), 1):
            end = min(start + 70, len(text))
            chunk = {"id": f"{name}-{page}", "doc_id": name, "start": start, "end": end, "text": text[start:end]}
            chunks.append({**chunk, "metadata": {"source": name, "page": page} if page % 4 else {"source": name}})
    return chunks


def _vector(dice: random.Random) -> list[float]:
    return [round(dice.uniform(-1, 1), 3) for _ in range(4)]


def _query(dice: random.Random, name: str, documents: dict[str, str], chunks: list[dict[str, Any]]) -> dict[str, Any]:
    doc_id = dice.choice(sorted(documents))
    start, end = dice.choice(_sentences(documents[doc_id]))
    quote = documents[doc_id][end - 14 : end - 1]
    holding = [c["id"] for c in chunks if c["doc_id"] == doc_id and c["start"] <= end - 14 and end - 1 <= c["end"]]
    others = [c["id"] for c in chunks if c["id"] not in holding]
    gold = holding or [dice.choice(others)]
    retrieved = dice.sample([gold[0], *dice.sample(others, 5)], 6)
    reranked = dice.sample(retrieved, 6)
    number = documents[doc_id][end - 3 : end - 1]
    answer = f"It is {number if dice.random() < 0.7 else '99'}, see the {dice.choice(WORDS)} [1]."
    labels = {
        "expected_chunk_ids": gold,
        "relevance": {gold[0]: dice.choice([1, 2, 3]), others[0]: 0},
        "expected_evidence": [quote],
        "expected_answer": f"It is {number}.",
        "expected_answers": [f"{number}", f"the number {number}"],
        "required_facts": [number],
        "expected_citations": gold,
        "answerable": dice.random() < 0.8,
    }
    logged = {
        "retrieved_ids": retrieved,
        "retrieved_scores": [round(1 / rank, 3) for rank in range(1, 7)],
        "reranked_ids": reranked,
        "context_ids": reranked[:3],
        "answer": answer,
        "citations": dice.sample(retrieved, 2),
        "verified_claims": [{"text": answer, "supported": dice.random() < 0.6}],
        "verdicts": _verdicts(dice, reranked[:3]),
        "abstained": dice.random() < 0.2,
        "task_success": dice.random() < 0.5,
        "cost_usd": round(dice.uniform(0.001, 0.02), 4),
        "total_tokens": dice.randrange(200, 900),
        "output_tokens": dice.randrange(20, 90),
        "time_to_first_token_ms": dice.randrange(50, 200),
        "generation_latency_ms": dice.randrange(300, 900),
        "question": f"What number ends the sentence from character {start} of {doc_id}?",
        "tags": {"document": doc_id},
    }
    return {"id": name, **labels, **logged, **{key: dice.randrange(10, 60) for key in TIMES[1:]}, "latency_ms": 1500}


def _verdicts(dice: random.Random, context: list[str]) -> dict[str, Any]:
    words = ("supported", "not_supported", "contradicted")

    def claims(other: str) -> list[dict[str, Any]]:
        """Two statements; a chunk bears out the first."""
        by_chunk = [
            {chunk: "supported" if i == n == 0 else dice.choice(words) for n, chunk in enumerate(context)}
            for i in range(2)
        ]
        return [{"text": "It is so.", "chunks": chunks, other: dice.choice(words)} for chunks in by_chunk]

    return {
        "answer_claims": claims("reference"),
        "reference_claims": claims("answer"),
        "chunk_relevance": {chunk: dice.choice([0, 1, 2]) for chunk in context},
        "question_similarities": [round(dice.uniform(0, 1), 3) for _ in range(3)],
        "noncommittal": dice.random() < 0.2,
        "judge": "a-model@0123456789abcdef",
    }


def without(dataset: dict[str, Any], names: list[str]) -> dict[str, Any]:
    """The dataset without these inputs, wherever they stand: beside the queries, in them, or in the embeddings."""
    kept = {key: value for key, value in dataset.items() if key not in names}
    if "queries" in kept:
        kept["queries"] = [{k: v for k, v in query.items() if k not in names} for query in kept["queries"]]
    if "vectors" in names:
        kept.pop("embeddings", None)
    elif "embeddings" in kept:
        kept["embeddings"] = {key: value for key, value in kept["embeddings"].items() if key not in names}
    return kept
