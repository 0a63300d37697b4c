"""HTML, by lxml: what a browser would show."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from typing import Any

from rag_titan.errors import DatasetError, MissingExtraError
from rag_titan.pipeline.loading.assembly import APART, BELOW, Assembly, table_text
from rag_titan.pipeline.loading.text import decoded, none_but_space
from rag_titan.pipeline.parts import Document

MOST_BYTES, MOST_TAGS = 1 << 26, 1_000_000  # a tag takes some 200 bytes and 30 microseconds
_UNSEEN = frozenset(
    {"head", "script", "style", "template", "noscript", "iframe", "object", "svg", "canvas", "audio", "video"}
    | {"datalist", "select", "textarea"}
)
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_BLOCKS = frozenset(
    {"address", "article", "aside", "blockquote", "body", "center", "dd", "details", "dialog", "div", "dl", "dt"}
    | {"fieldset", "figcaption", "figure", "footer", "form", "header", "hr", "html", "legend", "li", "main", "nav"}
    | {"ol", "p", "section", "summary", "ul", "table", "caption", "thead", "tbody", "tfoot", "tr", "td", "th"}
    | _HEADINGS.keys()
)
_NO_DATA = frozenset({"table", "pre", "ul", "ol", *_HEADINGS})  # a table around one of these lays out the page
_HIDING = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_META = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([\w.:-]{1,40})", re.IGNORECASE)
_XML = re.compile(rb"\s*<\?xml[^>]{0,200}?encoding\s*=\s*[\"']([\w.:-]{1,40})", re.IGNORECASE)
_AS_BROWSERS_DO = {
    "iso8859-1": "cp1252",
    "ascii": "cp1252",
    "utf-16": "utf-8",
    "utf-16-le": "utf-8",
    "utf-16-be": "utf-8",
}
_LOOKED_AT = 4096


def html_document(name: str, data: bytes) -> Document:
    """The visible text, a line or more for each block: headings, list items and tables are those of the page.

    The encoding is that of a byte order mark, else the one that the page names, else UTF-8, else Windows-1252. Scripts,
    styles, the head and what is hidden (`hidden`, display:none in place) are left out. Raises DatasetError for a page
    that is too large.

    >>> html_document("a.html", b"<h1>Leave</h1><ul><li>25&nbsp;days<script>x()</script></ul>").text
    'Leave\\n\\n- 25 days'
    """
    if len(data) > MOST_BYTES:
        raise DatasetError(name, f"must be at most {MOST_BYTES >> 20} MB of HTML, got {len(data) >> 20} MB. Split it.")
    if (tags := data.count(b"<")) > MOST_TAGS:
        raise DatasetError(name, f"must have at most {MOST_TAGS} tags, got {tags}. Split it.")
    text, warning = _decoded(data)
    root, lost = _tree(text)
    page = _Page()
    if root is not None:
        page.read(root)
    rules = [warning, none_but_space(page.blocks.text)]
    if lost:
        rules.append("must not be nested so deep, got more than the parser follows. What is behind that was left out.")
    return Document(name, page.blocks.text, page.blocks.marks, [f"{name}: {rule}" for rule in rules if rule])


def _decoded(data: bytes) -> tuple[str, str]:
    start = data[:_LOOKED_AT]
    named = _XML.match(start) or _META.search(start)
    if named and not start.startswith((codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        try:
            encoding = codecs.lookup(named[1].decode("ascii")).name
            return data.decode(_AS_BROWSERS_DO.get(encoding, encoding)), ""
        except (LookupError, UnicodeError):
            pass
    return decoded(data)


def _tree(text: str) -> tuple[Any, bool]:
    """The tree of a page, None where there is nothing in it; and whether the parser gave up in the middle."""
    try:
        from lxml import etree
    except ImportError:
        raise MissingExtraError("lxml", "pipeline") from None
    parser = etree.HTMLParser(encoding="utf-8", huge_tree=True, remove_comments=True, remove_pis=True, no_network=True)
    try:
        root = etree.fromstring(text.encode("utf-8", "replace"), parser)
    except etree.XMLSyntaxError:  # there is nothing but comments
        return None, False
    return root, any(error.level_name == "FATAL" for error in parser.error_log)


def _walk(root: Any) -> Iterator[tuple[bool, Any]]:
    """Each element that is seen, twice: (True, element) at its start, (False, element) at its end."""
    from lxml import etree

    steps = etree.iterwalk(root, events=("start", "end"))
    for event, element in steps:
        is_start = event == "start"
        if is_start and element is not root and not _is_seen(element):
            steps.skip_subtree()
        yield is_start, element
        if is_start and element.get(_DONE) is not None:
            steps.skip_subtree()


_DONE = "rag-titan-done"  # set on an element that was read as a whole


def _is_seen(element: Any) -> bool:
    if element.tag in _UNSEEN:
        return False
    attributes = element.attrib
    return not attributes or ("hidden" not in attributes and not _HIDING.search(attributes.get("style", "")))


class _Page:
    """Reads a tree from its start to its end, without recursion."""

    def __init__(self) -> None:
        self.blocks = Assembly()
        self._line: list[str] = []
        self._lists: list[int | None] = []  # the next number of each list that is open; None: it has bullets
        self._bullet = ""
        self._after_item = False

    def read(self, root: Any) -> None:
        """Everything that is seen below the root."""
        for is_start, element in _walk(root):
            if is_start:
                self._begin(element)
            else:
                self._end(element)
                if element is not root:
                    self._line.append(_spaced(element.tail))
        self._flush()

    def _begin(self, element: Any) -> None:
        tag = element.tag
        if tag in _BLOCKS or tag == "pre":
            self._flush()
        if not _is_seen(element):
            return
        if tag == "pre" or (tag == "table" and not any(e.tag in _NO_DATA for e in element.iterdescendants())):
            self._whole(element)
            return
        if tag in ("ul", "ol"):
            self._lists.append(_number(element.get("start")) if tag == "ol" else None)
        elif tag == "li":
            self._bullet = self._next_bullet()
        elif tag == "br":
            self._line.append("\n")
        self._line.append(_spaced(element.text))

    def _end(self, element: Any) -> None:
        tag = element.tag
        if tag in _HEADINGS:
            self._flush(_HEADINGS[tag])
        elif tag in _BLOCKS:
            self._flush()
        if tag == "li":
            self._bullet = ""
        elif tag in ("ul", "ol") and self._lists and _is_seen(element):
            self._lists.pop()
            self._after_item = bool(self._lists)

    def _whole(self, element: Any) -> None:
        """A block that is read at once: code, or a table of data."""
        if element.tag == "pre":
            self.blocks.add("".join(_texts(element, raw=True)).strip("\r\n"), "code")
        else:
            rows = [
                [" ".join("".join(_texts(cell)).split()) for cell in row if cell.tag in ("td", "th", "caption")]
                for row in _rows(element)
            ]
            self.blocks.add(table_text(rows), "table")
        self._after_item = False
        element.set(_DONE, "")

    def _next_bullet(self) -> str:
        indent = "  " * (len(self._lists) - 1)
        number = self._lists[-1] if self._lists else None
        if number is None:
            return f"{indent}- "
        self._lists[-1] = number + 1
        return f"{indent}{number}. "

    def _flush(self, level: int = 0) -> None:
        """End the block that is open."""
        lines = [" ".join(line.split()) for line in "".join(self._line).split("\n")]
        self._line.clear()
        text = (" " if level else "\n").join(line for line in lines if line)
        if not text:
            return
        if level:
            self.blocks.add(text, "heading", level=level)
        else:
            self.blocks.add(self._bullet + text, joint=BELOW if self._after_item and self._lists else APART)
        self._after_item, self._bullet = bool(self._lists) and not level, ""


def _rows(table: Any) -> Iterator[Any]:
    """The rows of a table that are seen, and its caption as a row of its own."""
    for is_start, element in _walk(table):
        if is_start and _is_seen(element):
            if element.tag == "tr":
                yield element
            elif element.tag == "caption":
                yield [element]


def _texts(element: Any, raw: bool = False) -> Iterator[str]:
    """The texts in an element that are seen; raw: with the white space that they have."""
    for is_start, part in _walk(element):
        if part.tag == "br" and is_start:
            yield "\n"
        elif part.tag in _BLOCKS and not raw:
            yield " "
        if is_start:
            yield (part.text or "") if _is_seen(part) else ""
        elif part is not element:
            yield part.tail or ""


def _spaced(text: str | None) -> str:
    """The text of a block, in which a line end is a space like any other."""
    return re.sub(r"[\r\n]", " ", text) if text else ""


def _number(value: str | None) -> int:
    return int(value) if value and value.isascii() and value.isdecimal() and len(value) < 9 else 1
