"""rag-titan beside its peers on one file, each in a process of its own, in turns; prints times as ratios.

    uv run --group bench python benchmarks/side_by_side.py retrieval FOLDER/retrieval.jsonl [--rounds 3]
    uv run --group bench python benchmarks/side_by_side.py answers FOLDER/answers.jsonl
    uv run --group bench python benchmarks/side_by_side.py growth FOLDER/full.jsonl

Each side reads the file itself and prints a mean, so that a fast wrong answer shows. `growth` evaluates the first
tenth, half and all of a file: time should be linear and memory flat. Ratios hold within one run; seconds do not travel.
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import statistics
import string
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

K = 10


def rows(path: str) -> list[dict[str, Any]]:
    import orjson

    with open(path, "rb") as file:
        return [orjson.loads(line) for line in file]


def rag_titan_retrieval(path: str) -> float:
    from rag_titan.evaluation import RAGEvaluator

    return RAGEvaluator(k=K).evaluate_path(path, per_query=None)["retrieval"]["summary"]["ndcg_at_k"]


def rag_titan_answers(path: str) -> float:
    from rag_titan.evaluation import RAGEvaluator

    return RAGEvaluator(k=K).evaluate_path(path, per_query=None)["generation"]["summary"]["answer_f1"]


def rag_titan_full(path: str) -> float:
    return rag_titan_retrieval(path)


def plain_loop(path: str) -> float:
    """What one would write by hand: orjson, a dict look-up per rank, all seven metrics."""
    from math import log2

    data = rows(path)
    discounts = [1 / log2(rank + 2) for rank in range(K)]
    total = 0.0
    for row in data:
        gold = row["relevance"]
        grades = [gold.get(chunk, 0) for chunk in row["retrieved_ids"][:K]]
        hits = [rank for rank, grade in enumerate(grades, 1) if grade > 0]
        precision, recall = len(hits) / K, len(hits) / len(gold)
        dcg = sum((2**grade - 1) * weight for grade, weight in zip(grades, discounts, strict=False))
        best = sorted(gold.values(), reverse=True)[:K]
        ideal = sum((2**grade - 1) * weight for grade, weight in zip(best, discounts, strict=False))
        ap = sum(found / rank for found, rank in enumerate(hits, 1)) / min(len(gold), K)
        f1 = 2 * precision * recall / (precision + recall) if hits else 0.0
        _ = (1 / hits[0] if hits else 0.0, float(bool(hits)), ap, f1)
        total += dcg / ideal
    return total / len(data)


def pytrec_eval(path: str) -> float:
    import pytrec_eval as trec

    data = rows(path)
    qrels = {row["id"]: row["relevance"] for row in data}
    run = {row["id"]: {chunk: -float(i) for i, chunk in enumerate(row["retrieved_ids"])} for row in data}
    measures = {"P.10", "recall.10", "ndcg_cut.10", "recip_rank", "map_cut.10", "success.10"}
    found = trec.RelevanceEvaluator(qrels, measures).evaluate(run)
    return statistics.fmean(values["ndcg_cut_10"] for values in found.values())


def ranx(path: str) -> float:
    from ranx import Qrels, Run, evaluate

    data = rows(path)
    qrels = Qrels({row["id"]: row["relevance"] for row in data})
    run = Run({row["id"]: {chunk: 1e6 - i for i, chunk in enumerate(row["retrieved_ids"])} for row in data})
    names = ["precision@10", "recall@10", "f1@10", "mrr@10", "ndcg_burges@10", "hit_rate@10", "map@10"]
    return evaluate(qrels, run, names)["ndcg_burges@10"]


def squad_f1(path: str) -> float:
    """The plain loop that computes SQuAD's F1 alone."""
    data = rows(path)
    drop = str.maketrans("", "", string.punctuation)
    articles = re.compile(r"\b(a|an|the)\b")
    total = 0.0
    for row in data:
        one, two = (articles.sub(" ", row[k].lower().translate(drop)).split() for k in ("answer", "expected_answer"))
        shared = (Counter(one) & Counter(two)).total()
        total += 2 * shared / (len(one) + len(two)) if shared else 0.0
    return total / len(data)


def rouge_score(path: str) -> float:
    from rouge_score.rouge_scorer import RougeScorer

    scorer = RougeScorer(["rougeL"])
    return statistics.fmean(scorer.score(r["expected_answer"], r["answer"])["rougeL"].fmeasure for r in rows(path))


Side = Callable[[str], float]
SIDES: dict[str, tuple[Side, ...]] = {
    "retrieval": (rag_titan_retrieval, plain_loop, pytrec_eval, ranx),
    "answers": (rag_titan_answers, squad_f1, rouge_score),
}
ONCE = {ranx, rouge_score}  # slow ones
SCALED = {rouge_score: 20_000}  # runs on the first so many lines, and its time is scaled


def timed(side: Side, path: str) -> dict[str, float]:
    """Wall seconds, peak megabytes and the mean of one side, measured in this process."""
    start = time.perf_counter()
    mean = side(path)
    seconds = time.perf_counter() - start
    return {"s": seconds, "mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, "mean": mean}


def in_process(name: str, path: str) -> dict[str, float]:
    """The same in a fresh process."""
    command = [sys.executable, __file__, "one", path, "--side", name]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def head(path: str, lines: int) -> str:
    """A file with the first lines of another."""
    with open(path, "rb") as source, NamedTemporaryFile("wb", suffix=".jsonl", delete=False) as part:
        part.writelines(islice(source, lines))
    return part.name


def count_lines(path: str) -> int:
    with open(path, "rb") as file:
        return sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 20), b""))


def compare(what: str, path: str, rounds: int) -> None:
    total = count_lines(path)
    results: dict[str, list[dict[str, float]]] = {}
    for turn in range(rounds):
        for side in SIDES[what]:
            lines = SCALED.get(side)
            if turn and side in ONCE:
                continue
            if lines is None:
                results.setdefault(side.__name__, []).append(in_process(side.__name__, path))
            else:
                part = head(path, lines)
                found = in_process(side.__name__, part)
                Path(part).unlink()
                results[side.__name__] = [{**found, "s": found["s"] * total / min(lines, total)}]
    own = statistics.median(run["s"] for run in next(iter(results.values())))
    print(f"{total} queries, median of {rounds}\n")
    print("| side | seconds | times ours | peak MB | mean |\n|---|---:|---:|---:|---:|")
    for name, runs in results.items():
        seconds = statistics.median(run["s"] for run in runs)
        print(
            f"| {name} | {seconds:.2f} | {seconds / own:.2f} | {max(r['mb'] for r in runs):.0f} "
            f"| {runs[0]['mean']:.6f} |"
        )


def growth(path: str) -> None:
    total = count_lines(path)
    print("| queries | seconds | microseconds a query | peak MB |\n|---:|---:|---:|---:|")
    for lines in (total // 10, total // 2, total):
        part = head(path, lines)
        found = in_process("rag_titan_full", part)
        Path(part).unlink()
        print(f"| {lines} | {found['s']:.2f} | {found['s'] / lines * 1e6:.1f} | {found['mb']:.0f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=[*SIDES, "growth", "one"])
    parser.add_argument("path")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--side", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.what == "one":
        print(json.dumps(timed(globals()[args.side], args.path)))
    elif args.what == "growth":
        growth(args.path)
    else:
        compare(args.what, args.path, args.rounds)


if __name__ == "__main__":
    main()
