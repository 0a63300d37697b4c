"""rag-titan evaluate: score a logged run, save the reports, say what failed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import typer

from rag_titan.cli import evaluate_options as option
from rag_titan.cli.config import Config, config_file, read_config
from rag_titan.cli.evaluate_options import Form
from rag_titan.cli.outcome import Outcome, Rules
from rag_titan.cli.outputs import Outputs
from rag_titan.cli.settings import columns_of, evaluator_of, merged
from rag_titan.cli.terminal import columns, command, complain, progress, say
from rag_titan.errors import DatasetError, SettingsError

if TYPE_CHECKING:
    from rag_titan.evaluation import Columns, RAGEvaluator, ReportManager

Report = dict[str, Any]


def evaluate(
    input: option.Input, output: option.Output = Path("report.json"), chunks: option.Chunks = None,
    documents: option.Documents = None, skip_bad_records: option.SkipBad = False,
    k: option.Cutoffs = None, stages: option.Stages = None, by: option.By = None, conventions: option.Preset = None,
    config: option.ConfigFile = None, per_query: option.PerQuery = "report", processes: option.Processes = None,
    html: option.Html = None, redact: option.Redact = False, form: option.Printed = Form.TEXT,
    baseline: option.Baseline = None, junit: option.Junit = None, junit_per_query: option.JunitPerQuery = False,
    github: option.GitHub = False, fail_on_regression: option.OnRegression = False,
    require_baseline: option.NeedsBaseline = False, require_significant: option.Significant = False,
    tolerance: option.Tolerance = None,
    fail_on_gate: option.OnGate = False, require: option.Require = None, max_error_rate: option.MaxErrors = None,
) -> None:  # fmt: skip
    """Score a logged RAG run: save report.json and report.md, and say where it failed.

    Exit codes: 0 fine, 1 failed (see below), 2 bad input or nothing to compare with, 3 nothing could be measured.
    """
    outputs = Outputs(output, per_query, html, junit, junit_per_query)
    with _untold(redact):
        before = _checked(outputs, [input, chunks, documents, baseline, config_file(config, Path())], baseline, github)
    read = read_config(config, Path())
    chosen = merged(
        read, k=k, conventions=conventions, stages=stages, by=by, require=require or (), max_error_rate=max_error_rate,
        tolerance=tolerance, require_significant=require_significant or None, require_baseline=require_baseline or None,
    )  # fmt: skip
    rules = Rules(
        fail_on_regression, fail_on_gate, chosen.gates, chosen.required, chosen.max_error_rate,
        bool(chosen.require_significant), bool(chosen.require_baseline),
    )  # fmt: skip
    evaluator = evaluator_of(read, chosen, explorer=html is not None, redact=redact)
    _check_rules(rules, baseline, asked=require_significant, needed=require_baseline)
    data = _Data(input, chunks, documents, columns_of(read), skip_bad_records, processes)
    report = data.scored(evaluator, outputs.per_query)
    outcome = _saved(outputs, evaluator, Outcome(report, outputs.files, rules, baseline), before, chosen)
    say(_printed(outcome, form))
    if github:
        _tell_github(outcome)
    raise typer.Exit(outcome.exit_code)


@dataclass(frozen=True)
class _Data:
    """Where the run is read from, and how."""

    input: str
    chunks: Path | None
    documents: Path | None
    columns: Columns | None
    skip_bad_records: bool
    processes: int | None

    def scored(self, evaluator: RAGEvaluator, per_query: str | None) -> Report:
        with _untold(evaluator.redact), _as_file(self.documents) as texts, progress() as counter:
            return evaluator.evaluate_path(
                self.input, chunks=self.chunks, documents=texts, columns=_about(self.input, self.columns),
                per_query=per_query, skip_bad_records=self.skip_bad_records, progress=counter, processes=self.processes,
            )  # fmt: skip


@contextmanager
def _untold(redact: bool) -> Iterator[None]:
    """Where no text of the data may come out, an error says no more than its place and the rule."""
    try:
        yield
    except DatasetError as error:
        if not redact:
            raise
        place, _, rule = error.redacted.partition(": ")
        raise DatasetError(place, rule) from None


@contextmanager
def _as_file(documents: Path | None) -> Iterator[Path | None]:
    """The documents as a file of a dataset, which is what an evaluation reads and its processes share; for a folder
    of documents, or one document, such a file is written for the time of the evaluation."""
    if documents is None:
        yield None
        return
    from rag_titan.cli.source_documents import is_file_of_records, source_documents

    if is_file_of_records(documents):
        yield documents
        return
    texts, notes = source_documents(documents)
    for sentence in notes:
        complain(f"note: {sentence}")
    with TemporaryDirectory(prefix="rag-titan-") as folder:
        file = Path(folder) / "documents.jsonl"
        lines = (json.dumps({"id": name, "text": text}) + "\n" for name, text in (texts or {}).items())
        file.write_text("".join(lines), encoding="utf-8")
        yield file


def _about(input: str, columns: Columns | None) -> Columns | None:
    """The mapping for a log; none for a folder: what `build` and `import` write there has the names of the format."""
    return None if Path(input).is_dir() else columns


def _check_rules(rules: Rules, baseline: Path | None, asked: bool, needed: bool) -> None:
    """A rule that was asked for on the command line must have something to judge."""
    if baseline is not None:
        return
    if rules.on_regression:
        raise SettingsError("--fail-on-regression: must have a baseline, got none. Add --baseline FILE.")
    if needed:
        raise SettingsError("--require-baseline: must have the name of a baseline, got none. Add --baseline FILE.")
    if asked and not (rules.on_gate or rules.gates):
        rule = "must have a baseline, or gates that fail the run, got none"
        raise SettingsError(f"--require-significant: {rule}. Add --baseline FILE or --fail-on-gate.")


def _baseline(path: Path | None) -> Report | None:
    """The report to compare with; None where none was named, and on a first run, whose file is not there yet."""
    if path is None or not path.exists():
        return None
    from rag_titan.evaluation import ReportManager

    return ReportManager().load_json(path)


def _checked(outputs: Outputs, inputs: list[str | Path | None], baseline: Path | None, github: bool) -> Report | None:
    """The report to compare with, when it is sure that nothing that is written takes the place of what is read."""
    outputs.check(inputs)
    before = _baseline(baseline)
    outputs.spare(_values_of(before))
    if github:
        from rag_titan.integrations.github import summary_file

        outputs.check_beside("--github", summary_file(), [*inputs, _values_of(before)])
    return before


def _values_of(before: Report | None) -> str | None:
    """The file with the values of the baseline's questions, which a run must not write over before it compares."""
    meta = (before or {}).get("meta")
    named = meta.get("per_query") if isinstance(meta, dict) else None
    return named if isinstance(named, str) and named else None


def _saved(
    outputs: Outputs, evaluator: RAGEvaluator, outcome: Outcome, before: Report | None, chosen: Config
) -> Outcome:
    """Save the reports, and say how they compare; with all metrics of the evaluator, those of other packages too."""
    from rag_titan.evaluation import ReportManager

    manager, report = ReportManager(rows=evaluator.rows), dict(outcome.report)
    explorer = report.pop("explorer", None)  # for the page alone, which holds what a reader looks up
    if outcome.baseline is not None:
        named = {"path": str(outcome.baseline), "found": before is not None}
        report["meta"] = {**report["meta"], "baseline": named}
    with _untold(evaluator.redact):
        comparison = _compared(manager, report, outcome.baseline, before, chosen)
    outcome = replace(outcome, report=report, comparison=comparison)
    failing, verdict = outcome.failing, outcome.verdict
    outputs.save(manager, report, comparison, explorer=explorer, failing=failing, verdict=verdict)
    return outcome


def _compared(
    manager: ReportManager, report: Report, baseline: Path | None, before: Report | None, chosen: Config
) -> Report | None:
    """How the run compares; with a baseline that is not there yet, that it does not."""
    from rag_titan.evaluation.reports.first_run import no_baseline

    if before is None:
        return None if baseline is None else no_baseline(baseline)
    options: dict[str, Any] = {} if chosen.tolerance is None else {"tolerance": chosen.tolerance}
    return manager.compare(report, before, primary=chosen.primary, **options)


def _printed(outcome: Outcome, form: Form) -> Iterable[str]:
    from rag_titan.cli.wording import Wording

    return [outcome.json()] if form is Form.JSON else Wording(outcome, columns()).lines()


def _tell_github(outcome: Outcome) -> None:
    from rag_titan.integrations import github

    summary = github.summary(
        outcome.report, outcome.comparison, outcome.failing, verdict=outcome.verdict, files=outcome.files
    )
    # Also what stands on standard error is read by the runner; standard output stays the result alone.
    command(github.commands(outcome.report, outcome.comparison, outcome.failing))
    if refused := github.append(summary):
        complain(f"note: {refused}")
