"""What the questions of one slice, or of all slices of a tag, add up to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag_titan.evaluation.metric import Metric, Stage
from rag_titan.evaluation.scoring.scorecard import ScoreAggregator
from rag_titan.evaluation.stages.stage import StageTally, Values

MOST_VALUES = 1_000  # of a tag: what has more names people or requests, and would fill the memory
MOST_KEPT = 10_000  # values of a slice up to which its quantiles are exact; many slices stand side by side

Rows = Mapping[Stage, Sequence[Metric]]


@dataclass
class SliceTally:
    """What the questions of one slice add up to: how many, how many of them failed, and their values stage by stage."""

    n: int = 0
    failed: int = 0
    stages: dict[Stage, StageTally] = field(default_factory=dict)

    def merge(self, other: SliceTally) -> SliceTally:
        """Both together; exact, so the order does not matter."""
        stages = dict(self.stages)
        for stage, tally in other.stages.items():
            stages[stage] = stages[stage].merge(tally) if stage in stages else tally
        return SliceTally(self.n + other.n, self.failed + other.failed, stages)

    def scores(self, rows: Rows, scorer: ScoreAggregator) -> dict[str, Any]:
        """{"n", "score", "coverage", "failed", "failed_share"}; the score is that of a report on these questions
        alone, without what is measured once for all chunks and vectors."""
        values = {str(stage): self._values(stage, rows[stage]) for stage in self.stages}
        overall = scorer.aggregate(values)["overall"]
        return {
            "n": self.n,
            "score": overall["score"],
            "coverage": overall["coverage"],
            "failed": self.failed,
            "failed_share": self.failed / self.n if self.n else None,
        }

    def _values(self, stage: Stage, rows: Sequence[Metric]) -> dict[str, Any] | None:
        tally = self.stages[stage]
        if not tally.present:
            return None
        summary = tally.summary(of_queries(rows))
        return summary if stage.flat else {"summary": summary}

    def parts(self, rows: Rows) -> dict[str, Any]:
        """{stage: {"summary": {key: value}, "detail": {key: {"n", "ci95"}}}}; None for a stage of which the questions
        carry nothing."""
        return {
            str(stage): self._part(tally, of_queries(rows[stage]))
            for stage, tally in self.stages.items()
            if tally.present or not stage.optional
        }

    @staticmethod
    def _part(tally: StageTally, rows: Sequence[Metric]) -> dict[str, Any] | None:
        if not tally.present:
            return None
        detail = tally.detail(rows, {})
        known = {key: {"n": entry["n"], "ci95": entry["ci95"]} for key, entry in detail.items()}
        return {"summary": tally.summary(rows), "detail": known}


@dataclass
class TagTally:
    """The slices of one tag.

    slices  by value, None for the questions without the tag; empty from MOST_VALUES different values on
    crowd   all questions together, where the values are more than that
    """

    slices: dict[str | None, SliceTally] = field(default_factory=dict)
    crowd: SliceTally | None = None

    def merge(self, other: TagTally) -> TagTally:
        """Both together; the number of different values alone decides whether they are kept apart."""
        slices = dict(self.slices)
        for value, tally in other.slices.items():
            slices[value] = slices[value].merge(tally) if value in slices else tally
        if self.crowd is None and other.crowd is None and len(slices) <= MOST_VALUES:
            return TagTally(slices)
        crowds = [tally for tally in (self.crowd, other.crowd) if tally is not None]
        return TagTally(crowd=together([*crowds, *slices.values()]))

    def whole(self) -> SliceTally:
        """All questions together."""
        return together(self.slices.values()) if self.crowd is None else self.crowd


def together(tallies: Iterable[SliceTally]) -> SliceTally:
    """The tally of all of them."""
    whole = SliceTally()
    for tally in tallies:
        whole = whole.merge(tally)
    return whole


def of_queries(rows: Sequence[Metric]) -> list[Metric]:
    """The rows that have a value for each question; the others cannot be divided among slices."""
    return [row for row in rows if row.per == "query"]


def tag_values(tags: Sequence[Mapping[str, Any] | None], tag: str) -> list[str | None]:
    """The value of a tag of each question, as text; None where it has none.

    Numbers are written as JSON writes them, but 3.0 is 3: a log of one system says 3 and that of another 3.0 or "3".

    >>> tag_values([{"year": 2024.0}, {"year": "2024"}, {"year": True}, {}, None], "year")
    ['2024', '2024', 'true', None, None]
    """
    values = [None if given is None else given.get(tag) for given in tags]
    return [value if value.__class__ is str or value is None else _text(value) for value in values]


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e16:
        return str(int(value))
    return str(value)


@dataclass(frozen=True)
class SliceBatch:
    """The values of n questions that are not divided among their slices yet.

    tags     by the name of each tag, the questions' values (n,) as text, None without the tag
    failed   (n,)
    values   by stage and key, (n,); keys that share a `compute` share the array
    present  (n,) by stage, True where a question carries an input of the stage
    rows     the metrics of each stage
    """

    tags: Mapping[str, Sequence[str | None]]
    failed: NDArray[np.bool_]
    values: Mapping[Stage, Values]
    present: Mapping[Stage, NDArray[np.bool_]]
    rows: Rows

    def __len__(self) -> int:
        return len(self.failed)

    @classmethod
    def joined(cls, batches: Sequence[SliceBatch]) -> SliceBatch:
        """All of them as one; what one of them could not measure is NaN there."""
        tags, stages, rows = batches[0].tags, batches[0].values, batches[0].rows
        return cls(
            {tag: [*chain.from_iterable(batch.tags[tag] for batch in batches)] for tag in tags},
            np.concatenate([batch.failed for batch in batches]),
            {stage: _joined([(batch.values[stage], len(batch)) for batch in batches], rows[stage]) for stage in stages},
            {stage: np.concatenate([batch.present[stage] for batch in batches]) for stage in stages},
            rows,
        )

    def tally(self, tag: str) -> TagTally:
        """Divided by the values of a tag."""
        values = self.tags[tag]
        places = {value: place for place, value in enumerate(dict.fromkeys(values))}
        if len(places) > MOST_VALUES:
            [crowd] = self._groups(np.zeros(len(values), dtype=np.int64), 1)
            return TagTally(crowd=crowd)
        codes = np.fromiter(map(places.__getitem__, values), np.int64, len(values))
        return TagTally(dict(zip(places, self._groups(codes, len(places)), strict=True)))

    def _groups(self, codes: NDArray[np.int64], count: int) -> list[SliceTally]:
        """A tally for each code below `count`."""
        order = np.argsort(codes, kind="stable")
        sizes = np.bincount(codes, minlength=count)
        offsets = np.concatenate(([0], np.cumsum(sizes)))
        failed = np.bincount(codes, weights=self.failed, minlength=count).astype(np.int64)
        groups = [SliceTally(*counts) for counts in zip(sizes.tolist(), failed.tolist(), strict=True)]
        for stage, values in self.values.items():
            here = (np.bincount(codes, weights=self.present[stage], minlength=count) > 0).tolist()
            tallies = StageTally.groups(
                of_queries(self.rows[stage]), values, order, offsets, present=here, most=MOST_KEPT
            )
            for group, tally in zip(groups, tallies, strict=True):
                group.stages[stage] = tally
        return groups


def _joined(parts: Sequence[tuple[Values, int]], rows: Sequence[Metric]) -> Values:
    """{key: the values of all parts}; rows that share a `compute` go on sharing an array."""
    done: dict[Any, NDArray[np.float64]] = {}
    for row in of_queries(rows):
        if row.compute not in done:
            columns = [values[row.key] if row.key in values else np.full(n, np.nan) for values, n in parts]
            done[row.compute] = np.concatenate(columns)
    return {row.key: done[row.compute] for row in of_queries(rows)}
