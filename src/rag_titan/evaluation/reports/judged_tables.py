"""What a judge's verdicts say is wrong, in words: for Markdown, the terminal and the HTML report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rag_titan.evaluation.catalogue import ROWS, Rows, by_place
from rag_titan.evaluation.diagnosis.judged import HEALTHY, NAMES, SIGNS, UNDETERMINED
from rag_titan.evaluation.metric import Stage
from rag_titan.evaluation.reports.cells import line, shown, table
from rag_titan.evaluation.reports.evidence import place_text
from rag_titan.evaluation.reports.figures import NOTHING, count_text, value_text
from rag_titan.evaluation.reports.pairing import mapping

Report = Mapping[str, Any]

DIFFERING_SHOWN = 20
_NAMED = 5
_METRICS_NAMED = 3
_SCORES_SHOWN = 5
WORDS: Mapping[str, tuple[str, str]] = {  # what is wrong, and where to mend it
    "healthy": ("Healthy", NOTHING),
    "evidence_not_retrieved": ("Evidence never retrieved", "chunking, embedding, K"),
    "wrong_order": ("Right evidence, wrong order", "reranker"),
    "hallucination": ("Hallucination despite good context", "prompt or model"),
    "question_not_answered": ("Faithful, but not an answer to the question", "prompt, instructions"),
    "several": ("Several of these at once", "the fault that stands first in this table"),
    "undetermined": ("Cannot be said", "nothing to judge, or verdicts that are missing"),
}
STANDS_ON = (
    "This stands on the verdicts of the judge; where the evidence was lost stands on gold labels and logs. Neither "
    "overrules the other."
)
OFF_SCALE = "has no limit here: its scale is that of what made the vectors, and the usual limit is one for WordLlama"


def diagnosis_of(report: Report) -> Mapping[str, Any]:
    """The judge's diagnosis of a report; empty where it has none."""
    return mapping(mapping(report.get(Stage.JUDGE)).get("diagnosis"))


def who_text(report: Report) -> str:
    """Who judged how many questions.

    >>> who_text({"meta": {"judges": {"a-model@0f": 12, "Ada": 1}}})
    'Judged by a-model@0f (12 questions) and Ada (1 question)'
    """
    judges = mapping(mapping(report.get("meta")).get("judges"))
    named = [f"{shown(name, 80)} ({count_text(n, 'question')})" for name, n in judges.items()]
    last = f" and {named[-1]}" if len(named) > 1 else ""
    return f"Judged by {', '.join(named[:-1] if last else named)}{last}" if named else ""


def unjudged_text(report: Report, rows: Rows) -> str:
    """On how many questions which metrics have no verdict, where the data say why; those on most questions first.

    >>> from rag_titan.evaluation.catalogue import ROWS
    >>> unjudged = {"answer_relevance": 1, "faithfulness": 2, "hallucination": 2}
    >>> unjudged_text({"judge": {"unjudged": unjudged}}, ROWS)
    'Without a verdict: Faithfulness and Hallucination on 2 questions; Answer Relevance on 1 question'
    """
    unjudged, places = mapping(mapping(report.get(Stage.JUDGE)).get("unjudged")), by_place(rows)
    groups: dict[int, list[str]] = {}
    for key, n in unjudged.items():
        known = places.get((Stage.JUDGE, key))
        groups.setdefault(n, []).append(known.title if known else shown(key, 80))
    found = [f"{_and(groups[n])} on {count_text(n, 'question')}" for n in sorted(groups, reverse=True)]
    return f"Without a verdict: {'; '.join(found)}" if found else ""


def _and(names: list[str]) -> str:
    more = len(names) - _METRICS_NAMED
    if more > 1:
        return f"{', '.join(names[:_METRICS_NAMED])} and {more} more"
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]


def sign_rows(report: Report, rows: Rows) -> list[dict[str, str]]:
    """[{"title", "value", "limit", "low"}] of the scores that the diagnosis stands on, as far as they are measured."""
    found, places = diagnosis_of(report), by_place(rows)
    summary, limits = mapping(mapping(report.get(Stage.JUDGE)).get("summary")), mapping(found.get("limits"))
    shown_rows = []
    for sign in SIGNS:
        row, counts = places.get((Stage.JUDGE, sign)), mapping(mapping(found.get("signs")).get(sign))
        if row is None or sign not in limits or not counts.get("measured"):
            continue
        low = f"{counts.get('low', 0):,} of {counts['measured']:,}"
        value = value_text(row, sign, summary.get(sign))
        shown_rows.append({"title": row.title, "value": value, "limit": f"below {limits[sign]:.2f}", "low": low})
    return shown_rows


def caveat_text(report: Report, rows: Rows) -> str:
    """What is measured and in no diagnosis, as nobody knows below which value it is low."""
    named = _without_limit(report, rows)
    return f"{_and(named)} {OFF_SCALE}" if named else ""


def judged_lines(report: Report, rows: Rows = ROWS) -> list[str]:
    """The scores by a judge and what they say is wrong, a line each, for what has no room for tables."""
    return [said for said in (scores_line(report, rows), judged_line(report, rows)) if said]


def scores_line(report: Report, rows: Rows) -> str | None:
    """The scores by the judge in a line, those of the diagnosis first; None where there are none.

    >>> from rag_titan.evaluation.catalogue import ROWS
    >>> judge = {"summary": {"hallucination": 0.25, "faithfulness": 0.5}}
    >>> judge["diagnosis"] = {"limits": {"faithfulness": 0.8}, "signs": {"faithfulness": {"low": 3, "measured": 4}}}
    >>> scores_line({"judge": judge}, ROWS)
    'Judge: Faithfulness 0.500 (low on 3 of 4), Hallucination 0.250'
    """
    summary, places = mapping(mapping(report.get(Stage.JUDGE)).get("summary")), by_place(rows)
    signs = sign_rows(report, rows)
    parts = [f"{row['title']} {row['value']} (low on {row['low']})" for row in signs]
    titles = {row["title"] for row in signs}
    for key, value in summary.items():
        row = places.get((Stage.JUDGE, key))
        if row is not None and value is not None and row.title not in titles:
            parts.append(f"{row.title} {value_text(row, key, value)}")
    if not parts:
        return None
    left = len(parts) - _SCORES_SHOWN
    if left > 1:
        return f"Judge: {', '.join(parts[:_SCORES_SHOWN])} and {left} more"
    return f"Judge: {', '.join(parts)}"


def _missing(report: Report, rows: Rows) -> Iterator[tuple[str, bool]]:
    """(title, is it measured) of the scores that the diagnosis needs, and that it has of no question."""
    signs, places = mapping(diagnosis_of(report).get("signs")), by_place(rows)
    summary = mapping(mapping(report.get(Stage.JUDGE)).get("summary"))
    for sign in SIGNS:
        if (Stage.JUDGE, sign) in places and sign in signs and not mapping(signs[sign]).get("measured"):
            yield places[Stage.JUDGE, sign].title, summary.get(sign) is not None


def _unmeasured(report: Report, rows: Rows) -> list[str]:
    return [title for title, measured in _missing(report, rows) if not measured]


def _without_limit(report: Report, rows: Rows) -> list[str]:
    return [title for title, measured in _missing(report, rows) if measured]


def judged_line(report: Report, rows: Rows) -> str | None:
    """What is wrong with how many questions, in a line; None without a diagnosis.

    >>> from rag_titan.evaluation.catalogue import ROWS
    >>> counts = {"healthy": 7, "hallucination": 2, "undetermined": 1}
    >>> judged_line({"judge": {"diagnosis": {"rows": counts, "funnel": {"agree": 6, "differ": 1}}}}, ROWS)
    'By the judge, of 10 questions: hallucination despite good context 2; cannot be said 1; the funnel differs on 1'
    """
    found = diagnosis_of(report)
    counts = mapping(found.get("rows"))
    asked = sum(counts.values())
    if not asked:
        return None
    faults = [name for name in NAMES if name not in (HEALTHY, UNDETERMINED) and counts.get(name)]
    faults.sort(key=lambda name: -counts[name])
    unsaid, missing, unlimited = counts.get(UNDETERMINED), _unmeasured(report, rows), _without_limit(report, rows)
    reasons = [f"not measured: {_and(missing)}"] if missing else []
    reasons += [f"no limit for {_and(unlimited)}"] if unlimited else []
    without = f" ({'; '.join(reasons)})" if reasons else ""
    named = faults or ([HEALTHY] if counts.get(HEALTHY) else [])
    parts = [f"{_small(WORDS[name][0])} {counts[name]:,}" for name in named]
    parts += [f"{_small(WORDS[UNDETERMINED][0])} {unsaid:,}{without}"] if unsaid else []
    differ = mapping(found.get("funnel")).get("differ")
    parts += [f"the funnel differs on {differ:,}"] if differ else []
    return f"By the judge, of {count_text(asked, 'question')}: {'; '.join(parts)}"


def _small(title: str) -> str:
    return f"{title[0].lower()}{title[1:]}"


def diagnosis_rows(report: Report, rows: Rows) -> list[dict[str, Any]]:
    """[{"name", "title", "fix", "n", "ids"}] of the rows with a question, in the order of the table."""
    found = diagnosis_of(report)
    counts, examples = mapping(found.get("rows")), mapping(found.get("examples"))
    missing, unlimited = _unmeasured(report, rows), _without_limit(report, rows)
    told = [f"ask the judge for {_and(missing)}, too"] if missing else []
    told += [f"set a threshold for {_and(unlimited)}"] if unlimited else []
    fixes = {UNDETERMINED: "; ".join(told)} if told else {}
    return [
        {"name": name, "title": WORDS[name][0], "fix": fixes.get(name, WORDS[name][1]), "n": counts[name],
         "ids": _named(examples.get(name) or [], counts[name])}
        for name in NAMES if counts.get(name)
    ]  # fmt: skip


def _named(ids: list[str], n: int) -> str:
    if not ids:
        return ""
    more = f" and {n - _NAMED:,} more" if n > _NAMED else ""
    return ", ".join(shown(name, 40) for name in ids[:_NAMED]) + more


def judge_says(judged: Mapping[str, Any], rows: Rows) -> str:
    """What the judge's verdicts say of a question, with the scores that say so.

    >>> from rag_titan.evaluation.catalogue import ROWS
    >>> judge_says({"diagnosis": "hallucination", "low": {"faithfulness": 0.5}}, ROWS)
    'Hallucination despite good context (Faithfulness 0.500)'
    """
    places = by_place(rows)
    low = []
    for sign, value in mapping(judged.get("low")).items():
        row = places.get((Stage.JUDGE, sign))
        low.append(f"{row.title if row else sign} {value_text(row, sign, value)}")
    name = str(judged.get("diagnosis"))
    said = WORDS.get(name, (name, ""))[0]
    return f"{said} ({', '.join(low)})" if low else said


def funnel_says(verdict: Mapping[str, Any]) -> str:
    """What gold labels and logs say of a question.

    >>> funnel_says({"lost_at": None, "scenario": "A", "correct": True, "correct_by": "task_success"})
    'nothing lost, the answer is right (task_success)'
    >>> funnel_says({"lost_at": None, "scenario": None, "correct": False, "correct_by": "task_success"})
    'the answer is wrong (task_success)'
    """
    place, correct = verdict.get("lost_at"), verdict.get("correct")
    why = verdict.get("why") or []
    if place:
        return f"{place_text(str(place))}{f': {why[0]}' if why else ''}"
    answer = {True: "right", False: "wrong"}.get(correct) if isinstance(correct, bool) else None
    by = f" ({verdict['correct_by']})" if verdict.get("correct_by") else ""
    if answer is None:
        return "nothing lost"
    kept = "nothing lost, " if verdict.get("scenario") else ""  # without one nobody knows what became of the evidence
    return f"{kept}the answer is {answer}{by}"


def differing(report: Report, rows: Rows) -> list[tuple[str, str, str]]:
    """(question, by the judge, by labels and logs) of the questions on which the two differ, as far as listed."""
    listed = report.get("queries")
    found = []
    for verdict in listed if isinstance(listed, list) else []:
        judged = mapping(mapping(verdict).get("judge"))
        if judged.get("agrees_with_funnel") is False:
            found.append((str(verdict.get("id")), judge_says(judged, rows), funnel_says(verdict)))
    return found


def tables(report: Report, rows: Rows) -> list[str]:
    """The lines of the section "What the judge finds"; none without verdicts."""
    found, signs = diagnosis_rows(report, rows), sign_rows(report, rows)
    if not found:
        return []
    lines = ["## What the judge finds", ""]
    said = [who_text(report), unjudged_text(report, rows), caveat_text(report, rows)]
    lines += [line(". ".join(filter(None, said)) + "."), ""]
    if signs:
        cells = [[row["title"], row["value"], row["limit"], row["low"]] for row in signs]
        lines += [*table(["Score", "Mean", "Low is", "Low on questions"], cells, right=(1,)), ""]
    lines += [line(STANDS_ON), ""]
    cells = [[row["title"], f"{row['n']:,}", row["fix"], row["ids"] or NOTHING] for row in found]
    lines += table(["By the judge's verdicts", "Questions", "Mend", "Such as"], cells, right=(1,))
    return [*lines, *_differing_lines(report, rows)]


def _differing_lines(report: Report, rows: Rows) -> list[str]:
    funnel = mapping(diagnosis_of(report).get("funnel"))
    differ, both = funnel.get("differ") or 0, (funnel.get("differ") or 0) + (funnel.get("agree") or 0)
    if not differ:
        return []
    listed = differing(report, rows)
    lines = ["", differ_text(differ, both, min(len(listed), DIFFERING_SHOWN))]
    cells = listed[:DIFFERING_SHOWN]
    header = ["Question", "By the judge's verdicts", "By gold labels and logs"]
    return [*lines, "", *table(header, cells)] if cells else lines


def differ_text(differ: int, both: int, listed: int) -> str:
    """That the two differ on so many questions.

    >>> differ_text(3, 10, 2)
    'The two differ on 3 of the 10 questions that both speak of; 2 of them:'
    """
    said = f"The two differ on {differ:,} of the {count_text(both, 'question')} that both speak of"
    return f"{said}." if not listed else f"{said}:" if listed == differ else f"{said}; {listed} of them:"
