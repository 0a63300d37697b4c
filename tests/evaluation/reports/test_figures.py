from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_titan.evaluation.catalogue import ROWS, find
from rag_titan.evaluation.conventions import Conventions
from rag_titan.evaluation.reports import figures
from rag_titan.evaluation.scoring.policy import rating_of


@pytest.mark.parametrize(
    ("key", "value", "text"),
    [
        ("recall_at_k", 1.0, "1.000"),
        ("recall_at_k", 0.99999, ">0.999"),
        ("recall_at_k", 0.00001, "<0.001"),
        ("recall_at_k", 0.0, "0.000"),
        ("ndcg_gain", -0.25, "-0.250"),
        ("ndcg_gain", -0.00001, ">-0.001"),
        ("p95_latency_ms", 12.34, "12.3 ms"),
        ("p95_latency_ms", 0.5, "0.50 ms"),
        ("p95_latency_ms", 290.0, "290 ms"),
        ("mean_cost_usd", 0.0, "$0.00"),
        ("mean_cost_usd", 0.00001234, "$0.000012"),
        ("mean_cost_usd", 1234.5, "$1,234.50"),
        ("mean_total_tokens", 1204.4, "1,204"),
        ("mean_chunk_tokens", 8.25, "8.25"),
        ("mean_vector_norm", 0.9999999, "1.000"),
        ("overlap_ratio", 12.345, "12.3"),
    ],
)
def test_values_are_written_with_their_unit(key: str, value: float, text: str) -> None:
    row = next((row for row in ROWS if row.key == key), None)
    assert figures.value_text(row, key, value) == text


@given(st.floats(0, 1))
def test_a_rate_looks_perfect_or_nothing_only_when_it_is(value: float) -> None:
    text = figures.value_text(None, "recall_at_k", value)
    assert (text == "1.000") == (value == 1)
    assert (text == "0.000") == (value == 0)
    assert abs(float(text.strip("<>")) - value) <= 0.001


@pytest.mark.parametrize(
    ("score", "text"), [(93.18, "93.2"), (89.97, "89.97"), (89.9996, "89.9996"), (90.0, "90.0"), (100.0, "100.0")]
)
def test_a_score_has_one_decimal_and_more_where_one_would_raise_its_rating(score: float, text: str) -> None:
    assert figures.score_text(score) == text


@given(st.floats(0, 100))
def test_a_score_is_never_shown_as_one_of_another_rating(score: float) -> None:
    text = figures.score_text(score)
    assert rating_of(float(text)) == rating_of(score) or abs(float(text) - score) < 1e-5
    assert re.fullmatch(r"\d+\.\d+", text)


@given(st.floats(0, 1))
def test_a_share_is_rounded_and_says_none_or_all_of_nothing_else(share: float) -> None:
    text = figures.share_text(share)
    if 1e-8 < share < 0.005:
        assert text == "<1%"
    elif 0.995 <= share < 1 - 1e-8:
        assert text == ">99%"
    else:
        assert abs(100 * share - float(text.rstrip("%"))) <= 0.5 + 1e-8


@pytest.mark.parametrize(
    ("share", "text"),
    [(8 / 30, "27%"), (1 / 8, "13%"), (2 / 3, "67%"), (0.7449, "74%"), (0.7499, "74.9%"), (0.75, "75%"), (1.0, "100%")],
)
def test_a_share_below_enough_does_not_look_like_enough(share: float, text: str) -> None:
    assert figures.share_text(share) == text


def test_names_carry_the_cut_off_and_the_conventions_that_change_them() -> None:
    meta = {"k": 10, "conventions": Conventions(gain="linear", relevance_level=2).as_dict()}
    assert figures.title_text(find("retrieval.ndcg_at_k"), meta) == "nDCG@10 (linear gain)"
    assert figures.title_text(find("recall_at_k"), meta) == "Recall@10 (relevant from grade 2)"
    assert figures.title_text(find("recall_at_k"), {}) == "Recall@K"


def test_every_convention_that_can_be_chosen_has_words() -> None:
    other = Conventions(
        gain="linear", ap_denominator="relevant", relevance_level=3, all_topics=True, no_relevant="zero",
        answer_normalization="squad", strip_citations=False, tokenizer="word",
    )  # fmt: skip
    assert set(figures.convention_texts({"conventions": other.as_dict()})) == set(other.as_dict())


def test_the_words_name_metrics_that_exist() -> None:
    keys = {row.key for row in ROWS}
    named = {key for _, touched in figures._CONVENTIONS.values() for key in touched}
    assert named <= keys
