"""What failed as JUnit XML, the form in which CI systems read the results of tests.

The elements and attributes are those of Jenkins' schema (junit-10.xsd of its xUnit plugin), which GitLab, GitHub's
reporters, Azure and CircleCI read as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rag_titan.evaluation.limits import count_text
from rag_titan.evaluation.reports.changes import names_by_reason
from rag_titan.evaluation.reports.evidence import failed_count
from rag_titan.evaluation.reports.failures import failed_queries
from rag_titan.evaluation.reports.findings import change_lines, gate_lines, verdict_text
from rag_titan.evaluation.reports.first_run import is_missing, refusal_text

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

Report = Mapping[str, Any]
Failing = Sequence[Mapping[str, Any]]

PASSED, FAILURE, ERROR, SKIPPED = "", "failure", "error", "skipped"
LONGEST = 2000  # characters of a message
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # XML 1.0, section 2.2
_UNUSABLE = ("measured", "comparable", "baseline")  # rules about the run itself, not about the system


@dataclass(frozen=True)
class Case:
    """A test case: its suite, its name in it, how it came out and what is to say."""

    suite: str
    name: str
    outcome: str = PASSED
    text: str = ""


def junit(report: Report, comparison: Report | None = None, *, failures: Failing = (), per_query: bool = False) -> str:
    """The report as JUnit XML (UTF-8), the same for the same report.

    comparison  what `compare` found against a baseline
    failures    [{"rule", "name", "text"}]: what makes the run fail, as the command line found it. A gate or a
                regression that is among them is a failed case, whatever its verdict
    per_query   a failed case for each question that failed as well

    The suites are "gates" (one case each; undecided and unmeasured ones are skipped, with the reason), "regressions"
    (where there is a baseline: those that fail nothing are skipped, and so is what is not compared), "rules" (whatever
    else failed) and "questions". Characters that XML forbids are replaced.

    >>> gate = {"stage": "retrieval", "metric": "recall_at_k", "minimum": 0.7, "value": 0.5, "status": "fail"}
    >>> print(junit({"scorecard": {"gates": [gate]}}), end="")
    <?xml version="1.0" encoding="UTF-8"?>
    <testsuites name="rag-titan" tests="1" failures="1" errors="0" time="0">
      <testsuite name="gates" tests="1" failures="1" errors="0" skipped="0" time="0">
        <testcase classname="rag-titan.gates" name="retrieval.recall_at_k" time="0">
          <failure message="retrieval.recall_at_k is 0.500, must be at least 0.700" type="gates" />
        </testcase>
      </testsuite>
    </testsuites>
    """
    from xml.etree.ElementTree import Element, SubElement, indent, tostring

    cases = [*_gates(report, failures), *_regressions(comparison, failures), *_rules(report, failures)]
    cases += _questions(report) if per_query else []
    root = Element("testsuites", {"name": "rag-titan", **_counts(cases), "time": "0"})
    for suite in dict.fromkeys(case.suite for case in cases):
        own = [case for case in cases if case.suite == suite]
        skipped = str(sum(case.outcome == SKIPPED for case in own))
        element = SubElement(root, "testsuite", {"name": suite, **_counts(own), "skipped": skipped, "time": "0"})
        element.extend(map(_element, own))
    indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(root, encoding="unicode")}\n'


def _element(case: Case) -> Element:
    from xml.etree.ElementTree import Element, SubElement

    place = {"classname": f"rag-titan.{case.suite}", "name": _text(case.name), "time": "0"}
    element = Element("testcase", place)
    if case.outcome:
        SubElement(element, case.outcome, {"message": _text(case.text), "type": case.suite})
    return element


def _counts(cases: Sequence[Case]) -> dict[str, str]:
    found = [case.outcome for case in cases]
    return {"tests": str(len(cases)), "failures": str(found.count(FAILURE)), "errors": str(found.count(ERROR))}


def _text(text: str) -> str:
    """The text without what XML forbids, and not longer than somebody reads.

    >>> _text("a\\x00b\\ud800")
    'a�b�'
    """
    cut = text if len(text) <= LONGEST else f"{text[:LONGEST]}… ({len(text) - LONGEST:,} more characters)"
    return _FORBIDDEN.sub("\ufffd", cut)


def _gates(report: Report, failures: Failing) -> Iterator[Case]:
    failed = _named(failures, ("gate", "required"))
    for gate in (report.get("scorecard") or {}).get("gates") or []:
        name, verdict = f"{gate['stage']}.{gate['metric']}", gate.get("verdict") or gate["status"]
        if name in failed or verdict == "fail" or (gate["value"] is None and gate["status"] == "fail"):
            outcome = FAILURE
        else:
            outcome = PASSED if verdict == "pass" else SKIPPED
        undecided = "undecided: " if outcome == SKIPPED and gate["value"] is not None else ""
        yield Case("gates", name, outcome, undecided + "; ".join(gate_lines(gate, report)))


def _regressions(comparison: Report | None, failures: Failing) -> Iterator[Case]:
    if comparison is not None and is_missing(comparison) and not _named(failures, ("baseline",)):
        yield Case("regressions", "baseline", SKIPPED, refusal_text(comparison))
    if comparison is None or not comparison["comparable"]:
        return
    failed = _named(failures, ("regression",))
    for entry in comparison["regressions"]:
        counts = entry["metric"] in failed
        said = "; ".join(change_lines(entry))
        if not counts and verdict_text(entry) == "real":
            said = f"this run does not fail on regressions: {said}"
        yield Case("regressions", str(entry["metric"]), FAILURE if counts else SKIPPED, said)
    if not comparison["regressions"]:
        yield Case("regressions", "nothing got worse")
    left_out = names_by_reason(comparison.get("not_compared") or [], lambda entry: str(entry["metric"]))
    for reason, names in left_out.items():
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        yield Case("regressions", f"not compared: {names[0]}{more}", SKIPPED, f"{reason}: {', '.join(names)}")


def _named(failures: Failing, rules: Iterable[str]) -> set[str]:
    return {one["name"] for one in failures if one["rule"] in rules}


def _rules(report: Report, failures: Failing) -> Iterator[Case]:
    """What failed and is no gate and no regression; a required metric is a gate where the scorecard has it."""
    gates = {f"{gate['stage']}.{gate['metric']}" for gate in (report.get("scorecard") or {}).get("gates") or []}
    for one in failures:
        if one["rule"] in ("gate", "regression") or (one["rule"] == "required" and one["name"] in gates):
            continue
        name = one["name"] if one["name"] == one["rule"] else f"{one['rule']} {one['name']}"
        yield Case("rules", name, ERROR if one["rule"] in _UNUSABLE else FAILURE, one["text"])


def _questions(report: Report) -> Iterator[Case]:
    for row in failed_queries(report):
        yield Case("questions", str(row["query_id"]), FAILURE, f"{row['stage']}: {row['reason']}")
    if more := failed_count(report) - len(failed_queries(report)):
        said = f"{count_text(more, 'more question')} failed, which a report without lists per query does not name"
        yield Case("questions", "not named", SKIPPED, said)
