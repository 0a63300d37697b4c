"""Seeded logs of a large RAG run, as JSON Lines: the same arguments give the same bytes.

    python benchmarks/logs.py FOLDER [--queries 100000]

Writes retrieval.jsonl (about 96 ranked ids a query, one to ten graded gold ids), answers.jsonl (an answer and a
reference of about 60 words each) and full.jsonl (both, with reranked lists, contexts and times).
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

CHUNKS, WORDS = 400_000, 30_000
FILES = ("retrieval", "answers", "full")


def zipf(size: int, exponent: float) -> np.ndarray:
    """Cumulated weights of a Zipf law over `size` ranks."""
    weights = np.arange(1, size + 1, dtype=np.float64) ** -exponent
    return np.cumsum(weights) / weights.sum()


def words(rng: np.random.Generator) -> list[str]:
    """Different made-up words of one to four syllables."""
    parts = [c + v for c in "bdfgklmnprstvz" for v in "aeiou"]
    found: dict[str, None] = {}
    while len(found) < WORDS:
        found["".join(rng.choice(parts, int(rng.integers(1, 5))))] = None
    return list(found)


class Log:
    """Draws one query after another."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.words = np.array(words(np.random.default_rng(1)), dtype=object)
        self.chunk_law, self.word_law = zipf(CHUNKS, 0.75), zipf(WORDS, 1.05)
        self.chunk_order = np.random.default_rng(2).permutation(CHUNKS)

    def text(self, length: int) -> np.ndarray:
        return self.words[np.searchsorted(self.word_law, self.rng.random(length))]

    def ranking(self) -> list[str]:
        length = 100 if self.rng.random() < 0.9 else int(self.rng.integers(5, 100))
        drawn = self.chunk_order[np.searchsorted(self.chunk_law, self.rng.random(180))]
        return [f"doc_{c // 20}#c{c % 20}" for c in dict.fromkeys(drawn.tolist())][:length]

    def gold(self, ranked: list[str]) -> dict[str, int]:
        graded = self.rng.random() < 0.3
        gold = {}
        for inside, where in self.rng.random((min(10, int(self.rng.geometric(0.3))), 2)):
            chunk = ranked[int(len(ranked) * where**3)] if inside < 0.65 else f"doc_{int(where * CHUNKS) // 20}#c0"
            gold[chunk] = int(self.rng.integers(1, 4)) if graded else 1
        return gold

    def answer(self) -> tuple[str, str]:
        reference = self.text(max(3, int(self.rng.poisson(60))))
        kept = reference[self.rng.random(len(reference)) < 0.7]
        extra = self.text(max(1, int(self.rng.poisson(20))))
        cut = int(self.rng.integers(0, len(kept) + 1))
        return self._written(np.concatenate([kept[:cut], extra, kept[cut:]])), self._written(reference)

    def _written(self, chosen: np.ndarray) -> str:
        marks = np.array(["", "", "", "", "", "", "", ",", ".", ";"], dtype=object)
        return " ".join((chosen + marks[self.rng.integers(0, len(marks), len(chosen))]).tolist()).capitalize()

    def records(self, query_id: str) -> dict[str, dict[str, Any]]:
        ranked = self.ranking()
        retrieval = {"id": query_id, "relevance": self.gold(ranked), "retrieved_ids": ranked}
        answer, expected = self.answer()
        answers = {"id": query_id, "answer": answer, "expected_answer": expected}
        order = np.argsort(np.arange(min(50, len(ranked))) + self.rng.normal(0, 8, min(50, len(ranked))))[:20]
        reranked = [ranked[i] for i in order]
        times = self.rng.gamma(4, (9.0, 300.0), 2).round(3).tolist()
        stages = {"reranked_ids": reranked, "context_ids": reranked[:5], "latency_ms": round(sum(times), 3)}
        parts = {"retrieval_latency_ms": times[0], "generation_latency_ms": times[1]}
        return {"retrieval": retrieval, "answers": answers, "full": {**retrieval, **answers, **stages, **parts}}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--queries", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=7)
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    log = Log(args.seed)
    files = {name: (args.folder / f"{name}.jsonl").open("w", encoding="utf-8") for name in FILES}
    for number in range(args.queries):
        for name, record in log.records(f"q{number}").items():
            files[name].write(json.dumps(record, separators=(",", ":")) + "\n")
    for file in files.values():
        file.close()


if __name__ == "__main__":
    main()
