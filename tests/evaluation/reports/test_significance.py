"""Is a change more than chance: against counting by hand, and over many runs that differ by chance alone."""

from __future__ import annotations

import itertools
import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.evaluation.reports.of_questions import chances, noisy, report_of

from rag_titan.errors import SettingsError, UnknownMetricError
from rag_titan.evaluation.catalogue import ROWS
from rag_titan.evaluation.metric import MEAN
from rag_titan.evaluation.reports.compare import TESTED, compare, compare_all

RECALL, SUCCESS = "retrieval.recall_at_k", "end_to_end.task_success_rate"
KEYS = {
    "n", "paired", "paired_change", "ci95", "p", "p_corrected", "significant", "untested", "primary", "wins", "losses",
    "ties", "resolvable", "needed", "tested",
}  # fmt: skip


def entry_of(result: dict[str, Any], name: str) -> dict[str, Any]:
    return next(entry for kind in TESTED for entry in result[kind] if entry["metric"] == name)


def changed(before: list[float], now: list[float], name: str = RECALL, **options: Any) -> dict[str, Any]:
    return entry_of(compare_all(report_of({name: now}), report_of({name: before}), **options), name)


def significant(result: dict[str, Any]) -> list[str]:
    return [entry["metric"] for kind in ("regressions", "improved") for entry in result[kind] if entry["significant"]]


def test_two_runs_of_one_system_on_30_questions_differ_by_nothing_that_is_sure() -> None:
    rng = np.random.default_rng(11)
    questions = chances(rng, 30)
    result = compare(report_of(noisy(rng, questions)), report_of(noisy(rng, questions)))
    assert result["regressions"], "noise moves some metric by more than the tolerance"
    assert significant(result) == []


def test_a_real_drop_on_200_questions_is_sure_and_on_10_is_not_yet() -> None:
    rng = np.random.default_rng(7)
    for n, sure in ((200, True), (10, False)):
        questions = chances(rng, n)
        before, now = noisy(rng, questions), noisy(rng, questions, drop=0.15)
        now[RECALL] = np.clip(np.array(before[RECALL]) - rng.choice([0.0, 0.5], n, p=[0.65, 0.35]), 0, 1).tolist()
        entry = entry_of(compare(report_of(now), report_of(before)), RECALL)
        assert entry["change"] == pytest.approx(-0.15, abs=0.06)
        assert entry["significant"] is sure
        assert entry["needed"] is not None
        if not sure:
            assert 10 < entry["needed"] < 200, "it says how many questions would show it"
            assert entry["resolvable"] > 0.15


RUNS = {30: 200, 200: 100, 1000: 150}  # by the number of questions: what fits a minute


@pytest.mark.slow
@pytest.mark.parametrize("n", [30, 200, 1000])
def test_noise_is_called_sure_in_at_most_one_run_of_twenty(n: int) -> None:
    runs, called = RUNS[n], 0
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        questions = chances(rng, n)
        called += bool(significant(compare(report_of(noisy(rng, questions)), report_of(noisy(rng, questions)))))
    assert called <= runs * 0.05 + 3 * math.sqrt(runs * 0.05 * 0.95)


@pytest.mark.slow
def test_a_real_drop_on_200_questions_is_nearly_always_found() -> None:
    found = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        questions = chances(rng, 200)
        result = compare(report_of(noisy(rng, questions, drop=0.15)), report_of(noisy(rng, questions)))
        found += RECALL in significant(result)
    assert found >= 57


def test_p_is_that_of_all_ways_to_set_the_signs() -> None:
    before, now = [1.0, 1.0, 0.5, 1.0, 0.0, 1.0], [0.5, 0.0, 0.5, 0.5, 0.5, 0.0]
    differences = [b - a for a, b in zip(before, now, strict=True)]
    sums = [
        sum(s * d for s, d in zip(signs, differences, strict=True)) for signs in itertools.product((1, -1), repeat=6)
    ]
    by_hand = sum(abs(total) >= abs(sum(differences)) - 1e-12 for total in sums) / len(sums)
    entry = changed(before, now)
    assert entry["p"] == pytest.approx(by_hand)
    assert (entry["n"], entry["wins"], entry["losses"], entry["ties"]) == (6, 1, 4, 1)
    assert entry["paired"] is True
    assert entry.keys() >= KEYS


def test_wins_and_losses_follow_the_direction_of_the_metric() -> None:
    slower = changed([100.0, 100.0, 100.0], [200.0, 90.0, 100.0], "end_to_end.mean_total_tokens")
    assert (slower["wins"], slower["losses"], slower["ties"]) == (1, 1, 1)
    shifted = changed([1.0, 2.0], [2.0, 3.0], "reranking.first_relevant_rank_change")
    assert (shifted["wins"], shifted["losses"], shifted["ties"]) == (None, None, None)


def test_a_change_the_other_way_is_not_sure() -> None:
    """The questions in both got worse for sure; the mean rose, because other questions were measured now."""
    n = 40
    before: list[float | None] = [0.9 if i < n else 0.0 for i in range(2 * n)]
    now: list[float | None] = [0.6 if i < n else None for i in range(2 * n)]
    entry = entry_of(compare(report_of({RECALL: now}), report_of({RECALL: before})), RECALL)
    assert entry["change"] > 0
    assert entry["paired_change"] == pytest.approx(-0.3)
    assert entry["p"] < 0.001
    assert entry["significant"] is False


def test_a_percentile_is_tested_by_what_lies_above_it() -> None:
    rng = np.random.default_rng(1)
    base = rng.lognormal(6, 0.5, 400)
    name = "end_to_end.p95_latency_ms"
    slower = changed(base.tolist(), (base * 1.5).tolist(), name)
    assert slower["significant"] is True
    assert slower["ci95"][0] < slower["change"] < slower["ci95"][1]
    again = changed((base * rng.lognormal(0, 0.2, 400)).tolist(), (base * rng.lognormal(0, 0.2, 400)).tolist(), name)
    assert again["significant"] is False
    few = changed(base[:30].tolist(), (base[:30] * 1.5).tolist(), name)
    assert few["ci95"] is None, "1.5 questions lie beyond it"
    assert few["significant"] is False


@pytest.mark.slow
@pytest.mark.parametrize("name", ["end_to_end.p50_latency_ms", "end_to_end.p95_latency_ms"])
def test_the_interval_of_a_percentile_holds_what_it_says(name: str) -> None:
    covered = false_alarms = 0
    for seed in range(300):
        rng = np.random.default_rng(seed)
        base = rng.lognormal(6, 0.5, 300)
        entry = changed(*((base * rng.lognormal(0, 0.3, 300)).tolist() for _ in range(2)), name)
        covered += entry["ci95"][0] <= 0 <= entry["ci95"][1]
        false_alarms += entry["p"] <= 0.05
    assert covered >= 0.92 * 300
    assert false_alarms <= 0.05 * 300 + 3 * math.sqrt(300 * 0.05 * 0.95)


def slow_holm(p: dict[str, float], weights: dict[str, float]) -> dict[str, float]:
    """From the smallest p by its weight on, each times what weighs still; never less than the one before."""
    left, corrected, so_far = sum(weights.values()), {}, 0.0
    for name in sorted(p, key=lambda name: p[name] / weights[name]):
        so_far = max(so_far, min(1.0, p[name] * left / weights[name]))
        corrected[name] = so_far
        left -= weights[name]
    return corrected


def test_the_primary_metrics_have_most_of_the_false_alarms_that_are_allowed() -> None:
    rng = np.random.default_rng(5)
    questions = chances(rng, 60)
    before, now = report_of(noisy(rng, questions)), report_of(noisy(rng, questions, drop=0.1))
    usual = compare_all(now, before)
    assert usual["primary"] == [RECALL, "augmentation.context_sufficient", SUCCESS]
    every = {entry["metric"]: entry for kind in TESTED for entry in usual[kind]}
    p = {name: entry["p"] for name, entry in every.items()}
    weights = {name: 0.8 / 3 if name in usual["primary"] else 0.2 / (len(p) - 3) for name in p}
    assert {name: entry["p_corrected"] for name, entry in every.items()} == pytest.approx(slow_holm(p, weights))
    assert {entry["tested"] for entry in every.values()} == {len(p)} == {7}
    own = compare_all(now, before, primary=["recall_at_k", RECALL])
    assert own["primary"] == [RECALL]
    weights = {name: 0.8 if name == RECALL else 0.2 / (len(p) - 1) for name in p}
    assert entry_of(own, RECALL)["p_corrected"] == pytest.approx(slow_holm(p, weights)[RECALL])


def test_where_all_or_none_are_primary_each_has_the_same_share() -> None:
    rng = np.random.default_rng(5)
    questions = chances(rng, 60)
    before, now = report_of(noisy(rng, questions)), report_of(noisy(rng, questions, drop=0.1))
    none = compare_all(now, before, primary=[])
    assert none["primary"] == []
    every = {entry["metric"]: entry for kind in TESTED for entry in none[kind]}
    p = {name: entry["p"] for name, entry in every.items()}
    by_hand = pytest.approx(slow_holm(p, dict.fromkeys(p, 1.0)))
    assert {name: entry["p_corrected"] for name, entry in every.items()} == by_hand
    whole = compare_all(now, before, primary=list(p))
    assert {entry["metric"]: entry["p_corrected"] for kind in TESTED for entry in whole[kind]} == by_hand


@pytest.mark.slow
@pytest.mark.parametrize("n", [30, 200, 1000])
def test_without_a_change_one_run_of_twenty_at_most_calls_anything_real(n: int) -> None:
    """Primary metrics and others together, 12 that have nothing to do with each other: the worst case. What fails a run
    is what got worse, which is half of it."""
    names = [row.name for row in ROWS if row.per == "query" and row.reduce is MEAN and row.kind.better][:12]
    primary = names[:3]
    runs, called, failed = RUNS[n], 0, 0
    for seed in range(runs):
        rng = np.random.default_rng([n, seed])
        before, now = (report_of(dict(zip(names, rng.random((len(names), n)).tolist(), strict=True))) for _ in range(2))
        result = compare(now, before, 0.0, primary=primary)
        called += bool(significant(result))
        failed += any(entry["significant"] for entry in result["regressions"])
    assert called <= runs * 0.05 + 2.5 * math.sqrt(runs * 0.05 * 0.95)
    assert failed <= runs * 0.025 + 2.5 * math.sqrt(runs * 0.025 * 0.975)


def test_a_primary_metric_must_be_one() -> None:
    now = report_of({RECALL: [1.0]})
    with pytest.raises(UnknownMetricError, match="the nearest is 'recall_at_k'"):
        compare(now, now, primary=["recal_at_k"])
    with pytest.raises(SettingsError, match=r"^primary: must be a list of metrics, got the text"):
        compare(now, now, primary="recall_at_k")
    assert compare(now, now, primary=["generation.answer_f1"])["primary"] == [], "not measured in both"


def without_lists(value: float, ends: Any, n: Any = 100) -> dict[str, Any]:
    return {"retrieval": {"summary": {"recall_at_k": value}, "detail": {"recall_at_k": {"n": n, "ci95": ends}}}}


def test_without_lists_two_means_are_compared() -> None:
    result = compare(without_lists(0.6, [0.5, 0.7]), without_lists(0.9, [0.84, 0.95]))
    entry = entry_of({**result, "unchanged": []}, RECALL)
    assert entry["paired"] is False
    assert entry["significant"] is True
    assert entry["ci95"][0] < -0.3 < entry["ci95"][1] < 0
    assert entry["wins"] is None
    assert entry["n"] == 100
    assert entry["paired_change"] is None


@pytest.mark.parametrize(
    ("ends", "n"), [(None, 100), ([0.5], 100), ([0.7, 0.5], 9), (["a", "b"], 9), ([0.5, 0.7], 1), ([0.5, 0.7], True)]
)
def test_what_cannot_be_tested_says_why(ends: Any, n: Any) -> None:
    entry = compare(without_lists(0.6, ends, n), without_lists(0.9, [0.84, 0.95]))["regressions"][0]
    assert (entry["significant"], entry["p"], entry["ci95"]) == (None, None, None)
    assert entry["untested"] == "the current report was made without values of the questions"


def test_a_value_of_the_whole_run_has_no_test() -> None:
    entry = compare({"chunking": {"coverage": 0.7}}, {"chunking": {"coverage": 0.9}})["regressions"][0]
    assert entry["untested"] == "it is one value of the whole run, without an interval"
    unknown = compare({"retrieval": {"summary": {"mine": 1.0}}}, {"retrieval": {"summary": {"mine": 2.0}}})["changed"][
        0
    ]
    assert unknown["untested"] == "the catalogue does not know the metric"


numbers = st.one_of(
    st.none(), st.floats(), st.integers(-(10**400), 10**400), st.text(max_size=3), st.booleans(), st.just(1e308)
)


@given(st.lists(st.tuples(numbers, numbers), min_size=1, max_size=12))
def test_whatever_stands_in_a_list_the_comparison_is_plain_json(pairs: list[tuple[Any, Any]]) -> None:
    sides = [
        {
            "retrieval": {"summary": {"recall_at_k": mean}, "per_query": rows},
            "end_to_end": {"p95_latency_ms": 10 * mean, "mean_cost_usd": mean, "per_query": rows},
        }
        for mean, rows in (
            (1.0, [{"id": i, "recall_at_k": a, "latency_ms": a, "mean_cost_usd": a} for i, (a, _) in enumerate(pairs)]),
            (0.5, [{"id": i, "recall_at_k": b, "latency_ms": b, "mean_cost_usd": b} for i, (_, b) in enumerate(pairs)]),
        )
    ]
    json.dumps(compare(*sides), allow_nan=False)
