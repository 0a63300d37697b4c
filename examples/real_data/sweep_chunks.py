"""Chunk size x overlap on Chroma's corpora: does a smaller chunk raise precision and IoU, and leave recall as it is?

    python examples/real_data/sweep_chunks.py FOLDER [--sizes 50,100,200,400] [--overlaps 0] [--chunkers recursive]
        [--k 5]
        [--retriever hybrid] [--words 500] [--processes 2] [--corpora A,B] [--output chunk_sweep.json]

FOLDER holds Chroma's `*.md` corpora and `questions_df.csv` (github.com/brandonstarxel/chunking_evaluation). A run that
was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

from compare_chunkers import documents_of

from rag_titan.evaluation import import_run
from rag_titan.lab.chunk_grid import ChunkSweep
from rag_titan.lab.estimates import Estimate
from rag_titan.lab.sweep_chunks import sweep_chunks

SHOWN = ("token_precision", "token_iou", "token_recall", "token_f1", "recall_in_words", "f1_at_k")


def swept(args: argparse.Namespace) -> ChunkSweep:
    """The sweep over the corpora that were asked for, each question with the corpora that it is about."""
    questions = import_run("chroma-chunking", args.folder)
    documents = documents_of(args.folder, questions.documents or {})
    asked = list(questions.queries or ())
    if args.corpora:
        wanted = set(args.corpora.split(","))
        documents = [document for document in documents if document.id in wanted]
        asked = [query for query in asked if {span["doc_id"] for span in query["expected_evidence"]} <= wanted]
    return sweep_chunks(
        documents,
        asked,
        sizes=[int(size) for size in args.sizes.split(",")],
        overlaps=[int(overlap) for overlap in args.overlaps.split(",")],
        chunkers=args.chunkers.split(","),
        k=args.k,
        words=args.words,
        settings={"retriever": args.retriever},
        processes=args.processes,
        journal=f"{args.output}.journal",
        progress=lambda done, of, name: print(f"{done} of {of}: {name}", flush=True),
    )


def text_of(key: str, found: Estimate) -> str:
    """A mean with its interval."""
    ends = "" if found.ci95 is None else f" [{found.ci95[0]:.3f}, {found.ci95[1]:.3f}]"
    return f"{key} -" if found.value is None else f"{key} {found.value:.3f}{ends}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sizes", default="50,100,200,400")
    parser.add_argument("--overlaps", default="0")
    parser.add_argument("--chunkers", default="recursive")
    parser.add_argument("--retriever", default="hybrid")
    parser.add_argument("--corpora", default="")
    parser.add_argument("--words", type=int, default=500)
    parser.add_argument("--k", type=int, default=5)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--output", type=Path, default=Path("chunk_sweep.json"))
    args = parser.parse_args()
    begin = time.perf_counter()
    sweep = swept(args)
    for cell in sweep.cells:
        shown = "  ".join(text_of(key, cell.estimates[key]) for key in SHOWN if key in cell.estimates)
        print(f"{cell.name:18} {cell.chunks or 0:6,} chunks  {shown}{cell.error or ''}")
    if sweep.best is not None:
        print(f"Best by token F1: {sweep.best.name}")
    for rival in sweep.rivals():
        print(f"  {rival.cell.name}: {'worse' if rival.told_apart else 'not told apart'}, p = {rival.p:.3g}")
    args.output.write_text(json.dumps(sweep.as_dict(), indent=2) + "\n", encoding="utf-8")
    print(f"{time.perf_counter() - begin:.0f} s")


if __name__ == "__main__":
    main()
