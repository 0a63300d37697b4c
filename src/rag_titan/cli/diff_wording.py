"""The lines that `rag-titan diff` prints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rag_titan.cli.terminal import escaped, wrapped
from rag_titan.evaluation import CATALOGUE
from rag_titan.evaluation.reports.cells import shown
from rag_titan.evaluation.reports.changes import (
    change_text,
    corrected_text,
    interval_text,
    names_by_reason,
    p_corrected_text,
    paired_text,
    sure_text,
)
from rag_titan.evaluation.reports.diff import APPEARED, NOT_COMPARED, UNSURE, VANISHED
from rag_titan.evaluation.reports.diff_tables import HEADINGS, grouped, letter, summary_text, unsure_text
from rag_titan.evaluation.reports.figures import NOTHING, count_text, value_text

Entry = Mapping[str, Any]

_ROWS = {row.name: row for row in CATALOGUE.values()}
_QUESTIONS = 10  # that are named
_NARROWEST = 60
_SINGLE = (VANISHED, APPEARED)
_SEEMS = {"regressions": "seems worse", "improved": "seems better"}


class DiffWording:
    """What `ReportManager.diff` found, in words.

    width  of the terminal; None where there is none
    """

    def __init__(self, found: Mapping[str, Any], *, everything: bool = False, width: int | None = None) -> None:
        self.found = found
        self.everything = everything
        self.width = width
        self.letters = [letter(i) for i in range(len(found["reports"]))]

    def lines(self) -> Iterator[str]:
        """The reports, what it comes to, then the metrics, worst first, then the questions."""
        yield from self._reports()
        yield ""
        if not self.found["comparable"]:
            yield from self._wrapped(f"Not comparable: {self.found['reason']}")
        else:
            yield from self._wrapped(summary_text(self.found))
        for note in self.found["notes"]:
            yield from self._wrapped(f"Note: {note}")
        yield from self._metrics()
        if not self.everything and (unsure := unsure_text(self.found)):
            yield ""
            yield from self._wrapped(f"{unsure} (--all shows each)")
        yield from self._questions()
        if any(entry.get("primary") for _, entries in self._groups() for entry in entries):
            yield ""
            yield from self._wrapped("* what the comparison is about; p is corrected for all that were tested")

    def _reports(self) -> Iterator[str]:
        names = [shown(one["name"]) for one in self.found["reports"]]
        widest = max(map(len, names))
        for sign, name, one in zip(self.letters, names, self.found["reports"], strict=True):
            made = shown(one["created_at"] or NOTHING)
            asked = "" if one["questions"] is None else count_text(one["questions"], "question")
            yield f"{sign}  {name.ljust(widest)}  {made}  {asked}".rstrip()

    def _groups(self) -> list[tuple[str, list[Entry]]]:
        return list(grouped(self.found, everything=self.everything))

    def _metrics(self) -> Iterator[str]:
        groups = self._groups()
        names = [_name(entry) for _, entries in groups for entry in entries]
        columns = max(map(len, names), default=0) + 2
        for verdict, entries in groups:
            yield ""
            yield f"{HEADINGS[verdict]}: {len(entries)}"
            if verdict == NOT_COMPARED:
                for reason, metrics in names_by_reason(entries, _name).items():
                    yield from self._wrapped(f"{', '.join(metrics)}: {reason}", "  ")
            elif verdict not in _SINGLE:
                yield from self._table(entries, columns)
            else:
                for entry in entries:
                    yield from self._wrapped(f"{_name(entry)}{self._single(entry)}", "  ")

    def _single(self, entry: Entry) -> str:
        row, key = _ROWS.get(entry["metric"]), str(entry["metric"]).partition(".")[2]
        known = [value for value in (entry.get("baseline"), entry.get("current")) if value is not None]
        said = f" {value_text(row, key, known[0])}" if known else ""
        return said + (f": {entry['reason']}" if entry.get("reason") else "")

    def _table(self, entries: Sequence[Entry], names: int) -> Iterator[str]:
        """A line with the values for each metric, and one below it that says how sure the change is."""
        merged = _merged(entries)
        cells = [self._cells(entry) for entry, _ in merged]
        header = [*self.letters, "change"]
        widths = [max(len(text) for text in column) for column in zip(header, *cells, strict=True)]
        shown_columns = self._fitting(names, widths)
        yield self._line("", names, header, widths, shown_columns)
        for (entry, same), values in zip(merged, cells, strict=True):
            yield self._line(_name(entry), names, values, widths, shown_columns)
            yield from self._wrapped(_evidence(entry), "      ")
            if same:
                yield from self._wrapped(f"just so: {', '.join(same)}", "      ")

    def _cells(self, entry: Entry) -> list[str]:
        row, key = _ROWS.get(entry["metric"]), str(entry["metric"]).partition(".")[2]
        return [*(value_text(row, key, value) for value in entry["values"]), change_text(row, entry)]

    def _fitting(self, names: int, widths: Sequence[int]) -> list[int]:
        """The columns that have room: the first report, the change and the last, then those before it."""
        last = len(widths) - 1
        order = [0, last, *range(last - 1, 0, -1)]
        taken: list[int] = []
        for place in order:
            used = 2 + names + sum(widths[i] + 2 for i in (*taken, place))
            if self.width is None or used <= self.width or len(taken) < 3:
                taken.append(place)
        return sorted(taken)

    @staticmethod
    def _line(name: str, names: int, cells: Sequence[str], widths: Sequence[int], places: Sequence[int]) -> str:
        return f"  {name.ljust(names)}" + "".join(f"  {cells[i].rjust(widths[i])}" for i in places)

    def _questions(self) -> Iterator[str]:
        changed = self.found["questions_changed"]
        if changed is None:
            return
        yield ""
        yield f"Questions: {changed['failed_before']:,} failed before, {changed['failed_now']:,} now"
        for kind, heading in (("newly_failed", "Newly failed"), ("newly_right", "No longer failing")):
            listed = changed[kind]
            if listed:
                named = ", ".join(_question(one) for one in listed[:_QUESTIONS])
                more = f", and {len(listed) - _QUESTIONS:,} more" if len(listed) > _QUESTIONS else ""
                yield from self._wrapped(f"{heading} ({len(listed):,}): {named}{more}", "  ")

    def _wrapped(self, text: str, indent: str = "") -> list[str]:
        return wrapped(escaped(text), None if self.width is None else max(self.width, _NARROWEST), indent)


def _name(entry: Entry) -> str:
    return shown(entry["metric"]) + (" *" if entry.get("primary") else "")


def _question(one: Entry) -> str:
    return shown(one["id"], 40) + (f" ({shown(one['lost_at'])})" if one["lost_at"] else "")


def _evidence(entry: Entry) -> str:
    """How sure a change is, and on what that stands."""
    row = _ROWS.get(entry["metric"])
    if entry.get("significant") is None:
        return sure_text(entry)
    parts = [_SEEMS[entry["list"]]] if entry["verdict"] == UNSURE else []
    parts += [f"95 % {interval_text(row, entry)}"] if entry.get("ci95") else []
    why, would = corrected_text(entry), sure_text(entry).partition(": ")[2] if entry["verdict"] == UNSURE else ""
    parts += [why or p_corrected_text(entry), _sides(entry)]
    return "; ".join(filter(None, (", ".join(filter(None, parts)), paired_text(row, entry), would, entry.get("note"))))


def _sides(entry: Entry) -> str:
    if not entry["paired"]:
        return "two means, not paired"
    if entry.get("wins") is not None:
        return f"{entry['wins']:,} better, {entry['losses']:,} worse, {entry['ties']:,} same"
    return count_text(entry["n"], "question")


def _merged(entries: Sequence[Entry]) -> list[tuple[Entry, list[str]]]:
    """Each entry with the names of those of which all the same is said: answer F1 stands in two stages, and short
    answers make many metrics one."""
    found: dict[tuple[Any, ...], tuple[Entry, list[str]]] = {}
    for entry in entries:
        kept = found.setdefault((*entry["values"], entry["change"], _evidence(entry)), (entry, []))
        if kept[0] is not entry:
            kept[1].append(_name(entry))
    return list(found.values())
