"""Writes rag_evaluation_sample.json: a logged run of a small RAG system over the three documents in sample_docs/.

Twelve questions. Four are handled well; each of the others fails at another place, so that the report of
`rag-titan demo` shows every kind of loss:

    q04  the chunker cut the sentence with the answer in two
    q05  the chunk with the answer never reached the index
    q06  the search does not find it
    q07  the reranker drops it
    q08  it is left out of the prompt
    q09  it is in the prompt, and the answer is wrong
    q10  the documents cannot answer the question, and the system answered
    q12  the model did not answer in time

A test compares the file with what this script would write.
"""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
SAMPLE = HERE / "rag_evaluation_sample.json"
DOCUMENTS = ("leave_policy.md", "travel_expenses.md", "remote_work.md")
LINE = 110
FOUND, PACKED = 8, 3  # chunks that the search returns, chunks that go into the prompt

Vector = list[float]
Record = dict[str, Any]

# id, document, the words it begins with, the words it ends with, and its direction. The axes of the vectors:
# leave, sickness, family, travel, money, vehicles, home, devices.
CHUNKS = (
    ("leave-1", 0, "# Leave policy", "on 30 April.\n\n", (0.9, 0.1, 0.1, 0.1, 0.1, 0.0, 0.1, 0.0)),
    ("leave-2", 0, "## Sick leave", "first 8 weeks.\n\n", (0.4, 0.9, 0.1, 0.0, 0.2, 0.0, 0.0, 0.0)),
    ("leave-3", 0, "## Parental leave", "people team.\n\n", (0.6, 0.2, 0.8, 0.0, 0.1, 0.0, 0.0, 0.0)),
    ("leave-4", 0, "Apply 10 weeks", "4 days\n", (0.7, 0.2, 0.5, 0.1, 0.0, 0.0, 0.1, 0.0)),
    ("travel-1", 1, "# Travel expenses", "economy class.\n\n", (0.1, 0.0, 0.0, 0.9, 0.1, 0.4, 0.0, 0.0)),
    ("travel-2", 1, "## Hotels", "up to 145 euros, ", (0.0, 0.0, 0.0, 0.8, 0.5, 0.0, 0.1, 0.0)),
    ("travel-3", 1, "and up to 190 euros", "in the limit.\n\n", (0.0, 0.0, 0.1, 0.6, 0.6, 0.0, 0.0, 0.0)),
    ("travel-4", 1, "## Daily allowance", "65 euros |\n\n", (0.1, 0.0, 0.0, 0.6, 0.8, 0.1, 0.0, 0.0)),
    ("travel-5", 1, "## Own car", "fines are not.\n\n", (0.0, 0.0, 0.0, 0.4, 0.5, 0.8, 0.0, 0.0)),
    ("travel-6", 1, "## Claims", "of a director.\n", (0.1, 0.1, 0.0, 0.5, 0.9, 0.0, 0.0, 0.1)),
    ("remote-1", 2, "## Place and time", "25 days a year.\n\n", (0.4, 0.0, 0.1, 0.2, 0.0, 0.0, 0.9, 0.1)),
    ("remote-2", 2, "## Equipment", "450 euros.\n\n", (0.0, 0.0, 0.0, 0.0, 0.4, 0.0, 0.4, 0.8)),
    ("remote-3", 2, "## Security", "within 2 hours.\n\n", (0.0, 0.1, 0.0, 0.1, 0.0, 0.0, 0.3, 0.9)),
    ("remote-4", 2, "## Costs at home", "needs no receipt.\n", (0.0, 0.0, 0.1, 0.0, 0.7, 0.0, 0.7, 0.2)),
)
NOT_INDEXED = ("travel-5",)

# The split a person would make: one chunk a section.
IDEAL = (
    (0, "# Leave policy", "on 30 April.\n\n"),
    (0, "## Sick leave", "first 8 weeks.\n\n"),
    (0, "## Parental leave", "people team.\n\n"),
    (0, "## Special leave", "4 days\n"),
    (1, "# Travel expenses", "economy class.\n\n"),
    (1, "## Hotels", "in the limit.\n\n"),
    (1, "## Daily allowance", "65 euros |\n\n"),
    (1, "## Own car", "fines are not.\n\n"),
    (1, "## Claims", "of a director.\n"),
    (2, "# Remote work", "25 days a year.\n\n"),
    (2, "## Equipment", "450 euros.\n\n"),
    (2, "## Security", "within 2 hours.\n\n"),
    (2, "## Costs at home", "needs no receipt.\n"),
)
BLOCKS = ((0, "- Moving home", "4 days\n"), (1, "| Destination", "65 euros |\n"))

# What a person wrote before the system ran, the direction of the question's vector, and what the system answered.
QUESTIONS: tuple[Record, ...] = (
    {
        "id": "q01",
        "question": "How many days of annual leave does a full-time employee get?",
        "tags": {"topic": "leave"},
        "direction": (0.9, 0.1, 0.2, 0.0, 0.0, 0.0, 0.3, 0.0),
        "gold": {
            "expected_chunk_ids": ["leave-1"],
            "expected_evidence": ["27 days of paid annual leave a year"],
            "expected_answer": "27 days",
            "required_facts": ["27 days"],
            "expected_citations": ["leave-1"],
            "answerable": True,
        },
        "output": {"answer": "27 days [leave-1]", "abstained": False},
        "verdict": {"task_success": True, "verified_claims": [{"text": "27 days", "supported": True}]},
    },
    {
        "id": "q02",
        "question": "What is paid per day on a trip to Spain, and in which class do I fly?",
        "tags": {"topic": "travel"},
        "direction": (0.1, 0.0, 0.0, 0.8, 0.5, 0.2, 0.0, 0.0),
        "first": ["travel-4", "travel-1"],
        "gold": {
            "relevance": {"travel-4": 3, "travel-1": 2, "travel-3": 0},
            "expected_evidence": ["| Europe | 48 euros |", "Flights are booked in economy class."],
            "expected_answer": "You are paid 48 euros a day in Europe, and flights are booked in economy class.",
            "required_facts": ["48 euros", "economy class"],
            "expected_citations": ["travel-4", "travel-1"],
            "answerable": True,
        },
        "output": {
            "answer": "A day in Europe is paid at 48 euros, and flights are booked in economy class. [1][2]",
            "abstained": False,
        },
        "verdict": {
            "verified_claims": [
                {"text": "A day in Europe is paid at 48 euros.", "supported": True},
                {"text": "Flights are booked in economy class.", "supported": True},
            ]
        },
    },
    {
        "id": "q03",
        "question": "From which day of sickness on do I need a doctor's note?",
        "tags": {"topic": "leave"},
        "direction": (0.9, 0.4, 0.5, 0.0, 0.0, 0.0, 0.1, 0.0),
        "first": ["leave-2"],
        "gold": {
            "expected_chunk_ids": ["leave-2"],
            "expected_evidence": ["A doctor's note is needed from the fourth day on."],
            "expected_answers": ["From the fourth day on.", "The fourth day"],
            "required_facts": ["fourth day"],
            "expected_citations": ["leave-2"],
            "answerable": True,
        },
        "output": {"answer": "From the fourth day on.", "citations": ["leave-2"], "abstained": False},
        "verdict": {"verified_claims": [{"text": "From the fourth day on.", "supported": True}]},
    },
    {
        "id": "q04",
        "question": "What may a hotel night in Oslo cost?",
        "tags": {"topic": "travel"},
        "direction": (0.0, 0.0, 0.0, 0.9, 0.5, 0.0, 0.1, 0.0),
        "first": ["travel-2"],
        "gold": {
            "expected_chunk_ids": ["travel-2", "travel-3"],
            "expected_evidence": ["up to 145 euros, and up to 190 euros in Zurich, Oslo and London"],
            "expected_answer": "Up to 190 euros.",
            "required_facts": ["190 euros"],
            "expected_citations": ["travel-2", "travel-3"],
            "answerable": True,
        },
        "output": {"answer": "Up to 145 euros.", "citations": ["travel-2"], "abstained": False},
        "verdict": {"task_success": False, "verified_claims": [{"text": "Up to 145 euros.", "supported": False}]},
    },
    {
        "id": "q05",
        "question": "What is paid per kilometre for my own car?",
        "tags": {"topic": "travel"},
        "direction": (0.0, 0.0, 0.0, 0.4, 0.4, 0.9, 0.0, 0.0),
        "gold": {
            "expected_chunk_ids": ["travel-5"],
            "expected_evidence": ["0.38 euros per kilometre"],
            "expected_answer": "0.38 euros per kilometre.",
            "required_facts": ["0.38 euros"],
            "expected_citations": ["travel-5"],
            "answerable": True,
        },
        "output": {"answer": "The documents do not say.", "citations": [], "abstained": True},
        "verdict": {"task_success": False},
    },
    {
        "id": "q06",
        "question": "Do I get money for an office chair at home?",
        "tags": {"topic": "remote work"},
        "direction": (0.4, 0.1, 0.3, 0.4, 0.5, 0.3, 0.2, -0.4),
        "gold": {
            "expected_chunk_ids": ["remote-2"],
            "expected_evidence": ["For a desk and a chair there is a one-time allowance of 450 euros."],
            "expected_answer": "Yes, once 450 euros for a desk and a chair.",
            "required_facts": ["450 euros"],
            "expected_citations": ["remote-2"],
            "answerable": True,
        },
        "output": {
            "answer": "Yes, 30 euros a month for electricity and internet.",
            "citations": ["remote-4"],
            "abstained": False,
        },
        "verdict": {},
    },
    {
        "id": "q07",
        "question": "How long is the paid leave after the birth of a child?",
        "tags": {"topic": "leave"},
        "direction": (0.8, 0.2, 0.6, 0.0, 0.1, 0.0, 0.0, 0.0),
        "dropped": ["leave-3"],
        "gold": {
            "expected_chunk_ids": ["leave-3"],
            "expected_evidence": ["20 weeks of paid leave within two years of the birth of a child"],
            "expected_answer": "20 weeks.",
            "required_facts": ["20 weeks"],
            "expected_citations": ["leave-3"],
            "answerable": True,
        },
        "output": {"answer": "8 weeks.", "citations": ["leave-2"], "abstained": False},
        "verdict": {"verified_claims": [{"text": "8 weeks.", "supported": False}]},
    },
    {
        "id": "q08",
        "question": "Until when do I hand in receipts after a trip?",
        "tags": {"topic": "travel"},
        "direction": (0.1, 0.0, 0.0, 0.7, 0.8, 0.0, 0.0, 0.0),
        "first": ["travel-4", "travel-3", "travel-2", "travel-6"],
        "gold": {
            "expected_chunk_ids": ["travel-6"],
            "expected_evidence": ["Hand in receipts within 21 days of your return."],
            "expected_answer": "Within 21 days of the return.",
            "required_facts": ["21 days"],
            "expected_citations": ["travel-6"],
            "answerable": True,
        },
        "output": {"answer": "Within 30 days of the trip.", "citations": ["travel-4"], "abstained": False},
        "verdict": {"task_success": False},
    },
    {
        "id": "q09",
        "question": "How many days a week may I work from home?",
        "tags": {"topic": "remote work"},
        "direction": (0.3, 0.0, 0.0, 0.1, 0.0, 0.0, 0.9, 0.2),
        "gold": {
            "expected_chunk_ids": ["remote-1"],
            "expected_evidence": ["staff may work from home up to 3 days a week"],
            "expected_answer": "Up to 3 days a week.",
            "required_facts": ["3 days"],
            "expected_citations": ["remote-1"],
            "answerable": True,
        },
        "output": {"answer": "Up to 4 days a week.", "citations": ["remote-1"], "abstained": False},
        "verdict": {"verified_claims": [{"text": "Up to 4 days a week.", "supported": False}]},
    },
    {
        "id": "q10",
        "question": "Does the company pay for a gym?",
        "tags": {"topic": "none"},
        "direction": (0.3, 0.3, 0.1, 0.0, 0.6, 0.0, 0.5, 0.0),
        "gold": {"answerable": False},
        "output": {"answer": "Yes, 30 euros a month.", "citations": ["remote-4"], "abstained": False},
        "verdict": {},
    },
    {
        "id": "q11",
        "question": "May I bring my dog to the office?",
        "tags": {"topic": "none"},
        "direction": (0.3, 0.0, 0.4, 0.0, 0.0, 0.0, 0.6, 0.1),
        "gold": {"answerable": False},
        "output": {"answer": "The documents do not say.", "citations": [], "abstained": True},
        "verdict": {"task_success": True},
    },
    {
        "id": "q12",
        "question": "How soon must I report a lost laptop?",
        "tags": {"topic": "remote work"},
        "direction": (0.0, 0.0, 0.0, 0.1, 0.0, 0.0, 0.3, 0.9),
        "gold": {
            "expected_chunk_ids": ["remote-3"],
            "expected_evidence": ["Report a lost device to the service desk within 2 hours."],
            "expected_answer": "Within 2 hours.",
            "required_facts": ["2 hours"],
            "expected_citations": ["remote-3"],
            "answerable": True,
        },
        "error": "the model did not answer within 30 s",
    },
)


def sample() -> Record:
    """The dataset as `RAGEvaluator().evaluate(**sample())` takes it."""
    texts = [(HERE / "sample_docs" / name).read_text(encoding="utf-8") for name in DOCUMENTS]
    chance = random.Random(7)
    vectors = {name: unit(direction) for name, *_, direction in CHUNKS}
    asked = {q["id"]: unit(q["direction"]) for q in QUESTIONS}
    found = {name: search(vector, vectors) for name, vector in asked.items()}
    chunks = [chunk(texts, *row[:4]) for row in CHUNKS]
    by_id = {c["id"]: c["text"] for c in chunks}
    return {
        "documents": dict(zip(DOCUMENTS, texts, strict=True)),
        "chunks": chunks,
        "queries": [query(q, found[q["id"]], by_id, chance) for q in QUESTIONS],
        "max_context_tokens": 110,
        "size_limits": [10, 60],
        "boundary_tolerance": 2,
        "expected_chunks": [span(texts, *row) for row in IDEAL],
        "structural_blocks": [span(texts, *row) for row in BLOCKS],
        "required_metadata": ["source", "section"],
        "expected_metadata": {
            "leave-1": {"source": "leave_policy.md", "section": "Annual leave"},
            "travel-4": {"source": "travel_expenses.md", "section": "Daily allowance"},
            "remote-3": {"source": "remote_work.md", "section": "Security"},
        },
        "embeddings": {
            "vectors": vectors,
            "query_vectors": asked,
            "indexed_ids": [name for name in vectors if name not in NOT_INDEXED],
            "index_results": found,
        },
        "sentence_vectors": {c["id"]: sentences(c["text"], vectors[c["id"]], chance) for c in chunks},
    }


def span(texts: list[str], document: int, first: str, last: str) -> Record:
    """The place of a text in its document, in characters."""
    start = texts[document].index(first)
    return {
        "doc_id": DOCUMENTS[document],
        "start": start,
        "end": texts[document].index(last, start) + len(last),
    }


def chunk(texts: list[str], name: str, document: int, first: str, last: str) -> Record:
    """A chunk with its place and its metadata: one that begins in mid-sentence has no section, another a wrong one."""
    place = span(texts, document, first, last)
    text = texts[document][place["start"] : place["end"]]
    heading = [line.removeprefix("## ") for line in text.splitlines() if line.startswith("## ")]
    metadata = {"source": DOCUMENTS[document]} | ({"section": heading[0]} if heading else {})
    if name == "remote-3":
        metadata["section"] = "Equipment"
    return {"id": name, **place, "metadata": metadata, "text": text}


def unit(direction: tuple[float, ...]) -> Vector:
    """The vector of length 1 in a direction, to three decimals."""
    length = math.hypot(*direction)
    return [round(x / length, 3) + 0.0 for x in direction]


def search(asked: Vector, vectors: dict[str, Vector]) -> list[str]:
    """What the vector index returns: the nearest of the chunks that it holds, best first."""
    held = [name for name in vectors if name not in NOT_INDEXED]
    return sorted(held, key=lambda name: -sum(a * b for a, b in zip(asked, vectors[name], strict=True)))[:FOUND]


def sentences(text: str, vector: Vector, chance: random.Random) -> list[Vector]:
    """A vector near the chunk's for each of its sentences."""
    count = max(1, text.replace("\n- ", ". ").count(". ") + 1)
    return [unit(tuple(x + chance.uniform(-0.3, 0.3) for x in vector)) for _ in range(count)]


def query(asked: Record, found: list[str], texts: dict[str, str], chance: random.Random) -> Record:
    """The record of a question: the gold labels, and what each part of the system returned."""
    record = {"id": asked["id"], "question": asked["question"], "tags": asked["tags"], **asked["gold"]}
    record["validated"] = True
    if "error" in asked:
        return {**record, "error": asked["error"]}
    kept = [name for name in found if name not in asked.get("dropped", ())]
    first = asked.get("first", [])
    reranked = [*first, *(name for name in kept if name not in first)]
    context = reranked[:PACKED]
    words = sum(len(texts[name].split()) for name in context)
    ranked = {"retrieved_ids": found, "reranked_ids": reranked, "context_ids": context}
    return {**record, **ranked, **asked["output"], **asked["verdict"], **telemetry(asked, words, chance)}


def telemetry(asked: Record, words: int, chance: random.Random) -> Record:
    """Times in milliseconds, tokens and cost of a request."""
    embedding, search_time, rerank = chance.randint(8, 14), chance.randint(15, 40), chance.randint(40, 90)
    first_token, written = chance.randint(180, 420), round(1.4 * len(asked["output"]["answer"].split())) + 2
    generation = first_token + written * chance.randint(18, 26)
    tokens = round(1.4 * words) + 90 + written
    return {
        "embedding_latency_ms": embedding,
        "search_latency_ms": search_time,
        "retrieval_latency_ms": embedding + search_time,
        "rerank_latency_ms": rerank,
        "time_to_first_token_ms": first_token,
        "generation_latency_ms": generation,
        "latency_ms": embedding + search_time + rerank + generation + chance.randint(10, 40),
        "output_tokens": written,
        "total_tokens": tokens,
        "cost_usd": round(tokens * 4e-7 + written * 1.2e-6, 7),
    }


def laid_out(value: Any, depth: int = 0, taken: int = 0) -> str:
    """JSON with one line for whatever fits into a line."""
    line = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, dict | list) or not value or len(line) + 2 * depth + taken <= LINE:
        return line
    pad, end = "\n" + "  " * (depth + 1), "\n" + "  " * depth
    if isinstance(value, list):
        return "[" + ",".join(pad + laid_out(item, depth + 1) for item in value) + end + "]"
    entries = [(f"{json.dumps(key, ensure_ascii=False)}: ", item) for key, item in value.items()]
    return "{" + ",".join(pad + key + laid_out(item, depth + 1, len(key)) for key, item in entries) + end + "}"


def main() -> None:
    """Write the sample."""
    SAMPLE.write_text(laid_out(sample()) + "\n", encoding="utf-8")
    print(f"{SAMPLE.name}: {len(QUESTIONS)} questions, {len(CHUNKS)} chunks, {len(DOCUMENTS)} documents")


if __name__ == "__main__":
    main()
