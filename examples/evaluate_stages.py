"""Indexes the sample documents, asks the 22 golden questions, and says which stage fails.

    python examples/evaluate_stages.py --output report          # offline: no model server is asked
    python examples/evaluate_stages.py --output report --live   # with a model server

`--live` asks Ollama on this machine for the model llama3.2, unless the environment says otherwise:

    RAG_TITAN_GENERATOR=openai RAG_TITAN_URL=https://api.openai.com/v1 RAG_TITAN_MODEL=gpt-4o-mini \\
        RAG_TITAN_API_KEY_NAME=OPENAI_API_KEY python examples/evaluate_stages.py --live --output report

report.json and report.md are written into the folder of `--output`; without it nothing is written.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rag_titan.cli.outcome import Outcome
from rag_titan.cli.wording import Wording
from rag_titan.errors import RagTitanError
from rag_titan.evaluation import ReportManager
from rag_titan.pipeline.settings import PREFIX
from rag_titan.pipeline.titan import RAGTitan

DOCUMENTS = Path(__file__).parent / "sample_docs"
GOLDEN = DOCUMENTS / "golden.json"
OFFLINE = {"generator": "extractive", "embedder": "wordllama"}  # whatever the environment says
LIVE = {"generator": "ollama", "url": "http://127.0.0.1:11434", "model": "llama3.2"}
SIZES = (20, 300)  # words of a chunk


def settings(live: bool) -> dict[str, Any]:
    """What differs from the defaults of the pipeline."""
    if not live:
        return dict(OFFLINE)
    return {name: value for name, value in LIVE.items() if f"{PREFIX}{name.upper()}" not in os.environ}


def evaluate(live: bool) -> dict[str, Any]:
    """The report on the sample documents."""
    files = sorted(path for path in DOCUMENTS.iterdir() if path != GOLDEN)
    rag = RAGTitan(rag_type="adaptive", settings=settings(live))
    return rag.evaluate_stages(files, GOLDEN, include_embeddings=True, size_limits=SIZES)


def save(report: dict[str, Any], folder: Path) -> list[Path]:
    """Write report.json and report.md; the files."""
    folder.mkdir(parents=True, exist_ok=True)
    files = [folder / "report.json", folder / "report.md"]
    manager = ReportManager()
    manager.save_json(report, files[0])
    manager.save_markdown(report, files[1])
    return files


def main(arguments: Sequence[str] | None = None) -> int:
    """Evaluate, save, and print what `rag-titan evaluate` prints."""
    parser = argparse.ArgumentParser(description="Evaluate RAGTitan on the sample documents, stage by stage.")
    parser.add_argument("--live", action="store_true", help="ask a model server (see the head of this file)")
    parser.add_argument("--output", type=Path, metavar="FOLDER", help="where report.json and report.md go")
    options = parser.parse_args(arguments)
    try:
        report = evaluate(options.live)
        files = save(report, options.output) if options.output else []
    except RagTitanError as error:
        print(error, file=sys.stderr)
        return 2
    for line in Wording(Outcome(report, files)).lines():
        if files or not line.startswith("Reports saved:"):
            print(line)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
