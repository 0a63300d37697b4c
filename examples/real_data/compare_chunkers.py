"""Which chunker, size and retriever? Every combination on Chroma's corpora and all of their questions.

    python examples/real_data/compare_chunkers.py FOLDER [--chunkers A,B] [--retrievers A,B] [--rerankers A,B]
        [--rag-types A,B] [--sizes 50,100,200,400] [--overlap 0] [--words 500] [--k 5] [--output OUT] [--trace DIR]

FOLDER holds Chroma's `*.md` corpora and `questions_df.csv` (github.com/brandonstarxel/chunking_evaluation). Their gold
labels are spans, which `rag-titan compare` takes as well; only the ids of the documents are not file names there.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from rag_titan.evaluation import import_run
from rag_titan.pipeline.comparing import compare_pipelines, variants_of
from rag_titan.pipeline.comparison import Comparison
from rag_titan.pipeline.loading.load import load_document
from rag_titan.pipeline.parts import Document
from rag_titan.pipeline.settings import Settings


def documents_of(folder: Path, texts: dict[str, str]) -> list[Document]:
    """The corpora under the names that the questions have for them, with the headings that stand in them."""
    documents = []
    for name, text in sorted(texts.items()):
        document = load_document(folder / f"{name}.md", name)
        same = document.text == text  # the offsets of the questions count the line ends as they are in the file
        documents.append(document if same else Document(name, text))
    return documents


def compared(args: argparse.Namespace) -> Comparison:
    questions = import_run("chroma-chunking", args.folder)
    settings = Settings.of({"chunk_overlap": args.overlap, "k": args.k})
    variants = variants_of(
        settings,
        chunkers=args.chunkers.split(","),
        sizes=[int(size) for size in args.sizes.split(",")],
        retrievers=args.retrievers.split(","),
        rerankers=args.rerankers.split(","),
        rag_types=args.rag_types.split(","),
    )
    last = [""]

    def tell(done: int, of: int, doing: str) -> None:
        if doing != last[0]:
            last[0] = doing
            print(f"{done / of:4.0%} {doing}", flush=True)

    documents = documents_of(args.folder, questions.documents or {})
    return compare_pipelines(documents, questions.queries, variants, words=args.words, trace=args.trace, progress=tell)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--chunkers", default="words,sentence,paragraph,recursive")
    parser.add_argument("--retrievers", default="vectors,bm25,hybrid")
    parser.add_argument("--rerankers", default="none")
    parser.add_argument("--rag-types", default="simple")
    parser.add_argument("--sizes", default="120")
    parser.add_argument("--overlap", type=int, default=0)
    parser.add_argument("--words", type=int, default=500)
    parser.add_argument("--k", type=int, default=5)
    parser.add_argument("--trace", type=Path)
    parser.add_argument("--output", type=Path, default=Path("chroma_comparison"))
    args = parser.parse_args()
    begin, worked = time.perf_counter(), time.process_time()
    comparison = compared(args)
    print(comparison.markdown())
    for file in comparison.save(args.output):
        print(f"Written: {file}")
    print(f"{time.perf_counter() - begin:.0f} s, of which {time.process_time() - worked:.0f} s of a processor")


if __name__ == "__main__":
    main()
