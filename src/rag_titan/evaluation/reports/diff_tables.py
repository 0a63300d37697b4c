"""Several reports side by side as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rag_titan.evaluation.catalogue import ROWS, Rows, by_place
from rag_titan.evaluation.metric import Metric
from rag_titan.evaluation.reports.cells import line, shown, table
from rag_titan.evaluation.reports.changes import (
    change_text,
    interval_text,
    names_by_reason,
    p_text,
    sides_text,
    sure_text,
)
from rag_titan.evaluation.reports.diff import (
    APPEARED,
    BETTER,
    CHANGED,
    NO_FAULT,
    NOT_COMPARED,
    SAME,
    UNSURE,
    VANISHED,
    WORSE,
)
from rag_titan.evaluation.reports.figures import count_text, value_text

Entry = Mapping[str, Any]

HEADINGS = {
    WORSE: "Worse",
    VANISHED: "No longer measured",
    BETTER: "Better",
    NOT_COMPARED: "Not comparable",
    NO_FAULT: "Lower, and no fault",
    CHANGED: "Changed, neither better nor worse",
    APPEARED: "Newly measured",
    UNSURE: "Could be noise",
    SAME: "Same",
}
_SAID = {UNSURE: "that could be noise"}
QUESTIONS_SHOWN = 20
UNSURE_NAMED = 8
_ROWS = {row.name: row for row in ROWS}


def markdown_of(found: Mapping[str, Any], *, everything: bool = False, rows: Rows | None = None) -> str:
    """What `diff` found, as Markdown text; `everything` also shows what did not change."""
    places = {f"{stage}.{key}": row for (stage, key), row in by_place(ROWS if rows is None else rows).items()}
    parts = [["# Reports compared", "", *_reports(found)]]
    if not found["comparable"]:
        parts.append([f"**Not comparable.** {line(found['reason'])}"])
    else:
        parts.append([f"**{line(summary_text(found))}.**"])
    parts.append([f"- {line(note)}" for note in found["notes"]])
    for verdict, entries in grouped(found, everything=everything):
        parts.append([f"## {HEADINGS[verdict]}", "", *_metrics(verdict, entries, found, places)])
    if not everything and (unsure := unsure_text(found)):
        parts.append([line(unsure)])
    parts.append(_questions(found["questions_changed"]))
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"


def summary_text(found: Mapping[str, Any]) -> str:
    """How many metrics came to what, in a sentence. Where none is worse for sure, those that look worse stand first.

    >>> summary_text({"metrics": [{"verdict": "worse"}, {"verdict": "same"}], "tolerance": 0.02})
    '1 metric worse; 1 the same (within 0.02)'
    >>> noise = {"verdict": "not sure", "list": "regressions"}
    >>> summary_text({"metrics": [noise], "tolerance": 0.02})
    'No metric worse for sure, but 1 looks worse, which could be noise; 0 the same (within 0.02)'
    """
    verdicts = [entry["verdict"] for entry in found["metrics"]]
    counts = {verdict: verdicts.count(verdict) for verdict in HEADINGS}
    looks = sum(entry["verdict"] == UNSURE and entry.get("list") == "regressions" for entry in found["metrics"])
    said = [count_text(counts[WORSE], "metric") + " worse"] if counts[WORSE] else ["No metric worse"]
    if looks and not counts[WORSE]:
        said = [f"No metric worse for sure, but {looks:,} look{'s' * (looks == 1)} worse, which could be noise"]
        counts[UNSURE] -= looks
    said += [f"{counts[v]:,} {_SAID.get(v, v)}" for v in HEADINGS if counts[v] and v not in (WORSE, SAME)]
    newly = len((found.get("questions_changed") or {}).get("newly_failed", ()))
    failed = f"; {count_text(newly, 'question')} newly failed" if newly else ""
    return f"{', '.join(said)}; {counts[SAME]:,} the same (within {found['tolerance']:g}){failed}"


def grouped(found: Mapping[str, Any], *, everything: bool) -> Iterator[tuple[str, list[Entry]]]:
    """The metrics by verdict, worst first; without those that are the same or could be noise, unless `everything`."""
    for verdict in HEADINGS:
        entries = [entry for entry in found["metrics"] if entry["verdict"] == verdict]
        if entries and (everything or verdict not in (SAME, UNSURE)):
            yield verdict, entries


def unsure_text(found: Mapping[str, Any]) -> str:
    """The metrics that moved by what could be noise, in one sentence; empty where none did. The primary ones and what
    it would take to be sure of them come first.

    >>> recall = {"metric": "retrieval.recall_at_k", "verdict": "not sure", "primary": True, "n": 10, "needed": 37}
    >>> recall |= {"significant": False, "change": -0.2, "baseline": 0.8}
    >>> latency = {"metric": "end_to_end.p95_latency_ms", "verdict": "not sure", "significant": False}
    >>> print(unsure_text({"metrics": [recall, latency]}))
    2 metrics moved by what could be noise: retrieval.recall_at_k (-0.200, about 37 questions would show it), \
end_to_end.p95_latency_ms
    """
    entries = [entry for entry in found["metrics"] if entry["verdict"] == UNSURE]
    if not entries:
        return ""
    entries = sorted(entries, key=lambda entry: not entry.get("primary"))
    names = [_unsure_name(entry) for entry in entries[:UNSURE_NAMED]]
    more = f" and {len(entries) - UNSURE_NAMED} more" if len(entries) > UNSURE_NAMED else ""
    return f"{count_text(len(entries), 'metric')} moved by what could be noise: {', '.join(names)}{more}"


def _unsure_name(entry: Entry) -> str:
    name = shown(entry["metric"], 60)
    if not entry.get("primary"):
        return name
    row = _ROWS.get(entry["metric"])
    would = sure_text(entry).partition(": ")[2]
    return f"{name} ({', '.join(filter(None, (change_text(row, entry), would)))})"


def _reports(found: Mapping[str, Any]) -> list[str]:
    cells = [
        [letter(i), one["name"], one["created_at"], one["questions"]] for i, one in enumerate(found["reports"])
    ]  # fmt: skip
    return table(["Here", "Report", "Made", "Questions"], cells, right=(3,))


def letter(place: int) -> str:
    """How a table calls a report.

    >>> letter(0), letter(25), letter(26)
    ('A', 'Z', 'A2')
    """
    return chr(ord("A") + place % 26) + (str(place // 26 + 1) if place >= 26 else "")


def _metrics(
    verdict: str, entries: Sequence[Entry], found: Mapping[str, Any], places: Mapping[str, Metric]
) -> list[str]:
    if verdict == NOT_COMPARED:
        left_out = names_by_reason(entries, lambda entry: str(entry["metric"]))
        return [f"- {line(', '.join(names))}: {line(reason)}" for reason, names in left_out.items()]
    letters = [letter(i) for i in range(len(found["reports"]))]
    rows = []
    for entry in entries:
        row, key = places.get(entry["metric"]), entry["metric"].partition(".")[2]
        values = [value_text(row, key, value) for value in entry["values"]]
        rest = [change_text(row, entry), interval_text(row, entry), p_text(entry.get("p_corrected")), sides_text(entry)]
        sure = entry.get("reason") or entry.get("note") or sure_text(entry)
        name = entry["metric"] + (" (primary)" if entry.get("primary") else "")
        rows.append([name, *values, *rest, sure if verdict != APPEARED else None])
    header = ["Metric", *letters, "Change", "95 % interval", "p (corrected)", "Better / worse / same", "How sure"]
    return table(header, rows, right=range(1, len(letters) + 5))


def _questions(changed: Mapping[str, Any] | None) -> list[str]:
    if changed is None:
        return []
    lines = [
        "## Questions that changed sides",
        "",
        f"{changed['failed_before']:,} failed before, {changed['failed_now']:,} now.",
    ]
    for name, heading in (("newly_failed", "Newly failed"), ("newly_right", "No longer failing")):
        listed = changed[name]
        if listed:
            cells = [[one["id"], one["lost_at"], "; ".join(one["why"]) or None] for one in listed[:QUESTIONS_SHOWN]]
            more = len(listed) - QUESTIONS_SHOWN
            lines += ["", f"{heading}: {len(listed):,}" + (f", the first {QUESTIONS_SHOWN}" if more > 0 else ""), ""]
            lines += table(["Question", "Lost at", "Why"], cells)
    return lines
