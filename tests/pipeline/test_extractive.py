"""Answers that are quotes."""

from __future__ import annotations

from math import log, sqrt

import pytest
from tests.pipeline.small import LEAVE, TRAVEL, chunk, embedder

from rag_titan.pipeline.embedding.wordllama import WordLlamaEmbedder
from rag_titan.pipeline.extractive import ExtractiveGenerator, quotes_of
from rag_titan.pipeline.fitting import fits
from rag_titan.pipeline.parts import Chunk
from rag_titan.pipeline.prompts import ABSTENTION
from rag_titan.pipeline.settings import Settings

HANDBOOK = [
    Chunk(f"{name}#{place}", part, 0, len(part), name, {"headings": [part.partition("\n")[0]]})
    for name, text in (("leave.md", LEAVE), ("travel.md", TRAVEL))
    for place, part in enumerate(text.split("\n## ")[1:])
]


@pytest.fixture(scope="module")
def generator() -> ExtractiveGenerator:
    return ExtractiveGenerator(WordLlamaEmbedder(), Settings().abstain_below)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("How many days of annual leave do employees receive?", "28 days"),
        ("Who approves annual leave?", "shift planner"),
        ("From which day is a medical certificate needed?", "fourth day"),
        ("What is the limit for a hotel night?", "95 euros"),
        ("Is breakfast included?", "Breakfast is included"),
        ("Who books train tickets?", "travel office"),
        ("Is first class paid?", "not paid"),
        ("By when must a stolen laptop be reported?", "3 hours"),
    ],
)
def test_the_first_quote_answers(generator: ExtractiveGenerator, question: str, answer: str) -> None:
    generated = generator.generate(question, HANDBOOK)
    assert answer in generated.text.partition("[")[0]
    assert not generated.abstained
    assert 1 <= generated.text.count("[") <= 3


@pytest.mark.parametrize(
    "question",
    [
        "Which pension fund does the firm use?",
        "What does parking cost?",
        "Who is the chief executive?",
        "May I bring my dog?",
        "When was the firm founded?",
        "What is the wifi password?",
        "Is there a canteen?",
        "What is the notice period?",
    ],
)
def test_without_an_answer_it_abstains(generator: ExtractiveGenerator, question: str) -> None:
    generated = generator.generate(question, HANDBOOK)
    assert (generated.text, generated.abstained) == (ABSTENTION, True)


@pytest.mark.parametrize("question", ["", "?", "What is it?", "leave " * 2000])
def test_odd_questions_are_answered_in_one_way_or_the_other(generator: ExtractiveGenerator, question: str) -> None:
    generated = generator.generate(question, HANDBOOK)
    assert generated.abstained == (generated.text == ABSTENTION)


def test_markers_name_the_chunk_that_is_quoted(generator: ExtractiveGenerator) -> None:
    for question in ("What is the limit for a hotel?", "Who approves annual leave?"):
        for quote, place in _cited(generator.generate(question, HANDBOOK).text):
            assert quote in " ".join(HANDBOOK[place - 1].text.split())


def _cited(answer: str) -> list[tuple[str, int]]:
    parts = answer.replace("[", "]").split("]")
    return [(quote.strip(), int(place)) for quote, place in zip(parts[::2], parts[1::2], strict=False)]


def test_sentences_that_fit_alike_are_quoted_together_and_each_once() -> None:
    context = [chunk("a", "Leave is 28 days. Leave is 28 days."), chunk("b", "Leave is 28 days."),
               chunk("c", "Leave days are 28."), chunk("e", "The hotel is 95 euros.")]  # fmt: skip
    answer = ExtractiveGenerator(embedder(), 0.3).generate("How many leave days?", context)
    assert answer.text == "Leave is 28 days. [1] Leave days are 28. [3]"


def test_a_number_is_quoted_where_the_question_asks_for_one() -> None:
    context = [chunk("a", "The leave in days is known. The leave is 28 days long.")]
    generator = ExtractiveGenerator(embedder(), 0.3)
    assert generator.generate("How many days is the leave?", context).text == "The leave is 28 days long. [1]"
    assert generator.generate("What is the leave in days?", context).text.startswith("The leave in days is known. [1]")


@pytest.mark.parametrize(
    ("question", "answers"),
    [
        ("How many days of annual leave do employees receive, and who approves it?", ["28 days", "planner approves"]),
        ("What is the limit for a hotel? And who books train tickets?", ["95 euros", "travel office"]),
        ("Who books train tickets and which pension fund does the firm use?", ["travel office"]),
        ("Is breakfast and a hotel included?", ["Breakfast is included"]),
    ],
)
def test_each_part_of_a_question_that_is_answered_has_its_quote(
    generator: ExtractiveGenerator, question: str, answers: list[str]
) -> None:
    text = generator.generate(question, HANDBOOK).text
    assert [answer for answer in answers if answer in text] == answers
    assert text.count("[") == len(answers)


def test_of_a_question_whose_parts_are_not_answered_none_is() -> None:
    generator = ExtractiveGenerator(embedder(), 0.3)
    assert generator.generate("What is a zebra and who is the king?", [chunk("a", "Leave is 28 days.")]).abstained


def test_a_line_of_a_form_answers_alone_or_not_at_all() -> None:
    generator = ExtractiveGenerator(embedder(), 0.3)
    form = "Leave days 28\n\nLeave days left 3\n\nLeave days"
    assert generator.generate("leave days", [chunk("a", form)]).text == "Leave days 28 [1]"
    beside = generator.generate("leave days", [chunk("a", f"{form}\n\nThe leave is 28 days long.")])
    assert beside.text == "The leave is 28 days long. [1]"


def test_the_score_is_that_worked_out_by_hand() -> None:
    context = [chunk("a", "Leave is 28 days."), chunk("b", "The hotel is 95 euros.")]
    heard, unheard = log(1 + 2.5 / 1.5), 2 * log(1 + 2.5 / 0.5)  # one of two sentences has it, none has it
    numeral = 3 * unheard
    for question, share in (
        ("leave", 1.0),
        ("leave polo", heard / (heard + unheard)),
        ("leave 2019", heard / (heard + numeral)),
    ):
        scores = fits(question, quotes_of(context), embedder())
        assert scores == [pytest.approx(0.6 * share + 0.4 * sqrt(0.5), abs=1e-6), 0.0]


def test_headings_and_the_rest_of_a_chunk_count_less_than_the_sentence() -> None:
    context = [chunk("a", "# Leave\nIt is 28. Laptop."), chunk("b", "Nothing.")]
    scores = fits("leave laptop", quotes_of(context), embedder())
    leave, laptop = log(1 + 3.5 / 2.5), log(1 + 3.5 / 1.5)  # the heading is above two of three sentences
    wanted = [(0.9 * leave + 0.3 * laptop) / (leave + laptop), (0.9 * leave + laptop) / (leave + laptop)]
    assert scores == [
        pytest.approx(0.6 * wanted[0], abs=1e-6),
        pytest.approx(0.6 * wanted[1] + 0.4 * sqrt(0.5), abs=1e-6),
        0.0,
    ]


def test_what_it_does_not_know_it_does_not_say(generator: ExtractiveGenerator) -> None:
    generated = generator.generate("Who approves annual leave?", HANDBOOK)
    assert (generated.output_tokens, generated.total_tokens, generated.cost_usd) == (None, None, None)
    assert generator.name == "extractive"
    assert generator.generate("Who approves annual leave?", []).abstained
