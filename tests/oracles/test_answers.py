"""Answer scores against public logs and public implementations of the same measures."""

from __future__ import annotations

import json
import re
import string
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rag_titan.evaluation.conventions import PRESETS
from rag_titan.evaluation.data.answers import Answers

DATA = Path(__file__).parents[3] / "shared" / "data"
pytestmark = pytest.mark.oracle


def load(name: str) -> Any:
    path = DATA / name
    if not path.exists():
        pytest.skip(f"shared data {name} is not here")
    return json.loads(path.read_text("utf-8"))


def gold(language: str) -> dict[str, str]:
    articles = load(f"xquad/xquad.{language}.json")["data"]
    questions = (q for a in articles for p in a["paragraphs"] for q in p["qas"])
    return {q["id"]: q["answers"][0]["text"] for q in questions}


def official_tokens(text: str) -> list[str]:
    kept = "".join(char for char in text.lower() if char not in set(string.punctuation))
    return re.sub(r"\b(a|an|the)\b", " ", kept).split()


def official_f1(answer: str, reference: str) -> float:
    a, b = official_tokens(answer), official_tokens(reference)
    if not a or not b:
        return float(a == b)
    same = sum((Counter(a) & Counter(b)).values())
    return 2 * (same / len(a)) * (same / len(b)) / (same / len(a) + same / len(b)) if same else 0.0


@pytest.mark.parametrize("model", ["bert_single", "logistic_regression"])
def test_the_squad_preset_follows_the_official_script(model: str) -> None:
    predictions, references = load(f"squad/{model}.json"), gold("en")
    pairs = [(predictions[i], references[i]) for i in references if i in predictions]
    assert len(pairs) > 800
    scores = Answers([a for a, _ in pairs], [[r] for _, r in pairs], conventions=PRESETS["squad"])
    exact = [float(" ".join(official_tokens(a)) == " ".join(official_tokens(r))) for a, r in pairs]
    assert scores.exact_match.tolist() == exact
    np.testing.assert_allclose(scores.f1, [official_f1(a, r) for a, r in pairs], rtol=1e-12)


@pytest.mark.parametrize("preset", ["seed", "squad"])
@pytest.mark.parametrize("language", ["en", "zh", "hi"])
def test_gold_against_gold_is_perfect(language: str, preset: str) -> None:
    texts = list(gold(language).values())
    scores = Answers(texts, [[text] for text in texts], conventions=PRESETS[preset])
    for name in ("exact_match", "precision", "recall", "f1", "rouge_l"):
        assert (getattr(scores, name) == 1).all(), name


def test_rouge_l_is_that_of_the_reference_implementation() -> None:
    rouge_scorer = pytest.importorskip("rouge_score.rouge_scorer")
    predictions, references = load("squad/bert_single.json"), gold("en")
    ascii_pairs = [(predictions[i], r) for i, r in references.items() if i in predictions]
    ascii_pairs = [(a, r) for a, r in ascii_pairs if (a + r).isascii() and "_" not in a + r]
    scorer = rouge_scorer.RougeScorer(["rougeL"])
    expected = [scorer.score(r, a)["rougeL"].fmeasure for a, r in ascii_pairs]
    scores = Answers([a for a, _ in ascii_pairs], [[r] for _, r in ascii_pairs])
    np.testing.assert_allclose(scores.rouge_l, expected, rtol=1e-12)
