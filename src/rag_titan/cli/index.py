"""rag-titan index: documents are cut into chunks and put, with their vectors, into one file."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rag_titan.cli.outcome import FINE, UNMEASURED
from rag_titan.cli.pipeline_options import ConfigFile, Sets, StoreFile, settings_with_store
from rag_titan.cli.terminal import complain, escaped, progress, say
from rag_titan.errors import SettingsError

if TYPE_CHECKING:
    from rag_titan.pipeline.indexing import Indexed
    from rag_titan.pipeline.parts import Chunk

Files = Annotated[
    list[Path],
    typer.Argument(metavar="FILE|FOLDER...", readable=False, help="PDF, Word, Markdown, HTML and text."),
]


def index(files: Files, store: StoreFile = None, sets: Sets = None, config: ConfigFile = None) -> None:
    """Cut documents into chunks, and put these into a file that `rag-titan ask` searches.

    The same command takes in what changed since; what is in the file already is not embedded again. A run that is
    stopped leaves each document as it was or as it is now. Exit codes: 0 fine, 2 bad input, 3 nothing was indexed.
    """
    settings = settings_with_store(sets or (), config, store)
    _check_store(Path(settings.store), files)
    from rag_titan.pipeline.indexing import index_documents
    from rag_titan.pipeline.loading.load import load_documents
    from rag_titan.pipeline.titan import RAGTitan

    titan = RAGTitan(settings=settings)
    loading = load_documents(files)
    with progress("documents") as counter:
        done = index_documents(loading.documents, titan.chunker, titan.embedder, titan.store, counter)
    say(_lines(settings.store, done, loading.warnings, titan.store.chunks()))
    if not done.chunks:
        complain("nothing was indexed.")
    raise typer.Exit(FINE if done.chunks else UNMEASURED)


def _check_store(store: Path, files: Sequence[Path]) -> None:
    """Raises SettingsError where the index would be a document, or where the folder for it is not there."""
    if store.is_dir() or not store.absolute().parent.is_dir():
        got = "a folder" if store.is_dir() else f"no folder {store.parent}"
        raise SettingsError(f"--store: {store}: must be a file in a folder that is there, got {got}.")
    if any(store.resolve() == file.resolve() for file in files):
        raise SettingsError(f"--store: must not be a document, got {store} as both. Choose another name.")


def _lines(store: str, done: Indexed, warnings: Sequence[str], chunks: Sequence[Chunk]) -> Iterator[str]:
    yield from (f"Warning: {escaped(warning)}" for warning in warnings)
    yield f"Documents: {done.documents:,}, of which {done.unchanged:,} unchanged | Chunks: {done.chunks:,}"
    others = len({chunk.doc_id for chunk in chunks}), len(chunks)
    if others[1] > done.chunks:
        yield f"With those of earlier runs: {others[0]:,} documents, {others[1]:,} chunks"
    yield f"Index: {escaped(store)}"
    if done.chunks:
        yield f'Next: rag-titan ask "..." --store {escaped(shlex.quote(store))}'
