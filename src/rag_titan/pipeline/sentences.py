"""The sentences of a chunk that can be quoted."""

from __future__ import annotations

import re

from rag_titan.evaluation.data.sentences import sentences_of
from rag_titan.pipeline.parts import Chunk

_ITEM = re.compile(r"^\s*(?:[-*+•]|\d{1,3}[.)])\s+")
_HEADING = re.compile(r"\s{0,3}#{1,6}\s")
_RULE = re.compile(r"[\s|:=*_`~-]*")  # of a table, under a heading, around code
_MARKUP = re.compile(r"\*\*|__|`")
_MARKER = re.compile(r"\[(\d+)\]")


def sentences(chunk: Chunk) -> list[str]:
    """The sentences of a chunk in order: what stands apart (an item of a list, a row of a table) is one of its own.

    Headings are none, nor are the names of a table's columns. Markup of Markdown is left out, and white space is one
    space. What would be read as a marker of a citation has other brackets.

    >>> sentences(Chunk("c", "# Leave\\n\\n**25** days\\nof leave. Ask HR [1].\\n\\n- Sick pay\\n| a | b |", 0, 0, "d"))
    ['25 days of leave.', 'Ask HR (1).', 'Sick pay', 'a | b']
    """
    return [sentence for sentence, _ in quotable(chunk)]


def quotable(chunk: Chunk) -> list[tuple[str, str]]:
    """The same, each with what stands above it: the last heading in the chunk, else the last of those that the chunk
    knows, and the names of the columns."""
    headings = [str(heading).strip() for heading in chunk.metadata.get("headings", ())]
    parts = ((part, above) for block, above in _blocks(chunk.text, headings) for part in sentences_of(block))
    return [(cleaned, above) for part, above in parts if (cleaned := _clean(part))]


def _blocks(text: str, headings: list[str]) -> list[tuple[str, str]]:
    """Lines that belong together, joined, and the heading above them."""
    blocks: list[tuple[str, str]] = []
    above, columns = headings[-1] if headings else "", ""
    joined = False  # to the line before
    for line in text.splitlines():
        is_row = line.lstrip().startswith("|")
        is_heading = bool(_HEADING.match(line)) or line.strip() in headings
        if is_heading:
            above = line.strip().strip("# ")
        if is_row and _RULE.fullmatch(line) and blocks:
            columns = blocks.pop()[0]  # they are named above the rule
        elif is_heading or _RULE.fullmatch(line):
            joined = False
        elif joined and not is_row and not _ITEM.match(line):
            blocks[-1] = f"{blocks[-1][0]} {line}", above
        elif is_row:
            blocks.append((line.strip().strip("|"), f"{above}\n{columns}"))
            joined = False
        else:
            blocks.append((_ITEM.sub("", line, count=1), above))
            joined, columns = True, ""
    return blocks


def _clean(sentence: str) -> str:
    return _MARKER.sub(r"(\1)", " ".join(_MARKUP.sub("", sentence).split()))
