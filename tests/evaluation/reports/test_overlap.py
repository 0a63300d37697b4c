"""How many chunks two runs have in common, told by 64 of each."""

from __future__ import annotations

from typing import Any

import pytest

from rag_titan.evaluation.data.records import Chunk
from rag_titan.evaluation.data.sketch import chunk_sketch
from rag_titan.evaluation.reports.overlap import Overlap, overlap


def meta(texts: dict[str, str]) -> dict[str, Any]:
    chunks = [Chunk(id=name, text=text) for name, text in texts.items()]
    return {"sketch": chunk_sketch(chunks), "counts": {"chunks": len(chunks)}}


def between(now: dict[str, str], before: dict[str, str]) -> Overlap:
    found = overlap(meta(now), meta(before))
    assert found is not None
    return found


def numbered(count: int, text: str = "text", prefix: str = "c") -> dict[str, str]:
    return {f"{prefix}{i}": f"{text} {i}" for i in range(count)}


@pytest.mark.parametrize(("before", "added"), [(10, 1), (64, 64), (500, 5_000), (5_000, 10)])
def test_chunks_that_were_added_or_removed_leave_all_others_in_place(before: int, added: int) -> None:
    old = numbered(before)
    more = old | numbered(added, prefix="new")
    assert between(more, old).kept == 1.0
    assert between(old, more).old == 1.0


@pytest.mark.parametrize("count", [5, 1_000])
def test_other_ids_or_other_texts_are_other_chunks(count: int) -> None:
    old = numbered(count)
    assert between(numbered(count, prefix="d"), old) == Overlap(0.0, 0.0, same_ids=False)
    assert between(numbered(count, text="other"), old) == Overlap(0.0, 0.0, same_ids=True)
    assert between(old, old) == Overlap(1.0, 1.0, same_ids=True)


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
def test_the_share_that_is_kept_is_estimated(share: float) -> None:
    old = numbered(2_000)
    kept = dict(list(old.items())[: int(2_000 * share)])
    found = between(kept | numbered(2_000 - len(kept), prefix="new"), old)
    assert found.kept == pytest.approx(share, abs=0.2)  # 3 standard errors of 64


def test_few_chunks_are_counted_exactly() -> None:
    old = numbered(60)
    assert between({**old, "c0": "another"}, old).kept == 59 / 60
    assert between({"c0": "text 0"}, old) == Overlap(1 / 60, 1.0, same_ids=False)


@pytest.mark.parametrize("other", [None, [], "abc", [1], ["short"], {"a": 1}, [["x" * 32]]])
def test_what_is_no_sketch_tells_nothing(other: Any) -> None:
    assert overlap({"sketch": other}, meta({"c": "a"})) is None
    assert overlap(meta({"c": "a"}), {"sketch": other, "counts": 7}) is None


def test_a_report_that_does_not_count_its_chunks_is_read_as_far_as_its_sketch_reaches() -> None:
    now, before = meta(numbered(5)), meta(numbered(5))
    assert overlap({**now, "counts": None}, {**before, "counts": {"chunks": "5"}}) == Overlap(1.0, 1.0, same_ids=True)
