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

    Headings are none. Markup of Markdown is left out, and white space is one space. What would be read as a marker of a
    citation has other brackets.

    >>> sentences(Chunk("c", "# Leave\\n\\n**25** days\\nof leave. Ask HR [1].\\n\\n- Sick pay\\n| a | b |", 0, 0, "d"))
    ['25 days of leave.', 'Ask HR (1).', 'Sick pay', 'a | b']
    """
    headings = {str(heading).strip() for heading in chunk.metadata.get("headings", ())}
    return [
        found
        for block in _blocks(chunk.text, headings)
        for sentence in sentences_of(block)
        if (found := _clean(sentence))
    ]


def _blocks(text: str, headings: set[str]) -> list[str]:
    """Lines that belong together, joined."""
    blocks: list[str] = []
    joined = False  # to the line before
    for line in text.splitlines():
        is_row = line.lstrip().startswith("|")
        if _RULE.fullmatch(line) or _HEADING.match(line) or line.strip() in headings:
            joined = False
        elif joined and not is_row and not _ITEM.match(line):
            blocks[-1] += f" {line}"
        else:
            blocks.append(line.strip().strip("|") if is_row else _ITEM.sub("", line, count=1))
            joined = not is_row
    return blocks


def _clean(sentence: str) -> str:
    return _MARKER.sub(r"(\1)", " ".join(_MARKUP.sub("", sentence).split()))
