"""Asks a model for verdicts on answers and contexts, and stores them in the data; the evaluation scores them."""

from rag_titan.judge.budget import Limits
from rag_titan.judge.calls import Call
from rag_titan.judge.judge import Judge, StoppedError
from rag_titan.judge.judged import Failure, Judged, Spent, write_judged
from rag_titan.judge.server import Patience, Sampling

__all__ = [
    "Call",
    "Failure",
    "Judge",
    "Judged",
    "Limits",
    "Patience",
    "Sampling",
    "Spent",
    "StoppedError",
    "write_judged",
]
