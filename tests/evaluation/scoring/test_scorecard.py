from __future__ import annotations

import json
import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_titan.errors import SettingsError, UnknownMetricError
from rag_titan.evaluation import metric as kinds
from rag_titan.evaluation.metric import Kind, Metric, Stage
from rag_titan.evaluation.scoring.scorecard import ScoreAggregator, StageRow, overall, score_of


def row(stage: Any, key: str, kind: Kind = kinds.RATE) -> Metric:
    return Metric(key, stage, key, "", "", kind, "query", (), lambda inputs: np.empty(0))


ROWS = (
    row(Stage.CHUNKING, "coverage"),
    row(Stage.CHUNKING, "mean_chunk_tokens", kinds.SIZE),
    row(Stage.CHUNKING, "size_cv", kinds.AMOUNT),
    row(Stage.RETRIEVAL, "recall_at_k"),
    row(Stage.RETRIEVAL, "precision_at_k"),
    row(Stage.RETRIEVAL, "p95_latency_ms", kinds.COST),
    row(Stage.RETRIEVAL, "p99_latency_ms", kinds.COST),
    row(Stage.RERANKING, "ndcg_gain", kinds.GAIN),
    row(Stage.RERANKING, "first_relevant_rank_change", kinds.SHIFT),
    row(Stage.GENERATION, "answer_f1"),
    row(Stage.GENERATION, "unsupported_number_rate", kinds.FAULT_RATE),
)


def report(**stages: Mapping[str, Any]) -> dict[str, Any]:
    return {s: values if s in ("chunking", "end_to_end") else {"summary": values} for s, values in stages.items()}


def aggregate(given: Mapping[str, Any], **options: Any) -> dict[str, Any]:
    return ScoreAggregator(**{"rows": ROWS, **options}).aggregate(given)


def test_the_printed_stage_rows_give_the_printed_overall_score_and_coverage() -> None:
    """stages.txt, "The scorecard": 93.2/100 at 97 % from the seven rows of its table."""
    weights = [10, 10, 20, 10, 15, 20, 15]
    printed = [(97.6, 0.74), (98.4, 1), (79.4, 1), (89.7, 1), (92.3, 1), (100, 1), (100, 1)]
    score, coverage = overall(StageRow(w, c, s) for w, (s, c) in zip(weights, printed, strict=True))
    assert score is not None
    assert (round(score, 1), round(coverage, 2)) == (93.2, 0.97)


@pytest.mark.parametrize(
    ("kind", "value", "score"),
    [
        (kinds.RATE, 0.8, 0.8),
        (kinds.FAULT_RATE, 0.1, 0.9),
        (kinds.PENALTY, 0.25, 0.8),
        (kinds.FRAGMENTATION, 2.0, 0.5),
        (kinds.FRAGMENTATION, 0.5, 1.0),
        (kinds.COSINE, 0.6, 0.8),
        (kinds.COSINE_LOWER, 0.0, 0.5),
        (kinds.COSINE_DISTANCE, 1.0, 0.5),
        (kinds.MARGIN, 0.25, 0.75),
        (kinds.MARGIN, 1.0, 1.0),
        (kinds.MARGIN, -1.0, 0.0),
        (kinds.GAIN, 0.0, 0.5),
        (kinds.RATE, 1.0000000000000002, 1.0),  # the rounding of a sum never leaves the scale
    ],
)
def test_the_examples_of_how_a_score_is_made(kind: Kind, value: float, score: float) -> None:
    assert score_of(row(Stage.RETRIEVAL, "x", kind), value) == pytest.approx(score, abs=1e-15)


@pytest.mark.parametrize(
    ("target", "value", "score"),
    [
        (1000, 2000, 50), (1000, 1000, 100), (1000, 0, 100), ({"max": 1000}, 4000, 25),
        ({"min": 150, "max": 400}, 150, 100), ({"min": 150, "max": 400}, 400, 100), ({"min": 150, "max": 400}, 75, 50),
        ({"min": 150, "max": 400}, 800, 50), ({"min": 100}, 50, 50), ({"min": 100}, 1e9, 100),
    ],
)  # fmt: skip
def test_targets_and_bands(target: Any, value: float, score: float) -> None:
    card = aggregate(
        report(chunking={"mean_chunk_tokens": value}),
        stages=["chunking"],
        targets={"chunking": {"mean_chunk_tokens": target}},
        metric_weights={"chunking": {"coverage": 0}},
    )
    assert card["overall"]["score"] == pytest.approx(score)
    assert card["overall"]["coverage"] == 1


def test_a_target_only_metric_is_outside_coverage_until_it_has_a_target() -> None:
    given = report(retrieval={"recall_at_k": 1.0, "precision_at_k": 1.0, "p95_latency_ms": 200})
    without = aggregate(given, stages=["retrieval"])["stages"]["retrieval"]
    assert (without["score"], without["coverage"]) == (100, 1)
    assert without["metrics"]["p95_latency_ms"] == {
        "value": 200.0, "score": None, "weight": 2.0, "needs_target": True, "points_lost": None,
    }  # fmt: skip
    target = {"retrieval": {"p95_latency_ms": 100}}
    with_one = aggregate(given, stages=["retrieval"], targets=target)["stages"]["retrieval"]
    assert with_one["score"] == pytest.approx(100 * (4 + 1 + 2 * 0.5) / 7)
    assert with_one["metrics"]["p95_latency_ms"]["target"] == {"min": None, "max": 100.0}
    unmeasured = aggregate(report(retrieval={"recall_at_k": 1.0}), stages=["retrieval"], targets=target)
    assert unmeasured["overall"]["coverage"] == pytest.approx(4 / 7)


def test_a_target_gives_a_weight_to_a_metric_that_has_none() -> None:
    given = report(retrieval={"recall_at_k": 1.0, "p99_latency_ms": 400})
    options: dict[str, Any] = {"stages": ["retrieval"], "metric_weights": {"retrieval": {"precision_at_k": 0}}}
    assert aggregate(given, **options)["overall"]["score"] == 100
    target = {"retrieval": {"p99_latency_ms": 200}}
    assert aggregate(given, targets=target, **options)["overall"]["score"] == pytest.approx(100 * (4 + 0.5) / 5)


def test_weights_are_merged_into_the_defaults_and_0_switches_off() -> None:
    given = report(retrieval={"recall_at_k": 0.5, "precision_at_k": 1.0}, generation={"answer_f1": 0.0})
    card = aggregate(
        given,
        stages=["generation", "retrieval"],
        stage_weights={"retrieval": 40},
        metric_weights={"retrieval": {"recall_at_k": 0}, "generation": {"unsupported_number_rate": 0}},
    )
    assert list(card["stages"]) == ["retrieval", "generation"]
    assert card["overall"]["score"] == pytest.approx(100 * 40 / 60)
    assert "recall_at_k" not in card["stages"]["retrieval"]["metrics"]


def test_stages_that_were_not_evaluated_count_as_not_measured() -> None:
    card = aggregate(report(retrieval={"recall_at_k": 1.0, "precision_at_k": 1.0}))
    assert card["overall"] == {
        "score": 100.0, "rating": "Excellent", "status": "Provisional", "coverage": 20 / (10 + 20 + 10 + 20),
    }  # fmt: skip  # only four of the stages have a metric among these rows
    assert card["stages"]["generation"]["score"] is None
    assert card["stages"]["generation"]["coverage"] == 0


def test_nothing_measured_is_not_evaluated_and_no_0() -> None:
    for empty in ({}, {"retrieval": None}, report(retrieval={"recall_at_k": None}), report(retrieval={"mine": 1.0})):
        overall_row = aggregate(empty)["overall"]
        assert overall_row == {"score": None, "rating": None, "status": "Not Evaluated", "coverage": 0.0}


def test_points_lost_add_up_to_what_the_score_lacks() -> None:
    card = aggregate(
        report(retrieval={"recall_at_k": 0.5}, generation={"answer_f1": 0.25, "unsupported_number_rate": 0.5})
    )
    points = [m["points_lost"] or 0 for stage in card["stages"].values() for m in stage["metrics"].values()]
    assert math.fsum(points) == pytest.approx(100 - card["overall"]["score"])


def test_a_metric_of_ones_own_is_scored_by_the_weight_it_is_given() -> None:
    rows = [*ROWS, row(Stage.RETRIEVAL, "freshness"), row("red_team", "resisted")]
    given = {**report(retrieval={"freshness": 0.5}), "red_team": {"summary": {"resisted": 0.25}}}
    options: dict[str, Any] = {"metric_weights": {"retrieval": {"freshness": 1, "recall_at_k": 0, "precision_at_k": 0}}}
    assert aggregate(given, rows=rows, stages=["retrieval"], **options)["overall"]["score"] == 50
    card = aggregate(
        given,
        rows=rows,
        stages=["red_team"],
        stage_weights={"red_team": 1},
        metric_weights={"red_team": {"resisted": 1}},
    )
    assert card["stages"]["red_team"]["label"] == "Red team"
    assert card["overall"]["score"] == 25
    with pytest.raises(UnknownMetricError):
        aggregate(given, **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"stages": ["retreival"]}, "unknown stage 'retreival'; the nearest is 'retrieval'"),
        ({"stages": "retrieval"}, r"stages: must be a list, got the text 'retrieval'. Write \['retrieval'\]"),
        ({"stages": []}, "stages: must name at least one stage"),
        ({"stage_weights": {"retreival": 1}}, "the nearest is 'retrieval'"),
        ({"stage_weights": {"retrieval": -1}}, "stage_weights.retrieval: must be a finite number from 0 to 1e"),
        ({"stage_weights": {"retrieval": math.inf}}, "stage_weights.retrieval: must be a finite number"),
        ({"metric_weights": {"retrieval": {"recal_at_k": 1}}}, "the nearest is 'recall_at_k'"),
        ({"metric_weights": {"retrieval": {"recall_at_k": math.nan}}}, "metric_weights.retrieval.recall_at_k: must be"),
        ({"metric_weights": {"retrieval": 3}}, "metric_weights.retrieval: must be a mapping"),
        ({"metric_weights": {"reranking": {"first_relevant_rank_change": 1}}}, "must be 0, as it is not scored"),
        ({"targets": {"retrieval": {"recall_at_k": 0.9}}}, "targets.retrieval.recall_at_k: must be a latency"),
        ({"targets": {"reranking": {"first_relevant_rank_change": 1}}}, "must be a latency, a cost or a size"),
        ({"targets": {"retrieval": {"p95_latency_ms": 0}}}, "must have a max above 0"),
        ({"targets": {"retrieval": {"p95_latency_ms": {"min": 3, "max": 2}}}}, "not below its min"),
        ({"targets": {"retrieval": {"p95_latency_ms": {"mx": 2}}}}, "must be a number or a band"),
        ({"targets": {"retrieval": {"p95_latency_ms": {}}}}, "must be a number or a band"),
        ({"targets": {"retrieval": {"p95_latency_ms": "fast"}}}, "must be a finite number from 0, got 'fast'"),
    ],
)
def test_options_that_cannot_be_meant_are_errors_with_their_place(options: Any, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        ScoreAggregator(rows=ROWS, **options)


def test_zero_weights_for_what_has_no_score_are_accepted() -> None:
    weights = {"chunking": {"size_cv": 0}, "reranking": {"first_relevant_rank_change": 0}}
    assert aggregate(report(chunking={"coverage": 1.0}), metric_weights=weights)["overall"]["score"] == 100


def test_a_size_without_a_direction_can_have_a_band() -> None:
    card = aggregate(
        report(chunking={"size_cv": 0.6}),
        stages=["chunking"],
        targets={"chunking": {"size_cv": {"max": 0.3}}},
        metric_weights={"chunking": {"coverage": 0, "mean_chunk_tokens": 0}},
    )
    assert card["overall"]["score"] == 50


VALUES = st.one_of(st.none(), st.floats(0, 1), st.floats(allow_nan=True, allow_infinity=True), st.text(max_size=2))
WEIGHTS = st.one_of(st.just(0), st.integers(0, 5), st.floats(0, 1e9))


@st.composite
def reports(draw: st.DrawFn) -> dict[str, Any]:
    stages: dict[str, dict[str, Any]] = {}
    for r in ROWS:
        stages.setdefault(str(r.stage), {})[r.key] = draw(VALUES)
    return report(**stages)


@st.composite
def weights_of_all(draw: st.DrawFn) -> dict[str, dict[str, float]]:
    weights: dict[str, dict[str, float]] = {}
    for r in ROWS:
        if r.kind.score is not None or r.kind.targeted:
            weights.setdefault(str(r.stage), {})[r.key] = draw(WEIGHTS)
    return weights


@given(reports(), weights_of_all(), st.dictionaries(st.sampled_from(list(Stage)), WEIGHTS), st.booleans())
def test_scores_stay_on_their_scale_and_the_scorecard_is_strict_json(
    given: dict[str, Any], metric_weights: Any, stage_weights: Any, target: bool
) -> None:
    targets = {"retrieval": {"p95_latency_ms": 100}} if target else None
    card = aggregate(given, metric_weights=metric_weights, stage_weights=stage_weights, targets=targets)
    json.dumps(card, allow_nan=False)
    cells = [card["overall"], *card["stages"].values()]
    for cell in cells:
        assert 0 <= cell["coverage"] <= 1
        assert cell["score"] is None or 0 <= cell["score"] <= 100
        assert (cell["rating"] is None) == (cell["score"] is None)
    failed = any(gate["status"] == "fail" for gate in card["gates"])
    status, score = card["overall"]["status"], card["overall"]["score"]
    assert (status == "Not Evaluated") == (score is None)
    assert (status == "Action Required") == (score is not None and failed)


@given(reports(), st.lists(st.integers(0, 9), min_size=len(Stage), max_size=len(Stage)))
def test_the_arithmetic_is_that_of_the_formulas(given: dict[str, Any], weights: list[int]) -> None:
    """The twin: stages.txt, "How a score is made", in fractions."""
    stage_weights = dict(zip(map(str, Stage), weights, strict=True))
    card = aggregate(given, stage_weights=stage_weights)
    above = below = asked_weights = Fraction(0)
    for stage, got in card["stages"].items():
        scored = [m for m in got["metrics"].values() if not m["needs_target"]]
        asked = sum(Fraction(m["weight"]) for m in scored)
        measured = [(Fraction(m["weight"]), Fraction(m["score"])) for m in scored if m["score"] is not None]
        if asked:
            asked_weights += stage_weights[stage]
        if not measured:
            assert got["score"] is None
            continue
        weight = sum(w for w, _ in measured)
        score, coverage = sum(w * s for w, s in measured) / weight, weight / asked
        assert got["score"] == pytest.approx(float(score))
        assert got["coverage"] == pytest.approx(float(coverage))
        above += stage_weights[stage] * coverage * score
        below += stage_weights[stage] * coverage
    if below:
        assert card["overall"]["score"] == pytest.approx(float(above / below))
        assert card["overall"]["coverage"] == pytest.approx(float(below / asked_weights))
    else:
        assert card["overall"]["score"] is None
