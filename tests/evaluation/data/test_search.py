"""The one-pass search against slices compared one by one."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_titan.evaluation.data import search
from rag_titan.evaluation.data.search import occurrences

LETTERS = st.text(st.sampled_from("ab é😀"), max_size=40)


def slow(texts: list[str], wanted: str, within: int, limit: int) -> list[int]:
    found, offset = [], 0
    for document, text in enumerate(texts):
        if wanted and within in (-1, document):
            found += [offset + i for i in range(len(text)) if text[i : i + len(wanted)] == wanted]
        offset += len(text)
    return found[:limit]


@st.composite
def questions(draw: st.DrawFn) -> tuple[list[str], list[tuple[str, int, int]]]:
    """Documents, and (text, document or -1, limit): some texts stand in the documents, some do not."""
    texts = draw(st.lists(LETTERS, max_size=5))
    rows = []
    for _ in range(draw(st.integers(0, 6))):
        wanted = draw(LETTERS)
        if texts and draw(st.booleans()):
            text = draw(st.sampled_from(texts))
            start = draw(st.integers(0, len(text)))
            wanted = text[start : start + draw(st.sampled_from([1, 2, 3, 4, 5, 16, 17, 30]))]
        rows.append((wanted, draw(st.integers(-1, len(texts) - 1)), draw(st.integers(1, 5))))
    return texts, rows


@given(questions(), st.integers(1, 70))
def test_occurrences(case: tuple[list[str], list[tuple[str, int, int]]], piece: int) -> None:
    texts, rows = case
    columns = [w for w, _, _ in rows], np.array([d for _, d, _ in rows]), np.array([n for _, _, n in rows])
    with patch.object(search, "_PIECE", piece), patch.object(search, "_BLOCK", 2):
        found = occurrences(texts, *columns)
    got = [found.values[a:b].tolist() for a, b in zip(found.offsets, found.offsets[1:], strict=False)]
    assert got == [slow(texts, *row) for row in rows]


def test_a_text_that_is_longer_than_a_piece() -> None:
    text = "".join(map(str, range(search._PIECE)))
    wanted = text[5 : 2 * search._PIECE]
    assert occurrences(["x", text], [wanted]).values.tolist() == [6]


@pytest.mark.parametrize("wanted", ["ab", "cd", "d" + "efgh" * 4 + "i"])
def test_nothing_is_found_across_documents(wanted: str) -> None:
    assert not len(occurrences(["xa", "bc", "d" + "efgh" * 4, "i"], [wanted]).values)


def test_lone_surrogates_are_characters() -> None:
    assert occurrences(["a\ud800b"], ["\ud800b"]).values.tolist() == [1]
