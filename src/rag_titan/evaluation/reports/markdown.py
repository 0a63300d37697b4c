"""The report for people, as Markdown. It reads the report and the catalogue; every cell is written by `cells.py`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rag_titan.evaluation.catalogue import ROWS, Rows, by_place, label_of
from rag_titan.evaluation.reports import comparison_tables, judged_tables, slice_tables, stage_tables
from rag_titan.evaluation.reports.cells import cell, line, table
from rag_titan.evaluation.reports.evidence import (
    alarms_text,
    begin_text,
    counts_of,
    evidence_line,
    failed_count,
    fix_first,
    funnel_steps,
    little_text,
    loss_words,
    place_text,
)
from rag_titan.evaluation.reports.failures import failed_queries, spread
from rag_titan.evaluation.reports.figures import (
    NOTHING,
    convention_texts,
    count_text,
    limit_text,
    score_text,
    share_text,
    title_text,
    value_text,
)
from rag_titan.evaluation.reports.findings import gate_verdict, gates_verdict
from rag_titan.evaluation.reports.priorities import priorities
from rag_titan.evaluation.reports.ratings import coverage_text, rated_text

Report = Mapping[str, Any]

QUESTIONS_SHOWN = 50
PRIORITIES_SHOWN = 10
WARNINGS_SHOWN = 50
HOW_TO_READ = (
    "A stage's score is the weighted mean of its measured metrics; coverage is their share in the weight of all. A "
    "stage counts in the overall score with its weight times its coverage.",
    "What is not measured is no zero: it is left out of every score, and named under its stage.",
    "The score tells how good a run is by one set of weights; where it fails, the questions tell.",
)
_GATE_WORDS = {"fail": "FAIL", "pass": "pass", "unmeasured": "not measured"}
_COUNTED = {"queries": "question", "chunks": "chunk", "documents": "document", "vectors": "vector"}


def markdown(
    report: Report,
    comparison: Mapping[str, Any] | None = None,
    *,
    rows: Rows | None = None,
    verdict: Mapping[str, Any] | None = None,
) -> str:
    """The report as Markdown text.

    comparison  what `compare` found against a baseline
    verdict     {"passed", "text"}: how the run ended by the rules it was given; it is the first line

    It holds the scorecard, the gates, where the evidence was lost, the slices, the improvement priorities, the
    root-cause hints, the questions to look at, a table a stage with what is not measured and why, times and warnings. A
    report that lacks a part (an older one, a single stage) is shown without it.
    """
    view = View(report, ROWS if rows is None else rows)
    parts = [
        view.head(verdict),
        view.scorecard(),
        view.gates(),
        comparison_tables.tables(comparison, view.rows, view.meta),
        view.funnel(),
        judged_tables.tables(report, view.rows),
        slice_tables.tables(report, view.rows),
        view.priorities(),
        view.root_causes(),
        view.questions(),
        stage_tables.tables(report, view.rows),
        stage_tables.times(report, view.rows),
        view.warnings(),
        view.notes(),
    ]
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"


class View:
    """The sections of one report, each a list of lines; empty where there is nothing to say."""

    def __init__(self, report: Report, rows: Rows) -> None:
        self.report = report
        self.rows = rows
        self.places = by_place(rows)
        self.meta = report.get("meta") or {}
        self.card = report.get("scorecard") or {}

    def name(self, stage: str, key: str) -> str:
        """The title of a metric, with its cut-off and conventions; the key where the catalogue does not know it."""
        row = self.places.get((stage, key))
        return title_text(row, self.meta) if row else key

    def value(self, stage: str, key: str, value: float | None) -> str:
        return value_text(self.places.get((stage, key)), key, value)

    def head(self, verdict: Mapping[str, Any] | None = None) -> list[str]:
        lines = ["# RAG evaluation report", ""]
        lines += [] if verdict is None else [f"**{line(verdict['text'])}.**", ""]
        overall = self.card.get("overall")
        if overall:
            rating, little = overall.get("rating") or "not rated", little_text(self.report)
            score, coverage = score_text(overall.get("score")), share_text(overall.get("coverage", 0))
            lines += [
                f"**Overall: {score}/100 - {rating}**{f' ({little})' if little else ''}  ",
                f"Assessment: {overall.get('status', NOTHING)} · Measurement coverage: {coverage}",
                "",
            ]
        if first := fix_first(self.report):
            lines += [f"**{line(str(first))}.**", ""]
        if alarms := alarms_text(self.report):
            lines += [line(f"Should be 0: {alarms}."), ""]
        counts = self.meta.get("counts") or {}
        facts = [
            count_text(n, _COUNTED[name]) for name, n in counts.items() if name in _COUNTED and isinstance(n, int) and n
        ]
        facts += [f"K = {self.meta['k']}"] if self.meta.get("k") is not None else []
        facts += [f"rag-titan {self.meta['rag_titan']}"] if self.meta.get("rag_titan") else []
        facts += [str(self.meta["created_at"])] if self.meta.get("created_at") else []
        lines += [line(" · ".join(facts))] if facts else []
        errors, asked = counts_of(self.report).get("errors"), counts_of(self.report).get("questions") or 0
        if errors:
            lines += ["", f"**{errors:,} of {count_text(asked, 'question')} got no answer because of an error.**"]
        return lines

    def scorecard(self) -> list[str]:
        stages = self.card.get("stages")
        if not stages:
            return []
        cells = [
            [s["label"], score_text(s["score"]), rated_text(self.report, name, s), coverage_text(s)]
            for name, s in stages.items()
        ]
        header = ["Pipeline stage", "Score / 100", "Rating", "Measurement coverage"]
        return ["## Scorecard", "", *table(header, cells, right=(1, 3))]

    def gates(self) -> list[str]:
        gates = self.card.get("gates")
        if not gates:
            return []
        cells = [
            [
                label_of(gate["stage"]),
                self.name(gate["stage"], gate["metric"]),
                limit_text(self.places.get((gate["stage"], gate["metric"])), gate),
                self.value(gate["stage"], gate["metric"], gate["value"]),
                _GATE_WORDS.get(gate["status"], "not measured")
                + (", undecided" if gate_verdict(gate) == "undecided" else ""),
            ]
            for gate in sorted(gates, key=lambda gate: gate["status"] != "fail")
        ]
        header = ["Stage", "Metric", "Must be", "Is", "Gate"]
        return ["## Quality gates", "", gates_verdict(gates), "", *table(header, cells, right=(3,))]

    def funnel(self) -> list[str]:
        said, steps, counts = evidence_line(self.report), funnel_steps(self.report), counts_of(self.report)
        if not steps:
            return []
        lines = ["## Where the questions were lost", ""]
        lines += [f"{line(said)}."] if said else []
        if counts.get("questions"):
            answers = ", ".join(f"{counts.get(name, 0)} {name}" for name in ("right", "wrong", "unjudged"))
            lines.append(f"Answers to {count_text(counts['questions'], 'question')}: {answers}.")
        losses = loss_words(steps, counts)
        names = [": ".join(filter(None, (place_text(str(s["stage"])), losses[s["stage"]]))) for s in steps]
        cells = [[name, step["lost"], step["kept"]] for name, step in zip(names, steps, strict=True)]
        return [*lines, "", *table(["Lost at", "Lost here", "Kept"], cells, right=(1, 2))]

    def priorities(self) -> list[str]:
        found = priorities(self.report)
        if not found:
            return []
        cells = []
        for i, entry in enumerate(found[:PRIORITIES_SHOWN], start=1):
            stage, key = entry["stage"], entry["metric"]
            row = self.places.get((stage, key))
            value = self.value(stage, key, entry["value"])
            advice = row.advice.replace("`", "") if row else NOTHING
            cells.append([i, label_of(stage), self.name(stage, key), value, f"{entry['points']:.1f}", advice])
        header = ["#", "Stage", "Metric", "Value", "Points", "How to read it"]
        intro = "By how many points of the overall score each would raise it at the best value that the labels allow."
        more = len(found) - PRIORITIES_SHOWN
        rest = ["", f"{more} more cost less."] if more > 0 else []
        return ["## Improvement priorities", "", intro, "", *table(header, cells, right=(0, 3, 4)), *rest]

    def root_causes(self) -> list[str]:
        causes = self.report.get("root_causes")
        if not causes or "first_failing_stage" not in causes or "failures" not in causes:
            return []
        first = causes["first_failing_stage"]
        lines = ["## Root-cause hints", ""]
        if first is None:
            return [*lines, "First threshold missed: none. Every threshold that could be checked is kept."]
        cells = [
            [
                label_of(failure["stage"]),
                self.name(failure["stage"], failure["metric"]),
                self.value(failure["stage"], failure["metric"], failure["observed"]),
                limit_text(self.places.get((failure["stage"], failure["metric"])), failure),
                failure["suggestion"],
            ]
            for failure in causes["failures"]
        ]
        header = ["Stage", "Metric", "Observed", "Should be", "What to try"]
        said = f"First threshold missed: **{cell(place_text(first))}**. {line(begin_text(self.report, first))}"
        return [*lines, said, "", *table(header, cells, right=(2,))]

    def questions(self) -> list[str]:
        failed = failed_queries(self.report)
        lines = ["## Questions to look at", ""]
        if not failed:
            known = self.report.get("queries") is not None
            return [*lines, "No question failed, as far as the labels can tell."] if known else []
        shown = spread(failed, QUESTIONS_SHOWN)
        cells = [[row["query_id"], place_text(str(row["stage"])), _verdict(row), row["reason"]] for row in shown]
        total = failed_count(self.report)
        said = f"{total} failed" + (f"; {len(shown)} of them, from every stage:" if len(shown) < total else ":")
        return [*lines, said, "", *table(["Question", "Lost at", "Answer", "Why"], cells)]

    def warnings(self) -> list[str]:
        warnings = self.report.get("warnings") or []
        if not warnings:
            return []
        more = len(warnings) - WARNINGS_SHOWN
        rest = [f"- and {more} more"] if more > 0 else []
        return ["## Warnings", "", *(f"- {line(text)}" for text in warnings[:WARNINGS_SHOWN]), *rest]

    def notes(self) -> list[str]:
        changed = convention_texts(self.meta)
        lines = ["## How to read this report", "", *(f"- {text}" for text in HOW_TO_READ)]
        if changed:
            lines.append(f"- Conventions other than the default: {line('; '.join(changed.values()))}.")
        return lines


def _verdict(row: Mapping[str, Any]) -> str:
    by = f" ({row['correct_by']})" if row.get("correct_by") else ""
    return f"wrong{by}" if row.get("correct") is False else "not judged"
