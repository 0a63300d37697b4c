"""The chunk sweep: the numbers of the comparison, going on after a kill, several processes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli.handbook import without_model
from tests.pipeline.small import GOLDEN, handbook

from rag_titan.errors import DatasetError, SettingsError
from rag_titan.lab import cell_processes
from rag_titan.lab import sweep_chunks as module
from rag_titan.lab.sweep_chunks import sweep_chunks
from rag_titan.pipeline.comparing import compare_pipelines
from rag_titan.pipeline.comparison import Variant
from rag_titan.pipeline.settings import Settings

GRID: dict[str, Any] = {"sizes": [15, 30], "overlaps": [0, 5], "chunkers": ["words"], "k": 2, "processes": 1}


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    handbook(tmp_path)
    return tmp_path


def plain(sweep: Any) -> str:
    return json.dumps(sweep.as_dict(), allow_nan=False)


def test_the_values_are_those_of_the_comparison(docs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_model(monkeypatch)
    sweep = sweep_chunks(docs, GOLDEN, **GRID)
    assert [cell.name for cell in sweep.cells] == ["words 15/0", "words 15/5", "words 30/0", "words 30/5"]
    for cell in sweep.cells:
        settings = Settings(
            chunker="words", chunk_size=cell.chunk_size, chunk_overlap=cell.chunk_overlap, reranker="none"
        )
        row = compare_pipelines(docs, GOLDEN, [Variant("simple", settings)], k=2).rows[0]
        for key in ("token_f1", "token_precision", "token_recall", "token_iou", "recall_in_words"):
            assert cell.estimates[key].value == pytest.approx(row.values[key])
            assert cell.estimates[key].n == row.n[key]
        assert (cell.chunks, cell.mean_chunk_tokens) == (row.chunks, row.mean_chunk_tokens)
    assert sweep.best is not None
    assert sweep.best.value == max(cell.value or 0 for cell in sweep.cells)


def test_an_overlap_that_fits_no_size_is_left_out_and_said(docs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_model(monkeypatch)
    sweep = sweep_chunks(docs, GOLDEN, **{**GRID, "overlaps": [0, 20]})
    assert [cell.name for cell in sweep.cells] == ["words 15/0", "words 30/0", "words 30/20"]
    assert "left out, since an overlap must be below the size: 15/20." in sweep.warnings
    with pytest.raises(SettingsError, match=r"^overlaps: must be below some size, got 30, 40\. Take smaller ones\.$"):
        sweep_chunks(docs, GOLDEN, **{**GRID, "overlaps": [30, 40]})


def test_a_run_that_was_killed_goes_on_and_comes_to_the_same(docs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_model(monkeypatch)
    whole = plain(sweep_chunks(docs, GOLDEN, **GRID))
    journal, asked, real = docs / "sweep.journal", [], module.cell_of

    def killed(job: Any) -> dict[str, Any]:
        if len(asked) == 2:
            raise KeyboardInterrupt
        asked.append(job.settings.chunk_size)
        return real(job)

    monkeypatch.setattr(module, "cell_of", killed)
    with pytest.raises(KeyboardInterrupt):
        sweep_chunks([docs / "leave.md", docs / "travel.md"], GOLDEN, **GRID, journal=journal)
    asked.clear()
    steps: list[int] = []
    again = sweep_chunks(
        [docs / "leave.md", docs / "travel.md"], GOLDEN, **GRID, journal=journal,
        progress=lambda done, of, name: steps.append(done),
    )  # fmt: skip
    assert (asked, steps) == ([30, 30], [3, 4])
    assert plain(again) == whole
    asked.clear()
    wider = {**GRID, "sizes": [15, 30, 40], "overlaps": [0]}
    sweep_chunks([docs / "leave.md", docs / "travel.md"], GOLDEN, **wider, journal=journal)
    assert asked == [40]  # a wider grid takes over what is there


def test_the_journal_of_another_sweep_is_refused(docs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_model(monkeypatch)
    files, journal = [docs / "leave.md", docs / "travel.md"], docs / "sweep.journal"
    sweep_chunks(files, GOLDEN, **GRID, journal=journal)
    for other, name in (
        ({"settings": {"retriever": "bm25"}}, "settings"), ({"k": 1}, "k and words"), ({"words": 9}, "k and words"),
    ):  # fmt: skip
        with pytest.raises(SettingsError, match=f"got another {name}"):
            sweep_chunks(files, GOLDEN, **{**GRID, **other}, journal=journal)
    with pytest.raises(SettingsError, match="got another golden questions"):
        sweep_chunks(files, GOLDEN[:1], **GRID, journal=journal)
    with pytest.raises(SettingsError, match="got another documents"):
        sweep_chunks(files[:1], GOLDEN, **GRID, journal=journal)
    sweep_chunks(files[:1], GOLDEN, **GRID, journal=journal, fresh=True)


def test_several_processes_come_to_the_same(docs: Path) -> None:
    small = {**GRID, "overlaps": [0]}
    assert plain(sweep_chunks(docs, GOLDEN, **{**small, "processes": 2})) == plain(sweep_chunks(docs, GOLDEN, **small))


def test_a_process_that_dies_is_an_error_of_its_cell_which_is_tried_again(
    docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_model(monkeypatch)
    files, journal = [docs / "leave.md", docs / "travel.md"], docs / "sweep.journal"
    with monkeypatch.context() as broken:
        broken.setattr(cell_processes, "_RUN", "import os; os._exit(3)")
        sweep = sweep_chunks(files, GOLDEN, **{**GRID, "processes": 2}, journal=journal)
    assert all(cell.error and "its process came to no end" in cell.error for cell in sweep.cells)
    assert sweep.best is None
    assert all(cell.error is None for cell in sweep_chunks(files, GOLDEN, **GRID, journal=journal).cells)


def test_what_cannot_be_swept_is_refused(docs: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(DatasetError, match=r"^documents: must hold at least one document with text, got none"):
        sweep_chunks(tmp_path / "empty", GOLDEN, **GRID)
    for option, value in (("sizes", []), ("overlaps", []), ("k", 0), ("words", 0), ("processes", 0)):
        with pytest.raises(SettingsError, match=f"^{option}: must be"):
            sweep_chunks(docs, GOLDEN, **{**GRID, option: value})
