"""An AutoRAG run: hybrid search, a reranker, prompts and answers, against its own gold passages.

    python examples/real_data/autorag.py FOLDER [--k 5] [--output OUT]

FOLDER is an AutoRAG project (github.com/Marker-Inc-Korea/AutoRAG): `result_project/` and `corpus_data_sample.parquet`.
AutoRAG's own recall of the search and of the reranker is printed beside ours.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import pandas as pd

from rag_titan.evaluation import RAGEvaluator, ReportManager


def dataset(folder: Path) -> tuple[dict[str, Any], pd.DataFrame, pd.DataFrame]:
    lines = folder / "result_project"
    search = pd.read_parquet(lines / "retrieve_node_line" / "hybrid_retrieval" / "best_0.parquet")
    final = pd.read_parquet(lines / "post_retrieve_node_line" / "generator" / "best_0.parquet")
    corpus = pd.read_parquet(folder / "corpus_data_sample.parquet")
    chunks = {row.doc_id: {"id": row.doc_id, "text": row.contents} for row in corpus.itertuples()}
    for table in (search, final):
        for ids, texts in zip(table["retrieved_ids"], table["retrieved_contents"], strict=True):
            for doc_id, text in zip(ids, texts, strict=True):
                chunks.setdefault(doc_id, {"id": doc_id, "text": text})
    queries = [
        {
            "id": before["qid"],
            "question": before["query"],
            "expected_chunk_ids": [str(doc) for group in before["retrieval_gt"] for doc in group],
            "expected_answers": list(before["generation_gt"]),
            "retrieved_ids": list(before["retrieved_ids"]),
            "retrieved_scores": [float(score) for score in before["retrieve_scores"]],
            "reranked_ids": list(after["retrieved_ids"]),
            "context_ids": list(after["retrieved_ids"]),
            "answer": after["generated_texts"],
            "output_tokens": len(after["generated_tokens"]),
        }
        for (_, before), (_, after) in zip(search.iterrows(), final.iterrows(), strict=True)
    ]
    return {"chunks": list(chunks.values()), "queries": queries}, search, final


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--k", type=int, default=5)
    parser.add_argument("--output", type=Path, default=Path("autorag_report"))
    args = parser.parse_args()
    data, search, final = dataset(args.folder)
    report = RAGEvaluator(k=args.k, also_at=(10,)).evaluate(**data)
    ReportManager().save_json(report, args.output.with_suffix(".json"))
    ReportManager().save_markdown(report, args.output.with_suffix(".md"))
    retrieval = report["retrieval"]
    print(
        "recall@10 of the search  ours",
        retrieval["at"]["10"]["recall_at_k"],
        "AutoRAG",
        search["retrieval_recall"].mean(),
    )
    reranked = {**data, "queries": [{**q, "retrieved_ids": q["reranked_ids"]} for q in data["queries"]]}
    after = RAGEvaluator(k=args.k).evaluate(**reranked)["retrieval"]["summary"]
    print(
        "recall@5 after reranking ours",
        after["recall_at_k"],
        "AutoRAG",
        final["passage_reranker_retrieval_recall"].mean(),
    )
    print(report["diagnosis"]["funnel"], report["diagnosis"]["counts"])


if __name__ == "__main__":
    main()
