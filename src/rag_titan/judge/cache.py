"""What a judge answered, by a hash of all that it was sent: a run that was killed makes no call twice."""

from __future__ import annotations

import hashlib
import sqlite3
import threading
from contextlib import suppress
from pathlib import Path

from msgspec import DecodeError
from msgspec.json import Decoder, encode

from rag_titan.errors import SettingsError
from rag_titan.judge.server import Heard

_KIND = 0x72746A31  # "rtj1", in the head of the file
_ANSWER = Decoder(Heard)


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
        self._file = None if path is None or absent else _opened(Path(path))

    def get(self, request: bytes) -> Heard | None:
        """The answer; None where there is none."""
        if self._file is None:
            return None
        with self._lock:
            row = self._file.execute("SELECT answer FROM answers WHERE key = ?", (_key(request),)).fetchone()
        if row is None:
            return None
        try:
            return _ANSWER.decode(_masked(row[0], request))
        except DecodeError:
            return None

    def put(self, request: bytes, heard: Heard) -> None:
        """Keep an answer."""
        if self._file is None or self._only_read:
            return
        row = _key(request), _masked(encode(heard), request)
        with self._lock:
            self._file.execute("INSERT OR REPLACE INTO answers VALUES (?, ?)", row)

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            with self._lock:
                self._file.close()


def _opened(path: Path) -> sqlite3.Connection:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # autocommit: each answer is a transaction of its own
        file = sqlite3.connect(path, timeout=30.0, isolation_level=None, check_same_thread=False)
    except (OSError, sqlite3.Error) as error:
        raise SettingsError(
            f"cache: must be a file that can be written, got {path} ({error}). Choose another."
        ) from None
    try:
        kind = file.execute("PRAGMA application_id").fetchone()[0]
        if kind != _KIND and file.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            raise sqlite3.DatabaseError("it is another database")
        file.execute("PRAGMA journal_mode = WAL")
        file.execute("PRAGMA synchronous = NORMAL")  # a crash of the machine may lose the latest, a kill loses nothing
        file.execute(f"PRAGMA application_id = {_KIND}")
        file.execute("CREATE TABLE IF NOT EXISTS answers (key BLOB PRIMARY KEY, answer BLOB NOT NULL) WITHOUT ROWID")
    except sqlite3.Error as error:
        with suppress(sqlite3.Error):
            file.close()
        raise SettingsError(f"cache: must be a cache of answers, got {path} ({error}). Choose another file.") from None
    return file


def _key(request: bytes) -> bytes:
    return hashlib.sha256(b"key\0" + request).digest()


def _masked(data: bytes, request: bytes) -> bytes:
    mask = hashlib.shake_256(b"mask\0" + request).digest(len(data))
    return (int.from_bytes(data) ^ int.from_bytes(mask)).to_bytes(len(data))
