"""Blocks of text, one after the other -> the text of a document and the marks in it."""

from __future__ import annotations

from rag_titan.pipeline.parts import Mark

APART, BELOW = "\n\n", "\n"


class Assembly:
    """Puts the blocks of a document together.

    >>> blocks = Assembly()
    >>> blocks.add("Leave", "heading", level=1)
    >>> blocks.add("25 days a year.")
    >>> blocks.text, blocks.marks
    ('Leave\\n\\n25 days a year.', [Mark(kind='heading', start=0, end=5, label='Leave', level=1)])
    """

    def __init__(self) -> None:
        self.marks: list[Mark] = []
        self._parts: list[str] = []
        self._length = 0

    def add(self, text: str, kind: str = "", label: str = "", level: int = 0, joint: str = APART) -> None:
        """One block more, behind the joint; a block without text is none. The label of a heading is its text."""
        if not text:
            return
        if self._parts:
            self._put(joint)
        start = self._length
        self._put(text)
        if kind:
            self.marks.append(Mark(kind, start, self._length, text if kind == "heading" else label, level))

    def add_page(self, text: str, number: int) -> None:
        """A page; one without text has a mark that covers nothing."""
        if text:
            self.add(text, "page", str(number))
        else:
            self.marks.append(Mark("page", self._length, self._length, str(number)))

    @property
    def text(self) -> str:
        """All of it."""
        return "".join(self._parts)

    def _put(self, text: str) -> None:
        self._parts.append(text)
        self._length += len(text)


def table_text(rows: list[list[str]]) -> str:
    """A line for each row that is not empty, with " | " between the cells.

    >>> table_text([["Grade", "Days"], ["", ""], ["A", "25"]])
    'Grade | Days\\nA | 25'
    """
    return "\n".join(" | ".join(cells).strip() for cells in rows if any(cells))
