"""The query explorer of the HTML report: a page for each question, as blocks that its template and its script draw.

A block is {"kind", "title", ...}: "text" with runs of [text, mark], "list" with items of [mark, text, more], "columns"
with ranked chunks, "chunks" with the evidence in its chunks, "budget" with the parts of the context. A chunk is its
number in the table of chunks, or its id where that has no text for it. Every text is made visible here.

The script gets them packed. The index comes first and is all that the list and most filters need; the rest is read
behind the script, while the list can be used already.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any

from rag_titan.evaluation.catalogue import label_of, stage_names
from rag_titan.evaluation.limits import finite
from rag_titan.evaluation.reports import stage_tables
from rag_titan.evaluation.reports.cells import shown, visible
from rag_titan.evaluation.reports.failures import NOT_KNOWN, failed_queries, spread
from rag_titan.evaluation.reports.html_packing import Packer, packed_codes
from rag_titan.evaluation.reports.html_pages import Pages, View
from rag_titan.evaluation.reports.html_sections import Sections, mapping
from rag_titan.evaluation.reports.pairing import rows_by_id

STATIC = 50  # failed questions that are read without JavaScript
HEAD = 140  # characters of a question in the list
MOST_VALUES = 200  # of a tag, to choose from; one with more names the questions rather than slices
_UNSAFE = (("<", "\\u003c"), (">", "\\u003e"), ("&", "\\u0026"), ("\u2028", "\\u2028"), ("\u2029", "\\u2029"))
PIECE = 250  # lines of JSON in one script element; a browser reads many short ones faster than a long one
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_encode_ascii = json.JSONEncoder(separators=(",", ":")).encode


@dataclass(frozen=True)
class Explorer:
    """The questions of a report: explorer rows where it has them, else its verdicts and values per question."""

    sections: Sections
    explorer: Mapping[str, Any]

    @cached_property
    def rows(self) -> list[Mapping[str, Any]]:
        """A row a question."""
        rows = self.explorer.get("queries")
        if isinstance(rows, list) and rows:
            return [row for row in rows if isinstance(row, Mapping)]
        return list(_without_texts(self.sections))

    @cached_property
    def verdicts(self) -> list[Mapping[str, Any]]:
        """The verdict of each question; its own, else that of the report."""
        listed = self.sections.report.get("queries")
        known = {str(v.get("id")): v for v in listed if isinstance(v, Mapping)} if isinstance(listed, list) else {}
        return [mapping(row.get("verdict")) or mapping(known.get(str(row.get("id")))) for row in self.rows]

    @cached_property
    def failures(self) -> list[Mapping[str, Any] | None]:
        """The row of `failed_queries` of each question, None where it did not fail."""
        return [next(iter(failed_queries({"queries": [verdict]})), None) for verdict in self.verdicts]

    @cached_property
    def places(self) -> list[str | None]:
        """Where each question was lost."""
        return [
            str(failure["stage"]) if failure else (str(verdict["lost_at"]) if verdict.get("lost_at") else None)
            for failure, verdict in zip(self.failures, self.verdicts, strict=True)
        ]

    @cached_property
    def pages(self) -> Pages:
        """What is shown of a question."""
        return Pages(mapping(self.explorer.get("chunks")), self.sections.meta.get("k"), self.sections.rows)

    def page(self, i: int) -> View:
        """The page of question i."""
        return self.pages.page(self.rows[i], self.verdicts[i], self.failures[i])

    def static(self) -> list[View]:
        """The pages that are read without JavaScript: the first failed questions of every stage."""
        failed = [{"stage": f["stage"], "i": i} for i, f in enumerate(self.failures) if f is not None]
        return [
            {**self.page(row["i"]), "stage": label_of(row["stage"]) if row["stage"] != NOT_KNOWN else "not known"}
            for row in spread(failed, STATIC)
        ]

    def view(self) -> View:
        """What the template shows and embeds."""
        failed = sum(failure is not None for failure in self.failures)
        index, packer = self.index(), Packer()
        pages = list(pieces(packer.page(self.page(i)["blocks"], head) for i, head in enumerate(index["heads"])))
        values = list(self.values())
        measured = [[values_of.pop(name) for name in ("stage", "title", "down")] for values_of in values]
        return {
            "total": len(self.rows),
            "failed": failed,
            "left_out": self.explorer.get("left_out") or 0,
            "redacted": self.explorer.get("redacted") is True,
            "texts": bool(self.explorer.get("queries")),
            "static": self.static(),
            "index": encoded({**index, "words": packer.words, "metrics": measured}),
            "piece": PIECE,
            "values": list(pieces(values)),
            "pages": pages,
            "chunks": list(pieces(self.pages.table())),
        }

    def index(self) -> View:
        """What the list of questions shows and filters by."""
        stages = list(dict.fromkeys([*stage_names(self.sections.rows), NOT_KNOWN]))
        present = [stage for stage in stages if stage in set(self.places)]
        said = [self.pages.verdict(v, f) for v, f in zip(self.verdicts, self.failures, strict=True)]
        verdicts = {text: code for code, text in enumerate(dict.fromkeys(said))}
        return {
            "ids": [visible(str(row.get("id"))) for row in self.rows],
            "heads": [shown(row.get("question") or "", HEAD) if row.get("question") else "" for row in self.rows],
            "stages": [[stage, "not known" if stage == NOT_KNOWN else label_of(stage)] for stage in present],
            "lost": [present.index(place) if place in present else -1 for place in self.places],
            "failed": [int(failure is not None) for failure in self.failures],
            "verdicts": list(verdicts),
            "said": [verdicts[text] for text in said],
            "tags": list(self._tags()),
        }

    def _tags(self) -> Iterator[tuple[str, list[str | None], list[int]]]:
        """(tag, its values, the place of each question's value); a question without the tag has None."""
        tagged = [mapping(row.get("tags")) or mapping(v.get("tags"))
                  for row, v in zip(self.rows, self.verdicts, strict=True)]  # fmt: skip
        for tag in sorted({str(tag) for tags in tagged for tag in tags}):
            texts = [None if tags.get(tag) is None else visible(str(tags[tag])) for tags in tagged]
            values = sorted(dict.fromkeys(texts), key=lambda text: (text is None, text or ""))
            if len(values) <= MOST_VALUES:
                codes = {text: code for code, text in enumerate(values)}
                yield visible(tag), values, [codes[text] for text in texts]

    def values(self) -> Iterator[View]:
        """A column for each metric: its different values, these as text, and the place of each question's value."""
        measured = [mapping(row.get("metrics")) for row in self.rows]
        order = {name: i for i, name in enumerate(self._titles)}
        names = sorted({name for metrics in measured for name in metrics}, key=lambda n: (order.get(n, len(order)), n))
        for name in names:
            stage, _, key = name.partition(".")
            numbers = [_number(metrics.get(name)) for metrics in measured]
            values = sorted({number for number in numbers if number is not None})
            codes = {number: code for code, number in enumerate(values)}
            title, down = self._titles.get(name, (key, False))
            yield {
                "stage": label_of(stage),
                "title": title,
                "down": down,
                "values": values,
                "texts": [self.sections.value(stage, key, value) for value in values],
                "codes": packed_codes([-1 if n is None else codes[n] for n in numbers], len(values)),
            }

    @cached_property
    def _titles(self) -> dict[str, tuple[str, bool]]:
        """{"stage.key": (title, is less better?)} of every value that a question can have, in pipeline order."""
        found: dict[str, tuple[str, bool]] = {}
        for row in self.sections.rows:
            title, down = self.sections.name(str(row.stage), row.key), row.kind.better == "down"
            found.setdefault(row.name, (title, down))
            if row.item_key != row.key:
                found.setdefault(f"{row.stage}.{row.item_key}", (stage_tables.without_quantile(title), down))
        return found


def _without_texts(sections: Sections) -> Iterator[Mapping[str, Any]]:
    """Rows from a report without explorer rows."""
    listed = sections.report.get("queries")
    verdicts = [v for v in listed if isinstance(v, Mapping)] if isinstance(listed, list) else _older(sections.report)
    items = {stage: rows_by_id(sections.report, stage) for stage in stage_names(sections.rows)}
    for verdict in verdicts:
        metrics = {
            f"{stage}.{key}": value
            for stage, by_id in items.items()
            for key, value in mapping(by_id.get(str(verdict.get("id")))).items()
            if key != "id"
        }
        yield {"id": verdict.get("id"), "tags": verdict.get("tags"), "verdict": verdict, "metrics": metrics}


def _older(report: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Verdicts on the questions that failed, from a report that has none itself."""
    return [
        {**row, "id": row["query_id"], "lost_at": None if row["stage"] == NOT_KNOWN else row["stage"]}
        for row in failed_queries(report)
    ]


def _number(value: Any) -> float | None:
    if value is None:
        return None
    return float(value) if isinstance(value, bool) else finite(value)


def pieces(values: Iterable[Any]) -> Iterator[str]:
    """The values as lines of JSON, a few at a time.

    >>> list(pieces([1, [2]]))
    ['1\\n[2]']
    """
    rest = iter(values)
    while lines := [encoded(value) for value in islice(rest, PIECE)]:
        yield "\n".join(lines)


def encoded(value: Any) -> str:
    """JSON on one line that cannot end the script element that it stands in.

    >>> print(encoded({"a": "</script>"}))
    {"a":"\\u003c/script\\u003e"}
    """
    text = _encode(value)
    if not text.isascii() and len(plain := _encode_ascii(value)) < 1.2 * len(text.encode()):
        text = plain  # a browser holds and reads ASCII at half the cost
    for sign, escaped in _UNSAFE:  # a hundred times as fast as a translation of each character
        text = text.replace(sign, escaped)
    return text
