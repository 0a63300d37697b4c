"""A transaction of SQLite that Ctrl-C cannot leave open."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from types import TracebackType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from threading import RLock


class Transaction:
    """Everything inside happens, or nothing does; one thread at a time.

    connection  of apsw
    run         runs a statement of it
    lock        which the threads of the connection share
    spoken      a context in which an error of SQLite becomes one of ours
    kind        "DEFERRED" or "IMMEDIATE"

    A class, not a generator: an interrupt may come at any line, and where it comes between BEGIN and the first line
    inside, a suspended generator would roll back later, in the middle of another transaction.
    """

    def __init__(
        self,
        connection: Any,
        run: Callable[[str], Any],
        lock: RLock,
        spoken: Callable[[], AbstractContextManager[None]],
        kind: str,
    ) -> None:
        self._connection, self._run, self._lock, self._spoken, self._kind = connection, run, lock, spoken, kind

    def __enter__(self) -> None:
        self._lock.acquire()
        try:
            self._begin()
        except BaseException:
            self._lock.release()
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            with self._spoken():
                self._end(error)
        finally:
            self._lock.release()

    def _begin(self) -> None:
        with self._spoken():
            self._roll_back()  # what an interrupt during an earlier __exit__ left
            try:
                self._run(f"BEGIN {self._kind}")
            except BaseException:
                self._roll_back()
                raise

    def _end(self, error: BaseException | None) -> None:
        try:
            if error is None:
                self._run("COMMIT")
            elif isinstance(error, Exception):
                raise error  # which `spoken` says in words
        finally:
            self._roll_back()

    def _roll_back(self) -> None:
        if self._connection.in_transaction:
            self._run("ROLLBACK")
