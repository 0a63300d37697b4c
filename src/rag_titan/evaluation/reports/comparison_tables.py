"""What `compare` found against a baseline, as a section of the Markdown report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rag_titan.evaluation.catalogue import Rows, by_place, label_of
from rag_titan.evaluation.reports.cells import line, table
from rag_titan.evaluation.reports.changes import (
    change_text,
    corrected_text,
    interval_text,
    names_by_reason,
    p_text,
    paired_text,
    sides_text,
)
from rag_titan.evaluation.reports.figures import NOTHING, title_text, value_text
from rag_titan.evaluation.reports.first_run import refusal_text

Entry = Mapping[str, Any]

_WORDS = {
    "regressions": "worse", "improved": "better", "explained": "no fault", "vanished": "no longer measured",
    "appeared": "newly measured",
}  # fmt: skip
_HEADER = (
    "Stage", "Metric", "Baseline", "Now", "Change", "95 % interval", "p (corrected)", "Questions",
    "Better / worse / same", "Verdict",
)  # fmt: skip
_P = (
    "p (corrected) is that of a paired randomisation test, corrected for how many metrics were tested; a change is "
    "sure from 0.05 down. Where the questions are too few, the table says about how many would show it."
)


def tables(comparison: Mapping[str, Any] | None, rows: Rows, meta: Mapping[str, Any]) -> list[str]:
    """The section, a list of lines: each change with its interval, p and verdict, then what to know about it."""
    if comparison is None:
        return []
    lines = ["## Against the baseline", ""]
    if not comparison["comparable"]:
        return [*lines, line(refusal_text(comparison))]
    section = _Section(comparison, rows, meta)
    cells = [section.cells(kind, entry) for kind in _WORDS for entry in comparison[kind]]
    if cells:
        lines += table(_HEADER, cells, right=range(2, 9))
        lines += ["", _P] if section.tested else []
    else:
        lines.append(f"No metric changed by more than the tolerance of {comparison['tolerance']:g}.")
    notes = section.notes()
    return [*lines, *([""] if notes else []), *notes]


class _Section:
    def __init__(self, comparison: Mapping[str, Any], rows: Rows, meta: Mapping[str, Any]) -> None:
        self.comparison = comparison
        self.places = {row.name: row for row in by_place(rows).values()}
        self.meta = meta

    @property
    def tested(self) -> bool:
        """True where some change has a p."""
        return any(entry.get("p") is not None for kind in _WORDS for entry in self.comparison[kind])

    def name(self, entry: Entry) -> str:
        row = self.places.get(entry["metric"])
        title = title_text(row, self.meta) if row else str(entry["metric"]).partition(".")[2]
        return f"{title} (primary)" if entry.get("primary") else title

    def cells(self, kind: str, entry: Entry) -> list[str | None]:
        stage, _, key = str(entry["metric"]).partition(".")
        row = self.places.get(entry["metric"])
        before, now = (value_text(row, key, entry[side]) for side in ("baseline", "current"))
        return [
            label_of(stage), self.name(entry), before, now, change_text(row, entry), interval_text(row, entry),
            p_text(entry.get("p_corrected")), _questions(entry), sides_text(entry), _verdict(kind, entry),
        ]  # fmt: skip

    def notes(self) -> list[str]:
        """What to know: why nothing could be tested, how many questions it would take, what is not compared."""
        notes = list(self.comparison["notes"])
        untested: dict[str, list[str]] = {}
        for entry in (entry for kind in _WORDS for entry in self.comparison[kind]):
            if other := paired_text(self.places.get(entry["metric"]), entry):
                notes.append(f"{self.name(entry)}: {other}.")
            if entry.get("untested"):
                untested.setdefault(entry["untested"], []).append(self.name(entry))
        notes += [f"Not tested, as {reason}: {', '.join(names)}." for reason, names in untested.items()]
        left_out = names_by_reason(self.comparison.get("not_compared") or [], self.name)
        notes += [f"Not compared, as {reason}: {', '.join(names)}." for reason, names in left_out.items()]
        return [f"- {line(note)}" for note in notes]


def _questions(entry: Entry) -> str:
    """How many questions a change stands on, and how many would be needed where these are too few.

    >>> _questions({"n": 10, "needed": 125, "significant": False}), _questions({"n": 200, "significant": True})
    ('10, needs 125', '200')
    """
    n, needed = entry.get("n"), entry.get("needed")
    if not isinstance(n, int):
        return NOTHING
    too_few = entry.get("significant") is False and isinstance(needed, int) and needed > n
    return f"{n:,}, needs {needed:,}" if too_few else f"{n:,}"


def _verdict(kind: str, entry: Entry) -> str:
    """The word for a change, and whether it is more than noise.

    >>> _verdict("regressions", {"significant": False}), _verdict("improved", {"significant": True})
    ('seems worse, not sure', 'better')
    """
    word = _WORDS[kind]
    if kind not in ("regressions", "improved") or "significant" not in entry or entry["significant"] is True:
        return word
    if entry["significant"] is None:
        return f"{word}, not tested"
    why = corrected_text(entry)
    return f"seems {word}, not sure{f': {why}' if why else ''}"
