"""Which chunk size keeps the evidence whole? Chroma's corpora and questions, with spans as gold labels.

    python examples/real_data/chroma_chunking.py FOLDER [--words 150] [--overlap 0] [--corpus NAME] [--output OUT]

FOLDER holds Chroma's `*.md` corpora and `questions_df.csv` (github.com/brandonstarxel/chunking_evaluation). The chunks
are windows of words; the search is TF-IDF over them, so that the report has retrieval figures as well.
"""

from __future__ import annotations

import argparse
import json
import math
import re
from collections import Counter
from pathlib import Path
from typing import Any

from rag_titan.evaluation import RAGEvaluator, ReportManager, ScoreAggregator, import_run

WORD = re.compile(r"\w+")


def windows(doc_id: str, text: str, words: int, overlap: int) -> list[dict[str, Any]]:
    """Chunks of `words` words with their offsets; a chunk reaches to where the next one starts."""
    starts = [m.start() for m in WORD.finditer(text)]
    chunks = []
    for i in range(0, len(starts), words - overlap):
        start = starts[i] if i else 0
        end = starts[i + words] if i + words < len(starts) else len(text)
        chunks.append(
            {"id": f"{doc_id}_{len(chunks)}", "doc_id": doc_id, "start": start, "end": end, "text": text[start:end]}
        )
        if end == len(text):
            break
    return chunks


class TfIdf:
    """A plain TF-IDF search, the same on every machine."""

    def __init__(self, chunks: list[dict[str, Any]]) -> None:
        self.ids = [chunk["id"] for chunk in chunks]
        self.counts = [Counter(word.lower() for word in WORD.findall(chunk["text"])) for chunk in chunks]
        found = Counter(word for counts in self.counts for word in counts)
        self.idf = {word: math.log(len(chunks) / n) for word, n in found.items()}
        self.norms = [
            math.sqrt(sum((n * self.idf[w]) ** 2 for w, n in counts.items())) or 1.0 for counts in self.counts
        ]

    def search(self, question: str, k: int) -> list[str]:
        words = {word.lower() for word in WORD.findall(question)} & self.idf.keys()
        scores = [
            sum(counts[w] * self.idf[w] ** 2 for w in words) / norm
            for counts, norm in zip(self.counts, self.norms, strict=True)
        ]
        return [self.ids[i] for i in sorted(range(len(scores)), key=lambda i: (-scores[i], i))[:k]]


def dataset(folder: Path, words: int, overlap: int, only: str | None, k: int) -> dict[str, Any]:
    questions = import_run("chroma-chunking", folder, corpus=only)
    documents = dict(sorted((questions.documents or {}).items()))
    chunks = [chunk for name, text in documents.items() for chunk in windows(name, text, words, overlap)]
    search = TfIdf(chunks)
    queries = [{**query, "retrieved_ids": search.search(query["question"], k)} for query in questions.queries]
    return {"documents": documents, "chunks": chunks, "queries": queries, "size_limits": (words // 2, words * 2)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--words", type=int, default=150)
    parser.add_argument("--overlap", type=int, default=0)
    parser.add_argument("--corpus", help="one corpus; default: all")
    parser.add_argument("--k", type=int, default=5)
    parser.add_argument("--output", type=Path, default=Path("chroma_report"))
    args = parser.parse_args()
    data = dataset(args.folder, args.words, args.overlap, args.corpus, args.k)
    evaluator = RAGEvaluator(k=args.k, scorer=ScoreAggregator(stages=["chunking", "retrieval"]))
    report = evaluator.evaluate(**data)
    ReportManager().save_json(report, args.output.with_suffix(".json"))
    ReportManager().save_markdown(report, args.output.with_suffix(".md"))
    chunking, retrieval = report["chunking"], report["retrieval"]["summary"]
    for key in ("coverage", "overlap_ratio", "evidence_completeness", "evidence_fragmentation"):
        print(f"{key:28} {chunking[key]:.4f}")
    for key in ("token_recall", "token_precision", "token_iou", "complete_evidence_recall"):
        print(f"{key:28} {retrieval[key]:.4f}")
    print(json.dumps(report["diagnosis"]["funnel"]))


if __name__ == "__main__":
    main()
