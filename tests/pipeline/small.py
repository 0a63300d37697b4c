"""Small parts for tests: chunks, an embedder of words, a handbook."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from rag_titan.pipeline.embedding.embedders import CallableEmbedder
from rag_titan.pipeline.parts import Chunk, Found, Vectors

WORDS = ("leave", "days", "hotel", "euros", "laptop", "stolen")


def chunk(name: str, text: str = "", doc: str = "d", start: int = 0) -> Chunk:
    """A chunk that says what a test needs it to."""
    return Chunk(name, text, start, start + len(text), doc, {"source": doc, "page": 1, "headings": ["A", "B"]})


def counted(texts: Sequence[str]) -> list[list[float]]:
    """How often each of WORDS is in a text."""
    return [[float(text.lower().count(word)) for word in WORDS] for text in texts]


def embedder(name: str = "counts") -> CallableEmbedder:
    """Vectors that can be worked out by hand."""
    return CallableEmbedder(counted, name)


def axes(*rows: Sequence[float]) -> Vectors:
    """Vectors of a few dimensions."""
    return np.array(rows, dtype=np.float32)


def ids(found: Sequence[Found]) -> list[str]:
    """Which chunks were found."""
    return [one.chunk.id for one in found]


LEAVE = """# Leave at Tidewater Ferries

## Annual leave

Every employee receives 28 days of annual leave per calendar year. The shift planner approves it.

## Illness

Report an illness by phone before 7:15. A medical certificate is due from the fourth day of illness.
"""

TRAVEL = """# Travelling for Tidewater Ferries

## Hotels

The limit for a hotel is 95 euros per night. Breakfast is included.

## Trains

Train tickets are booked by the travel office. First class is not paid.

## Devices

A stolen laptop must be reported to the service desk within 3 hours.
"""

GOLDEN = [
    {
        "id": "g1",
        "question": "How many days of annual leave do employees receive?",
        "expected_evidence": ["receives 28 days of annual leave"],
        "expected_answer": "Every employee receives 28 days of annual leave per calendar year.",
        "required_facts": ["28"],
        "answerable": True,
        "validated": True,
    },
    {
        "id": "g2",
        "question": "What is the limit for a hotel?",
        "expected_evidence": ["limit for a hotel is 95 euros"],
        "expected_answer": "The limit for a hotel is 95 euros per night.",
        "required_facts": ["95"],
        "answerable": True,
        "validated": True,
    },
    {"id": "g3", "question": "Which pension fund does the firm use?", "answerable": False, "validated": True},
]


def handbook(folder: Path) -> list[Path]:
    """Two files."""
    files = [folder / "leave.md", folder / "travel.md"]
    for file, text in zip(files, (LEAVE, TRAVEL), strict=True):
        file.write_text(text, encoding="utf-8")
    return files
