"""The chunk sweep: the numbers of the comparison, going on after a kill, several processes."""

from __future__ import annotations

import json
import os
import pickle
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.cli.handbook import without_model
from tests.pipeline.small import GOLDEN, handbook

from rag_titan.errors import DatasetError, MissingExtraError, SettingsError
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


Outputs = dict[str, Any]


def of_columns(change: Callable[[Outputs], Outputs]) -> Callable[[Outputs], Outputs]:
    """Change the values of the questions alone."""
    return lambda cell: {**cell, "per_query": change(cell["per_query"])}


@pytest.mark.parametrize(
    "broken",
    [
        lambda cell: {},
        lambda cell: {"of": "an older version"},
        lambda cell: {**cell, "chunks": "many"},
        lambda cell: {**cell, "warnings": 5},
        lambda cell: {name: value for name, value in cell.items() if name != "per_query"},
        of_columns(lambda columns: {**columns, "token_f1": [0.5]}),
        of_columns(lambda columns: {**columns, "token_f1": ["high", None, None]}),
        of_columns(lambda columns: {**columns, "token_f1": [2.0, None, None]}),
        of_columns(lambda columns: {**columns, "id": ["g1", "g2", "g9"]}),
        of_columns(lambda columns: {**columns, "id": ["g1", "g1", "g2"]}),
        of_columns(lambda columns: {name: column for name, column in columns.items() if name != "token_iou"}),
    ],
)
def test_a_cell_of_the_journal_that_is_none_is_measured_again(
    docs: Path, monkeypatch: pytest.MonkeyPatch, broken: Callable[[Outputs], Outputs]
) -> None:
    without_model(monkeypatch)
    files, journal = [docs / "leave.md", docs / "travel.md"], docs / "sweep.journal"
    whole = plain(sweep_chunks(files, GOLDEN, **GRID, journal=journal))
    lines = journal.read_text().splitlines()
    entry = json.loads(lines[2])
    lines[2] = json.dumps({**entry, "outputs": broken(entry["outputs"])})
    journal.write_text("\n".join(lines) + "\n")
    measured: list[str] = []
    again = sweep_chunks(
        files, GOLDEN, **GRID, journal=journal, progress=lambda done, of, name: measured.append(name)
    )  # fmt: skip
    assert plain(again) == whole
    assert measured == [entry["id"]]
    assert again.notices == [
        f"{journal}: lines of the journal that cannot be read are dropped, and their cells measured again."
    ]


def test_a_line_that_was_cut_off_changes_nothing_of_the_result(docs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_model(monkeypatch)
    files, journal = [docs / "leave.md", docs / "travel.md"], docs / "sweep.journal"
    first = sweep_chunks(files, GOLDEN, **GRID, journal=journal)
    journal.write_bytes(journal.read_bytes()[:-30])
    again = sweep_chunks(files, GOLDEN, **GRID, journal=journal)
    assert plain(again) == plain(first)
    assert (first.notices, len(again.notices)) == ([], 1)


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="only Linux tells when the child of another ends")
@pytest.mark.parametrize("how", [signal.SIGKILL, pytest.param(signal.SIGINT, marks=pytest.mark.slow)])
def test_a_command_that_is_killed_leaves_no_process_and_goes_on_to_the_same_file(
    docs: Path, tmp_path_factory: pytest.TempPathFactory, how: signal.Signals
) -> None:
    elsewhere = tmp_path_factory.mktemp("runs")
    golden = elsewhere / "golden.json"
    golden.write_text(json.dumps(GOLDEN))
    command = [
        sys.executable, "-m", "rag_titan", "lab", "sweep-chunks", "--documents", str(docs), "--golden", str(golden),
        "--sizes", "15,20,25,30", "--overlaps", "0,5", "--chunkers", "words", "--k", "2",
    ]  # fmt: skip
    whole, killed = elsewhere / "whole.json", elsewhere / "killed.json"
    subprocess.run([*command, "--processes", "1", "--output", str(whole)], check=True, capture_output=True)
    once = [*command, "--processes", "2", "--output", str(killed)]
    journal = Path(f"{killed}.journal")
    process = subprocess.Popen(once, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        while len(lines_of(journal)) < 2 and process.poll() is None:  # its head, and the first cell
            with suppress(subprocess.TimeoutExpired):
                process.wait(timeout=0.01)
        workers = list(children_of(process.pid))
        process.send_signal(how)
        _, said = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == {signal.SIGKILL: -9, signal.SIGINT: 130}[how]
    assert "Traceback" not in said
    assert len(workers) == 2
    assert all(select.select([worker], [], [], 60)[0] for worker in workers)  # readable once the process has ended
    assert not killed.exists()
    kept = lines_of(journal)[1:]
    assert 1 <= len(kept) < 8
    subprocess.run(once, check=True, capture_output=True)
    assert killed.read_bytes() == whole.read_bytes()
    names = [json.loads(line)["id"] for line in lines_of(journal)[1:]]
    assert len(names) == len(set(names)) == 8  # what was kept is not measured again
    assert lines_of(journal)[1 : len(kept) + 1] == kept
    for worker in workers:
        os.close(worker)


def lines_of(journal: Path) -> list[bytes]:
    """The whole lines of a file that may not be there yet."""
    return journal.read_bytes().split(b"\n")[:-1] if journal.is_file() else []


def children_of(pid: int) -> Iterator[int]:
    """A file descriptor of each child process of a process on Linux, its threads' children among them."""
    for task in Path(f"/proc/{pid}/task").iterdir():
        yield from (os.pidfd_open(int(child)) for child in (task / "children").read_text().split())


def test_a_process_of_a_sweep_ends_in_the_middle_of_a_cell_when_its_caller_does() -> None:
    run = (
        "from threading import Event; from rag_titan.lab import sweep_worker as worker; "
        "worker.cell_of = lambda job: Event().wait(); worker.work()"
    )
    process = subprocess.Popen([sys.executable, "-c", run], stdin=subprocess.PIPE)
    try:
        assert process.stdin is not None
        pickle.dump("a cell that never ends", process.stdin)
        process.stdin.close()
        assert process.wait(timeout=60) == 0
    finally:
        process.kill()
        process.wait()


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


def test_a_library_that_no_cell_can_do_without_is_one_sentence(docs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[str] = []

    def lacking(job: Any) -> dict[str, Any]:
        tried.append(job.settings.chunker)
        return {"error": f"MissingExtraError: {MissingExtraError('wordllama', 'pipeline')}"}

    monkeypatch.setattr(module, "cell_of", lacking)
    files, journal = [docs / "leave.md", docs / "travel.md"], docs / "sweep.journal"
    with pytest.raises(SettingsError, match=r"^wordllama is not installed; install it with"):
        sweep_chunks(files, GOLDEN, **GRID, journal=journal)
    assert len(tried) == 1
    assert len(lines_of(journal)) == 1  # its head


def test_what_cannot_be_swept_is_refused(docs: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(DatasetError, match=r"^documents: must hold at least one document with text, got none"):
        sweep_chunks(tmp_path / "empty", GOLDEN, **GRID)
    with pytest.raises(DatasetError, match=r"^golden: must hold at least one question, got none"):
        sweep_chunks(docs, [], **GRID)
    with pytest.raises(DatasetError, match=r"^golden question q: question: must be given"):
        sweep_chunks(docs, [{"id": "q", "expected_evidence": ["28 days"]}], **GRID)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        *(("sizes", value) for value in ([], [0], [-1], ["15"], [1.5], [None], [True], "15", 15, None)),
        *(("overlaps", value) for value in ([], [-1], ["1"], [0.5], 3, None)),
        *(("chunkers", value) for value in ("words", 5, None)),
        *(("k", value) for value in (0, "2", True, 10**20)),
        *(("words", value) for value in (0, "3", None, 10**20)),
        *(("processes", value) for value in (0, "2")),
        *(("journal", value) for value in (5, "a\0b")),
    ],
)
def test_options_that_make_no_sense_are_refused(docs: Path, option: str, value: Any) -> None:
    with pytest.raises(SettingsError, match=f"^{option}: must be"):
        sweep_chunks(docs, GOLDEN, **{**GRID, option: value})


@pytest.mark.parametrize("files", [None, 5, [5]])
def test_files_that_are_no_paths_are_refused(files: Any) -> None:
    with pytest.raises(SettingsError, match=r"^files: must be"):
        sweep_chunks(files, GOLDEN, **GRID)


def test_numbers_of_numpy_are_numbers(docs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_model(monkeypatch)
    swept = sweep_chunks(docs, GOLDEN, **{**GRID, "sizes": np.array([15, 30]), "overlaps": range(0, 6, 5)})
    assert plain(swept) == plain(sweep_chunks(docs, GOLDEN, **GRID))
