"""Plain text: bytes -> text, whatever they were written as."""

from __future__ import annotations

import codecs

from rag_titan.pipeline.parts import Document

_BOMS = (  # that of UTF-32 begins like that of UTF-16
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
LOST = "\ufffd"


def text_document(name: str, data: bytes) -> Document:
    """The text as it stands in the file, without a byte order mark; its line ends stay what they are.

    >>> text_document("menu.txt", b"caf\\xe9").warnings
    ['menu.txt: must be UTF-8, got other bytes. They were read as Windows-1252; save the file as UTF-8.']
    """
    text, warning = decoded(data)
    return Document(name, text, warnings=[f"{name}: {rule}" for rule in (warning, none_but_space(text)) if rule])


def none_but_space(text: str) -> str:
    """What is wrong with a text that is empty; "" where it is not."""
    return "" if text.strip() else "must hold text, got none but white space. Leave it out."


def decoded(data: bytes) -> tuple[str, str]:
    """The text, and what is wrong with its bytes: "" where nothing is.

    A byte order mark says what it is. Without one it is UTF-8, else Windows-1252, unless there is more of UTF-8 in it
    than of anything else: then it is UTF-8 with damage. What cannot be read, and a zero byte, which would end the text
    for many programs, becomes U+FFFD, one by one.
    """
    text, damage = _decoded(data)
    zeros = text.count("\0")
    if zeros:
        text = text.replace("\0", LOST)
        damage = damage or f"must hold no zero bytes, got {zeros}. Save the file again without them."
    return text, damage


def _decoded(data: bytes) -> tuple[str, str]:
    for bom, encoding in _BOMS:
        if data.startswith(bom):
            return _with_damage(data, encoding)
    try:
        return data.decode("utf-8"), ""
    except UnicodeDecodeError:
        pass
    text, damage = _with_damage(data, "utf-8")
    beyond_ascii = len(text) - len(text.encode("ascii", "ignore"))
    if beyond_ascii > 2 * text.count(LOST):
        return text, damage
    text = data.decode("cp1252", "replace")
    lost = text.count(LOST)
    but = f", but for {_count(lost)} that mean nothing there" if lost else ""
    return text, f"must be UTF-8, got other bytes. They were read as Windows-1252{but}; save the file as UTF-8."


def _with_damage(data: bytes, encoding: str) -> tuple[str, str]:
    try:
        return data.decode(encoding), ""
    except UnicodeDecodeError:
        text = data.decode(encoding, "replace")
    label = encoding.removesuffix("-sig").upper()
    return text, f"must be {label} throughout, got {_count(text.count(LOST))} that cannot be read. Save the file again."


def _count(lost: int) -> str:
    return "1 place" if lost == 1 else f"{lost} places"
