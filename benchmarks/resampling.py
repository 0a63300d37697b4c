"""Times the paired test and the intervals of m metrics on n questions, beside scipy where it is installed.

    uv run --group bench --group oracles python benchmarks/resampling.py [--questions 1000] [--metrics 40] [--alone]

scipy's `permutation_test` (permutation_type="samples") and `bootstrap` get the same differences, all metrics in one
vectorised call; `--alone` leaves them out. Ours is the best of `--rounds`, scipy's is taken once.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from rag_titan.evaluation.measures.resampling import KEPT, interval95, paired
from rag_titan.evaluation.measures.sums import Moments


def seconds(work: Callable[[], Any], rounds: int = 1) -> float:
    """The best of some rounds."""
    best = float("inf")
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return best


def intervals(values: np.ndarray) -> list[list[float] | None]:
    """The interval of each metric, from (n, m) values."""
    return [interval95(Moments.of(column), -1, 1, column) for column in values.T]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--questions", type=int, default=1_000)
    parser.add_argument("--metrics", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--alone", action="store_true")
    given = parser.parse_args()
    differences = np.random.default_rng(1).normal(0.01, 0.3, (given.questions, given.metrics)).clip(-1, 1)
    few = np.ascontiguousarray(differences[:KEPT])
    for resamples in (1_000, 10_000):
        mine = seconds(lambda count=resamples: paired(differences, resamples=count), given.rounds)
        print(f"paired test, {resamples:,} resamples: {mine:.3f} s")
        if not given.alone:
            print(f"    scipy.stats.permutation_test: {_permutation(differences, resamples) / mine:.1f} times ours")
    mine = seconds(lambda: intervals(few), given.rounds)
    print(f"intervals of {given.metrics} metrics from {len(few)} values, 1,999 resamples: {mine:.3f} s")
    if not given.alone:
        print(f"    scipy.stats.bootstrap (BCa): {_bootstrap(few) / mine:.1f} times ours")


def _permutation(differences: np.ndarray, resamples: int) -> float:
    from scipy import stats

    def work() -> None:
        options = {"permutation_type": "samples", "n_resamples": resamples, "vectorized": True, "batch": 100}
        stats.permutation_test((differences,), np.mean, axis=0, **options)

    return seconds(work)


def _bootstrap(values: np.ndarray) -> float:
    from scipy import stats

    return seconds(lambda: stats.bootstrap((values,), np.mean, axis=0, n_resamples=1_999, batch=100))


if __name__ == "__main__":
    main()
