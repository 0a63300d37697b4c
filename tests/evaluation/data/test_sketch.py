"""The few chunks that stand for all of a run."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st
from tests.evaluation.data.test_fingerprint import slow_hash

from rag_titan.evaluation.data.records import Chunk
from rag_titan.evaluation.data.sketch import SKETCHED, chunk_sketch


def chunks(texts: dict[str, str]) -> list[Chunk]:
    return [Chunk(id=name, text=text) for name, text in texts.items()]


@given(st.lists(st.text(min_size=1), unique=True, max_size=100), st.randoms(use_true_random=False))
def test_the_order_of_the_chunks_does_not_matter(names: list[str], rng: random.Random) -> None:
    listed = [Chunk(id=name, text=name[::-1]) for name in names]
    sketch = chunk_sketch(listed)
    rng.shuffle(listed)
    assert chunk_sketch(listed) == sketch
    assert len(sketch) == min(len(names), SKETCHED)


def test_the_sketch_is_the_same_everywhere() -> None:
    assert chunk_sketch(chunks({"c1": "a"})) == [f"{slow_hash('c1'):016x}{slow_hash('a'):016x}"]
