"""The sentences of a chunk that can be quoted."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import NamedTuple

from rag_titan.evaluation.data.sentences import sentences_of
from rag_titan.pipeline.parts import Chunk

_ITEM = re.compile(r"^\s*(?:[-*+•]|\d{1,3}[.)])\s+")
_HEADING = re.compile(r"\s{0,3}#{1,6}\s")
_RULE = re.compile(r"[\s|:=*_`~-]*")  # of a table, under a heading, around code
_MARKUP = re.compile(r"\*\*|__|`")
_MARKER = re.compile(r"\[(\d+)\]")
_STOPPED = re.compile(r"[.!?…।॥؟۔։።。！？｡។][\"'”’»)\]」』）*_`]*\s*$")
_TITLE = re.compile(r"(?:\d+(?:\.\d+)*[.)]?\s+)?[^\W\d_][^\d:|]*:?")  # a name, perhaps with the number of its section
_TITLE_WORDS = 10  # the most of a title that no markup shows
_FULL = 0.85  # of the longest line: to here a wrapped line is filled if the next word would fit


class Sentence(NamedTuple):
    """What of a chunk can be quoted.

    above     the last heading in the chunk above it, else the last of those that the chunk knows
    is_whole  it ends as a sentence does, or is an item of a list or a row of a table; no label, line of a form or piece
    row       of a row of a table: its line in the chunk
    """

    text: str
    above: str
    is_whole: bool
    row: str = ""


@dataclass
class _Block:
    """Lines that belong together: `stands_apart` for an item or a row, of which `row` is the line."""

    text: str
    above: str
    stands_apart: bool = False
    lines: int = 1
    row: str = ""


def sentences(chunk: Chunk) -> list[str]:
    """The sentences of a chunk in order: what stands apart (an item of a list, a row of a table) is one of its own.

    Headings are none, nor are the names of a table's columns, which its rows say with their cells. Markup of Markdown
    is left out, and white space is one space. What would be read as a marker of a citation has other brackets.

    >>> sentences(Chunk("c", "# Leave\\n\\n**25** days\\nof leave. Ask HR [1].\\n\\n- Sick pay\\n| a | b |", 0, 0, "d"))
    ['25 days of leave.', 'Ask HR (1).', 'Sick pay', 'a, b']
    >>> sentences(Chunk("c", "| Oslo | 190 euros |", 0, 0, "d", {"columns": "City | Limit"}))
    ['City: Oslo; Limit: 190 euros']
    """
    return [sentence.text for sentence in quotable(chunk)]


def quotable(chunk: Chunk) -> list[Sentence]:
    """The same, each with what is known of it."""
    headings = [str(heading).strip() for heading in chunk.metadata.get("headings", ())]
    columns, found = str(chunk.metadata.get("columns", "")), []
    for block in _without_titles(_blocks(chunk.text, headings, columns)):
        for part in [block.text] if block.row else sentences_of(block.text):
            if cleaned := _clean(part):
                whole = block.stands_apart or bool(_STOPPED.search(part))
                found.append(Sentence(cleaned, block.above, whole, block.row.strip()))
    return found


def _blocks(text: str, headings: list[str], columns: str) -> list[_Block]:
    """Lines that belong together, joined, and the heading above them.

    columns  the names of the columns of the table in which the text begins
    """
    blocks: list[_Block] = []
    above = headings[-1] if headings else ""
    before = ""  # the line that this one may go on from
    lines = text.splitlines()
    width = max(map(len, lines), default=0)
    for line in lines:
        is_row = line.lstrip().startswith("|") or " | " in line
        is_heading = bool(_HEADING.match(line)) or line.strip() in headings
        if is_heading:
            above = line.strip().strip("# ")
        if _RULE.fullmatch(line):
            if line.strip().startswith("|") and blocks:
                columns = blocks.pop().row  # they are named above the rule
            elif not line.strip():
                columns = ""
            before = ""
        elif is_heading:
            before = columns = ""
        elif is_row:
            blocks.append(_Block(_row(line, columns), above, stands_apart=True, row=line))
            before = ""
        elif before and not _ITEM.match(line) and _goes_on(before, line, width):
            blocks[-1] = _Block(f"{blocks[-1].text} {line}", above, blocks[-1].stands_apart, blocks[-1].lines + 1)
            before = line
        else:
            blocks.append(_Block(_ITEM.sub("", line, count=1), above, stands_apart=bool(_ITEM.match(line))))
            before, columns = line, ""
    return blocks


def _row(line: str, columns: str) -> str:
    """A row of a table as a reader says it: each cell with the name of its column.

    >>> _row("| Oslo | 190 |", "| City | Limit |"), _row("Oslo | 190 | x", "City | Limit")
    ('City: Oslo; Limit: 190', 'Oslo, 190, x')
    """
    cells, names = _cells(line), _cells(columns)
    if len(cells) != len(names):
        return ", ".join(filter(None, cells))
    return "; ".join(f"{name}: {cell}" if name else cell for name, cell in zip(names, cells, strict=True) if cell)


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().removeprefix("|").removesuffix("|").split("|")]


def _goes_on(before: str, line: str, width: int) -> bool:
    """Whether a line carries on the sentence of the one before, which was full, or begins in the middle of one.

    >>> _goes_on("SUBTOTAL $863.91", "Sales tax $66.23", 60), _goes_on("staff may work", "from home", 60)
    (False, True)
    """
    word = line.split(maxsplit=1)[0]
    is_full = len(before.rstrip()) + 1 + len(word) > _FULL * width
    return word[0].islower() or (is_full and not _STOPPED.search(before))


def _without_titles(blocks: list[_Block]) -> list[_Block]:
    """A line that names what the sentences below it say is a heading, though no markup says so."""
    kept: list[_Block] = []
    title = None  # the heading that the loaders knew there, and the one that we found below it
    for place, block in enumerate(blocks):
        if place + 1 < len(blocks) and _is_title(block, blocks[place + 1]):
            title = block.above, block.text.strip()
            continue
        if title is not None and block.above == title[0]:
            block = replace(block, above=title[1])
        kept.append(block)
    return kept


def _is_title(block: _Block, below: _Block) -> bool:
    text = block.text.strip()
    is_label = block.lines == 1 and not block.stands_apart and not _STOPPED.search(text)
    return (
        is_label
        and _TITLE.fullmatch(text) is not None
        and len(text.split()) <= _TITLE_WORDS
        and not below.stands_apart
        and _STOPPED.search(sentences_of(below.text)[0]) is not None
    )


def _clean(sentence: str) -> str:
    return _MARKER.sub(r"(\1)", " ".join(_MARKUP.sub("", sentence).split()))
