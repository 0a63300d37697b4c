"""rag-titan evaluate: score a logged run, save the reports, say what failed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rag_titan.cli.config import config_file, read_config
from rag_titan.cli.outcome import Outcome, Rules
from rag_titan.cli.outputs import Outputs
from rag_titan.cli.settings import columns_of, evaluator_of, merged
from rag_titan.cli.terminal import complain, progress, say
from rag_titan.errors import SettingsError

if TYPE_CHECKING:
    from rag_titan.evaluation import Columns, RAGEvaluator

Report = dict[str, Any]

# readable=False in the options below: what cannot be read is said in a sentence of ours, not of the parser.
DATA, WHAT, RESULT, FAIL = "Data", "What is computed", "Results", "When to fail (exit code 1)"


class Form(StrEnum):
    """How the result is printed."""

    TEXT = "text"
    JSON = "json"


Input = Annotated[
    str,
    typer.Option(
        metavar="FILE|FOLDER|-", rich_help_panel=DATA,
        help="A dataset in JSON, questions in JSON Lines, Parquet or CSV, a folder, .gz of any, - for stdin.",
    ),
]  # fmt: skip
Chunks = Annotated[
    Path | None, typer.Option(metavar="FILE", readable=False, rich_help_panel=DATA, help="The chunks of your index.")
]
Documents = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE|FOLDER",
        readable=False,
        rich_help_panel=DATA,
        help="The source documents: a file of a dataset, or a folder of text files.",
    ),
]
SkipBad = Annotated[
    bool,
    typer.Option(
        "--skip-bad-records", rich_help_panel=DATA, help="Leave out records that break a rule, and list them."
    ),
]
Cutoffs = Annotated[
    str | None, typer.Option(metavar="K[,K...]", rich_help_panel=WHAT, help="K, and further cut-offs. Usually 5.")
]
Stages = Annotated[
    str | None, typer.Option(metavar="A,B", rich_help_panel=WHAT, help="Only these stages. Usually all seven.")
]
Preset = Annotated[
    str | None,
    typer.Option(
        metavar="PRESET", rich_help_panel=WHAT, help="seed (the default), trec_eval or squad: how metrics are defined."
    ),
]
ConfigFile = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        readable=False,
        rich_help_panel=WHAT,
        help="Usually rag-titan.toml, or the table tool.rag-titan of pyproject.toml.",
    ),
]
Output = Annotated[
    Path,
    typer.Option(
        metavar="FILE",
        readable=False,
        rich_help_panel=RESULT,
        help="The JSON report; a Markdown report is written beside it.",
    ),
]
PerQuery = Annotated[
    str,
    typer.Option(
        metavar="report|none|FILE",
        rich_help_panel=RESULT,
        help="Where the values of each question go; FILE is Parquet.",
    ),
]
Printed = Annotated[Form, typer.Option("--format", rich_help_panel=RESULT, help="How the result is printed.")]
Baseline = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", readable=False, rich_help_panel=RESULT, help="An earlier JSON report to compare with."
    ),
]
OnRegression = Annotated[
    bool, typer.Option("--fail-on-regression", rich_help_panel=FAIL, help="If a metric got worse than the baseline.")
]
OnGate = Annotated[bool, typer.Option("--fail-on-gate", rich_help_panel=FAIL, help="If any quality gate fails.")]
Require = Annotated[
    list[str] | None, typer.Option(metavar="METRIC", rich_help_panel=FAIL, help="If this metric is not measured.")
]
MaxErrors = Annotated[
    float | None,
    typer.Option(
        metavar="SHARE", min=0, max=1, rich_help_panel=FAIL, help="If more of the questions ended in an error."
    ),
]
Processes = Annotated[
    int | None,
    typer.Option(
        min=1, rich_help_panel=WHAT,
        help="How many processes share large JSON Lines, with --per-query none. Usually one a processor, up to 4.",
    ),
]  # fmt: skip


def evaluate(
    input: Input,
    output: Output = Path("report.json"),
    chunks: Chunks = None,
    documents: Documents = None,
    skip_bad_records: SkipBad = False,
    k: Cutoffs = None,
    stages: Stages = None,
    conventions: Preset = None,
    config: ConfigFile = None,
    per_query: PerQuery = "report",
    processes: Processes = None,
    form: Printed = Form.TEXT,
    baseline: Baseline = None,
    fail_on_regression: OnRegression = False,
    fail_on_gate: OnGate = False,
    require: Require = None,
    max_error_rate: MaxErrors = None,
) -> None:
    """Score a logged RAG run: save report.json and report.md, and say where it failed.

    Exit codes: 0 fine, 1 failed (see below), 2 bad input or nothing to compare with, 3 nothing could be measured.
    """
    outputs = Outputs(output, per_query)
    outputs.check([input, chunks, documents, baseline, config_file(config, Path())])
    read = read_config(config, Path())
    chosen = merged(read, k, conventions, stages, require or (), max_error_rate)
    evaluator, before = evaluator_of(read, chosen), _baseline(baseline, fail_on_regression)
    mapping = columns_of(read)
    with _as_file(documents) as texts, progress() as counter:
        report = evaluator.evaluate_path(
            input, chunks=chunks, documents=texts, columns=_about(input, mapping), per_query=outputs.per_query,
            skip_bad_records=skip_bad_records, progress=counter, processes=processes,
        )  # fmt: skip
    comparison = _saved(outputs, evaluator, report, before)
    rules = Rules(fail_on_regression, fail_on_gate, chosen.gates, chosen.required, chosen.max_error_rate)
    outcome = Outcome(report, outputs.files, rules, baseline, comparison)
    say(_printed(outcome, form))
    raise typer.Exit(outcome.exit_code)


@contextmanager
def _as_file(documents: Path | None) -> Iterator[Path | None]:
    """The documents as a file of a dataset, which is what an evaluation reads and its processes share; for a folder of
    texts, or one text, such a file is written for the time of the evaluation."""
    if documents is None:
        yield None
        return
    from rag_titan.evaluation.data.notices import Notices
    from rag_titan.evaluation.preparation.document_files import TEXTS, read_documents

    if not documents.is_dir() and documents.suffix.lower() not in TEXTS:
        yield documents
        return
    notices = Notices()
    texts = read_documents(documents, notices)
    for sentence in notices.texts():
        complain(f"note: {sentence}")
    with TemporaryDirectory(prefix="rag-titan-") as folder:
        file = Path(folder) / "documents.jsonl"
        lines = (json.dumps({"id": name, "text": text}) + "\n" for name, text in texts.items())
        file.write_text("".join(lines), encoding="utf-8")
        yield file


def _about(input: str, columns: Columns | None) -> Columns | None:
    """The mapping for a log; none for a folder: what `build` and `import` write there has the names of the format."""
    return None if Path(input).is_dir() else columns


def _baseline(path: Path | None, wanted: bool) -> Report | None:
    """The report to compare with; None where none was named, and on a first run, whose file is not there yet."""
    if path is None and wanted:
        raise SettingsError("--fail-on-regression: must have a baseline, got none. Add --baseline FILE.")
    if path is None or not path.exists():
        return None
    from rag_titan.evaluation import ReportManager

    return ReportManager().load_json(path)


def _saved(outputs: Outputs, evaluator: RAGEvaluator, report: Report, before: Report | None) -> Report | None:
    """Save the report, and say how it compares; with all metrics of the evaluator, those of other packages too."""
    from rag_titan.evaluation import ReportManager

    manager = ReportManager(rows=evaluator.rows)
    comparison = None if before is None else manager.compare(report, before)
    outputs.save(manager, report, comparison)
    return comparison


def _printed(outcome: Outcome, form: Form) -> Iterable[str]:
    from rag_titan.cli.wording import Wording

    return [outcome.json()] if form is Form.JSON else Wording(outcome).lines()
