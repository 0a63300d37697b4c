"""Which chunk size, and how much overlap: every pair of them on the golden questions, judged by tokens."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from itertools import product
from pathlib import Path
from typing import Any

from rag_titan.errors import DatasetError, SettingsError
from rag_titan.evaluation import read_golden
from rag_titan.evaluation.parallel import processors
from rag_titan.evaluation.preparation.journal import Entry, Journal
from rag_titan.evaluation.writing import PathLike
from rag_titan.lab.cell_processes import in_processes
from rag_titan.lab.chunk_grid import Cell, ChunkSweep
from rag_titan.lab.sweep_worker import CellJob, cell_of
from rag_titan.pipeline.comparing import WORDS
from rag_titan.pipeline.loading.load import load_documents
from rag_titan.pipeline.parts import Document
from rag_titan.pipeline.settings import Settings

Progress = Callable[[int, int, str], None]
_OF_THE_GRID = ("chunker", "chunk_size", "chunk_overlap")


def sweep_chunks(
    files: str | Path | Sequence[str | Path] | Sequence[Document],
    golden: Any,
    *,
    sizes: Iterable[int],
    overlaps: Iterable[int] = (0,),
    chunkers: Iterable[str] = (),
    settings: Mapping[str, Any] | Settings | None = None,
    k: int | None = None,
    words: int = WORDS,
    processes: int | None = None,
    journal: PathLike | None = None,
    fresh: bool = False,
    progress: Progress | None = None,
) -> ChunkSweep:
    """Cut the documents in every way, ask the golden questions each time, and compare what was retrieved.

    files      files or folders, or documents that were loaded
    golden     a golden file, or its records; gold labels must be quotes or spans, since chunk ids change
    sizes      chunk sizes, in the unit of the chunker; see `Settings`
    overlaps   how much of a chunk stands in the one before as well; what is not below a size is left out there
    chunkers   the settings' own unless given
    settings   everything else; the reranker is left out, since only what was retrieved is compared
    k, words   how many chunks are looked at (the settings' own unless given), and how much text for recall in words
    processes  how many cells at a time; as many as there are processors unless given, at most four
    journal    a file that keeps each cell once it is done: a run that was killed goes on there, `fresh` forgets it
    progress   is called with (done, of how many, what is being done)

    Raises DatasetError without documents or golden questions, SettingsError for options and for another's journal.
    """
    base = Settings.of(settings).but(reranker="none")
    looked_at = _from_one("k", base.k if k is None else k), _from_one("words", words)
    grid, left_out = _grid(base, sizes, overlaps, chunkers)
    documents, said = _documents(files, golden)
    jobs = {_name(one): CellJob(documents, golden, one, *looked_at) for one in grid}
    with _Kept(journal, _run(documents, golden, base, looked_at), fresh) as kept:
        kept.measure(jobs, processors(processes), progress)
    cells = [Cell.of(*_place(one), kept.done[_name(one)]) for one in grid]
    return ChunkSweep(cells, *looked_at, len(read_golden(golden)), len(documents), said + kept.warnings + left_out)


def _from_one(name: str, value: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise SettingsError(f"{name}: must be a whole number from 1, got {value!r}.")
    return value


def _grid(
    base: Settings, sizes: Iterable[int], overlaps: Iterable[int], chunkers: Iterable[str]
) -> tuple[list[Settings], list[str]]:
    """The settings of each cell, and what was left out."""
    axes = (list(chunkers) or [base.chunker], list(sizes), list(overlaps))
    for name, values in zip(("chunkers", "sizes", "overlaps"), axes, strict=True):
        if not values:
            raise SettingsError(f"{name}: must be at least one, got none.")
    places = list(dict.fromkeys(product(*axes)))
    fits = [place for place in places if place[2] < place[1]]
    left = [f"{size}/{overlap}" for _, size, overlap in places if overlap >= size]
    if not fits:
        raise SettingsError(
            f"overlaps: must be below some size, got {', '.join(map(str, axes[2]))}. Take smaller ones."
        )
    said = f"left out, since an overlap must be below the size: {', '.join(dict.fromkeys(left))}."
    return [base.but(**dict(zip(_OF_THE_GRID, place, strict=True))) for place in fits], [said] if left else []


def _documents(files: Any, golden: Any) -> tuple[list[Document], list[str]]:
    if not isinstance(files, str | Path) and files and all(isinstance(file, Document) for file in files):
        documents, warnings = list(files), []
    else:
        loading = load_documents(files, golden=golden)
        documents, warnings = loading.documents, list(loading.warnings)
    if not any(document.text.strip() for document in documents):
        reason = f" ({warnings[0]})" if warnings else ""
        raise DatasetError("documents", f"must hold at least one document with text, got none{reason}.")
    return documents, warnings


def _run(documents: Sequence[Document], golden: Any, base: Settings, looked_at: tuple[int, int]) -> dict[str, str]:
    """What all cells have in common, as the journal wants it: of another, no cell may be taken over."""
    labels = [
        [query.id, query.question, str(query.expected_evidence), str(query.answerable)] for query in read_golden(golden)
    ]
    same = {name: value for name, value in base.as_dict().items() if name not in _OF_THE_GRID}
    return {
        "documents": sha256(json.dumps([[one.id, one.text] for one in documents]).encode()).hexdigest(),
        "golden questions": sha256(json.dumps(labels).encode()).hexdigest(),
        "settings": json.dumps(same, sort_keys=True), "k and words": str(looked_at),
    }  # fmt: skip


def _cells(jobs: Mapping[str, CellJob], processes: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each cell as soon as it is done."""
    count = min(processes, len(jobs))
    return in_processes(jobs, count) if count > 1 else ((name, cell_of(job)) for name, job in jobs.items())


def _name(settings: Settings) -> str:
    return f"{settings.chunker} {settings.chunk_size}/{settings.chunk_overlap}"


def _place(settings: Settings) -> tuple[str, int, int]:
    return settings.chunker, settings.chunk_size, settings.chunk_overlap


class _Kept:
    """The cells that are done, in memory and in the journal."""

    def __init__(self, path: PathLike | None, run: Mapping[str, str], fresh: bool) -> None:
        self._journal = None if path is None else Journal(path, run, fresh=fresh)
        entries = {} if self._journal is None else self._journal.entries
        self.done = {name: entry.outputs for name, entry in entries.items() if "error" not in entry.outputs}
        self.warnings = [] if self._journal is None else self._journal.notices.texts()

    def measure(self, jobs: Mapping[str, CellJob], processes: int, progress: Progress | None) -> None:
        """Do what is not done yet."""
        todo = {name: job for name, job in jobs.items() if name not in self.done}
        for done, (name, cell) in enumerate(_cells(todo, processes), len(jobs) - len(todo) + 1):
            self.done[name] = cell
            if self._journal is not None:
                self._journal.add(Entry(name, "", cell))
            if progress is not None:
                progress(done, len(jobs), name)

    def __enter__(self) -> _Kept:
        return self

    def __exit__(self, *_: object) -> None:
        if self._journal is not None:
            self._journal.close()
