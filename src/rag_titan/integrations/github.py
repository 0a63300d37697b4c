"""GitHub Actions: a summary of the job in Markdown, and annotations for what failed.

The form of both is that of GitHub's documentation, "Workflow commands for GitHub Actions".
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rag_titan.evaluation import ReportManager
from rag_titan.evaluation.reports.cells import cell, line, shown, table
from rag_titan.evaluation.reports.changes import names_by_reason
from rag_titan.evaluation.reports.evidence import failed_count, fix_first, place_text
from rag_titan.evaluation.reports.figures import count_text, score_text, share_text
from rag_titan.evaluation.reports.findings import change_lines, gate_lines, gate_verdict, gates_text, verdict_text
from rag_titan.evaluation.reports.first_run import is_missing, refusal_text
from rag_titan.evaluation.reports.judged_tables import judged_lines
from rag_titan.evaluation.reports.slice_tables import slice_lines

Report = Mapping[str, Any]
Failing = Sequence[Mapping[str, Any]]

VARIABLE = "GITHUB_STEP_SUMMARY"
LARGEST_SUMMARY = 1 << 20  # bytes of a step's summary; GitHub shows nothing of a larger one
MOST_ANNOTATIONS = 10  # of a kind and step; GitHub shows no more
ROWS_SHOWN = 20
REGRESSIONS_NAMED = 3  # beside what else fails the run
QUESTIONS_SHOWN = 10
_TITLES = {
    "regression": "Regression",
    "vanished": "No longer measured",
    "gate": "Gate failed",
    "required": "Required metric",
    "error_rate": "Too many errors",
    "measured": "Nothing measured",
    "comparable": "Not comparable",
    "baseline": "No baseline",
}


def annotation(kind: str, title: str, text: str) -> str:
    """A workflow command, in which no text can begin a command or a property of its own.

    >>> print(annotation("error", "Gate: a,b", "100%\\nwrong"))
    ::error title=Gate%3A a%2Cb::100%25%0Awrong
    """
    return f"::{kind} title={_escaped(title).replace(':', '%3A').replace(',', '%2C')}::{_escaped(text)}"


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def commands(report: Report, comparison: Report | None = None, failing: Failing = ()) -> list[str]:
    """Commands for what fails the run (errors), and for failed or undecided gates, real regressions and questions
    without an answer that do not (warnings); at most as many as GitHub shows."""
    errors = [(_TITLES[one["rule"]], shown(one["text"], 500)) for one in failing]
    return [*_cut("error", errors), *_cut("warning", list(_warnings(report, comparison, failing)))]


def _cut(kind: str, said: Sequence[tuple[str, str]]) -> Iterator[str]:
    more = len(said) - MOST_ANNOTATIONS + 1
    for title, text in said if more < 2 else said[:-more]:
        yield annotation(kind, title, text)
    if more > 1:
        yield annotation(kind, "More", f"{more} more stand in the report.")


def _warnings(report: Report, comparison: Report | None, failing: Failing) -> Iterator[tuple[str, str]]:
    told = {(one["rule"], one["name"]) for one in failing}
    if comparison is not None and is_missing(comparison) and ("baseline", "baseline") not in told:
        yield "No baseline", str(comparison["reason"])
    for entry in _regressions(comparison):
        if verdict_text(entry) == "real" and ("regression", entry["metric"]) not in told:
            yield "Regression", "; ".join(change_lines(entry))
    for gate in report["scorecard"]["gates"]:
        place = f"{gate['stage']}.{gate['metric']}"
        if gate["status"] == "fail" and not {("gate", place), ("required", place)} & told:
            title = "Gate undecided" if gate.get("verdict") == "undecided" else "Gate failed"
            yield title, "; ".join(gate_lines(gate, report))
    counts = report["diagnosis"]["counts"]
    if counts["errors"]:
        asked = count_text(counts["questions"], "question")
        yield "Errors", f"{counts['errors']} of {asked} got no answer because of an error"


def _regressions(comparison: Report | None) -> list[Mapping[str, Any]]:
    return list(comparison["regressions"]) if comparison is not None and comparison["comparable"] else []


def summary(
    report: Report,
    comparison: Report | None = None,
    failing: Failing = (),
    *,
    verdict: Mapping[str, Any] | None = None,
    files: Sequence[Path] = (),
    environment: Mapping[str, str] = os.environ,
) -> str:
    """The run in Markdown, short: the verdict, what failed it, what changed, the gates, the slices, the first questions
    that failed, and where the reports are.

    verdict  {"passed", "text"}: how the run ended by its rules; None where it was given none
    files    the reports that were written
    """
    parts = [
        _head(report, verdict),
        _failing(failing),
        _changes(comparison),
        _gates(report),
        _judged(report),
        [f"- {line(text)}" for text in slice_lines(report)],
        _questions(report),
        _links(files, environment),
    ]
    return "\n\n".join("\n".join(part).rstrip() for part in parts if part) + "\n"


def _head(report: Report, verdict: Mapping[str, Any] | None) -> list[str]:
    overall = report["scorecard"]["overall"]
    score = "not scored" if overall["score"] is None else f"{score_text(overall['score'])}/100 ({overall['rating']})"
    ended = "" if verdict is None else ": passed" if verdict["passed"] else ": failed"
    lines = [f"## RAG evaluation{ended}", ""]
    lines += [] if verdict is None else [f"**{line(verdict['text'])}.**", ""]
    lines += [f"**{score}** · {overall['status']} · Measurement coverage: {share_text(overall['coverage'])}"]
    if first := fix_first(report):
        lines += ["", f"{line(str(first))}."]
    return lines


def _failing(failing: Failing) -> list[str]:
    """What fails the run, an entry each; of the regressions the first, as all stand in a table of their own."""
    if not failing:
        return []
    worse = [one for one in failing if one["rule"] == "regression"]
    kept = [*worse[:REGRESSIONS_NAMED], *(one for one in failing if one["rule"] != "regression")][:ROWS_SHOWN]
    told = [f"- {_TITLES[one['rule']]}: {line(one['text'], 400)}" for one in kept]
    more = len(failing) - len(kept)
    return ["### What fails the run", "", *told, *([f"- and {more} more"] if more > 0 else [])]


def _changes(comparison: Report | None) -> list[str]:
    if comparison is not None and is_missing(comparison):
        return ["### Against the baseline", "", f"{line(refusal_text(comparison))}."]
    if comparison is None or not comparison["comparable"]:
        return []
    better, worse = len(comparison["improved"]), _regressions(comparison)
    left_out = comparison.get("not_compared") or []
    reasons = "; ".join(names_by_reason(left_out, lambda entry: str(entry["metric"])))
    beside = f" {count_text(len(left_out), 'metric')} not compared: {line(reasons, 400)}." if left_out else ""
    lines = ["### Against the baseline", "", f"{count_text(len(worse), 'metric')} worse, {better} better.{beside}"]
    if not worse:
        return lines
    cells = []
    for entry in worse[:ROWS_SHOWN]:
        moved, *basis = change_lines(entry)
        verdict = verdict_text(entry) if "significant" in entry else None
        cells.append([moved.removesuffix(f" ({verdict})"), verdict, "; ".join(basis)])
    more = len(worse) - ROWS_SHOWN
    rest = ["", f"{more} more stand in the report."] if more > 0 else []
    return [*lines, "", *table(["Worse", "Is it real?", "Change"], cells), *rest]


def _gates(report: Report) -> list[str]:
    gates = report["scorecard"]["gates"]
    if not gates:
        return []
    names = {"fail": "failed", "undecided": "undecided"}
    told = [
        f"- {names[gate_verdict(gate)]}: {line('; '.join(gate_lines(gate, report)), 400)}"
        for gate in sorted(gates, key=lambda gate: gate_verdict(gate) != "fail")
        if gate_verdict(gate) in names
    ]
    return ["### Quality gates", "", f"{gates_text(gates)}.", *([""] if told else []), *told[:ROWS_SHOWN]]


def _judged(report: Report) -> list[str]:
    said = [f"- {line(text, 400)}" for text in judged_lines(report)]
    return ["### What the judge finds", "", *said] if said else []


def _questions(report: Report) -> list[str]:
    failed = ReportManager().failed_queries(report)
    if not failed:
        return []
    first = failed[:QUESTIONS_SHOWN]
    cells = [[row["query_id"], place_text(str(row["stage"])), row["reason"]] for row in first]
    total = failed_count(report)
    said = f"{count_text(total, 'question')} failed" + (f", the first {len(first)}:" if len(first) < total else ":")
    return ["### Questions to look at", "", said, "", *table(["Question", "Lost at", "Why"], cells)]


def _links(files: Sequence[Path], environment: Mapping[str, str]) -> list[str]:
    """The names of the reports, and the page of the run, where what the job keeps of them is."""
    if not files:
        return []
    names = ", ".join(cell(file) for file in files)
    parts = [environment.get(f"GITHUB_{name}") for name in ("SERVER_URL", "REPOSITORY", "RUN_ID")]
    page = "{}/{}/actions/runs/{}".format(*parts) if all(parts) else None
    return [f"Reports: {names}{f' ([artifacts of this run]({page}))' if page else ''}"]


def summary_file(environment: Mapping[str, str] = os.environ) -> Path | None:
    """The file that the summary of the step is appended to; None outside GitHub Actions."""
    name = environment.get(VARIABLE)
    return Path(name) if name else None


def append(text: str, environment: Mapping[str, str] = os.environ) -> str | None:
    """Append the text to the summary of the step. Why it was not appended, in one sentence; None where it was.

    A summary that is too large is refused by GitHub as a whole, with what other commands of the step wrote, so this
    stays away from one that has no room left.
    """
    name = environment.get(VARIABLE)
    if not name:
        return f"--github: {VARIABLE} must name a file, which GitHub Actions sets, got none. No summary was written."
    path, data = Path(name), f"{text}\n".encode(errors="replace")
    try:
        before = path.stat().st_size if path.exists() else 0
        if before + len(data) > LARGEST_SUMMARY:
            rule = f"must have room for {len(data):,} bytes more, got {before:,} of at most {LARGEST_SUMMARY:,}"
            return f"--github: {name}: {rule}. No summary was written."
        with path.open("ab") as file:
            file.write(data)
    except OSError as error:
        return f"--github: {name}: must be a file that can be written ({error.strerror}). No summary was written."
    return None
