"""Report -> scorecard: scores from 0 to 100, coverage, ratings, gates and one status (stages.txt, "The scorecard").

The arithmetic is here, every opinion in `policy.py`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rag_titan.errors import SettingsError, UnknownMetricError
from rag_titan.evaluation.catalogue import (
    OPTIONAL,
    Rows,
    known_metric,
    known_stage,
    label_of,
    rows_of,
    stage_names,
    value_of,
)
from rag_titan.evaluation.limits import listed, mapped, mapped_or_none, number, said
from rag_titan.evaluation.metric import Metric
from rag_titan.evaluation.scoring.gates import FAIL, Limits, gates_of
from rag_titan.evaluation.scoring.policy import STAGE_WEIGHTS, TARGET_WEIGHT, default_weight, rating_of, status_of

Target = float | Mapping[str, float]
Band = tuple[float, float]
Card = dict[str, Any]
HEAVIEST = 1e9  # sums of weights stay far from where floats end


@dataclass(frozen=True)
class StageRow:
    """What a stage adds to the whole: its weight, its coverage (0..1) and its score (0..100, None without any)."""

    weight: float
    coverage: float
    score: float | None

    @property
    def share(self) -> float:
        """Weight times coverage; 0 without a score."""
        return 0.0 if self.score is None else self.weight * self.coverage


def overall(rows: Iterable[StageRow]) -> tuple[float | None, float]:
    """(score, coverage) of the whole: each stage counts with its weight times its coverage.

    >>> overall([StageRow(40, 0.5, 100.0), StageRow(20, 1.0, 0.0)])
    (50.0, 0.6666666666666666)
    >>> overall([StageRow(10, 0.0, None)])
    (None, 0.0)
    """
    kept = list(rows)
    score = _mean([(row.share, row.score) for row in kept if row.score is not None])
    weights = math.fsum(row.weight for row in kept)
    return score, math.fsum(row.share for row in kept) / weights if weights else 0.0


def score_of(row: Metric, value: float, band: Band | None = None) -> float | None:
    """The 0..1 score of a value; None for a kind that has none, or has one only against a target and got no `band`.

    >>> from rag_titan.evaluation.catalogue import find
    >>> score_of(find("recall_at_k"), 0.8), score_of(find("ndcg_gain"), 0.0)
    (0.8, 0.5)
    >>> slow = find("retrieval.p95_latency_ms")
    >>> score_of(slow, 2000, (0, 1000)), score_of(slow, 2000)
    (0.5, None)
    """
    if band is not None:
        return _against(band, value)
    if row.kind.score is None:
        return None
    inside = min(max(value, row.kind.low), row.kind.high)  # rounding of a sum may leave the range by a digit
    return min(1.0, max(0.0, row.kind.score(inside)))


def _against(band: Band, value: float) -> float:
    low, high = band
    if value < low:
        return max(0.0, value) / low if low else 1.0
    return 1.0 if value <= high else high / value


def _mean(pairs: Sequence[tuple[float, float]]) -> float | None:
    """The weighted mean of (weight, value), never outside the values; None without weight."""
    total = math.fsum(weight for weight, _ in pairs)
    if not total:
        return None
    mean = math.fsum(weight * value for weight, value in pairs) / total
    values = [value for weight, value in pairs if weight]
    return min(max(mean, min(values)), max(values))


class ScoreAggregator:
    """Turns a report into its scorecard.

    stages          score only these; default: the seven
    stage_weights   {stage: weight}, merged into the defaults
    metric_weights  {stage: {key: weight}}, merged into the defaults; 0 switches a metric off
    targets         {stage: {key: number or {"min", "max"}}} for latency, cost and sizes, scored only with a target
    quality_gates   {stage: {key: minimum}}, merged into the defaults; None removes one. For a metric that should be low
                    the number is a maximum. A metric that is not measured fails none of them
    strict_gates    the same, but one that is not measured fails
    required        metrics, "key" or "stage.key", that must be measured
    rows            the metrics there are; for metrics of your own: [*CATALOGUE.values(), mine]

    Raises UnknownMetricError with the nearest name, and SettingsError for weights that are negative or not finite.

    >>> scorer = ScoreAggregator(stages=["retrieval"], metric_weights={"retrieval": {"precision_at_k": 0}})
    >>> card = scorer.aggregate({"retrieval": {"summary": {"recall_at_k": 0.9, "precision_at_k": 0.2}}})
    >>> card["overall"]["score"], card["overall"]["rating"], card["overall"]["status"]
    (90.0, 'Excellent', 'Provisional')
    """

    def __init__(
        self,
        stages: Sequence[str] | None = None,
        stage_weights: Mapping[str, float] | None = None,
        metric_weights: Mapping[str, Mapping[str, float]] | None = None,
        targets: Mapping[str, Mapping[str, Target]] | None = None,
        quality_gates: Limits | None = None,
        *,
        strict_gates: Limits | None = None,
        required: Iterable[str] = (),
        rows: Rows | None = None,
    ) -> None:
        self.rows = rows_of(rows)
        self.stages = _chosen(stages, self.rows)
        self.stage_weights = {stage: float(choice.value) for stage, choice in STAGE_WEIGHTS.items()}
        for stage, weight in mapped_or_none(stage_weights, "stage_weights", "{stage: weight}").items():
            self.stage_weights[known_stage(stage, self.rows)] = number(weight, f"stage_weights.{stage}", 0, HEAVIEST)
        self.bands: dict[tuple[str, str], Band] = {
            (row.stage, row.key): _band(row, target, f"targets.{row.name}")
            for row, target in self._given(targets, "targets")
        }
        self.metric_weights = self._weights(metric_weights)
        self.gates = gates_of(self.stages, quality_gates, strict_gates, required, self.rows)

    def _given(self, nested: Mapping[str, Mapping[str, Any]] | None, what: str) -> list[tuple[Metric, Any]]:
        pairs = []
        for stage, of_stage in mapped_or_none(nested, what, "{stage: {metric: value}}").items():
            known_stage(stage, self.rows)
            if not isinstance(of_stage, Mapping):
                raise SettingsError(f"{what}.{stage}: must be a mapping of the stage's metrics, got {of_stage!r}.")
            pairs += [(known_metric(stage, key, self.rows), value) for key, value in of_stage.items()]
        return pairs

    def _weights(self, given: Mapping[str, Mapping[str, float]] | None) -> dict[tuple[str, str], float]:
        weights: dict[tuple[str, str], float] = {}
        for row in self.rows:
            place = (row.stage, row.key)
            weights[place] = default_weight(*place) or (float(TARGET_WEIGHT.value) if place in self.bands else 0.0)
        for row, weight in self._given(given, "metric_weights"):
            where = f"metric_weights.{row.name}"
            weights[row.stage, row.key] = number(weight, where, 0, HEAVIEST)
            if weight and not _scorable(row):
                raise SettingsError(f"{where}: must be 0, as it is {row.kind.name}, got {weight!r}.")
        return weights

    def aggregate(self, report: Mapping[str, Any]) -> Card:
        """{"overall", "stages", "gates"} of a report (DESIGN §2); every score is from 0 to 100, or None."""
        mapped(report, "report", "as RAGEvaluator makes it")
        shown = [stage for stage in self.stages if stage not in OPTIONAL or report.get(stage) is not None]
        stages = {stage: self._stage(report, stage) for stage in shown}
        gates = [gate.judge(report) for gate in self.gates]
        score, coverage = overall(StageRow(s["weight"], s["coverage"], s["score"]) for s in stages.values())
        self._add_points(stages)
        status = status_of(score, coverage, any(gate["status"] == FAIL for gate in gates))
        whole = {"score": score, "rating": rating_of(score), "status": status, "coverage": coverage}
        return {"overall": whole, "stages": stages, "gates": gates}

    def _stage(self, report: Mapping[str, Any], stage: str) -> Card:
        metrics = {}
        for row in self.rows:
            if row.stage == stage and self.metric_weights[row.stage, row.key]:
                metrics[row.key] = self._metric(report, row)
        counted = [m for m in metrics.values() if not m["needs_target"]]
        scored = [(m["weight"], m["score"]) for m in counted if m["score"] is not None]
        asked = math.fsum(m["weight"] for m in counted)
        score = _mean(scored)
        return {
            "label": label_of(stage),
            "score": score,
            "rating": rating_of(score),
            "weight": self.stage_weights.get(stage, 0.0) if asked else 0.0,
            "coverage": math.fsum(weight for weight, _ in scored) / asked if asked else 0.0,
            "metrics": metrics,
        }

    def _metric(self, report: Mapping[str, Any], row: Metric) -> Card:
        place = (row.stage, row.key)
        value, band = value_of(report, *place), self.bands.get(place)
        score = None if value is None else score_of(row, value, band)
        card: Card = {
            "value": value,
            "score": None if score is None else 100 * score,
            "weight": self.metric_weights[place],
        }
        if band is not None:
            card["target"] = {"min": band[0] or None, "max": None if math.isinf(band[1]) else band[1]}
        return {**card, "needs_target": row.kind.score is None and band is None, "points_lost": None}

    @staticmethod
    def _add_points(stages: Mapping[str, Card]) -> None:
        """Sets "points_lost": by how much the overall score would rise if the metric were perfect. They add up to what
        the overall score lacks to 100."""
        total = math.fsum(StageRow(s["weight"], s["coverage"], s["score"]).share for s in stages.values())
        for stage in stages.values():
            counted = [m for m in stage["metrics"].values() if not m["needs_target"]]
            asked = math.fsum(m["weight"] for m in counted)
            for metric in counted:
                if metric["score"] is not None and total:
                    part = stage["weight"] * metric["weight"] / asked / total
                    metric["points_lost"] = part * (100 - metric["score"])


def _chosen(stages: Sequence[str] | None, rows: Rows) -> tuple[str, ...]:
    names = stage_names(rows)
    if stages is None:
        return tuple(names)
    if isinstance(stages, str):
        raise SettingsError(f"stages: must be a list, got the text {stages!r}. Write [{stages!r}].")
    stages = listed(stages, "stages", "stages")
    for name in stages:
        if name not in names:
            raise UnknownMetricError(str(name), names, what="stage")
    if not stages:
        raise SettingsError("stages: must name at least one stage, got none.")
    return tuple(name for name in names if name in stages)


def _scorable(row: Metric) -> bool:
    """A metric has a score by itself or against a target; sizes that cannot be negative can have a target too."""
    return row.kind.score is not None or row.kind.targeted or row.kind.low >= 0


def _band(row: Metric, target: Any, where: str) -> Band:
    """(least, greatest) value with a full score."""
    if row.kind.score is not None or not _scorable(row):
        rule = "must be a latency, a cost or a size, got one that is scored as it is. Set a quality gate instead."
        raise SettingsError(f"{where}: {rule}")
    if not isinstance(target, Mapping):
        low, high = 0.0, number(target, where, 0)
    elif target and not set(target) - {"min", "max"}:
        low = number(target.get("min", 0), f"{where}.min", 0)
        high = number(target["max"], f"{where}.max", 0) if "max" in target else math.inf
    else:
        rule = 'must be a number or a band {"min": ..., "max": ...}'
        raise SettingsError(f"{where}: {rule}, got {said(dict(target))}.")
    if not high or low > high:
        raise SettingsError(f"{where}: must have a max above 0 and not below its min, got {target!r}.")
    return low, high
