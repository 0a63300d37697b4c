"""The best cell of a chunk sweep, and which others cannot be told from it: by hand."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rag_titan.lab.chunk_grid import Cell, ChunkSweep

IDS = [f"q{i}" for i in range(6)]


def cell(size: int, f1: list[float | None], *, chunks: int = 10, **more: Any) -> Cell:
    columns = dict.fromkeys(("token_f1", "token_precision", "token_recall", "token_iou"), f1)
    columns |= {"recall_in_words": [1.0] * len(f1), "f1_at_k": [0.5] * len(f1)}
    measured = {
        "chunks": chunks, "mean_chunk_tokens": 9.0, "questions": len(f1), "failed": 0, "first_failed": None,
        "warnings": [], "per_query": {"id": IDS[: len(f1)], **columns}, **more,
    }  # fmt: skip
    return Cell.of("words", size, 0, measured)


def sweep(*cells: Cell) -> ChunkSweep:
    return ChunkSweep(list(cells), 5, 500, 6, 1)


def test_the_others_are_tested_question_by_question_and_corrected() -> None:
    best = cell(50, [0.5, 0.6, 0.7, 0.8, 0.9, 1.0])
    worse = cell(100, [0.4, 0.4, 0.4, 0.4, 0.4, 0.4])  # all six below: 2 of the 64 ways to set the signs
    near = cell(200, [0.4, 0.7, 0.6, 0.9, 0.8, 0.9])  # two above, four below
    found = sweep(worse, best, near)
    assert found.best is best
    rivals = found.rivals()
    assert [rival.cell.chunk_size for rival in rivals] == [200, 100]
    assert rivals[1].p == pytest.approx(2 * 2 / 64)  # Holm: the smaller of two, times 2
    assert rivals[1].difference.value == pytest.approx(0.35)
    # |sum| of six signs of 0.1 is at least 0.2 in all but the 20 ways that have three of each
    assert rivals[0].p == pytest.approx(44 / 64)
    assert [rival.told_apart for rival in rivals] == [False, False]
    alone = sweep(best, worse).rivals()
    assert alone[0].p == pytest.approx(2 / 64)
    assert alone[0].told_apart


def test_questions_without_a_value_are_in_no_pair() -> None:
    found = sweep(cell(50, [0.9, 0.8, None, 0.9]), cell(100, [0.2, None, 0.3, 0.4])).rivals()
    assert found[0].difference.n == 2
    assert found[0].difference.value == pytest.approx(0.6)


def test_of_equal_cells_that_with_fewer_chunks_is_the_best() -> None:
    many, few = cell(50, [0.5, 0.5], chunks=20), cell(100, [0.5, 0.5], chunks=10)
    assert sweep(many, few).best is few
    assert sweep(many, few).rivals()[0].p == 1.0


def test_a_cell_that_failed_is_named_and_is_in_no_test() -> None:
    failed = Cell.of("page", 50, 0, {"error": "ValueError: no"})
    found = sweep(cell(50, [0.5, 0.6]), failed)
    assert found.rivals() == []
    assert found.warnings == ["page 50/0 failed: ValueError: no"]
    assert sweep(failed).best is None
    assert json.loads(json.dumps(sweep(failed).as_dict(), allow_nan=False))["best"] is None


def test_what_is_to_be_known_of_all_cells_is_said_once() -> None:
    first, second = cell(50, [0.5], warnings=["a", "b"]), cell(100, [0.5], warnings=["b"], failed=1, first_failed="x")
    said = ["b", "words 50/0: a", "words 100/0: 1 of 1 questions failed, the first: x"]
    assert sweep(first, second).warnings == said


def test_chunk_ids_are_said_not_to_be_comparable() -> None:
    notes = sweep(cell(50, [0.5])).as_dict()["notes"]
    assert any(note.startswith("Chunk F1 counts chunks, and chunks of another size are other things") for note in notes)
