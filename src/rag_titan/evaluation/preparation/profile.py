"""What is wrong with the documents before anybody writes questions for them: empty, tiny, unreadable, duplicated."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from rag_titan.errors import SettingsError
from rag_titan.evaluation.data.notices import Notices
from rag_titan.evaluation.data.records import Document
from rag_titan.evaluation.limits import finite, number
from rag_titan.evaluation.measures.ragged import Ints
from rag_titan.evaluation.measures.text import take
from rag_titan.evaluation.preparation.duplicates import LOWEST, near_duplicates
from rag_titan.evaluation.preparation.sources import UNREADABLE, ZERO, documents_of, is_blank
from rag_titan.evaluation.preparation.word_sets import WordSets, word_sets

EMPTY, NO_TEXT_LAYER, UNDECODABLE = "empty", "no text layer", "undecodable bytes"
TINY, EXACT, NEAR = "tiny", "exact duplicate", "near duplicate"
ISSUES = (EMPTY, NO_TEXT_LAYER, UNDECODABLE, TINY, EXACT, NEAR)
"""What can be wrong with a document, in the order in which the issues of one are listed."""

MIN_WORDS, NEAR_DUPLICATE = 20, 0.9
_PDF = re.compile(r"\.pdf(#[^/]*)?$", re.IGNORECASE)  # also a page of one: hr.pdf#p4


def profile_documents(
    documents: Any, min_words: int = MIN_WORDS, near_duplicate: float | None = NEAR_DUPLICATE
) -> dict[str, Any]:
    """The profile of a collection of documents: how many words, and which documents have issues (stages.txt).

    documents       {id: text}, a list of dicts with `id` (or `source`), `text` and perhaps `category`, or a table with
                    these columns. A text may be bytes, or None where a loader found no text
    min_words       a document with fewer words is "tiny"
    near_duplicate  the Jaccard similarity of two sets of words from which the later document is a "near duplicate",
                    from 0.1 to 1; None: nobody looks for any

    Returns document_count; mean_words (None without documents); `words` {total, mean, median, min, max}; `categories`
    {category: documents}, and `category_words` {category: {documents, total, mean, ...}}, of those that have one;
    exact_duplicates [[ids of one text], ...]; near_duplicates [{id, of, similarity}], a later document and the first
    one that it is near; issues {id: [issue, ...]}; issue_counts; clean_share, the documents without any issue by all
    documents; `warnings`.

    The issues: "empty" (nothing but white space), "no text layer" (empty too, and by its name a PDF), "undecodable
    bytes" (U+FFFD or zero bytes stand in the text), "tiny", "exact duplicate" (the same characters), "near duplicate".
    The first of several copies, in the order given, has no issue: it is the one to keep. Words are counted as
    everywhere here, in scripts without spaces one a character.

    Raises DatasetError for what is no document, SettingsError for the options.

    >>> profile = profile_documents({"a.md": "one two", "b.md": "one two", "scan.pdf": "\\f"}, min_words=2)
    >>> profile["issues"], profile["clean_share"]
    ({'b.md': ['exact duplicate'], 'scan.pdf': ['empty', 'no text layer']}, 0.3333333333333333)
    """
    least, threshold = _whole(min_words), _threshold(near_duplicate)
    notices = Notices()
    return profile_of(documents_of(documents, notices), least, threshold) | {"warnings": notices.texts()}


def _whole(value: Any) -> int:
    got = finite(value)
    if got is None or got < 0 or got != int(got):
        raise SettingsError(f"min_words: must be a whole number from 0, got {value!r}.")
    return int(got)


def _threshold(value: Any) -> float | None:
    return None if value is None else number(value, "near_duplicate", LOWEST, 1.0)


def profile_of(
    documents: Sequence[Document], min_words: int = MIN_WORDS, near_duplicate: float | None = NEAR_DUPLICATE
) -> dict[str, Any]:
    """The same for documents that were read and options that were checked."""
    ids = [document.id or "" for document in documents]
    words = word_sets([document.text for document in documents])
    copies = _copies(documents)
    near = _near(ids, words, copies, near_duplicate)
    later = {ids[row] for rows in copies for row in rows[1:]}
    close = {found["id"] for found in near}
    issues: dict[str, list[str]] = {}
    for document, name, count in zip(documents, ids, words.counts.tolist(), strict=True):
        found = _issues_of(document, count, min_words)
        found += [EXACT] * (name in later) + [NEAR] * (name in close)
        if found:
            issues[name] = found
    every = [issue for found in issues.values() for issue in found]
    return {
        "document_count": len(ids),
        "mean_words": _numbers(words.counts)["mean"],
        "words": _numbers(words.counts),
        **_by_category(documents, words.counts),
        "exact_duplicates": [[ids[row] for row in rows] for rows in copies],
        "near_duplicates": near,
        "issues": issues,
        "issue_counts": {issue: every.count(issue) for issue in ISSUES if issue in every},
        "clean_share": (len(ids) - len(issues)) / len(ids) if ids else None,
    }


def _issues_of(document: Document, words: int, min_words: int) -> list[str]:
    """The issues that a document has by itself."""
    text = document.text
    if is_blank(text):
        is_pdf = any(_PDF.search(name) for name in (document.id, document.source) if name)
        return [EMPTY, NO_TEXT_LAYER] if is_pdf else [EMPTY]
    unreadable = [UNDECODABLE] if UNREADABLE in text or ZERO in text else []
    return [*unreadable, TINY] if words < min_words else unreadable


def _copies(documents: Iterable[Document]) -> list[list[int]]:
    """The rows of each text that stands there more than once; empty texts are copies of nothing."""
    rows: dict[str, list[int]] = {}
    for row, document in enumerate(documents):
        if not is_blank(document.text):
            rows.setdefault(document.text, []).append(row)
    return [found for found in rows.values() if len(found) > 1]


def _near(ids: list[str], words: WordSets, copies: list[list[int]], threshold: float | None) -> list[dict[str, Any]]:
    """The later documents that are near an earlier one; of exact copies only the first is looked at."""
    if threshold is None:
        return []
    first = np.ones(len(ids), dtype=bool)
    first[[row for rows in copies for row in rows[1:]]] = False
    rows = np.flatnonzero(first)
    found = near_duplicates(WordSets(words.counts[rows], take(words.sets, rows), words.keys), threshold)
    columns = (rows[found.rows].tolist(), rows[found.earliest].tolist(), found.similarity.tolist())
    return [
        {"id": ids[row], "of": ids[other], "similarity": similarity}
        for row, other, similarity in zip(*columns, strict=True)
    ]


def _by_category(documents: Sequence[Document], counts: Ints) -> dict[str, Any]:
    rows: dict[str, list[int]] = {}
    for row, document in enumerate(documents):
        if document.category is not None:
            rows.setdefault(document.category, []).append(row)
    return {
        "categories": {name: len(rows[name]) for name in sorted(rows)},
        "category_words": {
            name: {"documents": len(rows[name]), **_numbers(counts[rows[name]])} for name in sorted(rows)
        },
    }


def _numbers(counts: Ints) -> dict[str, Any]:
    """Words of some documents; without a document everything but the total is None."""
    if not len(counts):
        return {"total": 0, "mean": None, "median": None, "min": None, "max": None}
    total = int(counts.sum())
    return {
        "total": total,
        "mean": total / len(counts),
        "median": float(np.median(counts)),
        "min": int(counts.min()),
        "max": int(counts.max()),
    }
