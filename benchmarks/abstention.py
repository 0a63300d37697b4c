"""How often does the extractive generator abstain where it should, and where it should not?

    python benchmarks/abstention.py [FILES... --golden GOLDEN...] [--thresholds 0.2,0.25,0.3,0.35,0.4]

Without files: the sample documents, with their golden questions and those of abstention.jsonl. For each threshold
`abstain_below`: how many of the answerable questions were answered, and how many with all of their required facts; how
many of the unanswerable ones were answered all the same. The files are indexed once.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rag_titan.evaluation import RAGEvaluator, read_golden
from rag_titan.pipeline.extractive import ExtractiveGenerator
from rag_titan.pipeline.titan import RAGTitan

HERE = Path(__file__).parent
DOCUMENTS = HERE.parent / "examples" / "sample_docs"
QUESTIONS = (DOCUMENTS / "golden.json", HERE / "abstention.jsonl")


def counts(rag: RAGTitan, golden: Sequence[Any], threshold: float) -> tuple[int, int, int]:
    """Answerable questions that were answered, those with all facts, and unanswerable ones that were answered."""
    rag.generator = ExtractiveGenerator(rag.embedder, threshold)
    answered = right = wrong = 0
    for question in golden:
        record = rag.ask(question.question)
        if question.answerable is False:
            wrong += not record["abstained"]
        elif not record["abstained"]:
            answered += 1
            right += has_facts(question, record["answer"])
    return answered, right, wrong


def has_facts(question: Any, answer: str) -> bool:
    """Whether every required fact stands in the answer, as the evaluation finds facts."""
    query = {"id": question.id, "answer": answer, "required_facts": question.required_facts}
    report = RAGEvaluator(stages=["generation"]).evaluate(queries=[query])
    return bool(report["generation"]["summary"]["required_fact_coverage"] == 1.0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", type=Path, default=[DOCUMENTS])
    parser.add_argument("--golden", nargs="+", type=Path, default=QUESTIONS)
    parser.add_argument("--thresholds", default="0.2,0.25,0.3,0.35,0.4")
    args = parser.parse_args()
    golden = [question for file in args.golden for question in read_golden(file)]
    rag = RAGTitan()
    rag.index(args.files)
    unanswerable = sum(question.answerable is False for question in golden)
    answerable = len(golden) - unanswerable
    print(f"{answerable} answerable questions, {unanswerable} unanswerable")
    print("| abstain_below | answered | with all facts | unanswerable, answered |")
    print("|--------------:|---------:|---------------:|-----------------------:|")
    for threshold in map(float, args.thresholds.split(",")):
        answered, right, wrong = counts(rag, golden, threshold)
        print(f"| {threshold:g} | {answered} of {answerable} | {right} of {answerable} | {wrong} of {unanswerable} |")


if __name__ == "__main__":
    main()
