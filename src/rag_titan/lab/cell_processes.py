"""The cells of a sweep, measured by several processes, each of which loads the embedder once."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from rag_titan.lab.sweep_worker import CellJob

_ROOT = str(Path(__file__).parents[2])
_RUN = "import sys; sys.path.append(sys.argv[1]); from rag_titan.lab.sweep_worker import work; work()"
_DIED = "its process came to no end, as when memory runs out; run it again with fewer processes"


def in_processes(jobs: Mapping[str, CellJob], count: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each cell as soon as it is done, by `count` processes.

    A cell whose process dies has an "error"; the process is started anew for the next.
    """
    idle: SimpleQueue[_Process] = SimpleQueue()
    processes = [_Process() for _ in range(count)]
    for process in processes:
        idle.put(process)

    def measured(job: CellJob) -> dict[str, Any]:
        process = idle.get()
        try:
            return process.measured(job)
        finally:
            idle.put(process)

    pool = ThreadPoolExecutor(count)
    try:
        running = {pool.submit(measured, job): name for name, job in jobs.items()}
        for future in as_completed(running):
            yield running[future], future.result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        for process in processes:
            process.stop()


class _Process:
    """A fresh Python that measures one cell after another.

    A fork could take over locks that threads of the caller hold, and `multiprocessing` would run the caller's script
    once more.
    """

    def __init__(self) -> None:
        self._running: subprocess.Popen[bytes] | None = None
        self._stopped = False

    def measured(self, job: CellJob) -> dict[str, Any]:
        """What `sweep_worker.cell_of` says of the job."""
        try:
            process = self._running = self._running or self._started()
            assert process.stdin is not None  # both are pipes, see `_started`
            assert process.stdout is not None
            pickle.dump(job, process.stdin)
            process.stdin.flush()
            cell: dict[str, Any] = pickle.load(process.stdout)
        except (OSError, EOFError, ValueError, pickle.UnpicklingError):
            self._end()
            return {"error": _DIED}
        return cell

    def stop(self) -> None:
        """Let go of the process, whatever it does."""
        self._stopped = True
        self._end()

    def _started(self) -> subprocess.Popen[bytes]:
        if self._stopped:
            raise OSError("no more cells are wanted")
        command = [sys.executable, "-P", "-c", _RUN, _ROOT]
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

    def _end(self) -> None:
        process, self._running = self._running, None
        if process is None:
            return
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()
