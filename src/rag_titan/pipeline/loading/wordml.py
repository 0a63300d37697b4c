"""The XML of a Word file: names, attributes, and the text of a paragraph."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_MATHS = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
_FALLBACK = (
    "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"  # what a newer program shows otherwise
)


def tag(name: str) -> str:
    """The full name of an element or attribute of Word's."""
    return _WORD + name


def child(element: Any, *path: str) -> Any:
    """The first element along the path of names, or None."""
    for name in path:
        if element is None:
            return None
        element = element.find(tag(name))
    return element


def attribute(element: Any, name: str) -> str:
    """The value of an attribute; "" where there is none."""
    return element.get(tag(name)) or "" if element is not None else ""


def value_of(element: Any, *path: str) -> str:
    """The attribute `val` of the element along the path; "" where there is none."""
    return attribute(child(element, *path), "val")


_PARAGRAPH, _TABLE, _BOX = tag("p"), tag("tbl"), tag("txbxContent")
_AWAY = frozenset({_FALLBACK, tag("del"), tag("moveFrom"), tag("rPr"), tag("sectPr")})
_SIGNS = {
    tag("tab"): "\t",
    tag("br"): "\n",
    tag("cr"): "\n",
    tag("noBreakHyphen"): "-",
}
_TEXTS = frozenset({tag("t"), _MATHS + "t"})


def blocks(root: Any, *, into_tables: bool = False) -> Iterator[Any]:
    """The paragraphs and tables in an element, in order; a text box follows the paragraph that it hangs on.

    into_tables  the paragraphs in a table, and not the table
    """
    stack = list(reversed(root))
    while stack:
        element = stack.pop()
        if element.tag in _AWAY:
            continue
        is_table = element.tag == _TABLE
        if element.tag == _PARAGRAPH or (is_table and not into_tables):
            yield element
        if not is_table or into_tables:
            stack.extend(reversed(element))


def inside(root: Any, name: str) -> Iterator[Any]:
    """The elements of that name that are nearest to the root: none of those that stand in another of them."""
    stack = list(reversed(root))
    while stack:
        element = stack.pop()
        if element.tag == tag(name):
            yield element
        elif element.tag not in _AWAY:
            stack.extend(reversed(element))


def paragraph_text(paragraph: Any) -> str:
    """The text of a paragraph with its equations, without what was deleted, is hidden or stands in a text box."""
    texts = []
    stack = list(reversed(paragraph))
    while stack:
        element = stack.pop()
        if element.tag in _TEXTS:
            texts.append(element.text or "")
        elif element.tag in _SIGNS:
            texts.append(_SIGNS[element.tag])
        elif element.tag not in _AWAY and element.tag not in (_BOX, tag("pPr")) and not _is_hidden(element):
            stack.extend(reversed(element))
    return "".join(texts)


def _is_hidden(element: Any) -> bool:
    if element.tag != tag("r"):
        return False
    vanish = child(element, "rPr", "vanish")
    return vanish is not None and attribute(vanish, "val") not in ("0", "false", "off")
