"""Markdown, by markdown-it-py: the file's own text, and where its headings, tables and code stand."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from rag_titan.errors import MissingExtraError
from rag_titan.pipeline.loading.text import decoded, none_but_space
from rag_titan.pipeline.parts import Document, Mark

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

MOST_LINES = 200_000  # some 50 microseconds a line
_LINE_END = re.compile(r"\r\n?|\n")  # what markdown-it-py ends a line at, and nothing else
_MOST_FRONT_MATTER = 1000  # lines


def markdown_document(name: str, data: bytes) -> Document:
    """The text as it stands in the file, with its markup; a mark covers whole lines.

    The label of a heading is what a reader sees of it, level 1 to 6. Front matter (--- ... ---) has no marks.

    >>> markdown_document("a.md", b"# *Paid* leave\\n\\n25 days.").marks
    [Mark(kind='heading', start=0, end=14, label='Paid leave', level=1)]
    """
    text, warning = decoded(data)
    rules = [warning, none_but_space(text)]
    starts = [0, *(found.end() for found in _LINE_END.finditer(text)), len(text)]
    marks: list[Mark] = []
    if len(starts) > MOST_LINES:
        rules.append(
            f"must have at most {MOST_LINES} lines, got {len(starts)}. Its headings were not looked for; split it."
        )
    else:
        marks = _marks(text, starts)
    return Document(name, text, marks, [f"{name}: {rule}" for rule in rules if rule])


def _marks(text: str, starts: list[int]) -> list[Mark]:
    parser = _parser()
    skipped = _front_matter(text, starts)
    tokens = parser.parse(text[starts[skipped] :])
    marks = []
    for at, token in enumerate(tokens):
        kind = _KINDS.get(token.type)
        if kind is None or token.map is None:
            continue
        first, last = (starts[min(skipped + line, len(starts) - 1)] for line in token.map)
        block = text[first:last]
        start, end = first + len(block) - len(block.lstrip()), first + len(block.rstrip())
        if kind == "heading":
            if label := _seen(parser, tokens[at + 1].content):
                marks.append(Mark(kind, start, end, label, int(token.tag[1:])))
        elif start < end:
            marks.append(Mark(kind, start, end, token.info.strip()))
    return marks


def _front_matter(text: str, starts: list[int]) -> int:
    """How many lines of settings stand before the text: the last of their lines would make a heading of them."""
    lines = [text[a:b].rstrip() for a, b in pairwise(starts[:_MOST_FRONT_MATTER])]
    ends = [at for at, line in enumerate(lines) if line in ("---", "...")]
    return ends[1] + 1 if len(ends) > 1 and lines[0] == "---" else 0


_KINDS = {"heading_open": "heading", "table_open": "table", "fence": "code", "code_block": "code"}


def _parser() -> MarkdownIt:
    try:
        from markdown_it import MarkdownIt
    except ImportError:
        raise MissingExtraError("markdown-it-py", "pipeline") from None
    return MarkdownIt("commonmark").enable("table").disable("inline")  # within a line only headings are looked at


def _seen(parser: MarkdownIt, source: str) -> str:
    """The text of a heading without its markup, on one line."""
    children: list[Any] = []
    parser.inline.parse(source, parser, {}, children)
    return " ".join("".join(_shown(token) for token in children).split())


def _shown(token: Token) -> str:
    if token.type in ("softbreak", "hardbreak"):
        return " "
    if token.type == "html_inline":
        return ""
    return token.content
