"""Writes metrics.md from the catalogue, data.md from the record types, and the demo's output into the README.

python docs/make_pages.py            write the pages
python docs/make_pages.py --check    exit 1 where a page is not what the code says
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rag_titan.evaluation.catalogue import ROWS
from rag_titan.evaluation.data.schema import dataset_schema
from rag_titan.evaluation.diagnosis.root_cause import CHECKS
from rag_titan.evaluation.metric import Metric, Stage
from rag_titan.evaluation.scoring.policy import QUALITY_GATES, RATINGS, STAGE_WEIGHTS, default_weight

HERE = Path(__file__).parent
README = HERE.parent / "README.md"
PRINTED = "<!-- Printed by docs/make_pages.py; change the code, not this file. -->"

BEGIN, END = "<!-- demo -->", "<!-- end of demo -->"

METRICS_INTRO = """\
Every metric with its formula, how to read it, and its default weight in the score of its stage. `rag-titan metrics
[STAGE]` prints the same. The weights, gates and limits are opinions: `src/rag_titan/evaluation/scoring/policy.py` says
why each is what it is, and a [config file](config.md) changes them.

- What is not measured is None, never 0, and is in no mean and no score. Undefined (0/0) is not measured; an input that
  was given but is empty is measured.
- The metrics of questions are computed for each question, then averaged over those that have the data. Every value in
  a report says on how many it stands.
- A duplicate in a ranking is dropped before it is cut at K. `C_i` is the set of tokens of chunk i, `U` those of all
  chunks together, `G` the gold spans or their tokens, `N` all tokens of the documents, `R` and `C` the tokens of the
  retrieved chunks and of the context, `A` the answer, `Y` the reference, `Q` the number of questions.
- Kind says which way is better and how a value becomes a score from 0 to 1. Latency, cost and sizes are scored only
  against a target of yours."""

DATA_INTRO = """\
What a dataset may hold, key by key. `rag-titan schema dataset` prints it as JSON Schema. Only what is passed is scored:
retrieved ids and gold ids are enough for a first report.

| Form | How |
|------|-----|
| one JSON file | an object with the keys of the dataset below |
| JSON Lines, or `-` for standard input | one question a line; chunks and documents with `--chunks` and `--documents` |
| Parquet (extra `parquet`) | one question a row |
| CSV, or a workbook (extra `spreadsheet`) | one question a row; a list in a cell is written as JSON |
| a folder | `queries.jsonl` or `.parquet`; if you have them, `chunks`, `documents`, `embeddings.npz`, `dataset.json` |

Any of the JSON files may be compressed with gzip. `embeddings.npz` holds the arrays `ids`, `vectors`, `query_ids` and
`query_vectors`; `dataset.json` holds the other keys of the dataset. A key that stands twice in one object is an error
in golden files, and in a JSON file of up to 1 MB, which a person may have written; in JSON Lines and in larger files
the last one counts, as in other readers.

A log with names of its own needs no conversion: `[columns]` in the [config file](config.md#columns), or `columns=` of
`RAGEvaluator.evaluate_path` and `read_dataset`, says where each key stands, as `retrieved_ids = "docs[].metadata.id"`.

Ids are text; a whole number means the same id as its digits. A key that is null counts as not given, an empty list as
given: `"retrieved_ids": []` is a miss. Keys that are not named here are kept and left alone; one that is nearly the
name of another is warned about.

`tags` say what a question belongs to, as `{"language": "de", "tenant": "acme"}`; a run can be
[sliced](report.md#slices) by them. The value of a tag is a text, a number, or true or false; the number 3, 3.0 and the
text "3" are one value. A list is an error."""

TITLES = {
    "Inputs": "The dataset",
    "Query": "A question",
    "Chunk": "A chunk",
    "Document": "A document",
    "Evidence": "A piece of evidence",
    "Claim": "A claim",
    "Verdicts": "Verdicts of a judge",
    "JudgedClaim": "A judged claim",
    "Embeddings": "Embeddings",
}


def metrics_page() -> str:
    """metrics.md."""
    lines = [PRINTED, "# Metrics", "", METRICS_INTRO, ""]
    for stage in Stage:
        weight = STAGE_WEIGHTS[stage]
        lines += [f"## {stage.label} (`{stage}`)", "", f"Weight in the whole: {weight.value:g}. {weight.why}", ""]
        rows = [row for row in ROWS if row.stage == stage]
        header = ("Metric", "Key", "Formula", "How to read it", "Kind", "Weight", "Needs")
        lines += [*_table(header, map(_metric, rows)), ""]
    lines += ["## Quality gates, hints, ratings", "", *_limits()]
    return "\n".join(lines).rstrip() + "\n"


def _metric(row: Metric) -> list[str]:
    weight = default_weight(row.stage, row.key)
    needs = ", ".join(f"`{need}`" for need in row.needs).replace("|", "` or `")
    return [row.title, f"`{row.key}`", f"`{row.formula}`", row.advice, row.kind.name, f"{weight:g}", needs]


def _limits() -> Iterator[str]:
    yield "A gate that fails makes the status Action Required, however high the score. What is not measured fails none."
    yield ""
    gates = [(stage, f"`{key}`", f"{c.value:g}", c.why) for stage, of in QUALITY_GATES.items() for key, c in of.items()]
    yield from _table(("Stage", "Metric", "At least", "Why"), gates)
    yield "\nThe root-cause hints, in pipeline order; the first that is broken names the first failing stage.\n"
    checks = [(c.stage, f"`{c.key}`", f"{c.limit:g}", c.suggestion) for c in CHECKS]
    yield from _table(("Stage", "Metric", "At least", "What to try"), checks)
    ratings = ", ".join(f"{word} from {edge:g}" for edge, word in RATINGS)
    yield f"\nRatings of a score from 0 to 100: {ratings}."


def data_page() -> str:
    """data.md."""
    lines = [PRINTED, "# The data", "", DATA_INTRO, ""]
    definitions = dataset_schema()["$defs"]
    for name, title in TITLES.items():
        definition = definitions[name]
        required = definition.get("required", ())
        rows = [
            (f"`{key}`{' (required)' if key in required else ''}", _type(node), node.get("description", ""))
            for key, node in definition["properties"].items()
        ]
        lines += [f"## {title}", "", definition["description"].splitlines()[0], ""]
        lines += [*_table(("Key", "Type", "Meaning"), rows), ""]
    return "\n".join(lines).rstrip() + "\n"


def _type(node: Mapping[str, Any]) -> str:
    """The type of a schema's node in words."""
    if "$ref" in node:
        return TITLES[node["$ref"].rpartition("/")[2]].removeprefix("A ").lower()
    if "anyOf" in node:
        kinds = [_type(part) for part in node["anyOf"] if part.get("type") != "null"]
        return " or ".join(kind for kind in dict.fromkeys(kinds) if kind != "whole number" or "number" not in kinds)
    if "enum" in node:
        return " or ".join(sorted(node["enum"]))
    kind = node.get("type")
    if isinstance(kind, list):
        return "id"
    if kind == "array":
        inner = node.get("items")
        return f"list of {_type(inner)}" if inner else "pair of numbers"
    if kind == "object" and isinstance(node.get("additionalProperties"), dict):
        name = "id" if "propertyNames" in node else "name"
        return f"{{{name}: {_type(node['additionalProperties'])}}}"
    return {"string": "text", "boolean": "true or false", "integer": "whole number"}.get(str(kind), str(kind or "any"))


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(header)} |"
    yield f"|{'|'.join('---' for _ in header)}|"
    for row in rows:
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"


def readme() -> str:
    """The README with what the demo prints on a terminal of 80 columns."""
    before, _, rest = README.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    with TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-m", "rag_titan", "demo"],
            cwd=folder,
            env={**os.environ, "COLUMNS": "80", "NO_COLOR": "1"},
            capture_output=True,
            text=True,
            check=True,
        )
    shown = "\n".join(line.rstrip() for line in done.stdout.strip().splitlines())
    return f"{before}{BEGIN}\n```text\n{shown}\n```\n{END}{after}"


def main(arguments: Sequence[str]) -> int:
    """Write the pages, or with --check compare them."""
    pages = {HERE / "metrics.md": metrics_page(), HERE / "data.md": data_page(), README: readme()}
    if "--check" not in arguments:
        for file, text in pages.items():
            file.write_text(text, encoding="utf-8")
        return 0
    stale = [
        f.relative_to(HERE.parent)
        for f, text in pages.items()
        if not f.is_file() or f.read_text(encoding="utf-8") != text
    ]
    for name in stale:
        sys.stderr.write(f"{name} is not what the code says; run: python docs/make_pages.py\n")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
