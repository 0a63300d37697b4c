"""The words of a text are those that the tokenizer finds, whichever way they come."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_titan.evaluation.data import vocabulary
from rag_titan.evaluation.data.tokens import words
from rag_titan.evaluation.preparation import word_sets as module
from rag_titan.evaluation.preparation.word_sets import WordSets, distinct, word_sets

WORDS = st.sampled_from(
    ["the", "The", "THE", "cafe\u0301", "café", "3.5", "don't", "x_1", "你好", "İ", "a" * 70, "", "\n"]
)
READABLE = st.characters(exclude_categories=["Cs"])  # no lone surrogates: they are replaced when documents are read
TEXTS = st.lists(WORDS | st.text(READABLE, max_size=5), max_size=6).map(" ".join)
COLLECTIONS = st.lists(TEXTS, max_size=8)


def names(found: WordSets, texts: list[str]) -> list[set[str]]:
    """The sets with words for codes: every word has one key, so that the key of a text of that word alone names it."""
    known = sorted({word for text in texts for word in words().tokens(text)})
    keys = {int(word_sets([word]).keys[0]): word for word in known}
    texts_of = [keys[int(key)] for key in found.keys]
    offsets = found.sets.offsets.tolist()
    return [{texts_of[code] for code in found.sets.values[a:b]} for a, b in pairwise(offsets)]


@given(COLLECTIONS)
def test_they_are_those_of_the_tokenizer(texts: list[str]) -> None:
    found = word_sets(texts)
    tokens = [words().tokens(text) for text in texts]
    assert names(found, texts) == [set(some) for some in tokens]
    assert found.counts.tolist() == [len(some) for some in tokens]
    assert found.sets.lengths.tolist() == [len(set(some)) for some in tokens]


@given(COLLECTIONS)
def test_codes_rise_in_each_set(texts: list[str]) -> None:
    sets = word_sets(texts).sets
    rising = np.diff(sets.values) > 0
    inside = sets.rows[1:] == sets.rows[:-1]
    assert rising[inside].all()


def test_a_full_vocabulary_and_small_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f"naïve {i} word{i % 7} naïve" for i in range(40)] + [f"plain word{i % 7}" for i in range(40)]
    expected = word_sets(texts)
    monkeypatch.setattr(vocabulary, "_MOST_PIECES", 5)
    monkeypatch.setattr(module, "_BLOCK", 100)
    found = word_sets(texts)
    assert names(found, texts) == names(expected, texts)
    assert found.counts.tolist() == expected.counts.tolist()
    assert sorted(found.keys.tolist()) == sorted(expected.keys.tolist())


def test_the_key_of_a_word_does_not_depend_on_the_other_texts() -> None:
    alone, after = word_sets(["gold"]), word_sets(["any other", "größer", "gold"])
    assert int(alone.keys[0]) == int(after.keys[after.sets.values[-1]])


def test_a_word_has_one_key_in_ascii_and_other_texts() -> None:
    assert len(word_sets(["Gold bars", "GOLD für bars"]).keys) == 3


def test_no_texts_and_no_words() -> None:
    assert word_sets([]).sets.offsets.tolist() == [0]
    found = word_sets(["", "?!", "…"])
    assert (found.counts.tolist(), found.sets.lengths.tolist(), len(found.keys)) == ([0, 0, 0], [0, 0, 0], 0)


@given(st.lists(st.integers(-(2**60), 2**60)))
def test_distinct_is_a_sorted_set(values: list[int]) -> None:
    assert distinct(np.array(values, dtype=np.int64)).tolist() == sorted(set(values))
