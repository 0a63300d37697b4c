"""Near-duplicates against all pairs, compared one by one."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag_titan.evaluation.preparation import duplicates as module
from rag_titan.evaluation.preparation.duplicates import LOWEST, MISSED, banding, near_duplicates
from rag_titan.evaluation.preparation.word_sets import word_sets

Found = dict[int, tuple[int, float]]
COMMON = [f"w{number}" for number in range(24)]
SETS = st.lists(st.frozensets(st.sampled_from(COMMON), max_size=24), max_size=12)
THRESHOLDS = st.sampled_from([0.1, 0.3, 0.5, 0.75, 0.8, 0.9, 0.95, 1.0]) | st.floats(LOWEST, 1.0)


def alike(a: frozenset[str], b: frozenset[str]) -> Fraction:
    return Fraction(len(a & b), len(a | b)) if a | b else Fraction(0)


def slow(sets: list[frozenset[str]], threshold: float) -> Found:
    """{later: (the earliest that it is near, similarity)}, all pairs."""
    found: Found = {}
    for later, some in enumerate(sets):
        for earlier, other in enumerate(sets[:later]):
            if later not in found and alike(some, other) > 0 and alike(some, other) >= threshold - 1e-9:
                found[later] = earlier, float(alike(some, other))
    return found


def fast(sets: list[frozenset[str]], threshold: float) -> Found:
    got = near_duplicates(word_sets([" ".join(sorted(some)) for some in sets]), threshold)
    columns = (got.rows.tolist(), got.earliest.tolist(), got.similarity.tolist())
    return {row: (earliest, similarity) for row, earliest, similarity in zip(*columns, strict=True)}


@given(SETS, THRESHOLDS)
def test_they_are_those_of_all_pairs(sets: list[frozenset[str]], threshold: float) -> None:
    assert fast(sets, threshold) == slow(sets, threshold)


def clusters(seed: int, count: int, of: int, size: int = 60) -> list[frozenset[str]]:
    """Groups of sets that differ from one of `size` words in 0 to 5 of them."""
    draw = random.Random(seed)
    sets = []
    for group in range(count):
        original = [f"g{group}x{number}" for number in range(size)]
        for copy in range(of):
            changed = draw.sample(range(size), draw.randint(0, 5))
            sets.append(frozenset(f"c{copy}{word}" if i in changed else word for i, word in enumerate(original)))
    draw.shuffle(sets)
    return sets


@pytest.mark.parametrize("threshold", [0.7, 0.85, 0.9, 0.95])
def test_groups_of_copies_are_found_whole(threshold: float) -> None:
    sets = clusters(5, 12, 15)
    assert fast(sets, threshold) == slow(sets, threshold)


@given(st.integers(0, 99), st.integers(1, 40), st.integers(1, 30))
@settings(max_examples=15)
def test_it_does_not_matter_how_many_are_looked_at_once(seed: int, few: int, entries: int) -> None:
    sets = clusters(seed, 3, 12)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(module, "_FEW", few)
        patched.setattr(module, "_ENTRIES", entries * 21)
        patched.setattr(module, "_WORDS", entries * 60)
        patched.setattr(module, "_TEXTS", entries)
        assert fast(sets, 0.9) == slow(sets, 0.9)


@given(st.permutations(range(20)))
@settings(max_examples=20)
def test_which_pairs_are_near_does_not_depend_on_the_order(order: list[int]) -> None:
    sets = clusters(3, 10, 2)
    near = {frozenset((order[a], order[b])) for a, (b, _) in fast([sets[i] for i in order], 0.9).items()}
    assert near == {frozenset((a, b)) for a, (b, _) in fast(sets, 0.9).items()}


def test_every_pair_that_is_just_at_the_threshold_is_found() -> None:
    """2,000 pairs of sets of 19 words that share 18: 18 / 20 = 0.9; with a chance of 2e-7 each to be missed."""
    sets = []
    for pair in range(2000):
        shared = [f"p{pair}x{number}" for number in range(18)]
        sets += [frozenset([*shared, f"p{pair}left"]), frozenset([*shared, f"p{pair}right"])]
    assert fast(sets, 0.9) == {2 * pair + 1: (2 * pair, 0.9) for pair in range(2000)}


def test_a_pair_just_below_the_threshold_is_not() -> None:
    words = [f"w{number}" for number in range(190)]
    below = [frozenset(words), frozenset([*words[:170], *(f"n{number}" for number in range(20))])]  # 170 / 210
    assert fast(below, 0.81) == {}
    assert fast(below, 170 / 210) == {1: (0, 170 / 210)}


def test_texts_without_words_are_near_nothing() -> None:
    got = near_duplicates(word_sets(["", "a b", "?", "", "b a", "!"]), 0.9)
    assert (got.rows.tolist(), got.earliest.tolist()) == ([4], [1])


@pytest.mark.parametrize("texts", [[], ["a b"], ["", ""]])
def test_fewer_than_two_texts_with_words(texts: list[str]) -> None:
    assert len(near_duplicates(word_sets(texts)).rows) == 0


@given(st.floats(LOWEST, 1.0), st.sampled_from([10, 200_000]))
def test_the_bands_miss_a_pair_at_the_threshold_as_seldom_as_said(threshold: float, texts: int) -> None:
    slots, bands = banding(threshold, texts)
    missed = math.exp(bands * math.log1p(-(threshold**slots))) if threshold < 1 else 0.0
    assert missed <= MISSED * (1 + 1e-9)
    assert slots * bands <= 1024
