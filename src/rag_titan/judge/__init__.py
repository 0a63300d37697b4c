"""Asks a model for verdicts on answers and contexts, and stores them in the data; the evaluation scores them."""

from rag_titan.judge.agreement import agreement, correlations
from rag_titan.judge.budget import Limits
from rag_titan.judge.calls import Call
from rag_titan.judge.counterfactual_dataset import Counterfactual, counterfactual
from rag_titan.judge.counterfactual_score import counterfactual_score
from rag_titan.judge.judge import Judge, StoppedError
from rag_titan.judge.judged import Failure, Judged, Spent, write_judged
from rag_titan.judge.server import Patience, Sampling

__all__ = [
    "Call",
    "Counterfactual",
    "Failure",
    "Judge",
    "Judged",
    "Limits",
    "Patience",
    "Sampling",
    "Spent",
    "StoppedError",
    "agreement",
    "correlations",
    "counterfactual",
    "counterfactual_score",
    "write_judged",
]
