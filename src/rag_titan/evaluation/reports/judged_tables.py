"""What a judge's verdicts say is wrong, in words: for Markdown, the terminal and the HTML report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rag_titan.evaluation.catalogue import Rows, by_place
from rag_titan.evaluation.diagnosis.judged import HEALTHY, NAMES, SIGNS, UNDETERMINED
from rag_titan.evaluation.metric import Stage
from rag_titan.evaluation.reports.cells import line, shown, table
from rag_titan.evaluation.reports.evidence import place_text
from rag_titan.evaluation.reports.figures import NOTHING, count_text, value_text
from rag_titan.evaluation.reports.pairing import mapping

Report = Mapping[str, Any]

DIFFERING_SHOWN = 20
_NAMED = 5
WORDS: Mapping[str, tuple[str, str]] = {  # what is wrong, and where to mend it
    "healthy": ("Healthy", NOTHING),
    "evidence_not_retrieved": ("Evidence never retrieved", "chunking, embedding, K"),
    "wrong_order": ("Right evidence, wrong order", "reranker"),
    "hallucination": ("Hallucination despite good context", "prompt or model"),
    "question_not_answered": ("Faithful, but not an answer to the question", "prompt, instructions"),
    "several": ("Several of these at once", "the first in this order"),
    "undetermined": ("Cannot be said", "verdicts that are missing"),
}
STANDS_ON = (
    "This stands on the verdicts of the judge; where the evidence was lost stands on gold labels and logs. Neither "
    "overrules the other."
)


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
    """On how many questions which metrics have no verdict, where the data say why.

    >>> from rag_titan.evaluation.catalogue import ROWS
    >>> unjudged_text({"judge": {"unjudged": {"faithfulness": 2}}}, ROWS)
    'Without a verdict: Faithfulness on 2 questions'
    """
    unjudged, places = mapping(mapping(report.get(Stage.JUDGE)).get("unjudged")), by_place(rows)
    found = [
        f"{places[Stage.JUDGE, key].title if (Stage.JUDGE, key) in places else shown(key, 80)} on "
        f"{count_text(n, 'question')}"
        for key, n in unjudged.items()
    ]
    return f"Without a verdict: {', '.join(found)}" if found else ""


def limits_text(report: Report, rows: Rows) -> str:
    """Below which scores a question is in want of something."""
    limits, places = mapping(diagnosis_of(report).get("limits")), by_place(rows)
    named = [
        f"{places[Stage.JUDGE, sign].title} below {limits[sign]:.2f}"
        for sign in SIGNS
        if sign in limits and (Stage.JUDGE, sign) in places
    ]
    return f"Low is: {', '.join(named)}" if named else ""


def judged_line(report: Report) -> str | None:
    """What is wrong with how many questions, in a line; None without a diagnosis.

    >>> rows = {"healthy": 7, "hallucination": 2, "undetermined": 1}
    >>> judged_line({"judge": {"diagnosis": {"rows": rows, "funnel": {"agree": 6, "differ": 1}}}})
    'By the judge, of 10 questions: hallucination despite good context 2; cannot be said 1; the funnel differs on 1'
    """
    found = diagnosis_of(report)
    counts = mapping(found.get("rows"))
    asked = sum(counts.values())
    if not asked:
        return None
    faults = [name for name in NAMES if name not in (HEALTHY, UNDETERMINED) and counts.get(name)]
    faults.sort(key=lambda name: -counts[name])
    named = [*(faults or [HEALTHY]), *([UNDETERMINED] if counts.get(UNDETERMINED) else [])]
    parts = [f"{_small(WORDS[name][0])} {counts.get(name, 0):,}" for name in named]
    differ = mapping(found.get("funnel")).get("differ")
    parts += [f"the funnel differs on {differ:,}"] if differ else []
    return f"By the judge, of {count_text(asked, 'question')}: {'; '.join(parts)}"


def _small(title: str) -> str:
    return f"{title[0].lower()}{title[1:]}"


def diagnosis_rows(report: Report) -> list[dict[str, Any]]:
    """[{"name", "title", "fix", "n", "ids"}] of the rows with a question, in the order of the table."""
    found = diagnosis_of(report)
    counts, examples = mapping(found.get("rows")), mapping(found.get("examples"))
    return [
        {"name": name, "title": WORDS[name][0], "fix": WORDS[name][1], "n": counts[name],
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

    >>> funnel_says({"lost_at": None, "correct": True, "correct_by": "task_success"})
    'nothing lost, the answer is right (task_success)'
    """
    place, correct = verdict.get("lost_at"), verdict.get("correct")
    why = verdict.get("why") or []
    if place:
        return f"{place_text(str(place))}{f': {why[0]}' if why else ''}"
    answer = {True: "right", False: "wrong"}.get(correct) if isinstance(correct, bool) else None
    by = f" ({verdict['correct_by']})" if verdict.get("correct_by") else ""
    return f"nothing lost, the answer is {answer}{by}" if answer else "nothing lost"


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
    found = diagnosis_rows(report)
    if not found:
        return []
    lines = ["## What the judge finds", ""]
    said = [who_text(report), unjudged_text(report, rows), limits_text(report, rows)]
    lines += [line(". ".join(filter(None, said)) + "."), "", line(STANDS_ON), ""]
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
