"""How many chunks two runs have in common, told by 64 of each."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.evaluation.data.test_fingerprint import slow_hash

from rag_titan.evaluation.data.records import Chunk
from rag_titan.evaluation.data.sketch import SKETCHED, chunk_sketch, overlap


def chunks(texts: dict[str, str]) -> list[Chunk]:
    return [Chunk(id=name, text=text) for name, text in texts.items()]


def numbered(count: int, text: str = "text", prefix: str = "c") -> dict[str, str]:
    return {f"{prefix}{i}": f"{text} {i}" for i in range(count)}


@given(st.lists(st.text(min_size=1), unique=True, max_size=100), st.randoms(use_true_random=False))
def test_the_order_of_the_chunks_does_not_matter(names: list[str], rng: random.Random) -> None:
    listed = [Chunk(id=name, text=name[::-1]) for name in names]
    sketch = chunk_sketch(listed)
    rng.shuffle(listed)
    assert chunk_sketch(listed) == sketch
    assert len(sketch) == min(len(names), SKETCHED)


def test_the_sketch_is_the_same_everywhere() -> None:
    assert chunk_sketch(chunks({"c1": "a"})) == [f"{slow_hash('c1'):016x}{slow_hash('a'):016x}"]


@pytest.mark.parametrize(("before", "added"), [(10, 1), (64, 64), (500, 5_000), (5_000, 10)])
def test_chunks_that_were_added_leave_all_others_in_place(before: int, added: int) -> None:
    old = numbered(before)
    found = overlap(chunk_sketch(chunks(old | numbered(added, prefix="new"))), chunk_sketch(chunks(old)))
    assert found is not None
    assert found.kept == 1.0
    fewer = overlap(chunk_sketch(chunks(old)), chunk_sketch(chunks(old | numbered(added, prefix="new"))))
    assert fewer is not None
    assert fewer.old == 1.0


@pytest.mark.parametrize("count", [5, 1_000])
def test_other_ids_or_other_texts_are_other_chunks(count: int) -> None:
    old = chunk_sketch(chunks(numbered(count)))
    renamed = overlap(chunk_sketch(chunks(numbered(count, prefix="d"))), old)
    rewritten = overlap(chunk_sketch(chunks(numbered(count, text="other"))), old)
    assert renamed is not None
    assert rewritten is not None
    assert (renamed.kept, renamed.same_ids) == (0.0, False)
    assert (rewritten.kept, rewritten.same_ids) == (0.0, True)


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
def test_the_share_that_is_kept_is_estimated(share: float) -> None:
    old = numbered(2_000)
    kept = dict(list(old.items())[: int(2_000 * share)])
    found = overlap(chunk_sketch(chunks(kept | numbered(2_000 - len(kept), prefix="new"))), chunk_sketch(chunks(old)))
    assert found is not None
    assert found.kept == pytest.approx(share, abs=0.2)  # 3 standard errors of 64


@pytest.mark.parametrize("other", [None, [], "abc", [1], ["short"], {"a": 1}, [["x" * 32]]])
def test_what_is_no_sketch_tells_nothing(other: Any) -> None:
    assert overlap(other, chunk_sketch(chunks({"c": "a"}))) is None
    assert overlap(chunk_sketch(chunks({"c": "a"})), other) is None
