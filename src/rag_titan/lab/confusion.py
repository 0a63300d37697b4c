"""The confusion matrix of retrieval: each chunk of the corpus is retrieved or not, and relevant or not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from operator import index
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag_titan.errors import DatasetError, SettingsError
from rag_titan.evaluation import Conventions, Kind, Metric, RAGEvaluator, Stage
from rag_titan.lab.estimates import Data, Estimate, Floats, inputs_of, mean_of

_COUNT = Kind("not scored (a count)", None, None, 0, float("inf"))
_LABELS = ("retrieved_ids|retrieved_texts", "relevance|expected_chunk_ids")
COUNTS = ("tp", "fp", "fn", "tn")
LARGEST = 10**15  # chunks of a corpus
RATES = ("precision", "recall", "f1")

Counts = NDArray[np.int64]


@dataclass(frozen=True)
class ConfusionMatrix:
    """The four counts of n questions, and what follows from them.

    ids          of the questions that have gold chunks and a ranking
    tp, fp, fn   (n,) retrieved and relevant; retrieved, not relevant; relevant, not retrieved
    tn           (n,) neither; None where nobody knows how many chunks the corpus has
    k            the cut-off
    corpus_size  how many chunks there are, None where it is not known
    unmeasured   how many further questions lack gold chunks or a ranking

    Accuracy is no property of it: nearly all chunks are true negatives, so that a search which returns nothing would
    have 0.9999 of 1.
    """

    ids: list[str]
    tp: Counts
    fp: Counts
    fn: Counts
    k: int
    corpus_size: int | None
    unmeasured: int = 0

    @property
    def tn(self) -> Counts | None:
        """(n,) what is neither retrieved nor relevant."""
        return None if self.corpus_size is None else self.corpus_size - self.tp - self.fp - self.fn

    @property
    def precision(self) -> Floats:
        """(n,) TP / (TP + FP), 0..1: of what was returned, not of K; NaN where nothing was."""
        return _share(self.tp, self.tp + self.fp)

    @property
    def recall(self) -> Floats:
        """(n,) TP / (TP + FN), 0..1."""
        return _share(self.tp, self.tp + self.fn)

    @property
    def f1(self) -> Floats:
        """(n,) 2 TP / (2 TP + FP + FN), 0..1: the harmonic mean of the two, and 0 where nothing was returned."""
        return _share(2 * self.tp, 2 * self.tp + self.fp + self.fn)

    def pooled(self) -> dict[str, float | int | None]:
        """The counts of all questions added up, and the rates of the sums: a question with many chunks weighs more."""
        tp, fp, fn = (int(counts.sum()) for counts in (self.tp, self.fp, self.fn))
        tn = None if self.tn is None else sum(self.tn.tolist())  # more than int64 holds, in a large index
        return {
            "tp": tp, "fp": fp, "fn": fn, "tn": tn, "precision": _ratio(tp, tp + fp), "recall": _ratio(tp, tp + fn),
            "f1": _ratio(2 * tp, 2 * tp + fp + fn),
        }  # fmt: skip

    def means(self) -> dict[str, Estimate]:
        """The mean of each rate over the questions: every question weighs the same."""
        return {name: mean_of(getattr(self, name)) for name in RATES}

    def as_dict(self) -> dict[str, Any]:
        """Plain values; None where a rate is 0/0 or the corpus size is not known."""
        rows = [
            {"id": name, **{key: _plain(getattr(self, key), i) for key in (*COUNTS, *RATES)}}
            for i, name in enumerate(self.ids)
        ]
        return {
            "k": self.k, "corpus_size": self.corpus_size, "questions": len(self.ids), "unmeasured": self.unmeasured,
            "pooled": self.pooled(), "means": {name: one.as_dict() for name, one in self.means().items()},
            "per_query": rows,
        }  # fmt: skip


def confusion_matrix(
    data: Data,
    *,
    k: int = 5,
    corpus_size: int | None = None,
    conventions: str | Mapping[str, Any] | Conventions | None = None,
) -> ConfusionMatrix:
    """The confusion matrix of the first `k` chunks (whitepaper, section 3).

    data         a path of a dataset, or the inputs of `RAGEvaluator.evaluate`
    corpus_size  how many chunks could have been retrieved; the number of `chunks` in the data unless given

    A repeated id counts once, and what is relevant is as the conventions say. Raises SettingsError for a corpus smaller
    than what was retrieved and what is relevant together, DatasetError where no question has both.

    >>> one = {"id": "q", "expected_chunk_ids": ["a", "b"], "retrieved_ids": ["a", "x", "a"]}
    >>> matrix = confusion_matrix({"queries": [one]}, k=5, corpus_size=10)
    >>> [int(counts[0]) for counts in (matrix.tp, matrix.fp, matrix.fn, matrix.tn)]
    [1, 1, 1, 7]
    >>> float(matrix.precision[0])  # of the two that were returned, not of K
    0.5
    """
    given = inputs_of(data)
    seen: set[str] = set()
    evaluator = RAGEvaluator(k=k, stages=["retrieval"], metrics=_rows(seen), conventions=conventions)
    report = evaluator.evaluate(**given)
    rows = (report["retrieval"] or {}).get("per_query", [])
    measured = [row for row in rows if row["tp"] is not None]
    if not measured:
        rule = "must have retrieved_ids and expected_chunk_ids (or relevance) for some question, got none with both."
        raise DatasetError("queries", rule)
    tp, fp, fn = (np.array([round(row[key]) for row in measured], dtype=np.int64) for key in ("tp", "fp", "fn"))
    needed = int((tp + fp + fn).max()), len(seen)
    size = _corpus_size(corpus_size, report["meta"]["counts"]["chunks"], *needed)
    unmeasured = report["meta"]["counts"]["queries"] - len(measured)
    return ConfusionMatrix([row["id"] for row in measured], tp, fp, fn, evaluator.k, size, unmeasured)


def _rows(seen: set[str]) -> tuple[Metric, ...]:
    """The counts as metrics, so that duplicates, grades and ids mean what they mean for all others.

    seen  is filled with the ids that were retrieved
    """

    def row(key: str, formula: str, compute: Any) -> Metric:
        return Metric(key, Stage.RETRIEVAL, key.upper(), formula, "A count.", _COUNT, "query", _LABELS, compute)

    def tp(inputs: Any) -> Floats:
        hits: Floats = inputs.labelled(inputs.hits.sum(axis=1).astype(np.float64))
        return hits

    def fp(inputs: Any) -> Floats:
        ranked = inputs.table.ranked("retrieved", inputs.k)
        seen.update(*ranked)
        returned = [len(ids) for ids in ranked]
        return np.asarray(np.array(returned, dtype=np.float64) - tp(inputs), dtype=np.float64)

    def fn(inputs: Any) -> Floats:
        return np.asarray(inputs.table.relevant - tp(inputs), dtype=np.float64)

    return (
        row("tp", "#relevant in the top K", tp),
        row("fp", "#others in the top K", fp),
        row("fn", "#relevant not in the top K", fn),
    )


def _corpus_size(given: int | None, chunks: int, of_one: int, of_all: int) -> int | None:
    """Of one question so many chunks are retrieved and relevant, of all together so many were retrieved."""
    if given is None and not chunks:
        return None
    name, advice = (
        "the chunks of the data" if given is None else "corpus_size",
        "Give the number of chunks in the index.",
    )
    try:
        size = chunks if given is None else index(given)
    except TypeError:
        size = 0
    if isinstance(given, bool) or not size:
        raise SettingsError(f"{name}: must be a whole number from 1, got {given!r}. {advice}")
    if size < of_one:
        rule = f"must be at least {of_one}, as many as one question has retrieved and relevant chunks"
        raise SettingsError(f"{name}: {rule}, got {size:,}. {advice}")
    if given is not None and size < of_all:
        rule = f"must be at least {of_all:,}, as many chunks as were retrieved for all questions"
        raise SettingsError(f"{name}: {rule}, got {size:,}. {advice}")
    if size > LARGEST:
        raise SettingsError(f"{name}: must be at most {LARGEST:,}, got a larger number. {advice}")
    return size


def _share(part: Counts, whole: Counts) -> Floats:
    share = np.full(len(part), np.nan)
    np.divide(part, whole, out=share, where=whole > 0)
    return share


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _plain(values: NDArray[Any] | None, i: int) -> float | int | None:
    value = None if values is None else values[i].item()
    return None if value is None or value != value else value
