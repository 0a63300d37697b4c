"""For pytest: the fixture `rag_titan`, which evaluates a run, and `assert_gates`, which fails with what to look at.

pytest loads this file at every start, so it imports nothing but pytest; the evaluation comes with its first use.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from rag_titan.cli.outcome import Outcome

Report = Mapping[str, Any]
Limits = Mapping[str, Mapping[str, float | None]]

QUESTIONS_SHOWN = 5


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options of the command line, and the same as keys of pytest's ini file."""
    group = parser.getgroup("rag-titan", "evaluation of RAG runs")
    for name, said in (
        ("baseline", "an earlier report.json, which tests have as rag_titan.baseline"),
        ("config", "a config file of rag-titan; usually rag-titan.toml or pyproject.toml beside pytest's ini file"),
    ):
        group.addoption(f"--rag-titan-{name}", metavar="FILE", default=None, help=said)
        parser.addini(f"rag_titan_{name}", said)


@pytest.fixture(scope="session")
def rag_titan(request: pytest.FixtureRequest) -> Evaluation:
    """Evaluates runs: `rag_titan("data.json")` is a report, `rag_titan.baseline` the one to compare with."""
    named = {name: _option(request.config, name) for name in ("baseline", "config")}
    return Evaluation(request.config.rootpath, **named)


def _option(config: pytest.Config, name: str) -> Path | None:
    """The file of an option: of the command line in the current folder, of the ini file beside that."""
    given = config.getoption(f"--rag-titan-{name}")
    if given:
        return Path(config.invocation_params.dir, given)
    written = config.getini(f"rag_titan_{name}")
    return Path((config.inipath or config.rootpath / "ini").parent, written) if written else None


class Evaluation:
    """What the fixture `rag_titan` is.

    folder    where a config file is looked for that nobody named
    baseline  the file of the report to compare with
    config    the config file
    """

    def __init__(self, folder: Path, *, baseline: Path | None = None, config: Path | None = None) -> None:
        self._folder = folder
        self._baseline = baseline
        self._config = config

    @property
    def baseline(self) -> Report | None:
        """The report of `--rag-titan-baseline`; None where none was named, and on a first run without the file.

        The first run is a warning; with `require_baseline` in the config file it raises SettingsError.
        """
        if self._baseline is None:
            return None
        if not self._baseline.exists():
            self._missing(self._baseline)
            return None
        from rag_titan.evaluation import ReportManager

        return ReportManager().load_json(self._baseline)

    def _missing(self, baseline: Path) -> None:
        from rag_titan.cli.config import read_config
        from rag_titan.errors import SettingsError
        from rag_titan.evaluation.reports.first_run import no_baseline

        if read_config(self._config, self._folder).require_baseline:
            rule = "must be there, as the config file has require_baseline, got no such file"
            raise SettingsError(f"baseline: {rule}: {baseline}. Make one with rag-titan baseline accept.")
        warnings.warn(pytest.PytestWarning(f"rag-titan: {no_baseline(baseline)['reason']}"), stacklevel=3)

    def __call__(self, data: str | Path | Mapping[str, Any], **options: Any) -> dict[str, Any]:
        """The report on a file or folder, or on a dataset in memory: {"chunks", "queries", ...}.

        options  those of RAGEvaluator (k, stages, by, conventions, ...) and, for a file, of `evaluate_path` (chunks,
                 documents, per_query, ...). What they leave out the config file says, as for `rag-titan evaluate`.

        Raises DatasetError and SettingsError as the evaluator does.
        """
        from inspect import signature

        from rag_titan.cli.config import read_config
        from rag_titan.cli.settings import columns_of, evaluator_of
        from rag_titan.errors import nearest
        from rag_titan.evaluation import RAGEvaluator, SettingsError

        known = signature(RAGEvaluator).parameters
        own = {name: options.pop(name) for name in list(options) if name in known}
        config = read_config(self._config, self._folder)
        evaluator = evaluator_of(config, config, **own)
        if not isinstance(data, str | Path | Mapping):
            raise SettingsError(f"data: must be a file, a folder or a dataset, got {type(data).__name__}.")
        if isinstance(data, Mapping):
            if strange := [key for key in data if not isinstance(key, str)]:
                raise SettingsError(f"data: must have keys that are text, got {strange[0]!r}.")
            return evaluator.evaluate(**{**data, **options})
        if not Path(data).is_dir():
            options.setdefault("columns", columns_of(config))
        takes = signature(evaluator.evaluate_path).parameters
        if strange := [name for name in options if name not in takes]:
            raise SettingsError(
                f"{strange[0]}: must be an option of an evaluation{nearest(strange[0], [*known, *takes])}."
            )
        return evaluator.evaluate_path(data, **options)


def assert_gates(
    report: Report,
    baseline: Report | str | Path | None = None,
    *,
    require_significant: bool = True,
    gates: Limits | None = None,
    require_baseline: bool = False,
) -> None:
    """Fails the test where a gate is broken or, with a baseline, a metric got worse.

    baseline             a report or its file; None: nothing is compared. A file that is not there yet is a first run,
                         which pytest's summary of warnings says
    require_significant  a gate fails only if its whole 95 % interval breaks the limit, a regression only if it is more
                         than noise; False: the values alone decide
    gates                {stage: {metric: limit}}, on top of the gates of the report's scorecard; these fail on what is
                         not measured, and None takes one away
    require_baseline     a file that is not there, or None, fails the test

    Raises AssertionError that says each metric, its value, its interval, its limit and the first questions that failed.

    >>> assert_gates({"retrieval": {"summary": {"recall_at_k": 0.9}}}, gates={"retrieval": {"recall_at_k": 0.8}})
    """
    __tracebackhide__ = True
    from rag_titan.evaluation.limits import switch

    significant, needed = (
        switch(require_significant, "require_significant"),
        switch(require_baseline, "require_baseline"),
    )
    outcome = _outcome(report, {} if gates is None else gates, significant)
    rules = replace(outcome.rules, baseline=needed)
    outcome = replace(outcome, rules=rules, comparison=_compared(report, baseline, needed))
    if outcome.failing:
        raise AssertionError("\n".join(_lines(outcome)))
    if outcome.first_run:
        warnings.warn(pytest.PytestWarning(f"rag-titan: {outcome.first_run}"), stacklevel=2)


def _outcome(report: Report, gates: Limits, significant: bool) -> Outcome:
    from rag_titan.cli.outcome import Outcome, Rules
    from rag_titan.evaluation import RAGEvaluator, ReportManager

    ReportManager(rows=RAGEvaluator().rows).check(report)
    judged = _judged(report, gates)
    strict: dict[str, dict[str, float | None]] = {}
    for gate in judged:
        if gate.get("required"):
            strict.setdefault(gate["stage"], {})[gate["metric"]] = gate.get("minimum") or 0.0
    rules = Rules(on_regression=True, on_gate=True, gates=strict, significant=significant)
    whole = {**report, "scorecard": {**(report.get("scorecard") or {}), "gates": judged}}
    return Outcome(whole, (), rules)


def _judged(report: Report, gates: Limits) -> list[Mapping[str, Any]]:
    """The gates of the report's scorecard, with those that the test gives in their place."""
    from rag_titan.errors import SettingsError
    from rag_titan.evaluation import RAGEvaluator, ScoreAggregator

    card = report.get("scorecard") or {}
    if "gates" not in card:
        card = ScoreAggregator().aggregate(report)
    try:
        scorer = ScoreAggregator(strict_gates=gates, rows=RAGEvaluator().rows)
    except SettingsError as error:
        if str(error).startswith("strict_gates"):  # which are called `gates` here
            raise SettingsError(str(error).removeprefix("strict_")) from None
        raise
    given = [(stage, key) for stage, limits in gates.items() for key in limits]
    kept = [gate for gate in card["gates"] if (gate["stage"], gate["metric"]) not in given]
    own = scorer.aggregate(report)["gates"] if given else []
    return [*kept, *(gate for gate in own if (gate["stage"], gate["metric"]) in given)]


def _compared(report: Report, baseline: Report | str | Path | None, needed: bool) -> Report | None:
    from rag_titan.evaluation import RAGEvaluator, ReportManager
    from rag_titan.evaluation.limits import checked_path
    from rag_titan.evaluation.reports.first_run import no_baseline

    if baseline is None:
        return no_baseline("a baseline") if needed else None
    if isinstance(baseline, str | os.PathLike):
        path = checked_path(baseline, "baseline")
        if not path.exists():
            return no_baseline(path)
        baseline = ReportManager().load_json(path)
    return ReportManager(rows=RAGEvaluator().rows).compare(report, baseline)


def _lines(outcome: Outcome) -> Iterator[str]:
    """What failed, on how many questions that stands, and the first questions that failed."""
    from rag_titan.evaluation import ReportManager
    from rag_titan.evaluation.reports.cells import shown
    from rag_titan.evaluation.reports.evidence import failed_count
    from rag_titan.evaluation.reports.findings import gate_lines

    yield ", ".join(outcome.failures) or "the run cannot be judged"
    for one in outcome.failing:
        said, _, basis = one["text"].partition("; ")
        yield f"  {one['rule'].replace('_', ' ')}: {shown(said, 400)}"
        yield from [f"    {shown(basis, 400)}"] if basis else []
    for gate in outcome.undecided_gates:
        yield f"  undecided gate, which fails nothing: {'; '.join(gate_lines(gate, outcome.report))}"
    failed, total = ReportManager().failed_queries(outcome.report), failed_count(outcome.report)
    if failed:
        yield f"  {total} questions failed:" if total > 1 else "  1 question failed:"
    for row in failed[:QUESTIONS_SHOWN]:
        yield f"    {shown(row['query_id'], 60)} ({row['stage']}): {shown(row['reason'], 200)}"
    if total > QUESTIONS_SHOWN:
        yield f"    and {total - QUESTIONS_SHOWN} more"
