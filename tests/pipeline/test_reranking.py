"""In which order chunks go into the context."""

from __future__ import annotations

from typing import Any

import pytest
from tests.pipeline.small import chunk, embedder, ids

from rag_titan.errors import SettingsError
from rag_titan.pipeline.fitting import fits, quotes_at
from rag_titan.pipeline.parts import Found
from rag_titan.pipeline.reranking import CallableReranker, FirstReranker, SentenceReranker, reranker_of
from rag_titan.pipeline.settings import Settings

TEXTS = {
    "long": "A stolen laptop. A stolen laptop again. The hotel. Many days of leave and hotel. Laptop, laptop.",
    "exact": "Nothing of it here, laptop stolen. Days of leave.",
    "none": "# Only a heading",
    "tie": "Leave for days.",
}
FOUND = [Found(chunk(name, text), 1.0) for name, text in TEXTS.items()]


def test_the_order_of_the_best_sentences_is_fused_with_that_of_the_search_and_ties_keep_theirs() -> None:
    ranked = SentenceReranker(embedder()).rerank("leave days", FOUND, 4)  # by cosine: exact, tie, long, none
    wanted = {"exact": 1 / 62 + 1 / 61, "long": 1 / 61 + 1 / 63, "tie": 1 / 64 + 1 / 62, "none": 1 / 63 + 1 / 64}
    assert [one.chunk.id for one in ranked] == list(wanted)
    assert [one.score for one in ranked] == pytest.approx([score / 2 for score in wanted.values()])
    assert ids(SentenceReranker(embedder()).rerank("leave days", FOUND[::-1], 2)) == ["tie", "exact"]


def test_ties_of_both_orders_keep_that_of_the_search() -> None:
    found = [Found(chunk("z", "Leave is long."), 2.0), Found(chunk("a", "Leave is 28 days."), 1.0)]
    ranked = SentenceReranker(embedder()).rerank("leave days", found, 2)  # which swaps them: 1/61 + 1/62 for each
    assert ids(ranked) == ["z", "a"]
    assert ranked[0].score == pytest.approx(ranked[1].score)


def test_a_sentence_with_the_words_of_the_question_comes_before_one_that_is_only_near() -> None:
    near, exact = chunk("near", "Days, days, leave."), chunk("exact", "Ask Zoe about leave and the hotel days.")
    found = [Found(chunk("other", "Hotel."), 3.0), Found(exact, 2.0), Found(near, 1.0)]
    ranked = SentenceReranker(embedder()).rerank("leave days of Zoe", found, 1)
    assert ids(ranked) == ["exact"]  # 1/62 + 1/61, before other with 1/61 + 1/63 and near with 1/63 + 1/62
    scores = fits("leave days of Zoe", [*quotes_at(1, near), *quotes_at(2, exact)], embedder())
    assert scores[0] < scores[1]  # by the cosine alone it is the other way round
    question = embedder().embed(["leave days of Zoe"])[0]
    cosines = embedder().embed([near.text, exact.text]) @ question
    assert cosines[0] > cosines[1]


def test_many_ties_keep_their_order() -> None:
    found = [Found(chunk(str(place), "Leave days." if place % 3 else "Hotel."), 1.0) for place in range(60)]
    fits, fits_not = ([str(place) for place in range(60) if bool(place % 3) == fit] for fit in (True, False))
    ranked = ids(SentenceReranker(embedder()).rerank("leave", found, 60))
    assert [name for name in ranked if name in fits] == fits
    assert [name for name in ranked if name in fits_not] == fits_not
    scored = CallableReranker(lambda question, texts: ["L" in text for text in texts])
    assert ids(scored.rerank("", found, 40)) == fits


def test_a_question_without_a_vector_keeps_the_order() -> None:
    assert ids(SentenceReranker(embedder()).rerank("", FOUND, 3)) == ["long", "exact", "none"]


def test_nothing_found_is_nothing() -> None:
    assert SentenceReranker(embedder()).rerank("leave", [], 3) == []
    assert CallableReranker(lambda question, texts: []).rerank("leave", [], 3) == []


def test_the_settings_name_the_reranker() -> None:
    assert isinstance(reranker_of(Settings(), embedder()), SentenceReranker)
    assert isinstance(reranker_of(Settings(reranker="none"), embedder()), FirstReranker)
    assert FirstReranker().rerank("leave", FOUND, 2) == FOUND[:2]


def test_a_function_gets_question_and_texts() -> None:
    asked: list[Any] = []

    def score(question: str, texts: list[str]) -> list[float]:
        asked.append((question, texts))
        return [0.0, 1.0, 1.0, 0.0]

    assert ids(CallableReranker(score).rerank("leave?", FOUND, 3)) == ["exact", "none", "long"]
    assert asked == [("leave?", list(TEXTS.values()))]


@pytest.mark.parametrize("scores", [[1.0], [1.0, 2.0, 3.0, float("nan")], [[1.0]] * 4, None, ["a"] * 4, [None] * 4])
def test_what_are_no_scores_is_refused(scores: Any) -> None:
    with pytest.raises(SettingsError, match="reranker: must give one finite number for each of 4 texts"):
        CallableReranker(lambda question, texts: scores).rerank("leave", FOUND, 2)
