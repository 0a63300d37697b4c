"""For pytest: the fixture `rag_titan`, which evaluates a run, and `assert_gates`, which fails with what to look at.

pytest loads this file at every start, so it imports nothing but pytest; the evaluation comes with its first use.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
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
        """The report of `--rag-titan-baseline`; None where none was named, and on a first run without the file."""
        if self._baseline is None or not self._baseline.exists():
            return None
        from rag_titan.evaluation import ReportManager

        return ReportManager().load_json(self._baseline)

    def __call__(self, data: str | Path | Mapping[str, Any], **options: Any) -> dict[str, Any]:
        """The report on a file or folder, or on a dataset in memory: {"chunks", "queries", ...}.

        options  those of RAGEvaluator (k, stages, by, conventions, ...) and, for a file, of `evaluate_path` (chunks,
                 documents, per_query, ...). What they leave out the config file says, as for `rag-titan evaluate`.

        Raises DatasetError and SettingsError as the evaluator does.
        """
        from inspect import signature

        from rag_titan.cli.config import read_config
        from rag_titan.cli.settings import columns_of, evaluator_of
        from rag_titan.evaluation import RAGEvaluator

        known = signature(RAGEvaluator).parameters
        own = {name: options.pop(name) for name in list(options) if name in known}
        config = read_config(self._config, self._folder)
        evaluator = evaluator_of(config, config, **own)
        if isinstance(data, Mapping):
            return evaluator.evaluate(**{**data, **options})
        if not Path(data).is_dir():
            options.setdefault("columns", columns_of(config))
        return evaluator.evaluate_path(data, **options)


def assert_gates(
    report: Report,
    baseline: Report | str | Path | None = None,
    *,
    require_significant: bool = True,
    gates: Limits | None = None,
) -> None:
    """Fails the test where a gate is broken or, with a baseline, a metric got worse.

    baseline             a report or its file; None, or a file that is not there yet: nothing is compared
    require_significant  a gate fails only if its whole 95 % interval breaks the limit, a regression only if it is more
                         than noise; False: the values alone decide
    gates                {stage: {metric: limit}}, on top of the gates of the report's scorecard; these fail on what is
                         not measured, and None takes one away

    Raises AssertionError that says each metric, its value, its interval, its limit and the first questions that failed.

    >>> assert_gates({"retrieval": {"summary": {"recall_at_k": 0.9}}}, gates={"retrieval": {"recall_at_k": 0.8}})
    """
    __tracebackhide__ = True
    outcome = _outcome(report, baseline, require_significant, gates or {})
    if outcome.failing:
        raise AssertionError("\n".join(_lines(outcome)))


def _outcome(report: Report, baseline: Report | str | Path | None, significant: bool, gates: Limits) -> Outcome:
    from rag_titan.cli.outcome import Outcome, Rules
    from rag_titan.evaluation import RAGEvaluator, ReportManager

    ReportManager(rows=RAGEvaluator().rows).check(report)
    judged = _judged(report, gates)
    strict: dict[str, dict[str, float | None]] = {}
    for gate in judged:
        if gate["required"]:
            strict.setdefault(gate["stage"], {})[gate["metric"]] = gate["minimum"] or 0.0
    rules = Rules(on_regression=True, on_gate=True, gates=strict, significant=significant)
    whole = {**report, "scorecard": {**(report.get("scorecard") or {}), "gates": judged}}
    return Outcome(whole, (), rules, comparison=_compared(report, baseline))


def _judged(report: Report, gates: Limits) -> list[Mapping[str, Any]]:
    """The gates of the report's scorecard, with those that the test gives in their place."""
    from rag_titan.evaluation import RAGEvaluator, ScoreAggregator

    card = report.get("scorecard") or ScoreAggregator().aggregate(report)
    given = [(stage, key) for stage, limits in gates.items() for key in limits]
    kept = [gate for gate in card["gates"] if (gate["stage"], gate["metric"]) not in given]
    scorer = ScoreAggregator(strict_gates=gates, rows=RAGEvaluator().rows)
    own = scorer.aggregate(report)["gates"] if given else []
    return [*kept, *(gate for gate in own if (gate["stage"], gate["metric"]) in given)]


def _compared(report: Report, baseline: Report | str | Path | None) -> Report | None:
    from rag_titan.evaluation import RAGEvaluator, ReportManager

    if isinstance(baseline, str | Path):
        path = Path(baseline)
        baseline = ReportManager().load_json(path) if path.exists() else None
    return None if baseline is None else ReportManager(rows=RAGEvaluator().rows).compare(report, baseline)


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
