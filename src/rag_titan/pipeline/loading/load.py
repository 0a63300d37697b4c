"""Files and folders -> documents; what cannot be read is named, and stops nothing else."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rag_titan.errors import DatasetError, MissingExtraError, SettingsError
from rag_titan.pipeline.loading.html import html_document
from rag_titan.pipeline.loading.kinds import (
    HTML,
    MARKDOWN,
    PDF,
    SUFFIXES,
    TEXT,
    WORD,
    kind_of,
    suffix_of,
    wrongly_named,
)
from rag_titan.pipeline.loading.markdown import markdown_document
from rag_titan.pipeline.loading.pdf import pdf_document
from rag_titan.pipeline.loading.text import text_document
from rag_titan.pipeline.loading.word import word_document
from rag_titan.pipeline.parts import Document

MOST_BYTES = 1 << 29
_MOST_NAMED = 20
_LEADS_OUT = "must be in the folder, got a link that leads out of it. Give what it leads to by its own path."
_HIDDEN = (".", "~$")  # "~$report.docx" says that Word has report.docx open
_LOADERS: dict[str, Callable[[str, bytes], Document]] = {
    PDF: pdf_document,
    WORD: word_document,
    HTML: html_document,
    MARKDOWN: markdown_document,
    TEXT: text_document,
}


@dataclass
class Loading:
    """What was loaded.

    documents  those that could be opened, be it without a text in them, as a scanned PDF
    warnings   what could not be read, a sentence each that begins with the file; those of the documents are among them
    paths      {id: absolute path} of the documents
    left_out   text in folders whose name is that of data or code: golden questions, settings, programs
    """

    documents: list[Document] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    paths: dict[str, str] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)

    def add(self, path: Path, document: Document | None, name: str) -> None:
        """Take in what a file held: a document, or what is left out."""
        if document is None:
            self.left_out.append(name)
            return
        self.documents.append(document)
        self.paths[document.id] = os.path.abspath(path)
        self.warnings += document.warnings

    def notes(self) -> list[str]:
        """What was left out, in a sentence, or nothing."""
        more = f" and {len(self.left_out) - _MOST_NAMED:,} more" if len(self.left_out) > _MOST_NAMED else ""
        names = f"{', '.join(self.left_out[:_MOST_NAMED])}{more}"
        said = "files of the folder that are no documents by their names were left out"
        return [f"{said}: {names}. Give a file itself to have it read."] if self.left_out else []

    def texts(self) -> dict[str, str]:
        """{id: text}, as the evaluation takes `documents`."""
        return {document.id: document.text for document in self.documents}

    def records(self, category: str = "suffix") -> list[dict[str, Any]]:
        """Records of id, text and category, as `profile_documents` and `sample_documents` take them.

        category  "suffix": the end of the name ("pdf"); "folder": the folder of the file ("hr/policies"). A document
                  without one has no category

        Raises SettingsError for another category.
        """
        if category not in ("suffix", "folder"):
            raise SettingsError(f"category: must be 'suffix' or 'folder', got {category!r}.")
        records = []
        for document in self.documents:
            found = suffix_of(document.id)[1:] if category == "suffix" else document.id.rpartition("/")[0]
            record = {"id": document.id, "text": document.text}
            records.append(record | {"category": found} if found else record)
        return records


def load_documents(
    paths: str | Path | Iterable[str | Path], root: str | Path | None = None, *, golden: Any = None
) -> Loading:
    """Every document in the files and folders: PDF, Word (.docx), Markdown, HTML and text.

    paths  one or several, read in the order given; what is in a folder is sorted by name, and hidden files in it
           (".name", "~$name") are passed over
    root   the folder that the ids are relative to, above all paths. Without it an id is the path inside the folder that
           was given, or the name of the file that was given; where two would have one id, the later keeps its path
    golden the file of the golden questions, which is no document: every quote would be found in it once more. What is
           no path is no file

    What a file is, its content says, before its name. In folders, text whose name is that of data or code (.json, .py)
    is left out; name the file itself to have it read. A file that is given twice is read once. No file stops the rest:
    what could not be read, or not wholly, is said in the warnings, one sentence each.

    Raises MissingExtraError where a library is absent, and SettingsError for a root that is not above a path and for
    what is no path.

    >>> load_documents("no/such.pdf").warnings
    ['no/such.pdf: must be a file or a folder, got nothing there. Check the path.']
    """
    loading = Loading()
    given = _given(paths)
    own = os.path.realpath(golden) if isinstance(golden, str | os.PathLike) else None
    taken: set[str] = set()
    for file in _unique(_files(given, loading.warnings)):
        if os.path.realpath(file.path) == own:
            loading.warnings += _own_text(golden, file)
            continue
        name = _id_of(file, root, taken)
        taken.add(name)
        try:
            loading.add(file.path, _read(file, name), name)
        except DatasetError as error:
            loading.warnings.append(str(error))
    return loading


def _read(file: _File, name: str) -> Document | None:
    """None where its name is that of data or code, and nobody gave the file itself."""
    data = _content(file.path, name)
    kind = kind_of(name, data)
    if kind == TEXT and not file.is_given and suffix_of(name) not in SUFFIXES:
        return None
    return _document(name, kind, data)


def _own_text(golden: Any, file: _File) -> list[str]:
    """What is said of the golden questions among the documents: nothing where their name is that of data anyway."""
    is_text = file.is_given or suffix_of(file.below) in SUFFIXES
    return [f"{golden}: holds the golden questions, and was not read as a document."] if is_text else []


def load_document(path: str | Path, name: str | None = None) -> Document:
    """One file; text is read whatever its name.

    name  its id; the name of the file unless given

    Raises DatasetError where it cannot be read, and MissingExtraError where a library is absent.
    """
    path = Path(path)
    name = path.name if name is None else name
    data = _content(path, name)
    return _document(name, kind_of(name, data), data)


def _document(name: str, kind: str, data: bytes) -> Document:
    try:
        document = _LOADERS[kind](name, data)
    except (DatasetError, MissingExtraError):
        raise
    except Exception as error:  # the libraries raise whatever a broken file makes them stumble over
        raise _unreadable(name, kind, error) from None
    misnamed = wrongly_named(name, kind)
    return replace(document, warnings=[misnamed, *document.warnings]) if misnamed else document


def _given(paths: Any) -> list[Any]:
    given = [paths] if isinstance(paths, str | os.PathLike) or not isinstance(paths, Iterable) else list(paths)
    for path in given:
        if path == "":  # which would be the current folder
            rule = "must be paths of files or folders, got an empty text"
            raise SettingsError(f"files: {rule}. Write '.' for this folder.")
        if not isinstance(path, str | os.PathLike):
            rule = f"must be paths of files or folders, got {path!r:.80}. Write them as ['docs/', 'leave.pdf']"
            raise SettingsError(f"files: {rule}.")
    return given


@dataclass(frozen=True)
class _File:
    """A file that was found.

    below     where it is in the folder that was given, or its name
    as_given  the path with which it was reached
    is_given  it was given itself, not a folder of it
    """

    path: Path
    below: str
    as_given: str
    is_given: bool


def _files(paths: Iterable[str | Path], warnings: list[str]) -> Iterator[_File]:
    for given in map(Path, paths):
        if given.is_dir():
            for path in _in_folder(given, warnings):
                yield _File(path, path.relative_to(given).as_posix(), path.as_posix(), is_given=False)
        elif given.is_file():
            yield _File(given, given.name, given.as_posix(), is_given=True)
        else:
            got = "a device, a pipe or a socket" if os.path.lexists(given) and given.exists() else "nothing there"
            warnings.append(f"{given}: must be a file or a folder, got {got}. Check the path.")


def _in_folder(folder: Path, warnings: list[str]) -> list[Path]:
    """The files below a folder, sorted by their path; links are followed, none of them twice or out of the folder."""
    files, folders, seen = [], [folder], set()
    whole = Path(os.path.realpath(folder))
    while folders:
        at = folders.pop()
        if (real := os.path.realpath(at)) in seen:
            continue
        seen.add(real)
        try:
            inside = [entry for entry in at.iterdir() if not entry.name.startswith(_HIDDEN)]
        except OSError as error:
            warnings.append(f"{at}: must be readable, got: {error.strerror or error}. Check its permissions.")
            continue
        leading_out = [entry for entry in inside if not Path(os.path.realpath(entry)).is_relative_to(whole)]
        warnings += [f"{entry}: {_LEADS_OUT}" for entry in sorted(leading_out)]
        inside = [entry for entry in inside if entry not in leading_out]
        folders += sorted((entry for entry in inside if entry.is_dir()), reverse=True)
        files += [entry for entry in inside if not entry.is_dir()]
    return sorted(files, key=lambda path: path.relative_to(folder).parts)


def _unique(files: Iterable[_File]) -> Iterator[_File]:
    seen = set()
    for file in files:
        if (real := os.path.realpath(file.path)) not in seen:
            seen.add(real)
            yield file


def _id_of(file: _File, root: str | Path | None, taken: set[str]) -> str:
    absolute = Path(os.path.abspath(file.path))
    if root is not None:
        above = Path(os.path.abspath(root))
        if not absolute.is_relative_to(above):
            raise SettingsError(f"root: must be a folder above {file.as_given}, got {root}. Pass one above all paths.")
        return _writable(absolute.relative_to(above).as_posix())
    names = [_writable(name) for name in (file.below, file.as_given, absolute.as_posix())]
    return next((name for name in names if name not in taken), names[-1])


def _writable(name: str) -> str:
    """A name without the lone surrogates that stand for bytes which are no UTF-8: no JSON file could hold it."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _content(path: Path, name: str) -> bytes:
    try:
        if not path.is_file():
            raise DatasetError(name, "must be a file, got a broken link, a device or nothing there. Leave it out.")
        with path.open("rb") as stream:
            data = stream.read(MOST_BYTES + 1)
    except OSError as error:
        rule = f"must be readable, got: {error.strerror or error}. Check its permissions."
        raise DatasetError(name, rule) from None
    if len(data) > MOST_BYTES:
        raise DatasetError(name, f"must be at most {MOST_BYTES >> 20} MB, got more. Split it.")
    return data


def _unreadable(name: str, kind: str, error: Exception) -> DatasetError:
    said = " ".join(f"{type(error).__name__}: {error}".split())[:200].rstrip(".")
    return DatasetError(name, f"must be {kind} that can be read, got a broken one ({said}). Save it again.")
