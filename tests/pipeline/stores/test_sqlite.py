"""One SQLite file: what is kept, what a killed process leaves, and files that are no store."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.pipeline.small import axes, chunk, ids

from rag_titan.errors import MissingExtraError, SettingsError
from rag_titan.pipeline.stores import sqlite
from rag_titan.pipeline.stores.sqlite import SqliteStore

apsw = pytest.importorskip("apsw")

OLD = [chunk("1", "old leave"), chunk("2", "old hotel")]
NEW = [chunk("1", "new leave"), chunk("3", "new"), chunk("4", "new hotel")]
VECTORS = axes([1, 0], [0, 1], [0.6, 0.8])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    store = SqliteStore(tmp_path / "store.db", "counts")
    store.replace("d", OLD, VECTORS[:2])
    store.close()
    return tmp_path / "store.db"


def test_another_process_finds_what_was_written(path: Path) -> None:
    store = SqliteStore(path, "counts")
    assert list(store.chunks()) == OLD
    assert ids(store.nearest(VECTORS[1], 1)) == ids(store.matching("hotel", 1)) == ["2"]


def test_a_store_is_one_file(path: Path) -> None:
    SqliteStore(path, "counts").replace("d", NEW, VECTORS)
    assert [file.name for file in path.parent.iterdir()] == ["store.db"]


KILLED = """
import os, signal, sys
import numpy as np
from tests.pipeline.stores.test_sqlite import NEW, VECTORS
from rag_titan.pipeline.stores.sqlite import SqliteStore

class Dying(SqliteStore):
    steps = int(sys.argv[2])
    def _rows(self, statement, values=()):
        if statement.startswith(("DELETE", "INSERT", "COMMIT")):
            if self.steps == 0:
                self._connection.cache_flush()  # what it wrote so far is in the file
                os.kill(os.getpid(), signal.SIGKILL)
            self.steps -= 1
        return super()._rows(statement, values)

Dying(sys.argv[1], "counts").replace("d", NEW, VECTORS)
"""


@pytest.mark.parametrize("steps", [0, 1, 4, 9, 10])
def test_a_process_killed_while_it_writes_leaves_what_was_there(path: Path, steps: int) -> None:
    before = path.read_bytes()
    done = subprocess.run([sys.executable, "-c", KILLED, str(path), str(steps)], check=False, timeout=120)
    assert done.returncode == -signal.SIGKILL
    assert path.read_bytes() != before  # what was there is in the journal beside it
    store = SqliteStore(path, "counts")
    assert list(store.chunks()) == OLD
    assert [ids(store.nearest(vector, 1)) for vector in VECTORS[:2]] == [["1"], ["2"]]
    assert (ids(store.matching("old", 3)), ids(store.matching("new", 3))) == (["1", "2"], [])
    store.replace("d", NEW, VECTORS)
    assert list(store.chunks()) == NEW


def test_a_store_of_another_embedder_is_refused_with_the_reason(path: Path) -> None:
    with pytest.raises(SettingsError, match="must be built with the embedder 'other', got one built with 'counts'"):
        SqliteStore(path, "other")


def test_an_emptied_store_takes_another_embedder(path: Path) -> None:
    SqliteStore(path, "counts").replace("d", [], VECTORS[:0])
    SqliteStore(path, "other").replace("d", OLD[:1], axes([1, 0, 0]))
    with pytest.raises(SettingsError, match="got one built with 'other'"):
        SqliteStore(path, "counts")


def test_an_embedder_that_came_second_is_refused_when_it_writes(tmp_path: Path) -> None:
    first, second = (SqliteStore(tmp_path / "store.db", name) for name in ("counts", "other"))
    first.replace("a", [chunk("1", "", "a")], VECTORS[:1])
    with pytest.raises(SettingsError, match="built with 'counts'"):
        second.replace("b", [chunk("2", "", "b")], VECTORS[:1])
    assert len(first.chunks()) == 1


def test_while_one_writes_others_read_what_was_there(path: Path) -> None:
    writer, reader = apsw.Connection(str(path)), SqliteStore(path, "counts")
    writer.execute("BEGIN IMMEDIATE; DELETE FROM chunks")
    assert list(reader.chunks()) == OLD
    assert ids(reader.matching("hotel", 1)) == ["2"]
    writer.close()


def test_a_store_that_stays_locked_is_said(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "_PATIENCE", 0)
    writer, store = apsw.Connection(str(path)), SqliteStore(path, "counts")
    writer.execute("BEGIN EXCLUSIVE")
    with pytest.raises(SettingsError, match=r"must be free, got one that another process writes\. Try again"):
        store.chunks()
    writer.execute("ROLLBACK")
    assert list(store.chunks()) == OLD
    writer.close()


def test_threads_may_share_it(path: Path) -> None:
    store = SqliteStore(path, "counts")
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda number: ids(store.nearest(VECTORS[number % 2], 1)), range(40)))
    assert found == [["1"], ["2"]] * 20


def test_a_file_that_may_only_be_read_is_read(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apsw, "Connection", partial(apsw.Connection, flags=apsw.SQLITE_OPEN_READONLY))
    store = SqliteStore(path, "counts")
    assert list(store.chunks()) == OLD
    with pytest.raises(SettingsError, match="must be a file that can be written"):
        store.replace("d", NEW, VECTORS)


def test_what_is_no_store_is_said(tmp_path: Path) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("not a database at all " * 50, encoding="utf-8")
    with pytest.raises(SettingsError, match=r"notes\.txt: must be an index of rag-titan, got something else"):
        SqliteStore(text, "counts")
    other = tmp_path / "other.db"
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE people (name TEXT)")
    connection.close()
    before = other.read_bytes()
    with pytest.raises(SettingsError, match="got a database of something else"):
        SqliteStore(other, "counts")
    assert other.read_bytes() == before
    for missing in (tmp_path, tmp_path / "no" / "store.db"):
        with pytest.raises(SettingsError, match="must be a path that can be opened"):
            SqliteStore(missing, "counts")


def test_a_name_that_is_no_utf8_is_said_and_not_taken_for_damage(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="must be a path that is UTF-8 text, got other bytes"):
        SqliteStore(tmp_path / "caf\udce9.db", "counts")
    assert not list(tmp_path.iterdir())


def test_a_store_of_another_version_is_said(path: Path) -> None:
    connection = apsw.Connection(str(path))
    connection.execute("PRAGMA user_version = 9")
    connection.close()
    with pytest.raises(SettingsError, match="must be an index of version 1, got version 9"):
        SqliteStore(path, "counts")


def test_an_empty_file_becomes_a_store(tmp_path: Path) -> None:
    (tmp_path / "store.db").touch()
    store = SqliteStore(tmp_path / "store.db", "counts")
    store.replace("d", OLD, VECTORS[:2])
    assert list(store.chunks()) == OLD


@pytest.mark.parametrize("page", range(1, 30, 2))
def test_a_damaged_file_is_one_sentence(path: Path, page: int) -> None:
    data = bytearray(path.read_bytes())
    data[4096 * page : 4096 * (page + 1)] = b"\xa5" * len(data[4096 * page : 4096 * (page + 1)])
    path.write_bytes(data)
    said = []
    for use in (SqliteStore.chunks, lambda s: s.nearest(VECTORS[0], 2), lambda s: s.matching("old", 2)):
        try:
            use(SqliteStore(path, "counts"))
        except SettingsError as error:
            said.append(str(error))
    assert all(text.startswith(f"store: {path}: must be ") for text in said)


def test_a_file_cut_in_two_is_one_sentence(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: 4096 * 3 + 100])
    with pytest.raises(SettingsError, match=r"must be a whole index, got a damaged one"):
        SqliteStore(path, "counts").chunks()


class Interrupted(SqliteStore):
    """Ctrl-C comes right after the statement that begins so, once."""

    after: str | None = None

    def _rows(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        rows = super()._rows(statement, values)
        if self.after is not None and statement.startswith(self.after):
            self.after = None
            raise KeyboardInterrupt
        return rows


@pytest.mark.parametrize("after", ["BEGIN", "DELETE", "INSERT", "COMMIT"])
def test_an_interrupt_at_any_statement_leaves_a_store_that_works(path: Path, after: str) -> None:
    store = Interrupted(path, "counts")
    store.after = after
    with pytest.raises(KeyboardInterrupt):
        store.replace("d", NEW, VECTORS)
    assert list(store.chunks()) == (NEW if after == "COMMIT" else OLD)
    store.replace("d", NEW, VECTORS)
    with ThreadPoolExecutor(1) as others:  # the lock is free again
        assert others.submit(store.size).result(timeout=60) == 3


def test_an_interrupt_of_the_rollback_is_made_good_by_the_next_transaction(path: Path) -> None:
    store = SqliteStore(path, "counts")
    store._connection.execute("BEGIN IMMEDIATE")
    store._connection.execute("DELETE FROM chunks")
    assert list(store.chunks()) == OLD


@pytest.mark.parametrize(
    ("error", "is_damage"),
    [("CorruptError", True), ("FormatError", True), ("SQLError", False), ("IOError", False), ("NoMemError", False),
     ("InterruptError", False), ("MisuseError", False), ("ConstraintError", False)],
)  # fmt: skip
def test_only_a_damaged_file_is_called_damaged(path: Path, error: str, is_damage: bool) -> None:
    store = SqliteStore(path, "counts")
    with pytest.raises(SettingsError, match=f"store: {path}: must be ") as said, store._transaction():
        raise getattr(apsw, error)("it says")
    assert ("Remove it" in str(said.value), "a damaged one" in str(said.value)) == (is_damage, is_damage)
    assert "it says" in str(said.value)


@pytest.mark.parametrize(("module", "named"), [("apsw", "apsw"), ("sqlite_vec", "sqlite-vec")])
def test_without_its_libraries_the_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str, named: str
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=f'{named} is not installed; .*"rag-titan\\[pipeline\\]"'):
        SqliteStore(tmp_path / "a.db", "counts")
