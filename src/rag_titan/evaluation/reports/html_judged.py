"""What the judge finds, and its statements on a question, as plain values for the templates of the HTML report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rag_titan.evaluation.reports import html_figures as figures
from rag_titan.evaluation.reports import judged_tables
from rag_titan.evaluation.reports.html_sections import Sections, mapping

View = dict[str, Any]

MARKS = {"supported": "supported", "contradicted": "contradicted", "not_supported": "not supported"}
_SIDES = (("answer", "Statements of the answer, judged"), ("reference", "Statements of the reference, judged"))
_OTHERS = (("reference", "by the reference"), ("answer", "by the answer"))


def judged(sections: Sections) -> View | None:
    """The section "What the judge finds"; None without verdicts."""
    report, rows = sections.report, sections.rows
    found = judged_tables.diagnosis_rows(report, rows)
    if not found:
        return None
    most = max(row["n"] for row in found)
    said = (judged_tables.who_text(report), judged_tables.unjudged_text(report, rows))
    caveat = judged_tables.caveat_text(report, rows)
    funnel = mapping(judged_tables.diagnosis_of(report).get("funnel"))
    differ, agree = funnel.get("differ") or 0, funnel.get("agree") or 0
    listed = judged_tables.differing(report, rows)[: judged_tables.DIFFERING_SHOWN]
    return {
        "says": [text for text in (*said, caveat) if text],
        "signs": judged_tables.sign_rows(report, rows),
        "stands_on": judged_tables.STANDS_ON,
        "rows": [{**row, "bar": figures.scaled(row["n"], most)} for row in found],
        "differ": judged_tables.differ_text(differ, differ + agree, len(listed)) if differ else "",
        "differing": listed,
    }


def diagnosis_items(verdict: Mapping[str, Any], sections_rows: Any) -> list[tuple[str, str]]:
    """What is wrong with a question by the judge, beside what the funnel says where the two differ."""
    found = mapping(verdict.get("judge"))
    if not found:
        return []
    items = [("", judged_tables.judge_says(found, sections_rows))]
    if found.get("agrees_with_funnel") is False:
        items.append(("", f"the funnel differs, by gold labels and logs: {judged_tables.funnel_says(verdict)}"))
    return items


def claim_blocks(row: Mapping[str, Any]) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """(title, [(mark, text)]) of the statements of a question that were judged."""
    claims = mapping(row.get("claims"))
    for side, title in _SIDES:
        items = [_claim(mapping(claim)) for claim in claims.get(side) or []]
        if items:
            yield title, items


def _claim(claim: Mapping[str, Any]) -> tuple[str, str]:
    chunks = mapping(claim.get("chunks"))
    bearing = [name for name, said in chunks.items() if said == "supported"]
    said = claim.get("context")
    if said is None and chunks:
        against = "contradicted" if "contradicted" in chunks.values() else "not_supported"
        said = "supported" if bearing else against
    facts = [f"“{claim['evidence']}”"] if claim.get("evidence") else []
    facts += [f"in {', '.join(bearing[:5])}"] if bearing else []
    facts += [f"{MARKS[claim[key]]} {words}" for key, words in _OTHERS if claim.get(key) in MARKS]
    facts += [f"settled by {claim['by']}"] if claim.get("by") not in (None, "judge") else []
    text = str(claim["text"]) if claim.get("text") is not None else "(a statement without its text)"
    return MARKS.get(str(said), ""), "; ".join([text, *facts])
