"""Answers against references: the scores of pairs, the best of several references, conventions, phrases."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_titan.evaluation.conventions import PRESETS, Conventions
from rag_titan.evaluation.data import answers as module
from rag_titan.evaluation.data.answers import Answers, references_of
from rag_titan.evaluation.data.numerals import facts
from rag_titan.evaluation.data.squad import in_any_script, official, with_articles
from rag_titan.evaluation.data.tokens import words

SCORES = ("exact_match", "precision", "recall", "f1", "rouge_l")
TEXTS = st.lists(
    st.sampled_from(["the", "A", "cat", "Cat.", "dog", "…", ".", "你好", "U.S.", "don't"]), max_size=5
).map(" ".join)


def slow_lcs(a: list[str], b: list[str]) -> int:
    row = [0] * (len(b) + 1)
    for x in a:
        last = list(row)
        for j, y in enumerate(b):
            row[j + 1] = last[j] + 1 if x == y else max(row[j], last[j + 1])
    return row[-1]


def slow_pair(answer: str, reference: str, squad: bool) -> tuple[float, float, float, float, float]:
    a, b = (
        official(text).split() if squad else in_any_script(text).split() or with_articles(text).split()
        for text in (answer, reference)
    )
    same = sum((Counter(a) & Counter(b)).values())
    f1 = 2 * same / (len(a) + len(b)) if a or b else 1.0
    x, y = words().tokens(answer), words().tokens(reference)
    rouge = 2 * slow_lcs(x, y) / (len(x) + len(y)) if x or y else math.nan
    return float(a == b), same / len(a) if a else math.nan, same / len(b) if b else math.nan, f1, rouge


def slow_best(answer: str | None, references: list[str], squad: bool) -> tuple[float, ...]:
    if answer is None or not references:
        return (math.nan,) * 5
    pairs = [slow_pair(answer, reference, squad) for reference in references]
    best = max(pairs, key=lambda pair: pair[3])
    rouges = [pair[4] for pair in pairs if not math.isnan(pair[4])]
    return max(pair[0] for pair in pairs), best[1], best[2], best[3], max(rouges, default=math.nan)


@pytest.mark.parametrize("preset", ["seed", "squad"])
@given(rows=st.lists(st.tuples(st.none() | TEXTS, st.lists(TEXTS, max_size=3)), max_size=5))
def test_the_best_reference_counts(preset: str, rows: list[tuple[str | None, list[str]]]) -> None:
    batch = Answers([a for a, _ in rows], [r for _, r in rows], conventions=PRESETS[preset])
    expected = np.array([slow_best(a, r, preset == "squad") for a, r in rows]).reshape(-1, 5)
    for i, name in enumerate(SCORES):
        np.testing.assert_allclose(getattr(batch, name), expected[:, i], rtol=1e-12, err_msg=name)


def scores(answer: str, reference: str, **choices: object) -> dict[str, float]:
    batch = Answers([answer], [[reference]], conventions=Conventions(**choices))  # type: ignore[arg-type]  # what a caller may get wrong
    return {name: getattr(batch, name)[0] for name in SCORES}


@pytest.mark.parametrize(
    ("answer", "reference", "expected"),
    [
        ("", "Paris", (0, math.nan, 0, 0, 0)),
        ("Paris", "", (0, 0, math.nan, 0, 0)),
        ("", "", (1, math.nan, math.nan, 1, math.nan)),
        ("A", "A", (1, 1, 1, 1, 1)),
        ("A", "C", (0, 0, 0, 0, 0)),
        ("the", "a", (0, 0, 0, 0, 0)),
        ("a cat, a dog", "the dog and the cat", (0, 1, 2 / 3, 0.8, 2 / 9)),
        ("Café", "Cafe\u0301", (1, 1, 1, 1, 1)),
        ("की", "का", (0, 0, 0, 0, 0)),
        ("state-of-the-art", "state of the art", (0, 0, 0, 0, 1)),
    ],
)
def test_pairs_by_hand(answer: str, reference: str, expected: tuple[float, ...]) -> None:
    assert tuple(scores(answer, reference).values()) == pytest.approx(expected, nan_ok=True)


def test_the_official_preset_makes_nothing_of_a_lone_article() -> None:
    assert scores("the", "a", answer_normalization="squad")["exact_match"] == 1


def test_precision_and_recall_are_those_of_one_reference() -> None:
    batch = Answers(["one two three"], [["one", "one two three four five six seven"]])
    assert batch.f1[0] == pytest.approx(0.6)
    assert (batch.precision[0], batch.recall[0]) == pytest.approx((1, 3 / 7))


def test_a_tokenizer_of_your_own_is_asked_for_rouge_alone() -> None:
    def letters(text: str) -> list[tuple[int, int]]:
        return [(i, i + 1) for i in range(len(text)) if text[i] != " "]

    result = scores("ab c", "abc", tokenizer=letters)
    assert (result["rouge_l"], result["exact_match"]) == (1, 0)


def test_the_size_of_a_block_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    texts, references = ["the red fox", None, "blue", "a fox"], [["red fox", "fox"], ["x"], [], ["the fox", "blue"]]
    whole = Answers(texts, references)
    monkeypatch.setattr(module, "_BLOCK", 1)
    cut = Answers(texts, references)
    for name in SCORES:
        np.testing.assert_array_equal(getattr(whole, name), getattr(cut, name))


def test_an_empty_batch_has_empty_scores() -> None:
    assert [len(getattr(Answers([], []), name)) for name in SCORES] == [0] * 5


def test_only_short_references_are_asked() -> None:
    batch = Answers(["one two", "one two"], [["one two three", "one"], ["one two three"]])
    assert batch.short_f1(1).tolist() == pytest.approx([2 / 3, math.nan], nan_ok=True)


@pytest.mark.parametrize(
    ("answer", "phrase", "found"),
    [
        ("You get 25 DAYS of leave.", "25 days", True),
        ("days 25", "25 days", False),
        ("In 2020 it was 120.", "20", False),
        ("Through the portal.", "HR", False),
        ("It takes 3.5 days.", "5 days", False),
        ("It takes 3,5 days.", "3.50 days", True),
        ("1.000,50 euro", "1000.5 euro", True),
        ("1.500 units", "1500 units", True),
        ("1,500 units", "1.500 units", True),
        ("1,000 units", "1", False),
        ("It was -5 degrees", "5 degrees", False),
        ("20 % off", "20%", True),
        ("20 days off", "20%", False),
        ("20% off", "20", True),
        ("Option C", "A", False),
        ("Option A", "A", True),
        ("anything", "", False),
        ("anything!", "!", False),
        ("", "x", False),
        ("Meet at Cafe\u0301", "café", True),
    ],
)
def test_a_phrase_is_a_run_of_whole_tokens(answer: str, phrase: str, found: bool) -> None:
    batch = Answers(["other", answer], [(), ()])
    assert batch.found([phrase], np.array([1]), facts()).tolist() == [found]


def test_references_are_one_list_without_repeats() -> None:
    assert references_of(None, None) == ()
    assert references_of("a", None) == ("a",)
    assert references_of("a", ["b", "a"]) == ("a", "b")
    assert references_of(None, []) == ()
