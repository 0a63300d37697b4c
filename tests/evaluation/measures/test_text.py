"""Each measure on token codes against the formula, written out in loops."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_titan.evaluation.measures import text
from rag_titan.evaluation.measures.ragged import Ragged, ragged

Lists = list[list[int]]

CODES = st.integers(0, 5) | st.sampled_from([0xD7FF, 0xD800, 0xDFFF, 0xE000, 0x10F7FF, 2**31 - 1])
LISTS = st.lists(st.tuples(st.lists(CODES, max_size=9), st.lists(CODES, max_size=9)), max_size=6)


def both(pairs: list[tuple[list[int], list[int]]]) -> tuple[Ragged, Ragged]:
    return ragged([a for a, _ in pairs]), ragged([b for _, b in pairs])


def lists(values: Ragged) -> Lists:
    return [values.values[a:b].tolist() for a, b in zip(values.offsets, values.offsets[1:], strict=False)]


def slow_matches(a: list[int], b: list[int]) -> int:
    return sum((Counter(a) & Counter(b)).values())


def slow_lcs(a: list[int], b: list[int]) -> int:
    table = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            table[i + 1][j + 1] = table[i][j] + 1 if x == y else max(table[i][j + 1], table[i + 1][j])
    return table[-1][-1]


def slow_f1(precision: float, recall: float) -> float:
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


@given(LISTS)
def test_matches_are_the_smaller_counts_of_each_token(pairs: list[tuple[list[int], list[int]]]) -> None:
    assert text.matches(*both(pairs)).tolist() == [slow_matches(a, b) for a, b in pairs]


@given(LISTS)
def test_overlap_is_precision_recall_and_their_f1(pairs: list[tuple[list[int], list[int]]]) -> None:
    result = text.overlap(*both(pairs))
    for i, (a, b) in enumerate(pairs):
        same = slow_matches(a, b)
        assert result.precision[i] == pytest.approx(same / len(a) if a else math.nan, nan_ok=True)
        assert result.recall[i] == pytest.approx(same / len(b) if b else math.nan, nan_ok=True)
        expected = float(a == b) if not a or not b else slow_f1(same / len(a), same / len(b))
        assert result.f1[i] == pytest.approx(expected)


@given(LISTS)
def test_equal_compares_whole_lists(pairs: list[tuple[list[int], list[int]]]) -> None:
    pairs = [*pairs, *((a, a) for a, _ in pairs)]
    assert text.equal(*both(pairs)).tolist() == [a == b for a, b in pairs]


@given(LISTS)
def test_lcs_is_the_longest_common_subsequence(pairs: list[tuple[list[int], list[int]]]) -> None:
    assert text.lcs_lengths(*both(pairs)).tolist() == [slow_lcs(a, b) for a, b in pairs]


@given(LISTS)
def test_rouge_l_is_the_f1_of_its_two_shares(pairs: list[tuple[list[int], list[int]]]) -> None:
    for score, (a, b) in zip(text.rouge_l(*both(pairs)).tolist(), pairs, strict=True):
        if not a and not b:
            assert math.isnan(score)
        elif not a or not b:
            assert score == 0
        else:
            length = slow_lcs(a, b)
            assert score == pytest.approx(slow_f1(length / len(a), length / len(b)))


def test_lcs_with_more_codes_than_there_are_characters() -> None:
    many = np.arange(1_200_000)
    a, b = Ragged(many, np.array([0, 1_199_990, 1_200_000])), Ragged(many[::-1].copy(), np.array([0, 10, 1_200_000]))
    assert text.lcs_lengths(part := text.part(a, 1, 2), text.part(b, 0, 1)).tolist() == [1]
    assert part.values.tolist() == many[-10:].tolist()
    assert text.lcs_lengths(part, part).tolist() == [10]


@given(LISTS)
def test_contained_says_for_each_element_whether_the_other_list_has_it(
    pairs: list[tuple[list[int], list[int]]],
) -> None:
    expected = [x in b for a, b in pairs for x in a]
    assert text.contained(*both(pairs)).tolist() == expected


@given(st.lists(st.lists(CODES, max_size=9), max_size=6))
def test_distinct_keeps_each_element_once_in_order(some: Lists) -> None:
    assert lists(text.distinct(ragged(some))) == [sorted(set(x)) for x in some]


@given(st.lists(st.lists(CODES, max_size=4), min_size=1, max_size=6), st.data())
def test_take_and_part_are_what_indexing_gives(some: Lists, data: st.DataObject) -> None:
    rows = data.draw(st.lists(st.integers(0, len(some) - 1), max_size=9))
    assert lists(text.take(ragged(some), np.array(rows, dtype=np.int64))) == [some[i] for i in rows]
    start = data.draw(st.integers(0, len(some)))
    assert lists(text.part(ragged(some), start, len(some))) == some[start:]
    assert lists(text.take(ragged(some), np.arange(start, len(some)))) == some[start:]


@given(st.lists(st.integers(0, 9), max_size=20), st.integers(1, 12))
def test_blocks_leave_nothing_out_and_stay_below_their_size(sizes: list[int], most: int) -> None:
    blocks = list(text.blocks(np.array(sizes, dtype=np.int64), most))
    assert [i for start, stop in blocks for i in range(start, stop)] == list(range(len(sizes)))
    assert all(stop == start + 1 or sum(sizes[start:stop]) <= most for start, stop in blocks)


Reading = tuple[int, int]
READINGS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=7)


def alike(a: Reading, b: Reading) -> bool:
    return bool(set(a) & set(b))


def slow_found(phrase: list[Reading], words: list[Reading]) -> bool:
    windows = (words[i : i + len(phrase)] for i in range(len(words) - len(phrase) + 1))
    return bool(phrase) and any(all(map(alike, phrase, window)) for window in windows)


def readings(some: list[list[Reading]]) -> text.Readings:
    return text.Readings(*(ragged([[token[i] for token in tokens] for tokens in some]) for i in (0, 1)))


@given(st.lists(READINGS, min_size=1, max_size=4), st.lists(READINGS.map(lambda p: p[:3]), max_size=5), st.data())
def test_a_phrase_is_found_as_a_run_of_tokens(
    texts: list[list[Reading]], phrases: list[list[Reading]], data: st.DataObject
) -> None:
    rows = [data.draw(st.integers(0, len(texts) - 1)) for _ in phrases]
    found = text.phrases_found(readings(phrases), readings(texts), np.array(rows, dtype=np.int64))
    assert found.tolist() == [slow_found(p, texts[row]) for p, row in zip(phrases, rows, strict=True)]


def test_ratio_of_nothing_is_not_a_number() -> None:
    assert text.ratio(np.array([0, 3]), np.array([0, 4])).tolist() == pytest.approx([math.nan, 0.75], nan_ok=True)
    assert text.shares(ragged([[1, 2], []]), np.array([True, False])).tolist() == pytest.approx(
        [0.5, math.nan], nan_ok=True
    )
