"""rag-titan index: documents are cut into chunks and put, with their vectors, into one file."""

from __future__ import annotations

import json
import shlex
import signal
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Protocol, runtime_checkable

import typer

from rag_titan.cli.dataset_folder import check_folder
from rag_titan.cli.outcome import FINE, UNMEASURED
from rag_titan.cli.outputs import check_writable
from rag_titan.cli.pipeline_options import ConfigFile, Sets, StoreFile, settings_with_store
from rag_titan.cli.terminal import complain, counted, escaped, progress, say
from rag_titan.errors import SettingsError

if TYPE_CHECKING:
    from rag_titan.pipeline.indexing import Indexed
    from rag_titan.pipeline.loading.load import Loading
    from rag_titan.pipeline.parts import Chunk, Store
    from rag_titan.pipeline.titan import RAGTitan

Files = Annotated[
    list[Path],
    typer.Argument(metavar="FILE|FOLDER...", readable=False, help="PDF, Word, Markdown, HTML and text."),
]


Prune = Annotated[
    bool, typer.Option("--prune", help="Take documents out of the index whose files are gone from the folders given.")
]
Output = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER", readable=False,
        help="Also write chunks.jsonl and documents.jsonl of the whole index, as build and evaluate read them.",
    ),
]  # fmt: skip
STOPPED = 128 + signal.SIGINT
MOST_NAMED = 20


def index(
    files: Files, prune: Prune = False, store: StoreFile = None, output: Output = None, sets: Sets = None,
    config: ConfigFile = None,
) -> None:  # fmt: skip
    """Cut documents into chunks, and put these into a file that `rag-titan ask` searches.

    The same command takes in what changed since, and names what is gone; what
    is in the file already is not embedded again. A run that is stopped leaves
    each document as it was or as it is now.

    Exit codes: 0 fine, 2 bad input, 3 nothing was indexed.
    """
    settings = settings_with_store(sets or (), config, store)
    _check_places(Path(settings.store), output, files)
    from rag_titan.pipeline.loading.load import load_documents

    is_new = not Path(settings.store).exists()
    loading = load_documents(files)
    if is_new and not any(document.text.strip() for document in loading.documents):  # no file for nothing
        say(_not_read(loading))
        complain("nothing was indexed.")
        raise typer.Exit(UNMEASURED)
    from rag_titan.pipeline.titan import RAGTitan

    titan = RAGTitan(settings=settings)
    try:
        absent = _gone(titan.store, loading, files, prune)
        done = _indexed(titan, loading)
        if isinstance(titan.store, Remembering):
            titan.store.remember(loading.paths)
        chunks = titan.store.chunks()
        written = [] if output is None else _written(output, chunks, loading)
        say([*_not_read(loading), *_lines(settings.store, done, chunks, _told(absent, prune), written)])
    finally:
        _leave_no_empty_file(titan.store, Path(settings.store), is_new)
    is_fine = bool(done.chunks or (absent and prune))
    if not is_fine:
        complain("nothing was indexed.")
    raise typer.Exit(FINE if is_fine else UNMEASURED)


def _indexed(titan: RAGTitan, loading: Loading) -> Indexed:
    """Puts the documents into the store. Who stops it is told how far it came."""
    from rag_titan.pipeline.indexing import index_documents

    through = 0
    with progress("documents") as counter:

        def count(done: int) -> None:
            nonlocal through
            through = done
            if counter is not None:
                counter(done, len(loading.documents))

        try:
            return index_documents(loading.documents, titan.chunker, titan.embedder, titan.store, count)
        except KeyboardInterrupt:
            pass
    said = f"stopped: {through:,} of {counted(len(loading.documents), 'document')} are done and stay in the index"
    complain(f"{said}. The same command goes on from there.")
    raise typer.Exit(STOPPED)


def _gone(store: Store, loading: Loading, files: Sequence[Path], prune: bool) -> list[str]:
    """The indexed documents whose files are gone; with `prune` they are taken out."""
    from rag_titan.pipeline.indexing import gone, remove

    if not isinstance(store, Remembering):
        return []
    absent = gone({**store.paths(), **loading.paths}, files)
    if prune:
        remove(absent, store)
    return absent


def _written(output: Path, chunks: Sequence[Chunk], loading: Loading) -> list[Path]:
    """The chunks of the whole index and the texts in which they stand, as the files of a dataset."""
    from rag_titan.evaluation.writing import write
    from rag_titan.pipeline.titan import put_together

    texts = {**put_together(chunks), **loading.texts()}
    tables: dict[str, Iterable[dict[str, Any]]] = {
        "chunks": (chunk.record() for chunk in chunks),
        "documents": ({"id": name, "text": text} for name, text in texts.items()),
    }
    files = []
    for name, records in tables.items():
        files.append(output / f"{name}.jsonl")
        write(files[-1], "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records))
    return files


def _leave_no_empty_file(store: Store, file: Path, is_new: bool) -> None:
    """Takes away what this run made if there is nothing in it."""
    if is_new and not store.size() and isinstance(store, Remembering):
        store.close()
        file.unlink(missing_ok=True)


@runtime_checkable
class Remembering(Protocol):
    """A store in a file, which knows where its documents came from."""

    def remember(self, paths: Mapping[str, str]) -> None:
        """{document id: absolute path}."""

    def paths(self) -> dict[str, str]:
        """{document id: absolute path}."""

    def close(self) -> None:
        """Close the file."""


def _check_places(store: Path, output: Path | None, files: Sequence[Path]) -> None:
    """Raises SettingsError where a document would be written over, or where something cannot be written."""
    if output is not None:
        check_folder(output, [("the document", file) for file in files])
        check_writable("--output", output, "folder")
    if store.is_dir() or not store.absolute().parent.is_dir():
        got = "a folder" if store.is_dir() else f"no folder {store.parent}"
        raise SettingsError(f"--store: {store}: must be a file in a folder that is there, got {got}.")
    if any(store.resolve() == file.resolve() for file in files):
        raise SettingsError(f"--store: must not be a document, got {store} as both. Choose another name.")


def _not_read(loading: Loading) -> Iterator[str]:
    yield from (f"Warning: {escaped(warning)}" for warning in loading.warnings)
    yield from (f"Note: {escaped(note)}" for note in loading.notes())


def _told(absent: Sequence[str], pruned: bool) -> Iterator[str]:
    if absent:
        more = f" and {len(absent) - MOST_NAMED:,} more" if len(absent) > MOST_NAMED else ""
        names = f"{', '.join(map(escaped, absent[:MOST_NAMED]))}{more}"
        yield f"Removed: {names}" if pruned else f"Gone, but still in the index: {names}. --prune takes them out."


def _lines(
    store: str, done: Indexed, chunks: Sequence[Chunk], told: Iterable[str], written: Sequence[Path]
) -> Iterator[str]:
    yield f"Documents: {done.documents:,}, of which {done.unchanged:,} unchanged | Chunks: {done.chunks:,}"
    others = len({chunk.doc_id for chunk in chunks}), len(chunks)
    if others[1] > done.chunks:
        yield f"With those of earlier runs: {counted(others[0], 'document')}, {counted(others[1], 'chunk')}"
    yield from told
    yield f"Index: {escaped(store)}"
    if written:
        yield f"Written: {', '.join(escaped(file) for file in written)}"
    if chunks:
        yield f'Next: rag-titan ask "..." --store {escaped(shlex.quote(store))}'
