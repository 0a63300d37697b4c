"""Many jobs on few threads, which can be stopped at any moment."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

_LOOK = 0.1  # seconds between two looks at the clock and at progress

Job = Callable[[], None]


class Stop(threading.Event):
    """Set when nothing more is to be asked; `why` says so."""

    why = "stopped"

    def because(self, why: str) -> None:
        """Stop; the first reason counts."""
        if not self.is_set():
            self.why = why
        self.set()


def run(
    jobs: Iterator[Job],
    threads: int,
    stop: Stop,
    wake: Callable[[], None],
    look: Callable[[], None],
) -> None:
    """Do all jobs, at most so many at a time; each is drawn when a thread is free.

    stop  the jobs end early by themselves once it is set; those that are left are drawn all the same
    wake  ends the waits of jobs that run; called again and again while a stopped run comes to its end
    look  called now and then in the thread of the caller; it may stop the run

    The first exception of a job stops the run and is raised here, once all threads have ended. KeyboardInterrupt stops
    it, too.
    """
    workers = _Workers(jobs, threads, stop, wake)
    try:
        while not workers.ended():
            look()
    except BaseException:
        stop.set()
        while not workers.ended():
            pass
        raise
    look()
    if workers.failures:
        raise workers.failures[0]


class _Workers:
    """The threads. `failures` are the exceptions that ended some of them."""

    def __init__(self, jobs: Iterator[Job], threads: int, stop: Stop, wake: Callable[[], None]) -> None:
        self._jobs, self._stop, self._wake = jobs, stop, wake
        self._lock, self._left = threading.Lock(), threading.Semaphore(0)
        self._running = threads
        self.failures: list[BaseException] = []
        for _ in range(threads):
            threading.Thread(target=self._work, name="rag-titan judge", daemon=True).start()

    def ended(self) -> bool:
        """True once all have; waits for a moment, and wakes them where the run is stopped."""
        if self._stop.is_set():
            self._wake()
        self._running -= self._left.acquire(timeout=_LOOK)
        return not self._running

    def _work(self) -> None:
        try:
            while not self.failures and (job := self._next()) is not None:
                job()
        except BaseException as error:
            self.failures.append(error)
            self._stop.set()
        finally:
            self._left.release()

    def _next(self) -> Job | None:
        with self._lock:
            return next(self._jobs, None)
