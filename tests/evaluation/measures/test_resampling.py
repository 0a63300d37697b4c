"""Intervals of a mean, the test of a difference, and what a set of questions resolves."""

from __future__ import annotations

import math
from itertools import product
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_titan.evaluation.measures import resampling
from rag_titan.evaluation.measures.draws import coins, picks
from rag_titan.evaluation.measures.resampling import (
    Paired,
    deciding,
    holm,
    interval95,
    is_binary,
    needed,
    paired,
    resolvable,
    two_samples,
)
from rag_titan.evaluation.measures.student import t_point
from rag_titan.evaluation.measures.sums import Moments

Z95 = NormalDist().inv_cdf(0.975)


def moments(values: list[float]) -> Moments:
    return Moments.of(np.array(values, dtype=np.float64))


def slow_wilson(successes: int, n: int) -> list[float]:
    """The two p for which the observed share lies exactly Z95 standard errors away (Wilson 1927), by bisection."""
    return slow_wilson_of(successes / n, n)


def slow_wilson_of(share: float, n: int) -> list[float]:
    def edge(inside: float, outside: float) -> float:
        for _ in range(200):
            middle = (inside + outside) / 2
            if (share - middle) ** 2 <= Z95**2 * middle * (1 - middle) / n:
                inside = middle
            else:
                outside = middle
        return inside

    return [edge(share, 0.0) if share else 0.0, edge(share, 1.0) if share < 1 else 1.0]


@given(n=st.integers(2, 400), seed=st.integers(0, 10**6))
def test_shares_have_wilsons_interval(n: int, seed: int) -> None:
    successes = seed % (n + 1)
    got = interval95(moments([1.0] * successes + [0.0] * (n - successes)), 0, 1)
    assert got == pytest.approx(slow_wilson(successes, n), abs=1e-9)


def test_the_figures_of_eight_out_of_ten() -> None:
    """0.4902 to 0.9433 in every table of Wilson's interval."""
    got = interval95(moments([1.0] * 8 + [0.0] * 2))
    assert got is not None
    assert [round(x, 4) for x in got] == [0.4902, 0.9433]


@pytest.mark.parametrize("n", [2, 3, 10, 12, 23, 1000])
def test_a_share_of_nothing_or_of_all_lies_in_its_interval(n: int) -> None:
    none, all_of_them = interval95(moments([0.0] * n)), interval95(moments([1.0] * n))
    assert none is not None
    assert all_of_them is not None
    assert (none[0], all_of_them[1]) == (0.0, 1.0)


@given(values=st.lists(st.floats(-5, 5), min_size=2, max_size=80))
def test_without_values_the_interval_is_students(values: list[float]) -> None:
    of = moments(values)
    if is_binary(of) or of.low == of.high:
        return
    mean, error = np.mean(values), np.std(values, ddof=1) / math.sqrt(len(values))
    half = t_point(len(values) - 1) * error
    assert interval95(of) == pytest.approx([mean - half, mean + half], rel=1e-6, abs=1e-7)


@pytest.mark.parametrize("values", [[], [0.5], [1.0], [0.5] * 29, [0.5] * 200, [math.nan] * 40])
def test_too_few_values_have_no_interval(values: list[float]) -> None:
    """One value, or many equal ones without an end to the range, say nothing of the spread."""
    assert interval95(moments(values)) is None


@given(values=st.lists(st.one_of(st.sampled_from([0.0, 1.0]), st.floats(0, 1)), max_size=60))
def test_an_interval_holds_its_mean_and_stays_in_the_range(values: list[float]) -> None:
    got = interval95(moments(values), 0, 1)
    if got is not None:
        mean = moments(values).mean()
        assert mean is not None
        assert 0 <= got[0] <= mean + 1e-12
        assert mean - 1e-12 <= got[1] <= 1


def slow_studentised(values: list[float]) -> tuple[float, float]:
    """Each of the same resamples one by one: its mean's distance from the mean, in its own standard errors."""
    n, ordered, scores = len(values), sorted(values), []
    for times in picks(0, resampling.RESAMPLES, n).astype(int).tolist():
        drawn = [value for value, count in zip(ordered, times, strict=True) for _ in range(count)]
        shift = np.mean(drawn) - np.mean(values)
        error = np.std(drawn, ddof=1) / math.sqrt(n)
        scores.append(shift / error if len(set(drawn)) > 1 else math.copysign(math.inf, shift))
    scores.sort()
    return scores[1949], -scores[49]


@pytest.mark.parametrize("n", [10, 25, resampling.KEPT])
def test_few_values_have_the_interval_of_the_studentised_bootstrap(n: int) -> None:
    values = np.random.default_rng(n).exponential(1.0, n)
    mean, error = values.mean(), values.std(ddof=1) / math.sqrt(n)
    below, above = (min(reach, 1.75 * t_point(n - 1)) for reach in slow_studentised(values.tolist()))
    assert interval95(Moments.of(values), values=values) == pytest.approx(
        [mean - below * error, mean + above * error], abs=1e-4
    )


def test_few_values_that_differ_do_not_carry_an_interval_away() -> None:
    """One resample in seven has none of the two: without a limit the bootstrap knows no upper end."""
    values = np.array([0.0] * 28 + [3.0, 4.0])
    assert slow_studentised(values.tolist())[1] == math.inf
    got = interval95(Moments.of(values), 0, math.inf, values)
    assert got is not None
    reach = 1.75 * t_point(29) * values.std(ddof=1) / math.sqrt(30)
    assert got[1] == pytest.approx(values.mean() + reach)


def test_values_in_a_range_have_at_most_the_interval_of_a_share() -> None:
    """0.2 and 0.9 in 0..1: Student's t of two values would be from -3.9 to 5."""
    share = slow_wilson_of(0.55, 2)
    assert interval95(moments([0.2, 0.9]), 0, 1) == pytest.approx(share, abs=1e-9)
    assert interval95(moments([-0.6, 0.8]), -1, 1) == pytest.approx([2 * end - 1 for end in share], abs=1e-9)


def test_equal_values_leave_room_for_others_that_were_not_seen() -> None:
    """z^2 / (n + z^2) of all may be elsewhere: for 0 and for 1 that is Wilson's interval."""
    unseen = Z95**2 / (30 + Z95**2)
    assert interval95(moments([0.5] * 30), 0, 1) == pytest.approx([0.5 - unseen / 2, 0.5 + unseen / 2])
    assert interval95(moments([1.0] * 30), 0, 1) == pytest.approx([1 - unseen, 1.0])


@given(values=st.lists(st.floats(0, 1), min_size=2, max_size=40), seed=st.integers(0, 99))
def test_the_order_of_values_changes_no_digit(values: list[float], seed: int) -> None:
    shuffled = np.random.default_rng(seed).permutation(np.array(values))
    of = moments(values)
    assert interval95(of, 0, 1, shuffled) == interval95(of, 0, 1, np.array(values))


# --- the difference of two runs ---------------------------------------------------------------------------------------


def slow_p(differences: list[float]) -> float:
    """The share of all 2^n ways to set the signs whose sum lies as far from 0."""
    seen = abs(math.fsum(differences))
    ways = list(product((-1, 1), repeat=len(differences)))
    far = [abs(math.fsum(s * d for s, d in zip(way, differences, strict=True))) >= seen - 1e-9 for way in ways]
    return sum(far) / len(ways)


def slow_drawn_p(differences: list[float], resamples: int, seed: int) -> float:
    """The same signs as `paired` draws, one question after the other, the largest difference first."""
    ordered = sorted((abs(d) for d in differences if d), reverse=True)
    seen, far = abs(math.fsum(differences)), 0
    for row in coins(seed, 0, resamples, len(ordered), 157).tolist():
        total = 0.0
        for size, head in zip(ordered, row, strict=True):
            total += size if head else -size
        far += abs(total) >= seen - 1e-9
    return (1 + far) / (1 + resamples)


@given(st.lists(st.sampled_from([0.0, 0.5, -0.5, 0.25, 1.0, -1.0]) | st.floats(-1, 1), min_size=1, max_size=9))
def test_p_of_few_differences_is_that_of_all_signs(differences: list[float]) -> None:
    found = paired(np.array(differences)[:, None])
    assert found.p[0] == pytest.approx(slow_p(differences), abs=1e-12)
    assert (found.n[0], found.mean[0]) == (len(differences), pytest.approx(np.mean(differences), abs=1e-12))


def test_p_of_more_differences_is_that_of_a_plain_loop() -> None:
    differences = np.random.default_rng(3).normal(0.1, 0.4, (60, 3))
    differences[:, 1] = np.rint(differences[:, 1] * 3) / 3
    found = paired(differences, resamples=500, seed=11).p.tolist()
    assert found == [slow_drawn_p(column.tolist(), 500, 11) for column in differences.T]


def test_six_wins_of_six_by_hand() -> None:
    """All wins or all losses are 2 of 64 ways."""
    found = paired(np.array([[1.0, -0.1]] * 6))
    assert found.p.tolist() == [1 / 32, 1 / 32]
    assert found.mean.tolist() == [1.0, -0.1]
    assert np.isnan(found.low).all()  # all equal: nothing is known of their spread


def test_what_was_not_measured_or_did_not_change_says_nothing_in_a_sum() -> None:
    alone = paired(np.array([[0.5], [-0.25], [0.75]]))
    among = paired(np.array([[0.5], [np.nan], [-0.25], [0.0], [0.75], [np.nan]]))
    assert among.p[0] == alone.p[0]
    assert (among.n[0], alone.n[0]) == (4, 3)
    assert among.mean[0] == 0.25


def test_nothing_to_compare_is_nan_and_no_change_is_no_evidence() -> None:
    found = paired(np.array([[np.nan, 0.0, 0.4], [np.nan, 0.0, np.nan]]))
    assert np.isnan(found.p).tolist() == [True, False, False]
    assert found.p[1:].tolist() == [1.0, 1.0]
    assert np.isnan(found.sd).tolist() == [True, False, True]
    assert (found.n.tolist(), found.mean[2]) == ([0, 2, 1], 0.4)
    assert paired(np.empty((0, 2))).n.tolist() == [0, 0]
    assert paired(np.empty((5, 0))).p.shape == (0,)


def test_an_infinite_difference_is_refused() -> None:
    with pytest.raises(ValueError, match="must be finite or NaN"):
        paired(np.array([[math.inf]]))


@given(seed=st.integers(0, 1000))
def test_neither_the_order_of_questions_nor_other_metrics_change_a_digit(seed: int) -> None:
    rng = np.random.default_rng(seed)
    differences = np.where(rng.random((40, 3)) < 0.2, np.nan, rng.normal(0, 0.3, (40, 3)).round(2))
    found, other, alone = (
        paired(differences),
        paired(rng.permutation(differences)[:, ::-1]),
        paired(differences[:, 1:2]),
    )
    for name in Paired._fields:
        assert np.array_equal(getattr(found, name), getattr(other, name)[::-1], equal_nan=True)
        assert np.array_equal(getattr(found, name)[1:2], getattr(alone, name), equal_nan=True)


def test_blocks_of_signs_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    differences = np.random.default_rng(6).normal(0.05, 0.3, (70, 2))
    whole = paired(differences).p
    monkeypatch.setattr(resampling, "_BLOCK", 999)
    assert np.array_equal(paired(differences).p, whole)


@given(scale=st.sampled_from([1e-300, 1e-9, 1.0, 1e9, 1e290]))
def test_p_does_not_depend_on_the_unit(scale: float) -> None:
    differences = np.random.default_rng(8).normal(0.1, 0.3, (30, 1))
    assert abs(paired(differences * scale).p[0] - paired(differences).p[0]) <= 1e-4
    assert paired(-differences).p[0] == paired(differences).p[0]


def test_of_very_many_differences_the_small_ones_are_normal(monkeypatch: pytest.MonkeyPatch) -> None:
    differences = np.random.default_rng(4).exponential(1.0, (2_000, 3)) - np.array([1.0, 1.02, 1.05])
    whole = paired(differences).p
    monkeypatch.setattr(resampling, "MOST_FLIPPED", 100)
    assert paired(differences).p == pytest.approx(whole, abs=0.02)


@pytest.mark.oracle
def test_p_as_scipy_has_it() -> None:
    stats = pytest.importorskip("scipy.stats")
    differences = np.random.default_rng(9).normal(0.2, 0.5, 12)
    wanted = stats.permutation_test(
        (differences,), np.mean, permutation_type="samples", n_resamples=np.inf, vectorized=False
    )
    assert paired(differences[:, None]).p[0] == pytest.approx(wanted.pvalue, abs=1e-12)


# --- many tests, and what a set resolves ------------------------------------------------------------------------------


def slow_holm(p: list[float]) -> list[float]:
    """Step by step: the smallest times all, the next times one fewer, and none below the one before."""
    left, last, corrected = sorted(range(len(p)), key=p.__getitem__), 0.0, [0.0] * len(p)
    while left:
        last = max(last, min(1.0, p[left[0]] * len(left)))
        corrected[left.pop(0)] = last
    return corrected


@given(st.lists(st.floats(0, 1), max_size=12))
def test_holms_correction(p: list[float]) -> None:
    assert holm(np.array(p)).tolist() == pytest.approx(slow_holm(p), abs=1e-12)


def test_holms_correction_by_hand() -> None:
    """0.01 x 4, 0.02 x 3, 0.03 x 2, 0.04 x 1 (raised to the one before it); what was not tested does not count."""
    found = holm(np.array([0.03, 0.01, np.nan, 0.04, 0.02]))
    assert found.tolist() == pytest.approx([0.06, 0.04, math.nan, 0.06, 0.06], nan_ok=True)
    assert holm(np.array([math.nan])).tolist() == pytest.approx([math.nan], nan_ok=True)


@given(sd=st.floats(0.01, 2), n=st.integers(2, 10_000))
def test_what_n_questions_resolve_needs_n_questions(sd: float, n: int) -> None:
    difference = resolvable(sd, n)
    assert difference is not None
    assert needed(sd, difference) in (n, n + 1)  # but for rounding


def test_half_a_standard_deviation_needs_34_questions() -> None:
    """(1.96 + 0.84)^2 / 0.25 = 31.4 with a known spread, and two more as it is not: the figure of every power table."""
    assert needed(1.0, 0.5) == needed(1.0, -0.5) == 34


@pytest.mark.parametrize(
    ("sd", "difference"), [(0.0, 0.5), (0.5, 0.0), (math.nan, 0.1), (0.1, math.nan), (1.0, 1e-9), (1e300, 1e-300)]
)
def test_nothing_to_resolve_needs_no_number(sd: float, difference: float) -> None:
    assert needed(sd, difference) is None


def test_one_question_resolves_nothing() -> None:
    assert (resolvable(0.3, 1), resolvable(0.0, 10), resolvable(math.nan, 10)) == (None, None, None)
    assert needed(0.1, 100.0) == 2


def test_the_number_that_decides_puts_the_limit_outside() -> None:
    for successes, limit in ((7, 0.8), (9, 0.8), (5, 0.2)):
        share = successes / 10
        ends = interval95(moments([1.0] * successes + [0.0] * (10 - successes)))
        assert ends is not None
        count = deciding(share, limit, 10, ends)
        assert count is not None
        for n, outside in ((count, True), (count - 1, False)):
            low, high = slow_wilson_of(share, n)
            assert (not low <= limit <= high) is outside


def test_the_number_that_decides_a_mean_of_other_values() -> None:
    values = np.random.default_rng(2).normal(0.5, 0.1, 300)
    ends = interval95(Moments.of(values))
    assert ends is not None
    count = deciding(float(values.mean()), float(values.mean()) + 0.05, 300, ends)
    error = float(values.std(ddof=1))
    assert count is not None
    assert t_point(count - 1) * error / math.sqrt(count) <= 0.05 < t_point(count - 2) * error / math.sqrt(count - 1)
    assert deciding(0.5, 0.5, 300, [0.4, 0.6]) is None
    assert deciding(7e307, 8e307, 10, [5e307, 9e307]) == deciding(7.0, 8.0, 10, [5.0, 9.0]) == 33
    assert deciding(1.0, 1.0, 30, [0.88, 1.0]) is None


def test_two_samples_as_in_a_test_worked_by_hand() -> None:
    """Standard errors 0.03 and 0.04 add up to 0.05; a difference of -0.1 is 2 of them: p 0.0455."""
    n = 10**7
    before, now = (0.8, [0.8 - Z95 * 0.03, 0.8 + Z95 * 0.03], n), (0.7, [0.7 - Z95 * 0.04, 0.7 + Z95 * 0.04], n)
    low, high, p = two_samples(before, now)
    assert (low, high) == pytest.approx((-0.1 - Z95 * 0.05, -0.1 + Z95 * 0.05))
    assert p == pytest.approx(0.0455, abs=5e-5)


def test_two_shares_have_newcombes_interval() -> None:
    """56 of 70 against 48 of 80: 0.0524 to 0.3339 (Newcombe 1998, table II, method 10)."""
    shares = [(56, 70), (48, 80)]
    more, fewer = ((k / n, interval95(moments([1.0] * k + [0.0] * (n - k))) or [], n) for k, n in shares)
    low, high, _ = two_samples(fewer, more)
    assert (round(low, 4), round(high, 4)) == (0.0524, 0.3339)


def test_two_samples_agree_with_their_interval() -> None:
    for shift in np.linspace(-0.5, 0.5, 41):
        low, high, p = two_samples((0.5, [0.35, 0.6], 40), (0.5 + shift, [0.4 + shift, 0.62 + shift], 25))
        assert (p <= 0.05) == (low >= 0 or high <= 0)


def test_an_interval_reaches_0_where_the_test_cannot_tell_the_change_from_chance() -> None:
    """3 of 10 got worse, by as much, and none better: 2 of the 8 ways to set 3 signs lie as far, p is 0.25."""
    found = paired(np.array([[-0.2]] * 3 + [[0.0]] * 7))
    assert found.p[0] == 0.25
    assert found.low[0] < found.mean[0] < 0
    assert found.high[0] >= 0
