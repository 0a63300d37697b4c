"""The other end of `parallel.Worker`: one part of a file, evaluated in a process of its own."""

from __future__ import annotations

import os
import pickle
import sys
from contextlib import redirect_stdout

from rag_titan.evaluation.data.read import open_dataset
from rag_titan.evaluation.evaluator import RAGEvaluator
from rag_titan.evaluation.parallel import Job, Outcome
from rag_titan.evaluation.partial import Partial


def work() -> None:
    """Read a Job from standard input, and write its Outcome to standard output, which nothing else may use."""
    out = sys.stdout.buffer
    with redirect_stdout(sys.stderr):
        outcome = outcome_of(pickle.load(sys.stdin.buffer))
    out.write(pickle.dumps(outcome))
    out.flush()
    os._exit(0)  # nothing is left to tidy up, and the caller is waiting


def outcome_of(job: Job) -> Outcome:
    """What the queries of one part contribute."""
    dataset = open_dataset(**job.where)
    queries = dataset.queries.within(job.part)
    partial = Partial()
    for batch in RAGEvaluator(**job.options).partials(dataset, queries):
        partial.add(batch)
    return partial, queries.passed
