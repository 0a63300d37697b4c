"""The documents behind an app's chunks, and where in them a chunk stands."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from rag_titan.errors import SettingsError
from rag_titan.pipeline.adapters.passages import Passage, is_list, passage_of
from rag_titan.pipeline.loading.load import load_documents


@dataclass(frozen=True)
class Source:
    """A document.

    names  what a chunk may call it
    page   the one that it is, where a file was loaded page by page
    """

    id: str
    text: str
    names: frozenset[str]
    page: str | None = None


@dataclass(frozen=True)
class Sources:
    """All documents of an app.

    folders   the folders that were indexed; names of files are taken relative to them
    warnings  what could not be loaded
    """

    all: Sequence[Source]
    folders: Sequence[Path] = ()
    warnings: Sequence[str] = field(default_factory=list)

    @classmethod
    def of(cls, documents: Any, files: Any) -> Sources:
        """From {id: text}, a list of the framework's documents, or None: then the files are loaded.

        Raises SettingsError where there is neither.
        """
        paths = _paths(files)
        folders = [Path(os.path.abspath(path)) for path in paths if path.is_dir()]
        if isinstance(documents, Mapping):
            return cls([Source(str(name), text, frozenset([str(name)])) for name, text in documents.items()], folders)
        if is_list(documents):
            return cls(_named([passage_of(document) for document in documents], folders), folders)
        if documents is not None or not paths:
            rule = "must be {id: text}, a list of documents, or left out where `files` has the paths to load them from"
            got = "neither" if documents is None else type(documents).__name__
            raise SettingsError(f"documents: {rule}, got {got}.")
        loading = load_documents(paths)
        named = [Source(document.id, document.text, frozenset([document.id])) for document in loading.documents]
        return cls(named, folders, list(loading.warnings))

    def texts(self) -> dict[str, str]:
        """{id: text}"""
        return {source.id: source.text for source in self.all}

    def place(self, passage: Passage) -> dict[str, Any]:
        """The `doc_id` of a chunk, and its `start` and `end` if the document has its text there; nothing that is not
        sure, as the evaluation looks for the text then."""
        candidates = self._candidates(passage)
        if passage.start is not None and passage.start >= 0 and passage.text is not None:
            end = passage.start + len(passage.text)
            right = [source for source in candidates if source.text[passage.start : end] == passage.text]
            if len(right) == 1:
                return {"doc_id": right[0].id, "start": passage.start, "end": end}
        return {"doc_id": candidates[0].id} if len(candidates) == 1 else {}

    def _candidates(self, passage: Passage) -> list[Source]:
        if passage.parent is not None and passage.parent in self._by_name:
            return self._by_name[passage.parent]
        if passage.file is None:
            return []
        below = _below(passage.file, self.folders)
        found = self._by_name.get(below) or self._by_name.get(passage.file) or self._by_last.get(_last(below), [])
        return [source for source in found if source.page == passage.page] or found

    @cached_property
    def _by_name(self) -> dict[str, list[Source]]:
        return _grouped((name, source) for source in self.all for name in source.names)

    @cached_property
    def _by_last(self) -> dict[str, list[Source]]:
        return _grouped((name, source) for source in self.all for name in {_last(name) for name in source.names})


def _named(passages: Sequence[Passage], folders: Sequence[Path]) -> list[Source]:
    """The loaded documents of a framework, each with an id of its own: its file's name, with the page if there are
    several of one file."""
    bases = [_base(passage, number, folders) for number, passage in enumerate(passages, 1)]
    shared, taken = Counter(bases), set[str]()
    sources = []
    for number, (passage, base) in enumerate(zip(passages, bases, strict=True), 1):
        name = f"{base}#p{passage.page}" if shared[base] > 1 and passage.page is not None else base
        if name in taken:
            name = f"{name}#{number}"
        taken.add(name)
        names = {name, base, *(given for given in (passage.id, passage.file) if given is not None)}
        sources.append(Source(name, passage.text or "", frozenset(names), passage.page))
    return sources


def _base(passage: Passage, number: int, folders: Sequence[Path]) -> str:
    if passage.file is not None:
        return _below(passage.file, folders)
    return passage.id or f"document_{number}"


def _grouped(pairs: Iterable[tuple[str, Source]]) -> dict[str, list[Source]]:
    found: dict[str, list[Source]] = {}
    for name, source in pairs:
        found.setdefault(name, []).append(source)
    return found


def _last(name: str) -> str:
    """The last part of a path, of this or another system."""
    return name.replace("\\", "/").rpartition("/")[2]


def _below(file: str, folders: Sequence[Path]) -> str:
    """The name of a file in the folder that was indexed, as the loaders of this package would call it."""
    path = Path(os.path.abspath(file))
    for folder in folders:
        if path.is_relative_to(folder):
            return path.relative_to(folder).as_posix()
    return file


def _paths(files: Any) -> list[Path]:
    given: Iterable[Any] = [files] if isinstance(files, str | Path) else files if is_list(files) else ()
    return [Path(path) for path in given if isinstance(path, str | Path)]
