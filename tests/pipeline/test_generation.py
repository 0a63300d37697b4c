"""Answers that a model behind a server writes."""

from __future__ import annotations

import pytest
from tests.models.scripted import base_url, good, scripted, whole
from tests.pipeline.small import chunk, embedder

from rag_titan.errors import ServiceError
from rag_titan.pipeline.extractive import ExtractiveGenerator
from rag_titan.pipeline.generation import abstains, generator_of
from rag_titan.pipeline.parts import Generator
from rag_titan.pipeline.prompts import ABSTENTION, SYSTEM
from rag_titan.pipeline.settings import Settings

CONTEXT = [chunk("a", " Leave is 28 days.\n", "leave.md"), chunk("b", "Hotels cost 95 euros.", "travel.md")]


def of(url: str, api: str, **more: object) -> Generator:
    return generator_of(Settings.of({"generator": api, "model": "tiny", "url": url, **more}, environ={}), embedder())


@pytest.mark.parametrize("api", ["openai", "ollama"])
def test_the_model_gets_the_numbered_chunks_and_the_answer_has_what_it_tells(api: str) -> None:
    with scripted(good(api, ["28 ", "days [1]."])) as app:
        answer = of(base_url(app, api), api, input_price=1.0, output_price=2.0).generate(" How many days? ", CONTEXT)
        messages = app.requests[0].body["messages"]
    assert messages[0] == {"role": "system", "content": SYSTEM}
    assert messages[1]["content"] == (
        "[1] (leave.md)\nLeave is 28 days.\n\n[2] (travel.md)\nHotels cost 95 euros.\n\nQuestion: How many days?"
    )
    assert (answer.text, answer.abstained) == ("28 days [1].", False)
    assert (answer.output_tokens, answer.total_tokens) == (3, 10)
    assert answer.cost_usd == pytest.approx(13e-6)
    assert answer.time_to_first_token_ms is not None


def test_without_prices_there_is_no_cost_and_without_counts_there_are_no_tokens() -> None:
    with scripted(good("openai", ["28 days [1]."], counts=False)) as app:
        answer = of(base_url(app), "openai").generate("How many?", CONTEXT)
    assert (answer.output_tokens, answer.total_tokens, answer.cost_usd) == (None, None, None)


@pytest.mark.parametrize(
    ("said", "abstained"),
    [
        (ABSTENTION, True),
        (f"  {ABSTENTION.lower()[:-1]}\n", True),
        (f"**{ABSTENTION}** Ask someone else.", True),
        ("The documents do\nnot answer this question.", True),
        ("Leave is 28 days [1]. The documents do not answer this question about hotels.", False),
        ("I do not know.", False),
        ("", False),
    ],
)
def test_abstention_is_told_by_its_sentence(said: str, abstained: bool) -> None:
    assert abstains(said) is abstained


def test_thoughts_are_no_answer() -> None:
    with scripted(good("ollama", ["<think>\nMaybe [2]?\n</think>\n\n", ABSTENTION])) as app:
        answer = of(base_url(app, "ollama"), "ollama").generate("How many?", CONTEXT)
    assert (answer.text, answer.abstained) == (ABSTENTION, True)


def test_without_context_the_model_is_not_asked() -> None:
    with scripted(good("openai")) as app:
        assert of(base_url(app), "openai").generate("How many?", []).abstained
        assert app.requests == []


def test_a_server_that_refuses_is_said() -> None:
    with scripted(whole({"error": {"message": "no such model"}}, 404)) as app, pytest.raises(ServiceError, match="404"):
        of(base_url(app), "openai").generate("How many?", CONTEXT)


def test_the_settings_name_the_generator() -> None:
    assert isinstance(generator_of(Settings(), embedder()), ExtractiveGenerator)
