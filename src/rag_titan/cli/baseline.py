"""rag-titan baseline: the report that later runs are compared with is one that a person accepted."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rag_titan.cli.outcome import FAILED, UNMEASURED
from rag_titan.cli.outputs import check_file
from rag_titan.cli.terminal import complain, counted, escaped, say
from rag_titan.errors import DatasetError, SettingsError

if TYPE_CHECKING:
    from rag_titan.evaluation import ReportManager

DEFAULT = Path("baseline.json")

app = typer.Typer(
    name="baseline", add_completion=False, no_args_is_help=True,
    help="Accept a report as the one that later runs are compared with, or show it.",
)  # fmt: skip

Report = dict[str, Any]

_FAULTS = {  # kind: what must hold, and what several of them are; errors are in one line, however many
    "worse": ("be worse in nothing", "worse metric"),
    "vanished": ("measure all that counts and was measured before", "vanished metric"),
    "gates": ("fail no gate", "failed gate"),
    "errors": ("have no errors", ""),
}
Accepted = Annotated[Path, typer.Argument(metavar="REPORT", readable=False, help="The JSON report of an evaluation.")]
Place = Annotated[Path, typer.Option("--to", metavar="FILE", readable=False, help="Where the baseline is kept.")]
Shown = Annotated[Path, typer.Argument(metavar="[FILE]", readable=False, help="The baseline.")]


Force = Annotated[
    bool,
    typer.Option("--force", help="Accept it although it is worse than before, a gate fails or questions have errors."),
]


@app.command()
def accept(report: Accepted, to: Place = DEFAULT, force: Force = False) -> None:
    """Make a report the baseline, and say what changed against the one before.

    A report that is worse for sure, fails a gate or has errors needs consent: an answer on the terminal, or --force.
    Exit codes: 0 fine, 1 it needs --force, 2 bad input, 3 the report measured nothing.
    """
    from rag_titan.cli.config import read_config
    from rag_titan.evaluation import RAGEvaluator, ReportManager

    check_file("--to", to, [report])
    manager = ReportManager(rows=RAGEvaluator().rows)
    found, before = manager.load_json(report), _before(manager, to)
    _check_values(found, before, to)
    if not _measured(found):
        complain(f"{report}: must have measured something to be a baseline, got a report without values.")
        raise typer.Exit(UNMEASURED)
    config = read_config(None, Path())
    options = {} if config.tolerance is None else {"tolerance": config.tolerance}
    compared = None if before is None else manager.compare(found, before, primary=config.primary, **options)
    kinds = _faults(found, compared)
    faults = [line for lines in kinds.values() for line in lines]
    changes = ["The first baseline: there was none before"] if compared is None else list(_changed(compared))
    if faults and not force:
        _consent(report, [*changes, *faults], kinds)
        changes, faults = [], []
    _keep(manager, found, to)
    accepted = f"Accepted: {escaped(report)} is the baseline {escaped(to)} now ({_about(found)})"
    say([accepted, *changes, *(["Accepted all the same, with --force:"] if faults else []), *faults])


def _consent(report: Path, known: list[str], kinds: Mapping[str, list[str]]) -> None:
    """Says what is known of the report and asks on a terminal; elsewhere, and after a no, nothing is written."""
    say(known)
    if sys.stdin.isatty() and sys.stdout.isatty() and typer.confirm("Accept it all the same?"):
        return
    found = {kind: len(lines) for kind, lines in kinds.items() if lines}
    rules = _and([_FAULTS[kind][0] for kind in found])
    came = _and([counted(n, _FAULTS[kind][1]) if _FAULTS[kind][1] else kind for kind, n in found.items()])
    complain(f"{report}: must {rules}, got {came}. Nothing was written. Add --force.")
    raise typer.Exit(FAILED)


def _faults(report: Report, compared: Report | None) -> dict[str, list[str]]:
    """{kind: lines} of what speaks against a report; the kinds are those of _FAULTS."""
    from rag_titan.evaluation.reports.findings import change_lines, gate_lines

    change, gates = compared or {}, _part(report.get("scorecard")).get("gates") or []
    worse = [entry for entry in change.get("regressions", []) if entry["significant"]]
    vanished = [entry for entry in change.get("vanished", []) if entry["weight"]]
    failed = [gate for gate in gates if gate["status"] == "fail" and gate.get("verdict") != "undecided"]
    return {
        "worse": [f"  Worse: {'; '.join(change_lines(entry))}" for entry in worse],
        "vanished": [f"  No longer measured: {escaped(e['metric'])} ({escaped(e['reason'])})" for e in vanished],
        "gates": [f"  Gate failed: {'; '.join(gate_lines(gate, report))}" for gate in failed],
        "errors": list(_errors(report)),
    }


def _errors(report: Report) -> Iterator[str]:
    from rag_titan.evaluation.catalogue import value_of

    counts = _part(_part(report.get("diagnosis")).get("counts"))
    if counts.get("errors") and isinstance(counts.get("questions"), int):
        yield f"  Errors: {counts['errors']} of {counted(counts['questions'], 'question')} got no answer"
    elif rate := value_of(report, "end_to_end", "error_rate"):
        yield f"  Errors: {rate:.3g} of the questions got no answer"


def _and(parts: list[str]) -> str:
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


@app.command()
def show(baseline: Shown = DEFAULT) -> None:
    """Say what the baseline is: when it was made, on what, and what it measured."""
    from rag_titan.evaluation import ReportManager

    say(_facts(ReportManager().load_json(baseline), baseline))


def _before(manager: ReportManager, to: Path) -> Report | None:
    """The baseline that is replaced; raises SettingsError for a file that is none, so that no other file is lost."""
    if not to.exists():
        return None
    try:
        return manager.load_json(to)
    except DatasetError:
        rule = "must be a new file or a report of rag-titan, got a file of something else"
        raise SettingsError(f"--to: {rule}: {to}. Choose another name, or remove it.") from None


def _measured(report: Report) -> bool:
    from rag_titan.evaluation.catalogue import values_of

    return any(name != "end_to_end.error_rate" for name in values_of(report))


def _changed(found: Report) -> Iterator[str]:
    """How many metrics are worse and better than in the baseline before, then what to know about the comparison."""
    from rag_titan.evaluation.reports.findings import change_lines

    if not found["comparable"]:
        yield f"Not comparable with the one before: {escaped(found['reason'])}"
        return
    worse, better = found["regressions"], found["improved"]
    said = f"Against the one before: {counted(len(worse), 'metric')} worse, {len(better):,} better"
    rest = {
        "no longer measured": len(found["vanished"]),
        "not comparable": len(found["not_compared"]),
    }
    said += "".join(f", {n:,} {what}" for what, n in rest.items() if n)
    named = [entry for entry in worse if entry["primary"]] or worse
    yield f"{said}; {change_lines(named[0])[0]}" if named else said
    yield from (f"Note: {escaped(note)}" for note in found["notes"])


def _check_values(report: Report, before: Report | None, to: Path) -> None:
    """Raises SettingsError where the values of the questions would take the place of a file that is none of ours: what
    the baseline before names is, and what has the columns of such values."""
    from rag_titan.evaluation.catalogue import ROWS
    from rag_titan.evaluation.reports.pairing import items_of, stored_at

    stored, values = stored_at(report), to.with_suffix(".parquet")
    if stored is not None:
        check_file("--to", values, [])
    if stored is None or not Path(stored).is_file() or not values.exists() or values.samefile(stored):
        return
    kept = None if before is None else stored_at(before)
    own = kept is not None and Path(kept).is_file() and values.samefile(kept)
    if before is None or not own or items_of(before, ROWS).missing:
        rule = f"must leave {values} alone, which does not hold the values of the baseline before"
        raise SettingsError(f"--to: {rule}, got {to}. Choose another name, or move that file away.")


def _keep(manager: ReportManager, report: Report, to: Path) -> None:
    """Writes the baseline. The values of its questions, where they are in a file of their own, are kept beside it: the
    next run writes over that."""
    from rag_titan.evaluation.reports.pairing import stored_at
    from rag_titan.evaluation.writing import write

    stored = stored_at(report)
    values = to.with_suffix(".parquet")
    if stored is not None and Path(stored).is_file():
        if Path(stored).resolve() != values.resolve():
            write(values, Path(stored).read_bytes())
        report = {**report, "meta": {**report["meta"], "per_query": values.name}}
    manager.save_json(report, to)


def _about(report: Report) -> str:
    meta = _part(report.get("meta"))
    asked = _part(meta.get("counts")).get("queries")
    facts = [counted(asked, "question")] if isinstance(asked, int) else []
    facts += [f"K = {escaped(meta['k'])}"] if meta.get("k") is not None else []
    facts += [escaped(meta["created_at"])] if meta.get("created_at") else []
    return ", ".join(facts) or "it does not say of what"


def _facts(report: Report, path: Path) -> Iterator[str]:
    from rag_titan.evaluation.catalogue import value_of
    from rag_titan.evaluation.limits import finite
    from rag_titan.evaluation.reports.figures import convention_texts, score_text, value_text
    from rag_titan.evaluation.scoring.policy import PRIMARY

    meta, overall = _part(report.get("meta")), _part(_part(report.get("scorecard")).get("overall"))
    yield f"{escaped(path)}: {_about(report)}"
    yield f"Made by: rag-titan {escaped(meta.get('rag_titan') or '(does not say)')}"
    score = finite(overall.get("score"))
    yield "Overall score: not scored" if score is None else f"Overall score: {score_text(score)}/100"
    for name in PRIMARY:
        stage, _, key = name.partition(".")
        value = value_of(report, stage, key)
        if value is not None:
            yield f"{name}: {value_text(None, key, value)}{_interval(report, stage, key)}"
    conventions = convention_texts(meta)
    if conventions:
        yield f"Conventions other than the default: {escaped('; '.join(conventions.values()))}"
    prints = _part(meta.get("fingerprints"))
    shown = ((what, text) for what, text in prints.items() if isinstance(text, str) and text.strip("0"))
    yield from (f"Fingerprint of {escaped(what)}: {escaped(text)}" for what, text in shown)
    if isinstance(meta.get("per_query"), str):
        gone = "" if Path(meta["per_query"]).is_file() else ", which is not there"
        yield f"Values of the questions: {escaped(meta['per_query'])}{gone}"


def _interval(report: Report, stage: str, key: str) -> str:
    from rag_titan.evaluation.limits import finite
    from rag_titan.evaluation.reports.figures import value_text

    ends = _part(_part(_part(report.get(stage)).get("detail")).get(key)).get("ci95")
    if not isinstance(ends, list) or len(ends) != 2 or None in (numbers := [finite(end) for end in ends]):
        return ""
    return f" (95 % {value_text(None, key, numbers[0])} to {value_text(None, key, numbers[1])})"


def _part(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
