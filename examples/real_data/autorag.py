"""An AutoRAG run: hybrid search, a reranker, prompts and answers, against its own gold passages.

    python examples/real_data/autorag.py FOLDER [--k 5] [--output OUT]

FOLDER is an AutoRAG project (github.com/Marker-Inc-Korea/AutoRAG), or a trial of it beside its corpus. AutoRAG's own
recall of the search and of the reranker is printed beside ours.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from statistics import fmean

from rag_titan.evaluation import RAGEvaluator, ReportManager, import_run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--k", type=int, default=5)
    parser.add_argument("--output", type=Path, default=Path("autorag_report"))
    args = parser.parse_args()
    run = import_run("autorag", args.folder)
    report = RAGEvaluator(k=args.k, also_at=(10,)).evaluate_dataset(run.dataset())
    ReportManager().save_json(report, args.output.with_suffix(".json"))
    ReportManager().save_markdown(report, args.output.with_suffix(".md"))
    print(
        "recall@10 of the search  ours",
        report["retrieval"]["at"]["10"]["recall_at_k"],
        "AutoRAG",
        fmean(query["autorag"]["retrieval_recall"] for query in run.queries),
    )
    reranked = [{**query, "retrieved_ids": query["reranked_ids"]} for query in run.queries]
    after = RAGEvaluator(k=args.k).evaluate(queries=reranked, chunks=run.chunks)["retrieval"]["summary"]
    print(
        "recall@5 after reranking ours",
        after["recall_at_k"],
        "AutoRAG",
        fmean(query["autorag"]["passage_reranker_retrieval_recall"] for query in run.queries),
    )
    print(report["diagnosis"]["funnel"], report["diagnosis"]["counts"])


if __name__ == "__main__":
    main()
