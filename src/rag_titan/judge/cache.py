"""What a judge answered, by a hash of all that it was sent: a run that was killed makes no call twice."""

from __future__ import annotations

import hashlib
import sqlite3
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

from msgspec import DecodeError
from msgspec.json import Decoder, encode

from rag_titan.errors import SettingsError
from rag_titan.judge.server import Heard

_KIND = 0x72746A31  # "rtj1", in the head of the file
_ANSWER = Decoder(Heard)
_BROKEN = (sqlite3.Error, UnicodeDecodeError)  # the latter where the words of an error are broken, too


class CacheError(Exception):
    """The file cannot be read or written any more; the text says what and why."""


class AnswerCache:
    """A file of answers, or none at all (`path` None). Threads share it; so may processes.

    Nothing in the file can be read by who does not have what was sent: its key is a hash of the request, and the answer
    is masked with another hash of it. The hash of a short or a well-known request gives that away, as hashes do.

    only_read  nothing is added, and no file is made

    An answer is on its way to the disk before it is counted. Raises SettingsError for a file that is something else.
    """

    def __init__(self, path: str | Path | None, *, only_read: bool = False) -> None:
        self._lock = threading.Lock()
        self._only_read = only_read
        absent = path is None or (only_read and not Path(path).exists())
        self._file = None if path is None or absent else _opened(Path(path), only_read=only_read)

    def get(self, request: bytes) -> Heard | None:
        """The answer; None where there is none. Raises CacheError."""
        if self._file is None:
            return None
        row = self._done("read", "SELECT answer FROM answers WHERE key = ?", _key(request))
        if row is None or not isinstance(row[0], bytes):
            return None
        try:
            return _ANSWER.decode(_masked(row[0], request))
        except DecodeError:
            return None

    def put(self, request: bytes, heard: Heard) -> None:
        """Keep an answer. Raises CacheError."""
        if self._file is not None and not self._only_read:
            answer = _masked(encode(heard), request)
            self._done("written", "INSERT OR REPLACE INTO answers (key, answer) VALUES (?, ?)", _key(request), answer)

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            with self._lock:
                self._file.close()

    def _done(self, what: str, statement: str, *values: bytes) -> Any:
        """The first row of what a statement gives."""
        assert self._file is not None
        try:
            with self._lock:
                return self._file.execute(statement, values).fetchone()
        except _BROKEN as error:
            raise CacheError(f"the cache cannot be {what} ({error})") from None


def _opened(path: Path, *, only_read: bool) -> sqlite3.Connection:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        name = f"{path.absolute().as_uri()}?mode={'ro' if only_read else 'rwc'}"
        # autocommit: each answer is a transaction of its own
        file = sqlite3.connect(name, uri=True, timeout=30.0, isolation_level=None, check_same_thread=False)
    except (OSError, sqlite3.Error) as error:
        raise SettingsError(
            f"cache: must be a file that can be written, got {path} ({error}). Choose another."
        ) from None
    try:
        kind = file.execute("PRAGMA application_id").fetchone()[0]
        if kind != _KIND and file.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            raise sqlite3.DatabaseError("it is another database")
        if not only_read:
            _prepare(file)
        file.execute("SELECT key, answer FROM answers LIMIT 1").fetchall()
    except _BROKEN as error:
        with suppress(sqlite3.Error):
            file.close()
        raise SettingsError(f"cache: must be a cache of answers, got {path} ({error}). Choose another file.") from None
    return file


def _prepare(file: sqlite3.Connection) -> None:
    file.execute("PRAGMA journal_mode = WAL")
    file.execute("PRAGMA synchronous = NORMAL")  # a crash of the machine may lose the latest, a kill loses nothing
    file.execute(f"PRAGMA application_id = {_KIND}")
    file.execute("CREATE TABLE IF NOT EXISTS answers (key BLOB PRIMARY KEY, answer BLOB NOT NULL) WITHOUT ROWID")


def _key(request: bytes) -> bytes:
    return hashlib.sha256(b"key\0" + request).digest()


def _masked(data: bytes, request: bytes) -> bytes:
    mask = hashlib.shake_256(b"mask\0" + request).digest(len(data))
    return (int.from_bytes(data) ^ int.from_bytes(mask)).to_bytes(len(data))
