"""What the model was given: the text itself, or the texts of chunks."""

from __future__ import annotations

import numpy as np

from rag_titan.evaluation.data.contexts import Contexts
from rag_titan.evaluation.data.tokens import words
from rag_titan.evaluation.data.vocabulary import Vocabulary

CHUNKS = {"c1": "one two", "c2": "three", "empty": ""}


def contexts(texts: list[str | None], ids: list[list[str] | None]) -> tuple[Contexts, Vocabulary]:
    known = Vocabulary()
    return Contexts(texts, ids, CHUNKS.get, known), known


def test_the_text_comes_before_the_chunks() -> None:
    some, known = contexts(["x y", None, None, None], [["c1"], ["c2", "c1", "c2"], [], None])
    assert some.known.tolist() == [True, True, True, False]
    rows = np.array([1, 0, 2])
    tokens = some.tokens(words(), rows)
    names = list(known._codes)
    assert [names[code] for code in tokens.values.tolist()] == ["three", "one", "two", "three", "x", "y"]
    assert tokens.offsets.tolist() == [0, 4, 6, 6]
    assert some.sizes(rows).tolist() == [4, 2, 0]


def test_one_chunk_without_a_text_makes_the_context_unknown() -> None:
    some, _ = contexts([None, None, "given"], [["c1", "ghost"], ["empty"], ["ghost"]])
    assert some.known.tolist() == [False, True, True]
    assert some.wordless.tolist() == [True, False, False]


def test_no_queries_have_no_contexts() -> None:
    some, _ = contexts([], [])
    assert some.tokens(words(), np.array([], dtype=np.int64)).offsets.tolist() == [0]
