"""The one-pass search against slices compared one by one."""

from __future__ import annotations

from random import Random
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_titan.evaluation.data import search
from rag_titan.evaluation.data.search import occurrences


def slow(texts: list[str], wanted: str, within: int, limit: int) -> list[int]:
    found, offset = [], 0
    for document, text in enumerate(texts):
        if wanted and within in (-1, document):
            found += [offset + i for i in range(len(text)) if text[i : i + len(wanted)] == wanted]
        offset += len(text)
    return found[:limit]


def question(seed: int) -> tuple[list[str], list[tuple[str, int, int]]]:
    """Documents of much repeated text, and (text, document or -1, limit): some stand in the documents, some do not."""
    draw = Random(seed)
    alphabet = draw.choice(["ab", "ab é😀"])
    texts = ["".join(draw.choices(alphabet, k=draw.randrange(80))) for _ in range(draw.randrange(5))]
    rows = []
    for _ in range(6):
        source = draw.choice([*texts, "".join(draw.choices(alphabet, k=20))])
        start = draw.randrange(len(source) + 1)
        wanted = source[start : start + draw.choice([1, 2, 3, 4, 5, 9, 16, 17, 30])]
        rows.append((wanted, draw.randrange(-1, max(len(texts), 0)), draw.randrange(1, 6)))
    return texts, rows


@given(st.integers(0, 10**9), st.integers(1, 60))
def test_occurrences(seed: int, piece: int) -> None:
    texts, rows = question(seed)
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


def test_a_window_that_stands_nearer_to_the_first_character_than_in_its_text() -> None:
    text = "b" + "a" * 21  # its rarest window, a * 16, is also found one place before the one at which it was cut out
    texts = [text, *["b" + "a" * 15] * 20, text]
    assert occurrences(texts, [text], limit=9).values.tolist() == [0, 22 + 20 * 16]


def test_lone_surrogates_are_characters() -> None:
    assert occurrences(["a\ud800b"], ["\ud800b"]).values.tolist() == [1]
