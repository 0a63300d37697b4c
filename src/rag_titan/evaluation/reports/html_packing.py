"""The pages of questions as short JSON, which the script of the HTML report unpacks when a question is opened.

A page is [chunks, block, ...]. `chunks` are the references of all its blocks, those of its rankings first; a block
names a chunk by its place among them. A block is [kind, title, ...], the kind as its place in KINDS:

    text     run, mark, run, mark, ...; the text 0 stands for the question as the list of questions shows it
    list     text, mark, text, mark, ...; a text of two parts is [text, word]
    chunks   chunk, note, [start, end, ...], and so on
    columns  [title, k, moved, chunks, {place: mark}, {place: note}, scores], ...; chunks n are the first n of the page,
             scores stand in one text
    budget   says, used, max, chunk, tokens, mark, chunk, ...

Titles, marks, notes and other texts that many pages share are words: their places in one table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

KINDS = ("text", "list", "chunks", "columns", "budget")
SAME = 0  # in the place of a question's text: it is that of the list
SIGNS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
NONE = "-"

Block = Mapping[str, Any]


class Packer:
    """Packs pages; `words` are complete when all are packed."""

    def __init__(self) -> None:
        self._places: dict[str, int] = {"": 0}

    @property
    def words(self) -> list[str]:
        """The texts that pages share, in the order of their numbers."""
        return list(self._places)

    def word(self, text: str) -> int:
        """The number of a text."""
        return self._places.setdefault(text, len(self._places))

    def page(self, blocks: Sequence[Block], head: str) -> list[Any]:
        """A page; `head` is the question as the list shows it.

        >>> Packer().page([{"kind": "text", "title": "Question", "runs": [("Why?", "")]}], "Why?")
        [[], [0, 1, 0]]
        """
        chunks: dict[int | str, int] = {}
        for block in blocks:
            for column in block.get("columns", ()):
                for name in column["chunks"]:
                    chunks.setdefault(name, len(chunks))
        packed = [[KINDS.index(block["kind"]), self.word(block["title"]), *self._parts(block, chunks, head)]
                  for block in blocks]  # fmt: skip
        return [list(chunks), *packed]

    def _parts(self, block: Block, chunks: dict[int | str, int], head: str) -> Iterator[Any]:
        if block["kind"] == "text":
            return self._text(block, head)
        if block["kind"] == "list":
            return self._list(block)
        if block["kind"] == "chunks":
            return self._chunks(block, chunks)
        if block["kind"] == "columns":
            return (self._column(column, chunks) for column in block["columns"])
        return self._budget(block, chunks)

    def _text(self, block: Block, head: str) -> Iterator[Any]:
        runs = block["runs"]
        if len(runs) == 1 and not runs[0][1]:
            yield SAME if block["title"] == "Question" and runs[0][0] == head else runs[0][0]
            return
        for text, mark in runs:
            yield from (text, self.word(mark))

    def _list(self, block: Block) -> Iterator[Any]:
        for mark, text, more in block["items"]:
            yield [text, self.word(more)] if more else text
            yield self.word(mark)

    def _chunks(self, block: Block, chunks: dict[int | str, int]) -> Iterator[Any]:
        for item in block["items"]:
            yield chunks.setdefault(item["chunk"], len(chunks))
            yield self.word(item["note"])
            yield list(chain.from_iterable(item["places"]))

    def _column(self, column: Mapping[str, Any], chunks: Mapping[int | str, int]) -> list[Any]:
        places = [chunks[name] for name in column["chunks"]]
        return [
            self.word(column["title"]),
            column["k"],
            int(column["moved"]),
            len(places) if places == list(range(len(places))) else places,
            {place: self.word(mark) for place, mark in column["marks"].items()},
            {place: self.word(note) for place, note in column["notes"].items()},
            " ".join(score or NONE for score in column["scores"]),
        ]

    def _budget(self, block: Block, chunks: dict[int | str, int]) -> Iterator[Any]:
        yield from (block["says"], _short(block["used"]), _short(block["max"]))
        for name, tokens, mark in block["parts"]:
            yield from (chunks.setdefault(name, len(chunks)), _short(tokens), self.word(mark))


def packed_codes(codes: Sequence[int], different: int) -> str | list[int]:
    """Codes below `different`, -1 for none, as one sign each where there are few.

    >>> packed_codes([0, 1, -1, 10], 11), packed_codes([70], 71)
    ('01-A', [70])
    """
    if different > len(SIGNS):
        return list(codes)
    signs = SIGNS + NONE  # none is the last, as -1 is the last place
    return "".join([signs[code] for code in codes])


def _short(number: float | None) -> float | None:
    """A whole number without its decimals."""
    return number if number is None or not number.is_integer() else int(number)
