"""The adaptive pipeline's decisions, by rules: how a question is searched, and what to try when nothing was found.

The idea of routing by the need for retrieval: Jeong and others 2024 (Adaptive-RAG); of checking what was retrieved and
searching again: Yan and others 2024 (Corrective RAG). Both train models for it; these rules need none, and say so.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from rag_titan.pipeline.parts import Found
from rag_titan.pipeline.stems import COMMON

NONE, ONE, SEVERAL = "no retrieval", "one step", "several steps"

_WORD = re.compile(r"\w+")
_TALK = re.compile(
    r"^\W*(hi|hello|hey|good (morning|afternoon|evening)|thanks?|thank you|bye|goodbye|ok|okay)\b[\w\s,!.]{0,20}$",
    re.IGNORECASE,
)
_JOINT = re.compile(
    r"\s*(?:\?\s+(?=\w)|;\s+|,?\s+and\s+(?=(?:who|what|when|where|which|how|why|is|are|do|does|can|may)\b))",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Route:
    """How a question is searched.

    kind     no retrieval, one step or several steps
    queries  what is searched for, one after the other
    by       who decided
    """

    kind: str
    queries: tuple[str, ...]
    by: str = "rules"


def route(question: str) -> Route:
    """Small talk needs no documents, a question of several parts is searched part by part.

    >>> route("Thank you!").kind
    'no retrieval'
    >>> route("How many leave days do I get, and who approves them?").queries
    ('How many leave days do I get', 'who approves them?')
    >>> route("What does parking cost?").queries
    ('What does parking cost?',)
    """
    if _TALK.match(question):
        return Route(NONE, ())
    parts = parts_of(question)
    return Route(SEVERAL if len(parts) > 1 else ONE, parts)


def parts_of(question: str) -> tuple[str, ...]:
    """The questions in a question; the whole of it where it is one.

    >>> parts_of("What does bed and breakfast cost?")
    ('What does bed and breakfast cost?',)
    """
    parts = tuple(part for part in (piece.strip(" ,") for piece in _JOINT.split(question)) if len(part.split()) > 1)
    return parts if len(parts) > 1 else (question,)


def rewritten(question: str) -> str:
    """The words of a question that carry its matter; the question itself where none do.

    >>> rewritten("How many days of paid leave do I get?")
    'many days paid leave'
    """
    words = [word for word in _WORD.findall(question) if word.lower() not in COMMON]
    return " ".join(words) or question


def merged(lists: Sequence[Sequence[Found]]) -> list[Found]:
    """Several rankings as one: the best of each in turn, each chunk once."""
    seen: dict[str, Found] = {}
    for rank in range(max(map(len, lists), default=0)):
        for found in lists:
            if rank < len(found):
                seen.setdefault(found[rank].chunk.id, found[rank])
    return list(seen.values())
