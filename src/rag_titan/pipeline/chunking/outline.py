"""Where a place of a document is: on which page, below which headings."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from rag_titan.pipeline.parts import Document, Mark

_RULE = re.compile(r"[\s|:-]*-[\s|:-]*")  # between the names of the columns and the rows


class Outline:
    """Of a document.

    >>> marks = [Mark("page", 0, 9, "1"), Mark("heading", 0, 2, "HR", 1), Mark("heading", 3, 5, "Leave", 2)]
    >>> Outline(Document("a.pdf", "HR Le 25.", marks)).metadata(6, 9)
    {'source': 'a.pdf', 'page': 1, 'headings': ['HR', 'Leave']}
    """

    def __init__(self, document: Document) -> None:
        marks = sorted(document.marks, key=lambda mark: (mark.start, mark.end))
        self._document = document
        self._tables = [mark for mark in marks if mark.kind == "table"]
        self._table_starts = [mark.start for mark in self._tables]
        self._pages = [mark for mark in marks if mark.kind == "page"]
        self._headings = [mark for mark in marks if mark.kind == "heading"]
        self._page_starts = [mark.start for mark in self._pages]
        self._heading_starts = [mark.start for mark in self._headings]
        self._paths = _paths(self._headings)

    def metadata(self, start: int, end: int) -> dict[str, Any]:
        """Of the chunk text[start:end]: "source", "page" where a page mark holds the start, "headings" and "columns".

        Headings are those above its text, from the highest: those that the chunk opens with are among them. Columns are
        the first row of the table of Markdown in whose rows below it the chunk starts.
        """
        found: dict[str, Any] = {"source": self._document.id}
        page = bisect_right(self._page_starts, start) - 1
        if page >= 0 and start < self._pages[page].end:
            label = self._pages[page].label
            found["page"] = int(label) if label.isascii() and label.isdigit() else label
        heading = bisect_right(self._heading_starts, start) - 1
        if heading >= 0:
            found["headings"] = list(self._paths[self._opening(heading, start, end)])
        if columns := self._columns(start):
            found["columns"] = columns
        return found

    def _columns(self, start: int) -> str:
        place = bisect_right(self._table_starts, start) - 1
        if place < 0 or start >= self._tables[place].end:
            return ""
        text, table = self._document.text, self._tables[place].start
        end = text.find("\n", table, start)
        rule = text[end + 1 : text.find("\n", end + 1)]
        is_named = end >= 0 and _RULE.fullmatch(rule)  # of other tables nobody knows what their first row is
        return text[table:end].strip() if is_named else ""

    def _opening(self, heading: int, start: int, end: int) -> int:
        """The last of the headings that stand one behind the other at the start of a chunk."""
        if start >= self._headings[heading].end:
            return heading
        for above, below in zip(self._headings[heading:], self._headings[heading + 1 :], strict=False):
            if below.end > end or self._document.text[above.end : below.start].strip():
                break
            heading += 1
        return heading


def _paths(headings: Sequence[Mark]) -> list[tuple[str, ...]]:
    """The labels of each heading and of those above it."""
    open_: list[Mark] = []
    paths = []
    for heading in headings:
        while open_ and open_[-1].level >= heading.level:
            open_.pop()
        open_.append(heading)
        paths.append(tuple(mark.label for mark in open_))
    return paths
