"""The journal of a run that asks an app: a line for each question, so that a killed run loses only what was running."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from msgspec import DecodeError, Struct
from msgspec.json import decode, encode

from rag_titan.errors import DatasetError, SettingsError
from rag_titan.evaluation.data.notices import Notices
from rag_titan.evaluation.writing import PathLike, write

_KIND = "rag-titan collect 1"
_START = encode({"journal": _KIND})[:-1]
_TORN = "the journal's last line was cut off and is dropped; its question is asked again."
_FAILED = "the earlier run had other settings ({ids}); all its questions had failed and are asked again."
_BROKEN = "lines of the journal that cannot be read are dropped, and their questions asked again: {ids}."


class Entry(Struct, forbid_unknown_fields=True):
    """What came of one question.

    question  as it was asked; an entry is of no use once the golden question of that id reads otherwise
    outputs   keys of a query record; `error` among them where it failed
    """

    id: str
    question: str
    outputs: dict[str, Any]


class _Head(Struct, forbid_unknown_fields=True):
    journal: str
    run: dict[str, str]


class Journal:
    """A file to which entries are appended, each flushed to the system before the next question is asked.

    entries  {question id: the latest entry}, those of earlier runs
    notices  what could not be read of earlier runs

    Another run that has the file open, a file that is no journal, and one of a run with other settings (`run`, of which
    only hashes are kept, since an address may hold a password) are refused: SettingsError. Where all questions of such
    a run failed, it is forgotten instead: nothing is lost, and settings are often corrected after a first try.
    """

    def __init__(self, path: PathLike, run: Mapping[str, str], *, fresh: bool = False) -> None:
        self.path = Path(path)
        self.entries: dict[str, Entry] = {}
        self.notices = Notices()
        self._run = {name: sha256(text.encode("utf-8", "replace")).hexdigest()[:16] for name, text in run.items()}
        self._file = self._opened()
        try:
            self._lock()
            self._file.seek(0)
            data = self._file.read()
            if data and not data.startswith(_START[: len(data)]):
                rule = "must be the journal of an earlier run, got another file. Choose another output."
                raise SettingsError(f"{self.path}: {rule}")
            if fresh:
                self._file.truncate(0)
            self._continue(b"" if fresh else data)
        except BaseException:
            self._file.close()
            raise

    def add(self, entry: Entry) -> None:
        """Append an entry."""
        self._file.write(encode(entry) + b"\n")
        self._file.flush()
        self.entries[entry.id] = entry

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _opened(self) -> IO[bytes]:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            if self.path.exists() and not self.path.is_file():
                raise OSError("it is no ordinary file")
            return self.path.open("ab+")
        except OSError as error:
            reason = error.strerror or str(error)
            rule = f"must be a file that can be written ({reason}). Choose another output."
            raise SettingsError(f"{self.path}: {rule}") from None

    def _lock(self) -> None:
        """Keep other runs out for as long as the file is open, where the system can."""
        with suppress(ImportError):
            import fcntl  # not on Windows

            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                rule = "must be written by one run at a time, got another that still writes it. Wait for its end."
                raise SettingsError(f"{self.path}: {rule}") from None

    def _continue(self, data: bytes) -> None:
        """Read what is there, and make the file end with a whole line."""
        lines = data.split(b"\n")
        torn = lines.pop()
        if torn and _entry(torn) is not None:  # only its line end is missing
            self._write(b"\n")
            lines.append(torn)
        elif torn:
            self._file.truncate(len(data) - len(torn))
            if lines:
                self.notices.add(_TORN)
        if not lines:
            self._write(encode(_Head(_KIND, self._run)) + b"\n")
            return
        other = self._changed_settings(lines[0])
        for number, line in enumerate(lines[1:], 2):
            entry = _entry(line)
            if entry is None:
                self.notices.add(_BROKEN, [f"line {number}"])
            else:
                self.entries[entry.id] = entry
        if other:
            self._begin_again(other)

    def _begin_again(self, other: Sequence[str]) -> None:
        """Forget a run with other settings of which nothing came; refuse to do so with any other."""
        if not self.entries or not all("error" in entry.outputs for entry in self.entries.values()):
            rule = f"must be continued with the settings of its first run, got another {' and another '.join(other)}"
            advice = "Take those, choose another output, or ask everything anew with --fresh (fresh=True)."
            raise SettingsError(f"{self.path}: {rule}. {advice}")
        self.notices.add(_FAILED, other)
        self.entries = {}
        self._file.truncate(0)
        self._write(encode(_Head(_KIND, self._run)) + b"\n")

    def _write(self, data: bytes) -> None:
        self._file.seek(0, os.SEEK_END)
        self._file.write(data)
        self._file.flush()

    def _changed_settings(self, line: bytes) -> list[str]:
        """The names of the settings that the run of this first line had otherwise."""
        try:
            head = decode(line, type=_Head)
        except DecodeError:
            raise DatasetError(
                str(self.path), "must begin with the line that a run writes there, got a broken one. Remove the file."
            ) from None
        return sorted(name for name in {*head.run, *self._run} if head.run.get(name) != self._run.get(name))


def set_aside(journal: Path, others: Iterable[Path], count: int) -> list[Path]:
    """Copy an earlier run of more than `count` questions, its journal and other files, to names that are free.

    Returns the copies; none where there is no such run.
    """
    if not journal.is_file() or len(_ids(journal.read_bytes())) <= count:
        return []
    files = [path for path in (*others, journal) if path.is_file()]
    for number in itertools.count(1):
        copies = [path.with_name(f"{path.name}.before{number if number > 1 else ''}") for path in files]
        if not any(copy.exists() for copy in copies):
            break
    for path, copy in zip(files, copies, strict=True):
        write(copy, path.read_bytes())
    return copies


def _ids(data: bytes) -> set[str]:
    """The questions of a journal."""
    return {entry.id for line in data.split(b"\n") if (entry := _entry(line)) is not None}


def _entry(line: bytes) -> Entry | None:
    try:
        return decode(line, type=Entry)
    except (DecodeError, RecursionError):
        return None
