"""Jaccard's index of neighbours and of all pairs against Python's sets."""

from __future__ import annotations

import math
from itertools import combinations
from unittest.mock import patch

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rag_titan.evaluation.measures import lexical as measures
from rag_titan.evaluation.measures.lexical import ends_of, jaccard, mean_pair_jaccard, word_sets
from rag_titan.evaluation.measures.ragged import offsets_of, ragged

WORDS = st.lists(st.integers(0, 5) | st.just(2**31 - 1), max_size=6)
Lists = list[list[int]]


def slow_jaccard(a: list[int], b: list[int]) -> float:
    return len(set(a) & set(b)) / len(set(a) | set(b)) if a or b else math.nan


@given(st.lists(st.tuples(WORDS, WORDS), max_size=6))
def test_jaccard(pairs: list[tuple[list[int], list[int]]]) -> None:
    a, b = (word_sets(ragged([pair[i] for pair in pairs])) for i in (0, 1))
    np.testing.assert_array_equal(jaccard(a, b), [slow_jaccard(*pair) for pair in pairs])


@given(st.lists(WORDS, max_size=6))
def test_word_sets(lists: Lists) -> None:
    sets = word_sets(ragged(lists))
    got = [sets.values[a:b].tolist() for a, b in zip(sets.offsets, sets.offsets[1:], strict=False)]
    assert got == [sorted(set(words)) for words in lists]


@given(st.lists(WORDS, max_size=5), st.integers(1, 4))
def test_ends_of(lists: Lists, size: int) -> None:
    last, first = ends_of(ragged(lists), size)
    assert last.values.tolist() == [word for words in lists for word in words[-size:]]
    assert first.values.tolist() == [word for words in lists for word in words[:size]]
    assert first.lengths.tolist() == last.lengths.tolist() == [min(size, len(words)) for words in lists]


def slow_mean(sentences: Lists) -> float:
    values = [slow_jaccard(a, b) for a, b in combinations([s for s in sentences if s], 2)]
    return math.fsum(values) / len(values) if values else math.nan


@given(st.lists(st.lists(WORDS, max_size=5), max_size=5), st.integers(1, 40), st.integers(1, 10))
def test_mean_pair_jaccard(groups: list[Lists], words: int, pairs: int) -> None:
    lists = ragged([sentence for group in groups for sentence in group])
    with patch.object(measures, "_WORDS", words), patch.object(measures, "_PAIRS", pairs):
        got = mean_pair_jaccard(lists, offsets_of([len(group) for group in groups]))
    np.testing.assert_allclose(got, [slow_mean(group) for group in groups], rtol=1e-12)


def test_a_group_of_more_lists_than_16_bits() -> None:
    n = (1 << 16) + 10
    got = mean_pair_jaccard(ragged([[i, n] if i < 2 else [i] for i in range(n)]), np.array([0, n]))
    np.testing.assert_allclose(got, [1 / 3 / (n * (n - 1) / 2)])


def test_blocks_do_not_change_a_digit() -> None:
    rng = np.random.default_rng(5)
    groups = [[rng.integers(0, 40, rng.integers(1, 20)).tolist() for _ in range(12)] for _ in range(40)]
    lists, offsets = ragged([s for group in groups for s in group]), offsets_of([12] * 40)
    whole = mean_pair_jaccard(lists, offsets)
    with patch.object(measures, "_WORDS", 300), patch.object(measures, "_PAIRS", 50):
        np.testing.assert_array_equal(mean_pair_jaccard(lists, offsets), whole)
