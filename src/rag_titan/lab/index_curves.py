"""Recall and latency of an index over its parameter and over corpus sizes: what the parameter buys, and how time grows.

Recall is against exact search, ties by distance being hits. Latency is that of one query at a time, in one thread of
the caller. The sizes are asked in turn, round by round, so that a busy machine slows all of them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag_titan.errors import SettingsError
from rag_titan.evaluation.measures.resampling import interval95
from rag_titan.evaluation.measures.student import t_point
from rag_titan.evaluation.measures.sums import Moments
from rag_titan.lab.exact import check_metric, exact_search, scores
from rag_titan.lab.findings import Finding
from rag_titan.lab.generated import clustered
from rag_titan.lab.index_kind import IndexKind, Search
from rag_titan.lab.indexes import kind_of

Floats = NDArray[np.float64]
Row = Mapping[str, Any]

TIE = 1e-5  # of a score: libraries add in float32, in another order
FLAT, LINEAR = 0.6, 0.8  # slopes of log latency against log N; sqrt(N) lists have 0.5, graphs less
BRUTE = ("exact", "faiss-flat")  # which say so
NEAR_FLAT, BRUTE_FORCE, UNDECIDED = "near flat", "linear: brute force suspected", "undecided"


@dataclass(frozen=True)
class Corpus:
    """n vectors, the queries asked of them, and what exact search finds for these."""

    vectors: NDArray[np.float32]
    queries: NDArray[np.float32]
    kth: Floats
    k: int
    metric: str

    @classmethod
    def of(cls, vectors: NDArray[Any], queries: NDArray[Any], k: int, metric: str) -> Corpus:
        """Searches exactly."""
        found = exact_search(queries, vectors, min(k, len(vectors)), metric)[1]
        return cls(np.asarray(vectors, np.float32), np.asarray(queries, np.float32), found[:, -1], k, metric)

    def recalls(self, found: Any, name: str) -> Floats:
        """(m,) the share of the k nearest that the rows (m, k) hold, a row that ties with the k-th being one of them.

        Raises SettingsError where the search returned no such rows.
        """
        rows = np.asarray(found)
        if rows.ndim != 2 or len(rows) != len(self.queries) or rows.dtype.kind not in "iu":
            rule = f"must return rows as whole numbers (queries, k), got {rows.dtype} of {rows.shape}. Do so."
            raise SettingsError(f"{name}: {rule}")
        rows = np.sort(rows[:, : self.k].astype(np.int64), axis=1)
        fresh = np.diff(rows, axis=1, prepend=-2) != 0
        query, column = np.nonzero(fresh & (rows >= 0) & (rows < len(self.vectors)))
        score = scores(self.queries[query], self.vectors[rows[query, column]], self.metric)
        slack = TIE * np.maximum(np.abs(self.kth[query]), 1.0 if self.metric == "cosine" else 0.0)
        hits = np.bincount(query[score >= self.kth[query] - slack], minlength=len(self.queries))
        width = min(self.k, len(self.vectors))
        return np.minimum(hits, width) / width


@dataclass(frozen=True)
class IndexCurve:
    """Measures an index; see `kind_of` for what `index` may be.

    parameter     what the values are of, for an index of one's own
    values        of the parameter; at: the one in use, whose recall must reach `least_recall`
    rounds        how often every query is asked of every size with every value
    options       how the index is built, as {"M": 16}

    Raises SettingsError for settings that make no sense.
    """

    index: str
    parameter: str | None = None
    values: Sequence[int] | None = None
    at: int | None = None
    k: int = 10
    metric: str = "cosine"
    least_recall: float = 0.95
    rounds: int = 5
    seed: int = 0
    options: Mapping[str, int] | None = None

    def __post_init__(self) -> None:
        check_metric(self.metric)
        for name, value in (("rounds", self.rounds), ("k", self.k)):
            if value < 1:
                raise SettingsError(f"{name}: must be 1 or more, got {value}. Choose another number.")
        kind, chosen = self.kind, self.chosen
        if kind.parameter and chosen == [None]:
            rule = f"must be given for the parameter {kind.parameter} of {kind.name}, got none. Write them as 16,64."
            raise SettingsError(f"values: {rule}")
        if not kind.parameter and chosen != [None]:
            raise SettingsError(f"values: must be left out where {kind.name} has no parameter, got some. Name one.")

    @cached_property
    def kind(self) -> IndexKind:
        """The kind of index."""
        return kind_of(self.index, self.parameter)

    @property
    def chosen(self) -> list[int | None]:
        """The values that are measured; [None] where there is no parameter."""
        given = [*(self.values or self.kind.values), *([] if self.at is None else [self.at])]
        return [*dict.fromkeys(given)] or [None]

    def measure(
        self,
        sizes: Sequence[int] = (10_000, 100_000),
        vectors: NDArray[Any] | None = None,
        queries: NDArray[Any] | None = None,
        dimensions: int = 128,
        asked: int = 200,
        progress: Callable[..., None] | None = None,
    ) -> dict[str, Any]:
        """Recall and latency with corpora of these sizes.

        vectors  (n, dimensions) from which as many are drawn; without them, clustered ones are generated
        queries  (m, dimensions), of which the first `asked` are; without them, rows of the vectors, then not indexed

        Returns {"index", "parameter", "rows": [{"size", "value", "recall", "recall_ci95", "p50_ms", "p95_ms", "qps"}],
        "scaling": [{"value", "slope", "ci95", "last_slope", "verdict"}], "findings", ...}; see `verdict`. Raises
        SettingsError where there are too few vectors, MissingExtraError where the library is not installed.
        """
        _check_counts(sizes, asked)
        drawn = [_drawn(vectors, queries, size, asked, dimensions, self.seed) for size in sorted(set(sizes))]
        corpora = [Corpus.of(rows, asks, self.k, self.metric) for rows, asks in drawn]
        searches, seconds = zip(*(self._built(corpus) for corpus in corpora), strict=True)
        timed = _timed(searches, corpora, self._params, self.rounds, progress)
        rows = [
            {"size": len(corpus.vectors), "value": value, **_row(self._recall(search, corpus, v), timed[:, s, v])}
            for s, (search, corpus) in enumerate(zip(searches, corpora, strict=True))
            for v, value in enumerate(self.chosen)
        ]
        scaling = [{"value": value, **_slope(timed[:, :, v], corpora)} for v, value in enumerate(self.chosen)]
        return {
            "index": self.index, "parameter": self.kind.parameter or None, "metric": self.metric, "k": self.k,
            "dimensions": corpora[0].vectors.shape[1], "queries": len(corpora[0].queries), "rounds": self.rounds,
            "generated": vectors is None, "build_seconds": list(seconds), "rows": rows, "scaling": scaling,
            "findings": [one.as_dict() for one in self._findings(rows, scaling)],
        }  # fmt: skip

    @property
    def _params(self) -> list[dict[str, int]]:
        return [{} if value is None else {self.kind.parameter: value} for value in self.chosen]

    def _built(self, corpus: Corpus) -> tuple[Search, float]:
        start = time.perf_counter()
        search = self.kind.build(corpus.vectors, self.metric, {**self.kind.options, **(self.options or {})})
        return search, time.perf_counter() - start

    def _recall(self, search: Search, corpus: Corpus, v: int) -> Floats:
        return corpus.recalls(search(corpus.queries, corpus.k, **self._params[v]), self.index)

    def _findings(self, rows: Sequence[Row], scaling: Sequence[Row]) -> list[Finding]:
        sizes = dict.fromkeys(row["size"] for row in rows)
        found = [one for size in sizes if (one := self._low_recall([row for row in rows if row["size"] == size]))]
        grown = [one for one in scaling if one["verdict"] == BRUTE_FORCE]
        if grown and self.kind.name not in BRUTE:
            low, high = grown[-1]["ci95"]
            slope = f"{grown[-1]['slope']:.2f} [{low:.2f}, {high:.2f}]"
            text = f"time grows as N to the power of {slope}: brute force suspected"
            advice = "Check that the index is built and used: a filter, a missing index or a flat one scans everything."
            found.append(Finding("brute_force", text, advice, None, len(sizes)))
        return found

    def _low_recall(self, rows: Sequence[Row]) -> Finding | None:
        """Of the rows of one size: the value in use, or all of them, have too low a recall."""
        least, size, parameter = self.least_recall, rows[0]["size"], self.kind.parameter
        enough = next((row for row in rows if row["recall"] >= least), None)
        used = enough if self.at is None else next(row for row in rows if row["value"] == self.at)
        if used is not None and used["recall"] >= least:
            return None
        used = used or max(rows, key=lambda row: float(row["recall"]))
        named = f" at {parameter} {used['value']}" if parameter else ""
        low, high = used["recall_ci95"] or (used["recall"], used["recall"])
        text = f"recall{named} is {used['recall']:.3f} [{low:.3f}, {high:.3f}] with {size:,} vectors, below {least:g}"
        advice = "No value that was tried reaches it: build the index with more links or lists, or try greater values."
        if enough is not None:
            advice = f"Set {parameter} to {enough['value']}, where recall is {enough['recall']:.3f}."
        return Finding("low_recall", text, advice, None, size)


def _check_counts(sizes: Sequence[int], asked: int) -> None:
    for name, value in (("asked", asked), *(("sizes", size) for size in sizes)):
        if value < 1:
            raise SettingsError(f"{name}: must be 1 or more, got {value}. Choose another number.")
    if not sizes:
        raise SettingsError("sizes: must name one corpus size or more, got none. Write them as 10000,100000.")


def _drawn(
    vectors: NDArray[Any] | None, queries: NDArray[Any] | None, size: int, asked: int, d: int, seed: int
) -> tuple[NDArray[Any], NDArray[Any]]:
    if vectors is None:
        return clustered(size, d, asked, seed)
    order = np.random.default_rng(seed).permutation(len(vectors))
    held = order[:0] if queries is not None else order[:asked]
    rest = order[len(held) :]
    if size > len(rest):
        rule = f"must be at most {len(rest):,}, which the given vectors leave beside the queries, got {size:,}"
        raise SettingsError(f"sizes: {rule}. Choose smaller ones.")
    return vectors[np.sort(rest[:size])], vectors[held] if queries is None else queries[:asked]


def _timed(
    searches: Sequence[Search],
    corpora: Sequence[Corpus],
    params: Sequence[Mapping[str, int]],
    rounds: int,
    progress: Callable[..., None] | None,
) -> Floats:
    """(rounds, sizes, values, m) milliseconds of one query; a round before them warms up and is not counted."""
    m = len(corpora[0].queries)
    times = np.empty((rounds + 1, len(searches), len(params), m))
    for turn in range(rounds + 1):
        for s, (search, corpus) in enumerate(zip(searches, corpora, strict=True)):
            for v, values in enumerate(params):
                times[turn, s, v] = _asked(search, corpus, values)
        if progress is not None:
            progress(turn, rounds)
    return times[1:]


def _asked(search: Search, corpus: Corpus, values: Mapping[str, int]) -> Floats:
    """(m,) milliseconds."""
    stamps = np.empty((len(corpus.queries), 2), dtype=np.int64)
    for i in range(len(corpus.queries)):
        query = corpus.queries[i : i + 1]
        stamps[i, 0] = time.perf_counter_ns()
        search(query, corpus.k, **values)
        stamps[i, 1] = time.perf_counter_ns()
    return (stamps[:, 1] - stamps[:, 0]) / 1e6


def _row(recall: Floats, times: Floats) -> dict[str, Any]:
    return {
        "recall": float(recall.mean()),
        "recall_ci95": interval95(Moments.of(recall), 0.0, 1.0, recall),
        "p50_ms": float(np.median(times)),
        "p95_ms": float(np.quantile(times, 0.95)),
        "qps": 1000 * times.size / float(times.sum()) if times.any() else None,  # the clock is too coarse
    }


def _slope(times: Floats, corpora: Sequence[Corpus]) -> dict[str, Any]:
    """How log p50 grows with log N; `times` (rounds, sizes, m)."""
    nothing = {"slope": None, "ci95": None, "last_slope": None, "verdict": None}
    middles = np.median(times, axis=2)
    if len(corpora) < 2 or len(times) < 2 or not middles.all():
        return nothing
    x = np.log([len(corpus.vectors) for corpus in corpora])
    y = np.log(middles)
    spread = x - x.mean()
    slopes = (y * spread).sum(axis=1) / (spread**2).sum()
    last = (y[:, -1] - y[:, -2]) / (x[-1] - x[-2])
    reach = t_point(len(slopes) - 1) * float(slopes.std(ddof=1)) / len(slopes) ** 0.5
    slope = float(slopes.mean())
    return {
        "slope": slope, "ci95": [slope - reach, slope + reach], "last_slope": float(last.mean()),
        "verdict": verdict(slope - reach, slope + reach),
    }  # fmt: skip


def verdict(low: float, high: float) -> str:
    """What the interval of the slope of log p50 against log N says, which is Student's over the rounds.

    "near flat" where all of it is below 0.6, "linear: brute force suspected" where all is above 0.8, else "undecided".

    >>> verdict(0.1, 0.3), verdict(0.9, 1.1), verdict(0.3, 0.9)
    ('near flat', 'linear: brute force suspected', 'undecided')
    """
    if high < FLAT:
        return NEAR_FLAT
    return BRUTE_FORCE if low > LINEAR else UNDECIDED
