"""Byte strings as codes: equal strings, and only these, have equal keys and codes."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rag_titan.evaluation.measures import interning
from rag_titan.evaluation.measures.interning import PADDING, KeyIndex, run_keys, runs


def slow_runs(inside: list[bool]) -> tuple[list[int], list[int]]:
    padded = [False, *inside, False]
    starts = [i for i in range(len(inside) + 1) if padded[i + 1] and not padded[i]]
    ends = [i for i in range(len(inside) + 1) if padded[i] and not padded[i + 1]]
    return starts, ends


@given(st.lists(st.booleans(), max_size=40))
def test_runs_start_and_end_where_the_flag_turns(inside: list[bool]) -> None:
    starts, ends = runs(np.array(inside, dtype=bool))
    assert (starts.tolist(), ends.tolist()) == slow_runs(inside)


def keys_of(strings: list[bytes]) -> list[int]:
    ends = np.cumsum([len(s) for s in strings], dtype=np.int64)
    starts = ends - np.array([len(s) for s in strings], dtype=np.int64)
    return run_keys(b"".join(strings) + bytes(PADDING), starts, ends).tolist()


@given(st.lists(st.binary(min_size=1, max_size=90) | st.sampled_from([b"a", b"a\0", b"\0", b"\0\0"]), max_size=30))
def test_strings_share_a_key_only_when_they_are_equal(strings: list[bytes]) -> None:
    keys = keys_of(strings)
    assert 0 not in keys
    assert len(set(keys)) == len(set(strings))
    assert keys == [keys_of([string])[0] for string in strings]  # whatever stands beside it


def test_strings_that_differ_in_one_byte_only_have_different_keys_at_every_length() -> None:
    for length in range(1, 130):
        for place in {0, length // 2, length - 1}:
            other = bytearray(b"x" * length)
            other[place] += 1
            assert len(set(keys_of([b"x" * length, bytes(other)]))) == 2


@given(st.lists(st.lists(st.integers(1, 60), max_size=40), max_size=8), st.integers(1, 6))
def test_codes_count_new_keys_in_the_order_in_which_they_come(batches: list[list[int]], bits: int) -> None:
    index, known = KeyIndex(bits), {}
    for batch in batches:
        before = len(known)
        codes, new = index.codes(
            np.array(batch, dtype=np.uint64) << np.uint64(58)
        )  # few high bits: many meet in a place
        assert codes.tolist() == [known.setdefault(key % 64, len(known)) for key in batch]
        assert [batch[i] % 64 for i in new.tolist()] == list(known)[before:]
        assert len(index) == len(known)


def test_keys_that_meet_at_the_end_of_the_table_go_on_at_its_start() -> None:
    keys = np.array([2**64 - 1 - i for i in range(9)], dtype=np.uint64)
    index = KeyIndex(bits=6)
    assert index.codes(keys)[0].tolist() == list(range(9))
    assert index.codes(keys[::-1].copy())[0].tolist() == list(range(9))[::-1]


def test_the_table_grows_and_keeps_its_codes() -> None:
    rng = np.random.default_rng(1)
    keys = np.unique(rng.integers(1, 2**63, 50_000, dtype=np.uint64))
    rng.shuffle(keys)
    index = KeyIndex()
    for start in range(0, len(keys), 7_000):
        index.codes(keys[start : start + 7_000])
    codes, new = index.codes(keys)
    assert codes.tolist() == list(range(len(keys)))
    assert not len(new)
    assert interning.KeyIndex._ROOM * len(index) <= len(index._keys)
