"""Documents laid one after another: tokens, and the places of texts."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_titan.evaluation.data import documents as module
from rag_titan.evaluation.data.documents import ANY, UNKNOWN, Documents, line_ends_alike
from rag_titan.evaluation.data.tokens import token_spans

TEXTS = st.text(st.sampled_from("ab é\n。中"), max_size=30)


@given(st.lists(TEXTS, max_size=4), st.integers(1, 8))
def test_tokens_are_those_of_each_document(texts: list[str], piece: int) -> None:
    documents = Documents.of({str(i): text for i, text in enumerate(texts)})
    with patch.object(module, "_PIECE", piece):
        starts, ends = documents.tokens
    want = []
    for text, offset in zip(texts, documents.offsets.tolist(), strict=False):
        want += [(a + offset, b + offset) for a, b in zip(*(x.tolist() for x in token_spans(text)), strict=True)]
    assert list(zip(starts.tolist(), ends.tolist(), strict=True)) == want


def test_a_tokenizer_of_ones_own_sees_whole_documents() -> None:
    seen = []

    def whole(text: str) -> list[tuple[int, int]]:
        seen.append(text)
        return [(0, len(text))]

    with patch.object(module, "_PIECE", 2):
        Documents.of({"a": "one two", "b": "three four"}, tokenizer=whole).tokens  # noqa: B018
    assert seen == ["one two", "three four"]


@given(TEXTS, st.integers(0, 30), st.integers(0, 30))
def test_tokens_inside(text: str, start: int, end: int) -> None:
    documents = Documents.of(document_text=text)
    first, last = documents.tokens_inside(np.array([start]), np.array([end]))
    inside = [i for i, (a, b) in enumerate(zip(*documents.tokens, strict=True)) if start <= a and b <= end]
    assert list(range(first[0], last[0])) == inside
    assert first[0] <= last[0]


def test_codes_of_documents() -> None:
    several, one, unnamed = Documents.of({"a": "", "b": ""}), Documents.of({"a": ""}), Documents.of(document_text="")
    assert [several.code(name) for name in ("b", "c", None)] == [1, UNKNOWN, ANY]
    assert [one.code(name) for name in ("a", "c", None)] == [0, UNKNOWN, 0]
    assert [unnamed.code(name) for name in ("a", None)] == [0, 0]


def place(documents: Documents, text: str, within: int = ANY, occurrence: int = 0) -> tuple[int, int, int, bool]:
    found = documents.place([text], np.array([within]), occurrence)
    return int(found.starts[0]), int(found.ends[0]), int(found.counts[0]), bool(found.loose[0])


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("pay", (7, 10, 1, False)),
        ("ab", (-1, -1, 2, False)),
        ("missing", (-1, -1, 0, False)),
        (" pay ", (7, 10, 1, False)),  # white space at the ends that is not there
        ("b\r\npay", (5, 10, 1, True)),  # \n in the document
    ],
)
def test_a_text_must_occur_once(text: str, want: tuple[int, int, int, bool]) -> None:
    assert place(Documents.of({"x": "ab c", "y": "ab\npay"}), text) == want


def test_a_document_can_be_named_and_an_occurrence_too() -> None:
    documents = Documents.of({"x": "ab ab", "y": "ab"})
    assert place(documents, "ab", within=1)[:2] == (5, 7)
    assert place(documents, "ab", within=0)[0] == -1
    assert [place(documents, "ab", occurrence=n)[0] for n in (1, 2, 3, 4)] == [0, 3, 5, -1]


def test_a_text_before_another_line_end_ends_before_it() -> None:
    documents = Documents.of({"x": "0\r\n1", "y": "a\r\nb\r\nc\rd"})
    assert place(documents, "a\nb") == (4, 8, 1, True)
    assert place(documents, "b\nc\nd") == (7, 13, 1, True)


LINES = st.lists(st.sampled_from(["a", "b", "c", "\r\n", "\n", "\r"]), min_size=3, max_size=12).map("".join)


@given(LINES, st.integers(0, 12), st.integers(2, 8))
def test_places_under_other_line_ends_hold_the_text(document: str, start: int, length: int) -> None:
    plain = line_ends_alike(document)
    text = plain[start : start + length].strip()
    first, last, count, loose = place(Documents.of(document_text=document), text)
    exact, alike = occurs(document, text), occurs(plain, text)
    if not text:
        assert (first, count) == (-1, 0)
        return
    assert count == (min(exact, 2) or min(alike, 2))
    assert (first >= 0) == (count == 1)
    assert loose == (exact == 0 and alike == 1)
    if first >= 0:
        assert document[first:last] == text or line_ends_alike(document[first:last]) == text


def occurs(text: str, part: str) -> int:
    return sum(text.startswith(part, i) for i in range(len(text)))
