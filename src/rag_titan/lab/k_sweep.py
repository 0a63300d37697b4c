"""What a sweep of K found: a row for each K, the knee of recall, and the K whose answers are best."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rag_titan.lab.answer_quality import AnswerQuality
from rag_titan.lab.estimates import Estimate


@dataclass(frozen=True)
class KRow:
    """One cut-off.

    retrieval       {metric: its mean}
    context_tokens  of the first K chunks
    shorter         how many questions have a ranking of fewer than K chunks
    """

    k: int
    retrieval: Mapping[str, Estimate]
    context_tokens: Estimate
    shorter: int = 0

    @property
    def beyond(self) -> bool:
        """True where most rankings end before K: what is measured there is not K's doing."""
        n = self.retrieval["recall_at_k"].n
        return n > 0 and self.shorter * 2 > n

    def as_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "k": self.k, "retrieval": {key: one.as_dict() for key, one in self.retrieval.items()},
            "context_tokens": self.context_tokens.as_dict(), "shorter_rankings": self.shorter,
        }  # fmt: skip


@dataclass(frozen=True)
class Knee:
    """Where recall stops rising much.

    k        None where there is no knee
    reason   why it is there, or why there is none, in a sentence
    support  {K or "none": the share of resamples of the questions whose knee is there}
    """

    k: int | None
    reason: str
    support: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def without(cls, ks: Sequence[int], left_out: Sequence[int], n: int) -> Knee:
        """No curve to look at."""
        if not n:
            return cls(None, "No knee: recall is measured for no question.")
        return cls(None, f"No knee: it takes 3 values of K, and recall has {len(ks)}{_left(left_out)}.")

    @classmethod
    def of(
        cls,
        ks: Sequence[int],
        recalls: Sequence[float],
        at: float | None,
        again: Sequence[float | None],
        left_out: Sequence[int],
    ) -> Knee:
        """From the mean recall at each K, its knee, and the knees of the resamples."""
        counts = Counter("none" if knee is None else str(int(knee)) for knee in again)
        names = [*map(str, ks), "none"]
        support = {name: counts[name] / len(again) for name in names if counts[name]}
        span = f"{recalls[0]:.3f} at K = {ks[0]} and {recalls[-1]:.3f} at K = {ks[-1]}{_left(left_out)}"
        if at is None:
            flat = max(recalls) <= min(recalls)
            why = "recall does not rise at all" if flat else "recall rises about evenly, or ever faster"
            return cls(None, f"No knee: {why}, {span}.", support)
        place = list(ks).index(int(at))
        before = (recalls[place] - recalls[0]) / (ks[place] - ks[0])
        after = (recalls[-1] - recalls[place]) / (ks[-1] - ks[place])
        share = support.get(str(int(at)), 0.0)
        return cls(
            int(at),
            f"Knee at K = {int(at)}: recall is {recalls[place]:.3f}, it rises by {before:.3f} with each further chunk "
            f"up to there and by {after:.3f} beyond; {span}. "
            f"{share:.0%} of resamples of the questions have it there.",
            support,
        )

    def as_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {"metric": "recall_at_k", "k": self.k, "reason": self.reason, "support": dict(self.support)}


@dataclass(frozen=True)
class KSweep:
    """One run at several cut-offs.

    answers  None where no runs were given
    """

    rows: list[KRow]
    questions: int
    ranking: str
    knee: Knee
    answers: AnswerQuality | None
    warnings: list[str]

    def as_dict(self) -> dict[str, Any]:
        """Plain values, the same in every run."""
        return {
            "questions": self.questions, "ranking": self.ranking, "rows": [row.as_dict() for row in self.rows],
            "knee": self.knee.as_dict(), "answers": None if self.answers is None else self.answers.as_dict(),
            "warnings": self.warnings,
        }  # fmt: skip

    def points(self) -> list[dict[str, Any]]:
        """[{"k", "metric", "value", "low", "high"}] for a picture, the answers among them."""
        points = [one.point(row.k, name) for row in self.rows for name, one in row.retrieval.items()]
        return points if self.answers is None else [*points, *self.answers.points()]


def _left(ks: Sequence[int]) -> str:
    return f" (without K = {', '.join(map(str, ks))}, where most rankings end before)" if ks else ""
