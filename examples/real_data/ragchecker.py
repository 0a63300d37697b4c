"""RAGChecker's logs: answers, contexts and claim verdicts, and 560 pairs of answers that people compared.

    python examples/real_data/ragchecker.py FOLDER [--output OUT]

FOLDER holds RAGChecker's `checking_outputs.json` and `human_labeled_data.json` (github.com/amazon-science/RAGChecker).
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from rag_titan.evaluation import RAGEvaluator, ReportManager, import_run


def compared(folder: Path) -> list[dict[str, Any]]:
    """Each of the two answers that people compared, as a query of its own."""
    rows = json.loads((folder / "human_labeled_data.json").read_text(encoding="utf-8"))
    return [
        {
            "id": f"{number}-{side}",
            "question": row["query"],
            "tags": {"dataset": row["dataset"]},
            "expected_answer": row["gt_answer"],
            "answer": row[side]["response"],
        }
        for number, row in enumerate(rows)
        for side in ("model1", "model2")
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--output", type=Path, default=Path("ragchecker_report"))
    args = parser.parse_args()
    checked = import_run("ragchecker", args.folder / "checking_outputs.json").dataset()
    for name, data in (("checked", checked), ("compared", {"queries": compared(args.folder)})):
        report = RAGEvaluator(k=5).evaluate(**data)
        ReportManager().save_json(report, args.output.with_name(f"{args.output.name}_{name}.json"))
        ReportManager().save_markdown(report, args.output.with_name(f"{args.output.name}_{name}.md"))
        generation = report["generation"]["summary"]
        print(name, {key: value for key, value in generation.items() if value is not None})
        print(report["diagnosis"]["counts"])


if __name__ == "__main__":
    main()
