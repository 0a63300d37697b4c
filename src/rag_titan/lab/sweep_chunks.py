"""Which chunk size, and how much overlap: every pair of them on the golden questions, judged by tokens."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from hashlib import sha256
from itertools import product
from pathlib import Path
from typing import Any

from rag_titan.errors import DatasetError, MissingExtraError, SettingsError
from rag_titan.evaluation import read_golden
from rag_titan.evaluation.limits import checked_path, listed
from rag_titan.evaluation.parallel import processors
from rag_titan.evaluation.preparation.journal import Entry, Journal
from rag_titan.evaluation.writing import PathLike
from rag_titan.lab.cell_processes import in_processes
from rag_titan.lab.chunk_grid import Cell, ChunkSweep
from rag_titan.lab.options import whole_numbers
from rag_titan.lab.sweep_worker import CellJob, cell_of, is_whole
from rag_titan.pipeline.comparing import WORDS
from rag_titan.pipeline.loading.load import load_documents
from rag_titan.pipeline.parts import Document
from rag_titan.pipeline.settings import Settings

Progress = Callable[[int, int, str], None]
MOST = 1_000_000_000  # chunks, or words, that are looked at
_BROKEN = "lines of the journal that cannot be read are dropped, and their cells measured again."
_LACKS = f"{MissingExtraError.__name__}: "
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

    Raises DatasetError without documents, golden questions or quotes in them, SettingsError for options, for another's
    journal, and where the settings need a library that is not installed.
    """
    base = Settings.of(settings).but(reranker="none")
    looked_at = _up_to("k", base.k if k is None else k), _up_to("words", words)
    grid, left_out = _grid(base, sizes, overlaps, chunkers)
    asked, (documents, said) = _asked(golden), _documents(files, golden)
    jobs = {_name(one): CellJob(documents, golden, one, *looked_at) for one in grid}
    with _Kept(journal, _run(documents, asked, base, looked_at), fresh, {query.id for query in asked}) as kept:
        kept.measure(jobs, processors(processes), progress)
    return ChunkSweep(kept.cells(grid), *looked_at, len(asked), len(documents), said + left_out, kept.notices)


def _up_to(name: str, value: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MOST:
        got = value if not isinstance(value, int) or abs(value) <= MOST**2 else "one of too many digits"
        raise SettingsError(f"{name}: must be a whole number from 1 to {MOST:,}, got {got!r}.")
    return value


def _asked(golden: Any) -> Sequence[Any]:
    """The golden questions, before hours are spent on them."""
    asked = read_golden(golden)
    if not asked:
        raise DatasetError("golden", "must hold at least one question, got none. Write some.")
    for query in asked:
        if not (query.question or "").strip():
            rule = "must be given, so that it can be asked, got none. Write it, or take the record out."
            raise DatasetError(f"golden question {query.id}: question", rule)
    if not any(query.expected_evidence for query in asked):
        rule = "must have expected_evidence for some question, the quotes that answer it, got none. Write some."
        raise DatasetError("golden", rule)
    return asked


def _grid(
    base: Settings, sizes: Iterable[int], overlaps: Iterable[int], chunkers: Iterable[str]
) -> tuple[list[Settings], list[str]]:
    """The settings of each cell, and what was left out."""
    cutters = listed(chunkers, "chunkers", "chunkers") or [base.chunker]
    axes = (cutters, whole_numbers("sizes", sizes, 1), whole_numbers("overlaps", overlaps, 0))
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
    if isinstance(files, Sequence) and files and all(isinstance(file, Document) for file in files):
        documents, warnings = list(files), []
    else:
        loading = load_documents(files, golden=golden)
        documents, warnings = loading.documents, list(loading.warnings)
    if not any(document.text.strip() for document in documents):
        reason = f" ({warnings[0]})" if warnings else ""
        raise DatasetError("documents", f"must hold at least one document with text, got none{reason}.")
    return documents, warnings


def _run(
    documents: Sequence[Document], asked: Sequence[Any], base: Settings, looked_at: tuple[int, int]
) -> dict[str, str]:
    """What all cells have in common, as the journal wants it: of another, no cell may be taken over."""
    labels = [[query.id, query.question, str(query.expected_evidence), str(query.answerable)] for query in asked]
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


class _Kept:
    """The cells that are done, in memory and in the journal.

    notices  what could not be read of an earlier run
    """

    def __init__(self, path: PathLike | None, run: Mapping[str, str], fresh: bool, ids: Set[str]) -> None:
        self._journal = None if path is None else Journal(checked_path(path, "journal"), run, fresh=fresh)
        entries = {} if self._journal is None else self._journal.entries
        whole = {name: is_whole(entry.outputs, ids) for name, entry in entries.items()}
        self.done = {name: entries[name].outputs for name in entries if whole[name]}
        broken = [name for name in entries if not whole[name] and "error" not in entries[name].outputs]
        torn = self._journal is not None and bool(self._journal.notices.texts())
        self.notices = [f"{path}: {_BROKEN}"] if torn or broken else []

    def measure(self, jobs: Mapping[str, CellJob], processes: int, progress: Progress | None) -> None:
        """Do what is not done yet."""
        todo = {name: job for name, job in jobs.items() if name not in self.done}
        for done, (name, cell) in enumerate(_cells(todo, processes), len(jobs) - len(todo) + 1):
            if (error := str(cell.get("error", ""))).startswith(_LACKS):  # it would be that of every cell
                raise SettingsError(error.removeprefix(_LACKS))
            self.done[name] = cell
            if self._journal is not None:
                self._journal.add(Entry(name, "", cell))
            if progress is not None:
                progress(done, len(jobs), name)

    def cells(self, grid: Iterable[Settings]) -> list[Cell]:
        """What was measured, in the order of the grid."""
        return [Cell.of(one.chunker, one.chunk_size, one.chunk_overlap, self.done[_name(one)]) for one in grid]

    def __enter__(self) -> _Kept:
        return self

    def __exit__(self, *_: object) -> None:
        if self._journal is not None:
            self._journal.close()
