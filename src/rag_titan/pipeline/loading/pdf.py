"""PDF, by pypdfium2: the text of each page."""

from __future__ import annotations

import re
from threading import Lock
from typing import Any

from rag_titan.errors import DatasetError, MissingExtraError
from rag_titan.pipeline.loading.assembly import Assembly
from rag_titan.pipeline.parts import Document

MOST_PAGES = 50_000  # a broken file may claim any number
_PDFIUM = Lock()  # which has one state for all threads
_PASSWORD = 4, 5  # FPDF_ERR_PASSWORD, FPDF_ERR_SECURITY
_CUT_WORD = re.compile(r"(\w+)\ufffe\s*(\w+)")
_CONTROLS = dict.fromkeys([*range(9), *range(11, 32), 127, 0xFFFE, 0xFFFF])  # but tab and line end
_LINE_SPACE = re.compile(r"[ \t]+$", re.MULTILINE)


def pdf_document(name: str, data: bytes) -> Document:
    """The pages, each with its mark, and an empty line between them; the words are in the order of the file.

    A word that is cut by a hyphen at the end of a line is whole again. It keeps the hyphen where the other words of the
    document show that it has one ("re-entry" stands there too), and where they show nothing and it is so for most.
    A scanned PDF is a document without text. Raises DatasetError for one that cannot be opened.
    """
    with _PDFIUM:
        texts, unreadable, faults = _read(name, data)
    pages = _with_whole_words([_cleaned(text) for text in texts])
    blocks = Assembly()
    for number, text in enumerate(pages, 1):
        blocks.add_page(text, number)
    rules = [*faults]
    if unreadable:
        rules.append(f"must be readable throughout, got damage on {_pages(unreadable)}. Save it again.")
    empty = [n for n, text in enumerate(pages, 1) if not text and n not in unreadable]
    if not blocks.text:
        got = f"{len(pages)} without a text layer (scanned?)"
        rules.append(f"must have pages with text, got {got}. Run text recognition on it first.")
    elif empty:
        got = f"none on {_pages(empty)} (scanned?)"
        rules.append(f"must have text on every page, got {got}. Run text recognition on it.")
    return Document(name, blocks.text, blocks.marks, [f"{name}: {rule}" for rule in rules])


def _read(name: str, data: bytes) -> tuple[list[str], list[int], list[str]]:
    """The texts of the pages, the numbers of those that cannot be read, and what is wrong with the file as a whole."""
    try:
        from pypdfium2 import PdfDocument, PdfiumError
        from pypdfium2.raw import FPDF_DocumentHasValidCrossReferenceTable
    except ImportError:
        raise MissingExtraError("pypdfium2", "pipeline") from None
    try:
        pdf = PdfDocument(data)
    except PdfiumError as error:
        raise _refused(name, data, error.err_code) from None
    texts, unreadable, faults = [], [], []
    with pdf:
        if not FPDF_DocumentHasValidCrossReferenceTable(pdf):
            rule = "must have a sound table of its parts (xref), got a broken one."
            faults.append(f"{rule} It was repaired; save it again.")
        if len(pdf) > MOST_PAGES:
            faults.append(f"must have at most {MOST_PAGES} pages, got {len(pdf)}. The rest was left out; split it.")
        for number in range(min(len(pdf), MOST_PAGES)):
            try:
                texts.append(_page_text(pdf, number))
            except PdfiumError:
                texts.append("")
                unreadable.append(number + 1)
    return texts, unreadable, faults


def _refused(name: str, data: bytes, code: int | None) -> DatasetError:
    if code in _PASSWORD:
        return DatasetError(name, "must be readable without a password, got an encrypted PDF. Save it without one.")
    got = "a broken one" if b"%%EOF" in data[-2048:] else "a truncated one: its end is missing"
    return DatasetError(name, f"must be a whole PDF, got {got}. Save or download it again.")


def _page_text(pdf: Any, number: int) -> str:
    page = pdf[number]
    try:
        return str(page.get_textpage().get_text_range())
    finally:
        page.close()


def _cleaned(text: str) -> str:
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    return _LINE_SPACE.sub("", re.sub("\ufffe(?!\\w)", "-", lines).translate(_CONTROLS | {0xFFFE: 0xFFFE})).strip()


def _with_whole_words(pages: list[str]) -> list[str]:
    """The pages with the words whole that PDFium marks as cut by a hyphen at the end of a line."""
    uncut = _CUT_WORD.sub(" ", "\n".join(pages))
    words = {*re.findall(r"\w+", uncut), *re.findall(r"\w+-\w+", uncut)}
    cuts = [(cut[1], cut[2]) for page in pages for cut in _CUT_WORD.finditer(page)]
    known = [has for has in (_has_hyphen(*cut, words) for cut in cuts) if has is not None]
    most_have = 2 * sum(known) >= len(known)

    def whole(cut: re.Match[str]) -> str:
        known = _has_hyphen(cut[1], cut[2], words)
        return cut[1] + "-" * (most_have if known is None else known) + cut[2]

    return [_CUT_WORD.sub(whole, page).replace("\ufffe", "-") for page in pages]


def _has_hyphen(first: str, second: str, words: set[str]) -> bool | None:
    """Whether a word that was cut has its hyphen elsewhere too; None where the other words do not show it."""
    if f"{first}-{second}" in words:
        return True
    if first + second in words:
        return False
    return True if {first, second} <= words else None


def _pages(numbers: list[int]) -> str:
    """Page numbers, runs of them shortened: "pages 1-3, 7"."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    shown = [str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs]
    more = f" and {len(runs) - 20} more runs" if len(runs) > 20 else ""
    return f"page{'s' if len(numbers) > 1 else ''} {', '.join(shown[:20])}{more}"
