"""Where the sections, pages, paragraphs, lines and sentences of a text begin."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rag_titan.evaluation.data.sentences import sentences_of
from rag_titan.pipeline.parts import Mark

Ints = NDArray[np.int64]

_LINE_END = re.compile("[\r\n\v\f\x85\u2028\u2029]+")
_ITEM = re.compile(r"^[^\S\r\n]*(?:[-*+•]|\d{1,3}[.)])[^\S\r\n]+(?=\S)", re.MULTILINE)
_PARAGRAPH_END = re.compile(  # behind the last character of a line end, so that \r\n is one
    r"[\r\n\f\u2029](?:(?<=[\f\u2029])|(?:(?<=\n)|(?!\n))(?:[^\S\r\n]*(?:\r\n|[\r\n]))+)"
)


class Boundaries:
    """Of a text that is cut into pieces; each property holds the numbers of the pieces that begin one, in order.

    starts  (n_pieces,) where the pieces stand

    A heading belongs to what follows it, so nothing begins behind one but at `bodies`: a heading without text of its
    own goes with the deeper one below. Of a table and a block of code only the lines are known.

    >>> found = Boundaries("# A\\n\\nOne. Two.", [Mark("heading", 0, 3, "A", 1)], np.array([0, 2, 5, 10]))
    >>> found.paragraphs.tolist(), found.sentences.tolist(), found.bodies.tolist()
    ([0], [0, 3], [2])
    """

    def __init__(self, text: str, marks: Sequence[Mark], starts: Ints) -> None:
        self._text = text
        self._marks = sorted(marks, key=lambda mark: (mark.start, mark.end))
        self._starts = starts

    @cached_property
    def sections(self) -> Ints:
        """Headings."""
        return self._free(self._headings[0])

    @cached_property
    def pages(self) -> Ints:
        """Page marks."""
        return self._pieces(mark.start for mark in self._marks if mark.kind == "page")

    @cached_property
    def paragraphs(self) -> Ints:
        """Empty lines, headings, tables and blocks of code."""
        blocks = [mark for mark in self._marks if mark.kind in ("table", "code")]
        edges = self._pieces([mark.start for mark in blocks] + [mark.end for mark in blocks])
        blank = self._outside(self._pieces(found.end() for found in _PARAGRAPH_END.finditer(self._text)))
        return self._free(self._united(self._headings[0], edges, blank))

    @cached_property
    def lines(self) -> Ints:
        """Lines."""
        return self._free(self._pieces(found.end() for found in _LINE_END.finditer(self._text)))

    @cached_property
    def sentences(self) -> Ints:
        """Sentences (data/sentences.py), items of lists and paragraphs; the number of an item ends no sentence."""
        ends = np.cumsum(np.fromiter(map(len, sentences_of(self._text)), dtype=np.int64))
        items = np.array([found.span() for found in _ITEM.finditer(self._text)], dtype=np.int64).reshape(-1, 2)
        found = self._mask(self._at(ends)) & ~self._mask(self._at(items[:, 1]))
        begun = self._united(np.flatnonzero(found), self._at(items[:, 0]))
        return self._free(self._united(self.paragraphs, self._outside(begun)))

    @cached_property
    def bodies(self) -> Ints:
        """What follows a heading."""
        return self._headings[1]

    @cached_property
    def _headings(self) -> tuple[Ints, Ints]:
        """Where headings begin, and what stands right behind each, unless it is a heading of no lower rank."""
        marks = [mark for mark in self._marks if mark.kind == "heading"]
        places = np.array([(mark.start, mark.end) for mark in marks], dtype=np.int64).reshape(-1, 2)
        levels = np.array([mark.level for mark in marks], dtype=np.int64)
        firsts, behind = np.searchsorted(self._starts, places.T)
        follows = np.append(behind[:-1] == firsts[1:], False)[: len(marks)]
        deeper = np.append(levels[1:] > levels[:-1], False)[: len(marks)]
        return self._united(firsts), self._united(behind[~follows | deeper])

    @cached_property
    def _blocks(self) -> tuple[Ints, Ints]:
        """Where tables and blocks of code start, and where those up to each end."""
        spans = [(mark.start, mark.end) for mark in self._marks if mark.kind in ("table", "code")]
        places = np.array(spans, dtype=np.int64).reshape(-1, 2)
        return places[:, 0], np.maximum.accumulate(places[:, 1])

    def _outside(self, pieces: Ints) -> Ints:
        """Those that are not in a table or in code, or stand at its start."""
        starts, ends = self._blocks
        places = self._starts[pieces]
        block = np.searchsorted(starts, places, side="left") - 1
        inside = (block >= 0) & (places < np.append(ends, 0)[block])
        return pieces[~inside]

    def _free(self, pieces: Ints) -> Ints:
        return np.flatnonzero(self._mask(pieces) & ~self._mask(self.bodies))

    def _pieces(self, places: Iterable[int]) -> Ints:
        return self._at(np.fromiter(places, dtype=np.int64))

    def _at(self, places: Ints) -> Ints:
        """The first piece at or behind each place, each once."""
        return self._united(np.searchsorted(self._starts, places))

    def _united(self, *several: Ints) -> Ints:
        """The pieces that are in any of these, in order, each once; the number behind the last piece is dropped."""
        return np.flatnonzero(self._mask(*several))

    def _mask(self, *several: Ints) -> NDArray[np.bool_]:
        mask = np.zeros(len(self._starts) + 1, dtype=np.bool_)
        for pieces in several:
            mask[pieces] = True
        return mask[:-1]
