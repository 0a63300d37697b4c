"""Exact top 10 beside the flat index of faiss: the same vectors, one run, turn and turn about.

    OMP_NUM_THREADS=1 uv run --extra faiss python benchmarks/exact_search.py [--vectors 200000] [--queries 2000]

faiss as it is installed may choose slow kernels on a processor that its OpenBLAS does not know; OPENBLAS_CORETYPE says
which (Haswell for AVX2), so this program sets it to Haswell where it is not set, and both sides get it. Printed are the
medians over the rounds of the time and of the CPU time of all threads, and whether both found the same: a row that only
one names must tie with the tenth. Both answer all queries at once.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from typing import Any

os.environ.setdefault("OPENBLAS_CORETYPE", "Haswell")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from rag_titan.lab import exact_search

TIE = 1e-5


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("vectors", 200_000), ("queries", 2000), ("dimensions", 384), ("rounds", 5)):
        parser.add_argument(f"--{name}", type=int, default=default)
    chosen = parser.parse_args()
    rng = np.random.default_rng(0)
    vectors, queries = (_unit(rng, n, chosen.dimensions) for n in (chosen.vectors, chosen.queries))
    sides: dict[str, Callable[[], Any]] = {"rag-titan": lambda: exact_search(queries, vectors, 10, "dot")}
    try:
        import faiss
    except ImportError:
        print("faiss is not installed; this side alone.")
    else:
        index = faiss.IndexFlatIP(chosen.dimensions)
        index.add(vectors)
        sides["faiss"] = lambda: index.search(queries, 10)[::-1]
    print({name: os.environ[name] for name in ("OPENBLAS_CORETYPE", "OMP_NUM_THREADS")})
    measured = _measured(sides, chosen.rounds)
    for name, (wall, cpu, _) in measured.items():
        print(f"{name:<10} {wall:7.2f} s   {cpu:7.2f} s CPU")
    if "faiss" in measured:
        ours, theirs = measured["rag-titan"], measured["faiss"]
        print(f"ratio      {ours[0] / theirs[0]:7.2f}     {ours[1] / theirs[1]:7.2f} CPU")
        print("the same rows, or ties:", _same(ours[2], theirs[2], queries, vectors))


def _unit(rng: np.random.Generator, n: int, d: int) -> Any:
    rows = rng.standard_normal((n, d), dtype=np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def _measured(sides: dict[str, Callable[[], Any]], rounds: int) -> dict[str, tuple[float, float, Any]]:
    """Of each side the median time, the median CPU time and what it found, in rounds of one after the other."""
    walls: dict[str, list[float]] = {name: [] for name in sides}
    cpus: dict[str, list[float]] = {name: [] for name in sides}
    found = {}
    for _ in range(rounds):
        for name, search in sides.items():
            cpu, wall = time.process_time(), time.perf_counter()
            found[name] = search()
            walls[name].append(time.perf_counter() - wall)
            cpus[name].append(time.process_time() - cpu)
    return {name: (float(np.median(walls[name])), float(np.median(cpus[name])), found[name]) for name in sides}


def _same(ours: Any, theirs: Any, queries: Any, vectors: Any) -> bool:
    rows, scores = np.asarray(theirs[1] if theirs[0].dtype.kind == "f" else theirs[0]), ours[1]
    named = (queries[:, np.newaxis] * vectors[rows]).sum(axis=2)
    return bool((named >= scores[:, -1:] - TIE).all() and (np.sort(rows) == np.sort(ours[0])).mean() > 0.999)


if __name__ == "__main__":
    main()
