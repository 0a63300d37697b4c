"""Recall and latency of an index over its parameter and over corpus sizes: what the parameter buys, and how time grows.

Recall is against exact search, ties by distance being hits. Latency is that of one query at a time, in one thread of
the caller.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag_titan.errors import SettingsError
from rag_titan.evaluation.measures.resampling import interval95
from rag_titan.evaluation.measures.sums import Moments
from rag_titan.lab.corpus import Corpus, drawn
from rag_titan.lab.exact import check_metric
from rag_titan.lab.findings import Finding
from rag_titan.lab.growth import BRUTE_FORCE, SPAN, TELLING, growth
from rag_titan.lab.index_kind import LARGEST, IndexKind, Search
from rag_titan.lab.index_steps import Progress, Steps
from rag_titan.lab.indexes import kind_of, working
from rag_titan.lab.memory import GIB, free_bytes
from rag_titan.lab.query_times import QueryTimes, measured
from rag_titan.lab.stored import check_width, stored_vectors

Floats = NDArray[np.float64]
Row = Mapping[str, Any]

BRUTE = ("exact", "faiss-flat")  # which say so
BUSY = 2.0  # times what the best calls take
LARGE = 100_000  # vectors, where no size is named
SAME = 0.99  # recall from which all values may find the same because nothing is left to find


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
    rounds: int = 10
    seed: int = 0
    options: Mapping[str, int] | None = None

    def __post_init__(self) -> None:
        check_metric(self.metric)
        kind, chosen = self.kind, self.chosen
        if kind.parameter and chosen == [None]:
            rule = f"must be given for the parameter {kind.parameter} of {kind.name}, got none. Write them as 16,64."
            raise SettingsError(f"values: {rule}")
        if not kind.parameter and chosen != [None]:
            raise SettingsError(f"values: must be left out where {kind.name} has no parameter, got some. Name one.")
        _check_whole(rounds=[self.rounds], k=[self.k])
        _check_whole(least=0, seed=[self.seed])
        if not isinstance(self.least_recall, int | float) or not 0 <= self.least_recall <= 1:
            rule = f"must be a number from 0 to 1, got {self.least_recall!r}. Choose another."
            raise SettingsError(f"least_recall: {rule}")
        kind.built_with(self.options or {})

    @cached_property
    def kind(self) -> IndexKind:
        """The kind of index."""
        return kind_of(self.index, self.parameter)

    @property
    def chosen(self) -> list[int | None]:
        """The values that are measured, each once, in ascending order; [None] where there is no parameter."""
        given = [] if self.values is None else [*self.values]
        values = {*(given or self.kind.values), *([] if self.at is None else [self.at])}
        _check_whole(values=[*values])
        return [*sorted(map(int, values))] or [None]

    def measure(
        self,
        sizes: Sequence[int] | None = None,
        vectors: Any = None,
        queries: Any = None,
        dimensions: int = 128,
        asked: int = 200,
        progress: Progress | None = None,
    ) -> dict[str, Any]:
        """Recall and latency with corpora of these sizes.

        sizes    without them 10,000 and 100,000, or a tenth and all of the vectors that are given where they are fewer
        vectors  (n, dimensions) from which as many are drawn; without them, clustered ones are generated
        queries  (m, dimensions), of which the first `asked` are; without them, rows of the vectors, then not indexed
        progress is called with steps done, steps in all, and what is done now

        Returns {"index", "parameter", "clock", "rows": [{"size", "value", "build_seconds", "recall", "recall_ci95",
        "recall_n", "best_ms", "p50_ms", "p95_ms", "qps"}], "scaling": [{"value", "slope", "ci95", "last_slope",
        "verdict"}], "notes", "findings", ...}; see `growth`. p50, p95 and QPS are of all calls by the clock on the
        wall, `best_ms` is the median of the queries' best rounds by `clock`, which the slope is fitted to. Raises
        SettingsError where there are too few vectors, where memory does not suffice and for what an index of one's own
        does wrong, DatasetError for vectors that are no finite numbers, MissingExtraError without the library.
        """
        _check_whole(asked=[asked], dimensions=[dimensions])
        rows, asks = _matrices(vectors, queries)
        sizes = _usual(rows, asks, asked) if sizes is None else sizes
        _check_whole(sizes=sizes)
        if not len(sizes):
            raise SettingsError("sizes: must name one corpus size or more, got none. Write them as 10000,100000.")
        self.kind.library()
        sizes, width = sorted({int(size) for size in sizes}), dimensions if rows is None else rows.shape[1]
        self._check_memory(sizes, width)
        try:
            return self._measured(sizes, rows, asks, width, asked, progress)
        except MemoryError:
            raise SettingsError(f"sizes: must fit in memory, got {sizes[-1]:,}, which do not. Choose less.") from None

    def _measured(
        self, sizes: Sequence[int], rows: Any, asks: Any, width: int, asked: int, progress: Progress | None
    ) -> dict[str, Any]:
        steps = Steps(progress, 2 * len(sizes) + self.rounds + 1)
        corpora = [self._corpus(steps, rows, asks, size, asked, width) for size in sizes]
        searches, seconds = zip(*(self._built(steps, corpus) for corpus in corpora), strict=True)
        first = steps.done

        def tell(turn: int, doing: str) -> None:
            steps.done = first + 1 + turn
            steps.say(doing)

        times, answers = measured(searches, corpora, self._params, self.rounds, self.index, tell)
        found = [
            [corpus.rows_of(given, self.index) for given in of] for corpus, of in zip(corpora, answers, strict=True)
        ]
        table = [
            {
                "size": len(corpus.vectors),
                "value": value,
                "build_seconds": seconds[s],
                **_row(corpus.recalls(found[s][v]), times, s, v),
            }
            for s, corpus in enumerate(corpora)
            for v, value in enumerate(self.chosen)
        ]
        scaling = [{"value": value, **growth(times.chosen[:, :, v], sizes)} for v, value in enumerate(self.chosen)]
        same = len(self.chosen) > 1 and all((of[0] == one).all() for of in found for one in of)
        return {
            "index": self.index, "parameter": self.kind.parameter or None, "metric": self.metric, "k": self.k,
            "dimensions": width, "queries": len(corpora[0].queries), "rounds": self.rounds, "clock": times.clock,
            "generated": rows is None, "rows": table, "scaling": scaling, "notes": _notes(table, scaling, times),
            "findings": [one.as_dict() for one in self._findings(table, scaling, same)],
        }  # fmt: skip

    @property
    def _params(self) -> list[dict[str, int]]:
        return [{} if value is None else {self.kind.parameter: value} for value in self.chosen]

    def _check_memory(self, sizes: Sequence[int], dimensions: int) -> None:
        """All sizes are held at once, since they are asked in turn."""
        needed = sum(sizes) * self.kind.bytes_each(dimensions, self.kind.built_with(self.options or {}))
        free = free_bytes()
        if free is not None and needed > free:
            total = f"{sum(sizes):,} vectors of {dimensions}, about {needed / GIB:,.1f} GiB with their indexes"
            rule = f"must fit in memory, got {total}, where {free / GIB:,.1f} GiB are free"
            raise SettingsError(f"sizes: {rule}. Choose smaller sizes or fewer dimensions.")

    def _corpus(self, steps: Steps, rows: Any, asks: Any, size: int, asked: int, width: int) -> Corpus:
        steps.begin(f"searches {size:,} vectors exactly")
        return Corpus.of(*drawn(rows, asks, size, asked, width, self.seed), self.k, self.metric)

    def _built(self, steps: Steps, corpus: Corpus) -> tuple[Search, float]:
        n = len(corpus.vectors)
        steps.begin(f"builds {n:,} vectors")
        start = time.perf_counter()
        with working(self.index, f"build an index of {n:,} vectors"):
            options = self.kind.built_with(self.options or {})
            search = self.kind.build(corpus.vectors, self.metric, options, lambda held: steps.added(held, n))
        return search, time.perf_counter() - start

    def _findings(self, rows: Sequence[Row], scaling: Sequence[Row], same: bool) -> list[Finding]:
        sizes = dict.fromkeys(row["size"] for row in rows)
        found = [one for size in sizes if (one := self._low_recall([row for row in rows if row["size"] == size], same))]
        grown = [one for one in scaling if one["verdict"] == BRUTE_FORCE]
        if grown and self.kind.name not in BRUTE:
            low, high = grown[-1]["ci95"]
            slope = f"{grown[-1]['slope']:.2f} [{low:.2f}, {high:.2f}]"
            named = f" at {self.kind.parameter} {grown[-1]['value']}" if self.kind.parameter else ""
            text = f"time grows as N to the power of {slope}{named}: brute force suspected"
            advice = "Check that the index is built and used: a filter, a missing index or a flat one scans everything."
            found.append(Finding("brute_force", text, advice, None, len(sizes)))
        if same and any(row["recall"] is not None and row["recall"] < SAME for row in rows):
            text = f"the same rows were found with {self.kind.parameter} {', '.join(map(str, self.chosen))}"
            advice = "Check that the value reaches the index: that its name is right and that it is passed on."
            found.append(Finding("parameter_without_effect", text, advice, None, len(self.chosen)))
        return found

    def _low_recall(self, rows: Sequence[Row], same: bool) -> Finding | None:
        """Of the rows of one size: the value in use, or all of them, have too low a recall."""
        least, size, parameter = self.least_recall, rows[0]["size"], self.kind.parameter
        rows = [row for row in rows if row["recall"] is not None]
        enough = next((row for row in rows if row["recall"] >= least), None)
        used = enough if self.at is None else next((row for row in rows if row["value"] == self.at), None)
        if not rows or (used is not None and used["recall"] >= least):
            return None
        used = used or max(rows, key=lambda row: float(row["recall"]))
        named = f" at {parameter} {used['value']}" if parameter else ""
        low, high = used["recall_ci95"] or (used["recall"], used["recall"])
        text = f"recall{named} is {used['recall']:.3f} [{low:.3f}, {high:.3f}] with {size:,} vectors, below {least:g}"
        return Finding("low_recall", text, self._advice(enough, same), None, size)

    def _advice(self, enough: Row | None, same: bool) -> str:
        parameter = self.kind.parameter
        if enough is not None:
            return f"Set {parameter} to {enough['value']}, where recall is {enough['recall']:.3f}."
        if not parameter:
            return "It has no parameter that could be raised: look at how the index is built and at its metric."
        if same:
            return f"No {parameter} changed it."
        return "No value that was tried reaches it: build the index with more links or lists, or try greater values."


def _check_whole(least: int = 1, **given: Sequence[Any]) -> None:
    """Raises SettingsError for what is no whole number from `least` on."""
    for name, values in given.items():
        for value in values:
            if isinstance(value, bool) or not isinstance(value, int | np.integer) or not least <= value <= LARGEST:
                rule = f"must be whole numbers from {least} to {LARGEST:,}, got {value!r}"
                raise SettingsError(f"{name}: {rule}. Choose another number.")


def _usual(rows: Any, asks: Any, asked: int) -> list[int]:
    """The sizes where none are named."""
    left = LARGE if rows is None else len(rows) - (min(asked, len(rows)) if asks is None else 0)
    most = max(1, min(LARGE, left))
    return [max(1, most // SPAN), most]


def _notes(rows: Sequence[Row], scaling: Sequence[Row], times: QueryTimes) -> list[str]:
    """What should be known to read the figures."""
    notes, m = [], times.wall.shape[3]
    if times.slowed is not None and times.slowed > BUSY:
        notes.append(
            f"the machine was busy: calls took up to {times.slowed:.1f} times as long as the best ones in the mean; "
            "p50, p95 and QPS are of this load, best ms and growth are nearer to what the index takes alone"
        )
    if scaling[0]["slope"] is not None and scaling[0]["verdict"] is None:
        notes.append(f"no verdict on growth: the largest size must be {SPAN} times the smallest")
    elif scaling[0]["verdict"] is not None and rows[-1]["size"] < TELLING:
        notes.append(
            f"below {TELLING:,} vectors nothing is called near flat: a scan, too, costs hardly more than the call"
        )
    left_out = m - min(row["recall_n"] for row in rows)
    if left_out:
        notes.append(
            f"{left_out:,} of {m:,} queries have no neighbour, being zeros or asked of zeros: not in the recall"
        )
    return notes


def _matrices(vectors: Any, queries: Any) -> tuple[Any, Any]:
    """The rows of the vectors and queries that are given; None for none."""
    if vectors is None and queries is not None:
        raise SettingsError("queries: must come with vectors that they are asked of, got none. Give both, or neither.")
    stored = None if vectors is None else stored_vectors("vectors", vectors)
    asks = None if queries is None else stored_vectors("queries", queries)
    if stored is not None:
        check_width(stored, asks)
    return None if stored is None else stored.rows, None if asks is None else asks.rows


def _row(recall: Floats, times: QueryTimes, s: int, v: int) -> dict[str, Any]:
    recall, wall = recall[~np.isnan(recall)], times.wall[:, s, v]
    return {
        "recall": float(recall.mean()) if len(recall) else None,
        "recall_ci95": interval95(Moments.of(recall), 0.0, 1.0, recall) if len(recall) else None,
        "recall_n": len(recall),
        "best_ms": float(np.median(times.chosen[:, s, v].min(axis=0))),
        "p50_ms": float(np.median(wall)),
        "p95_ms": float(np.quantile(wall, 0.95)),
        "qps": 1000 * wall.size / float(wall.sum()) if wall.any() else None,  # the clock is too coarse
    }
