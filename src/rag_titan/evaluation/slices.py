"""The query metrics by the values of tags: which language, tenant or product is worse than the others."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from itertools import chain, islice, zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag_titan.errors import nearest
from rag_titan.evaluation import slice_tallies
from rag_titan.evaluation.diagnosis.verdicts import Verdicts
from rag_titan.evaluation.metric import Stage
from rag_titan.evaluation.scoring.policy import SLICE_MINIMUM, SLICES_MOST
from rag_titan.evaluation.scoring.scorecard import ScoreAggregator
from rag_titan.evaluation.slice_tallies import Rows, SliceBatch, SliceTally, TagTally, tag_values, together
from rag_titan.evaluation.stages.stage import Values

GATHERED = 1 << 15  # questions that are divided at once: to divide few among many slices takes far longer for each
_NAMES = 1_000  # of tags, to name the nearest of one that no question carries


class SliceTallies:
    """What the questions of each slice add up to; two merge into the tallies of both, whatever the order.

    tags     by the name of the tag
    names    tags that questions carry, the smallest
    waiting  batches that are not divided among the slices yet
    """

    def __init__(
        self,
        tags: dict[str, TagTally] | None = None,
        names: Sequence[str] = (),
        waiting: tuple[SliceBatch, ...] = (),
    ) -> None:
        self._tags = {} if tags is None else tags
        self._names = names
        self._waiting = waiting

    @classmethod
    def of(
        cls,
        verdicts: Verdicts,
        measured: Mapping[Stage, Values],
        rows: Rows,
        present: Mapping[Stage, NDArray[np.bool_]],
        by: Sequence[str],
    ) -> SliceTallies:
        """From the values of one batch of n questions.

        present  (n,) by stage, True where a question carries an input of the stage
        """
        tags = verdicts.funnel.table.column("tags")
        names = set(chain.from_iterable(filter(None, tags)))
        batch = SliceBatch({tag: tag_values(tags, tag) for tag in by}, verdicts.failed, measured, present, rows)
        return cls(None, nsmallest(_NAMES, names), (batch,))

    def merge(self, other: SliceTallies) -> SliceTallies:
        """Both together."""
        tags = dict(self._tags)
        for tag, tally in other._tags.items():
            tags[tag] = tags[tag].merge(tally) if tag in tags else tally
        names = nsmallest(_NAMES, {*self._names, *other._names})
        both = SliceTallies(tags, names, self._waiting + other._waiting)
        if sum(map(len, both._waiting)) >= GATHERED:
            both._divide()
        return both

    def _divide(self) -> None:
        """Divide what is waiting."""
        if self._waiting:
            batch, self._waiting = SliceBatch.joined(self._waiting), ()
            for tag in batch.tags:
                tally = batch.tally(tag)
                self._tags[tag] = self._tags[tag].merge(tally) if tag in self._tags else tally

    def __reduce__(self) -> tuple[type[SliceTallies], tuple[dict[str, TagTally], Sequence[str]]]:
        self._divide()
        return type(self), (self._tags, self._names)

    def warnings(self, by: Sequence[str]) -> list[str]:
        """What to know: tags that no question carries, and tags with too many values."""
        self._divide()
        said = []
        for tag in by:
            tally = self._tags.get(tag, TagTally())
            if tally.crowd is not None:
                many = f"more than {slice_tallies.MOST_VALUES:,} different values, so its slices are pooled"
                said.append(f"by: the tag {tag!r} has {many}. Slice by a tag that puts many questions together.")
            elif not tally.slices.keys() - {None}:
                near = nearest(tag, self._names).replace("; there are", "; the tags are", 1)
                there = near if self._names else "; no question has tags"
                said.append(f"by: no question has the tag {tag!r}{there}.")
        return said

    def report(self, by: Sequence[str], rows: Rows, scorer: ScoreAggregator) -> dict[str, Any]:
        """The report's `slices`."""
        self._divide()
        return _Report(self._tags, by, rows, scorer).made()


@dataclass(frozen=True)
class _Slice:
    """A slice that is large enough to be shown."""

    tag: str
    value: str | None
    tally: SliceTally
    scores: dict[str, Any]

    @property
    def place(self) -> tuple[bool, float, float, str, bool, str]:
        """Sorts the worst first: by score (none is last), then by the share of failed questions, then by name."""
        score, share = self.scores["score"], self.scores["failed_share"]
        return score is None, score or 0.0, -share, self.tag, self.value is not None, self.value or ""


class _Report:
    """Chooses what of the slices is shown by itself, what pooled, and what only counted."""

    def __init__(self, tags: Mapping[str, TagTally], by: Sequence[str], rows: Rows, scorer: ScoreAggregator) -> None:
        self.by = by
        self.tags = {tag: tags[tag] for tag in by if tag in tags}
        self.rows = rows
        self.scorer = scorer
        self.minimum, self.most = int(SLICE_MINIMUM.value), int(SLICES_MOST.value)

    def made(self) -> dict[str, Any]:
        whole = next((tally.whole() for tally in self.tags.values()), SliceTally())
        shown = self._shown()
        names = {(found.tag, found.value) for found in shown}
        return {
            "by": list(self.by),
            "minimum": self.minimum,
            "most": self.most,
            "whole": whole.scores(self.rows, self.scorer),
            "slices": [{"tag": s.tag, "value": s.value, **s.scores, "stages": s.tally.parts(self.rows)} for s in shown],
            "pooled": [pool for tag in self._sliced() for pool in self._pooled(tag, names)],
            "small": [
                {"tag": tag, "value": value, "n": tally.n}
                for tag in self._sliced()
                for value, tally in sorted(self.tags[tag].slices.items(), key=_largest)
                if tally.n < self.minimum
            ],
        }

    def _sliced(self) -> list[str]:
        """The tags that some question carries."""
        return [tag for tag, tally in self.tags.items() if tally.crowd is not None or tally.slices.keys() - {None}]

    def _shown(self) -> list[_Slice]:
        """The worst slices; the tags take turns, so that one with many values leaves room for the others."""
        ranked = [sorted(self._large(tag), key=lambda found: found.place) for tag in self._sliced()]
        turns = (found for turn in zip_longest(*ranked) for found in turn if found is not None)
        return sorted(islice(turns, self.most), key=lambda found: found.place)

    def _large(self, tag: str) -> Iterator[_Slice]:
        for value, tally in self.tags[tag].slices.items():
            if tally.n >= self.minimum:
                yield _Slice(tag, value, tally, tally.scores(self.rows, self.scorer))

    def _pooled(self, tag: str, shown: Container[tuple[str, str | None]]) -> Iterator[dict[str, Any]]:
        """The slices of a tag that are not shown, together; nothing where all are."""
        tally = self.tags[tag]
        rest = [one for value, one in tally.slices.items() if (tag, value) not in shown]
        if tally.crowd is None and not rest:
            return
        pool = together(rest) if tally.crowd is None else tally.crowd
        count = len(rest) if tally.crowd is None else None
        if pool.n < self.minimum:
            unknown = dict.fromkeys(("score", "coverage", "failed", "failed_share", "stages"))
            yield {"tag": tag, "slices": count, "n": pool.n, **unknown}
            return
        scores = pool.scores(self.rows, self.scorer)
        yield {"tag": tag, "slices": count, **scores, "stages": pool.parts(self.rows)}


def _largest(entry: tuple[str | None, SliceTally]) -> tuple[int, bool, str]:
    value, tally = entry
    return -tally.n, value is not None, value or ""
