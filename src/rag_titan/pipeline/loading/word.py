"""Word, by python-docx: headings, paragraphs, lists and tables in the order of the document."""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from typing import Any

from rag_titan.errors import MissingExtraError
from rag_titan.pipeline.loading.assembly import APART, BELOW, Assembly, table_text
from rag_titan.pipeline.loading.numbering import BULLET, Numbering
from rag_titan.pipeline.loading.text import none_but_space
from rag_titan.pipeline.loading.wordml import attribute, blocks, child, inside, paragraph_text, tag, value_of
from rag_titan.pipeline.parts import Document

_HEADING = re.compile(r"heading ([1-9])", re.IGNORECASE)
_NO_LIST = "0"
_NOTES = ("footnotes", "endnotes")


@dataclass(frozen=True)
class Style:
    """What a style says of its paragraphs: the level of a heading (0: none), the list and the depth in it."""

    level: int = 0
    list: str = ""
    depth: str = ""


def word_document(name: str, data: bytes) -> Document:
    """The body, and the footnotes and endnotes at its end; headers and footers, which every page repeats, are left out.

    A list item begins with its number or "- ", two spaces deeper for each level; a row of a table is a line. A heading
    has its number, and its mark's label is its text. What was deleted with tracked changes and hidden text are no text.

    Raises whatever python-docx does for a broken file.
    """
    try:
        from docx import Document as open_word
    except ImportError:
        raise MissingExtraError("python-docx", "pipeline") from None
    part = open_word(io.BytesIO(data)).part
    body = _Body(_styles(_related(part, "styles")), Numbering.of(_related(part, "numbering")))
    body.read(part.element.body)
    for notes in _NOTES:
        root = _related(part, notes)
        for note in [] if root is None else root.iter(tag(notes.removesuffix("s"))):
            if not attribute(note, "type"):  # the others are lines that separate
                body.read(note)
    text = body.blocks.text
    return Document(name, text, body.blocks.marks, [f"{name}: {rule}" for rule in [none_but_space(text)] if rule])


def _related(part: Any, kind: str) -> Any:
    """The root of the part of a kind that belongs to the document; None where there is none."""
    from docx.opc.oxml import parse_xml

    for relation in part.rels.values():
        if not relation.is_external and relation.reltype.endswith(f"/{kind}"):
            target = relation.target_part
            return target.element if hasattr(target, "element") else parse_xml(target.blob)
    return None


def _styles(root: Any) -> dict[str, Style]:
    """{id of a style: what it says}, with what it takes over from the styles that it is based on."""
    elements = {attribute(e, "styleId"): e for e in ([] if root is None else root.iter(tag("style")))}
    return {name: _style(name, elements) for name in elements}


def _style(name: str, elements: dict[str, Any]) -> Style:
    level, in_list, depth, seen = 0, "", "", set()
    while name in elements and name not in seen:
        seen.add(name)
        element = elements[name]
        level = level or _level(child(element, "pPr"), value_of(element, "name"))
        in_list = in_list or value_of(element, "pPr", "numPr", "numId")
        depth = depth or value_of(element, "pPr", "numPr", "ilvl")
        name = value_of(element, "basedOn")
    return Style(max(level, 0), in_list, depth)


def _level(properties: Any, name: str = "") -> int:
    """The level of a heading from 1; -1 where it says that it is none, 0 where nothing is said."""
    outline = value_of(properties, "outlineLvl")
    if outline.isdecimal():
        return int(outline) + 1 if int(outline) < 9 else -1
    heading = _HEADING.fullmatch(name)
    return int(heading[1]) if heading else int(name.lower() == "title")


class _Body:
    """Puts the paragraphs and tables of a document together."""

    def __init__(self, styles: dict[str, Style], numbering: Numbering) -> None:
        self.blocks = Assembly()
        self._styles = styles
        self._numbering = numbering
        self._after_item = False

    def read(self, root: Any) -> None:
        """Everything in an element."""
        for element in blocks(root):
            if element.tag == tag("tbl"):
                self.blocks.add(table_text(_rows(element)), "table")
                self._after_item = False
            else:
                self._paragraph(element)

    def _paragraph(self, element: Any) -> None:
        text = paragraph_text(element).strip()
        if not text:
            return
        properties = child(element, "pPr")
        style_id = value_of(properties, "pStyle")
        style = self._styles.get(style_id, Style())
        number, depth = self._number(properties, style_id, style)
        level = _level(properties) or style.level
        if level > 0:
            self.blocks.add(" ".join(f"{number.removeprefix(BULLET)} {text}".split()), "heading", level=level)
        elif number:
            joint = BELOW if self._after_item else APART
            self.blocks.add(f"{'  ' * depth}{number} {text}", joint=joint)
        else:
            self.blocks.add(text)
        self._after_item = bool(number) and level <= 0

    def _number(self, properties: Any, style_id: str, style: Style) -> tuple[str, int]:
        """What stands before a paragraph, "" for nothing, and how deep it is in its list."""
        own = value_of(properties, "numPr", "numId")
        in_list = own or style.list
        if not in_list or in_list == _NO_LIST:
            return "", 0
        depth = value_of(properties, "numPr", "ilvl") or style.depth
        at = int(depth) if depth.isdecimal() else self._numbering.styles.get(style_id, 0)
        return self._numbering.next(in_list, min(at, 8)), min(at, 8)


def _rows(table: Any) -> list[list[str]]:
    """The texts of the cells, row by row; a table in a cell is part of its text."""
    return [
        [_cell(cell) for cell in inside(row, "tc")] for row in inside(table, "tr") if child(row, "trPr", "del") is None
    ]


def _cell(cell: Any) -> str:
    return " ".join(" ".join(paragraph_text(p) for p in blocks(cell, into_tables=True) if p.tag == tag("p")).split())
