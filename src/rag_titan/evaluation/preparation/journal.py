"""The journal of a run that asks an app: a line for each question, so that a killed run loses only what was running."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from msgspec import DecodeError, Struct
from msgspec.json import decode, encode

from rag_titan.errors import DatasetError, SettingsError
from rag_titan.evaluation.data.notices import Notices
from rag_titan.evaluation.writing import PathLike

_KIND = "rag-titan collect 1"
_START = encode({"journal": _KIND})[:-1]
_TORN = "the journal's last line was cut off and is dropped; its question is asked again."
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
    only hashes are kept, since an address may hold a password) are refused: SettingsError.
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
        self._check_head(lines[0])
        for number, line in enumerate(lines[1:], 2):
            entry = _entry(line)
            if entry is None:
                self.notices.add(_BROKEN, [f"line {number}"])
            else:
                self.entries[entry.id] = entry

    def _write(self, data: bytes) -> None:
        self._file.seek(0, os.SEEK_END)
        self._file.write(data)
        self._file.flush()

    def _check_head(self, line: bytes) -> None:
        try:
            head = decode(line, type=_Head)
        except DecodeError:
            raise DatasetError(
                str(self.path), "must begin with the line that a run writes there, got a broken one. Remove the file."
            ) from None
        other = sorted(name for name in {*head.run, *self._run} if head.run.get(name) != self._run.get(name))
        if other:
            rule = f"must be continued with the settings of its first run, got another {' and another '.join(other)}"
            raise SettingsError(f"{self.path}: {rule}. Take those, choose another output, or begin afresh.")


def _entry(line: bytes) -> Entry | None:
    try:
        return decode(line, type=Entry)
    except (DecodeError, RecursionError):
        return None
