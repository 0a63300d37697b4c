"""Documents into a store; what stands there already as it is now is not embedded again."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np

from rag_titan.errors import SettingsError
from rag_titan.pipeline.parts import Chunk, Chunker, Document, Embedder, Store

Progress = Callable[[int], None]
MOST_NAMED = 5  # documents in a sentence


@runtime_checkable
class KnowsChunking(Protocol):
    """A store in a file, which several runs may fill with documents that are cut in different ways."""

    path: str
    chunking: str | None

    def cut(self, doc_ids: Iterable[str]) -> None:
        """Write down that these documents are cut as `chunking` says."""

    def cut_otherwise(self) -> dict[str, str]:
        """{document id: how it is cut} of the documents that are cut in another way."""


@dataclass
class Indexed:
    """What became of some documents.

    documents  how many were looked at
    unchanged  of which the store has the very chunks, so that nothing was embedded; those without text have none
    chunks     how many of these documents the store holds now
    """

    documents: int = 0
    unchanged: int = 0
    chunks: int = 0


def index_documents(
    documents: Sequence[Document], chunker: Chunker, embedder: Embedder, store: Store, progress: Progress | None = None
) -> Indexed:
    """Cut documents into chunks and put these into the store, each document wholly or not at all.

    A document whose chunks are in the store as they would be now is left alone: the store's vectors are those of the
    same embedder, or it would have refused it. `progress` is called with the number of documents that are through.

    Raises SettingsError, before anything is changed, where the store has other documents that are cut in another way:
    ranks of chunks of two sizes cannot be compared.
    """
    if isinstance(store, KnowsChunking):
        _refuse_mixture(documents, store)
    there: dict[str, list[str]] = {}
    for chunk in store.chunks():
        there.setdefault(chunk.doc_id, []).append(_told(chunk))
    done, kept = Indexed(), list[str]()
    for document in documents:
        chunks = chunker.chunks(document)
        if there.get(document.id, []) != [_told(chunk) for chunk in chunks]:
            store.replace(document.id, chunks, embedder.embed([chunk.text for chunk in chunks]))
        elif chunks:  # of a document without text nothing is known from before
            done.unchanged += 1
            kept.append(document.id)
        done.documents += 1
        done.chunks += len(chunks)
        if progress is not None:
            progress(done.documents)
    if isinstance(store, KnowsChunking):
        store.cut(kept)  # a short document is one chunk, however it is cut
    return done


def _refuse_mixture(documents: Iterable[Document], store: KnowsChunking) -> None:
    others = store.cut_otherwise()
    for document in documents:
        others.pop(document.id, None)
    if not others:
        return
    more = f" and {len(others) - MOST_NAMED:,} more" if len(others) > MOST_NAMED else ""
    got = f"{' and '.join(sorted(set(others.values())))} in {', '.join([*others][:MOST_NAMED])}{more}"
    rule = f"must be cut in one way, got {store.chunking} beside {got}"
    do = "Set that chunking, index these documents again as well, or choose another store"
    raise SettingsError(f"store: {store.path}: {rule}. {do}; rag-titan index --prune takes out those that are gone.")


def gone(paths: Mapping[str, str], given: Sequence[str | Path]) -> list[str]:
    """Which indexed documents came from these files or folders and are no longer there.

    paths  {document id: the absolute path that it came from}
    given  the files and folders; of a folder that is not there itself nothing is said

    >>> gone({"a.md": "/no/such/a.md"}, ["/no/such"])
    []
    """
    folders = [os.path.join(os.path.abspath(path), "") for path in given if os.path.isdir(path)]
    files = {os.path.abspath(path) for path in given if os.path.isdir(os.path.dirname(os.path.abspath(path)))}
    return [
        name
        for name, path in paths.items()
        if not os.path.lexists(path) and (path in files or path.startswith(tuple(folders)))
    ]


def remove(documents: Iterable[str], store: Store) -> None:
    """Take documents out of a store."""
    for name in documents:
        store.replace(name, [], np.empty((0, 0), dtype=np.float32))


def _told(chunk: Chunk) -> str:
    """All that is known of a chunk as text, however the store wrote it down."""
    return json.dumps(chunk.record(), sort_keys=True)
