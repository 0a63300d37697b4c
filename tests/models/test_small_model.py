"""A real language model behind a real server: the stream, its times, its tokens, a schema."""

from __future__ import annotations

import numpy as np
import pytest

from rag_titan.errors import ServiceError
from rag_titan.models.chat import ChatModel
from rag_titan.models.embed import EmbeddingModel

pytestmark = pytest.mark.llm

SCHEMA = {
    "type": "object",
    "properties": {"verdict": {"enum": ["supported", "unsupported"]}, "score": {"type": "integer"}},
    "required": ["verdict", "score"],
    "additionalProperties": False,
}


def small_model(url: str, **more: int) -> ChatModel:
    return ChatModel(url, "smollm2", seed=1, prices={"smollm2": {"input": 1.0, "output": 2.0}}, **more)  # type: ignore[arg-type]


def test_a_streamed_answer(small_model_url: str) -> None:
    seen: list[str] = []
    with small_model(small_model_url, max_tokens=16) as model:
        answer = model.chat("Say hello to the world.", on_text=seen.append)
    assert len(seen) > 1
    assert "".join(seen) == answer.text
    assert answer.time_to_first_token_ms is not None
    assert 0 < answer.time_to_first_token_ms < answer.latency_ms
    assert answer.prompt_tokens is not None
    assert answer.prompt_tokens > 5
    assert answer.output_tokens is not None
    assert len(seen) <= answer.output_tokens <= 16
    assert answer.total_tokens == answer.prompt_tokens + answer.output_tokens
    assert answer.cost_usd == (answer.prompt_tokens * 1.0 + answer.output_tokens * 2.0) / 1e6
    assert (answer.finish_reason in ("stop", "length"), answer.attempts) == (True, 1)


def test_at_temperature_zero_the_answer_is_the_same_again_and_without_a_stream(small_model_url: str) -> None:
    with small_model(small_model_url, max_tokens=8) as model:
        streamed = [model.chat("Name a colour.").text for _ in range(2)]
    with small_model(small_model_url, max_tokens=8, streaming=False) as model:
        whole = model.chat("Name a colour.")
    assert streamed == [whole.text] * 2
    assert whole.time_to_first_token_ms is None
    assert whole.output_tokens is not None


def test_a_schema_is_obeyed(small_model_url: str) -> None:
    with small_model(small_model_url, max_tokens=64) as model:
        answer = model.chat("Claim: Paris is in France. Verdict and score from 0 to 9?", schema=SCHEMA)
    assert set(answer.value) == {"verdict", "score"}
    assert answer.value["verdict"] in ("supported", "unsupported")
    assert isinstance(answer.value["score"], int)


def test_an_answer_that_is_cut_by_its_bound_is_no_json(small_model_url: str) -> None:
    with small_model(small_model_url, max_tokens=3) as model, pytest.raises(ServiceError, match=r"Raise max_tokens\.$"):
        model.chat("Claim: Paris is in France. Verdict and score?", schema=SCHEMA)


def test_what_the_server_refuses_is_said_in_its_words(small_model_url: str) -> None:
    with small_model(small_model_url) as model, pytest.raises(ServiceError) as caught:
        model.chat([{"role": "user"}])
    assert str(caught.value).startswith(f"{small_model_url}/chat/completions: must answer with HTTP 200, got HTTP ")
    assert caught.value.__cause__ is None


def test_vectors(small_embedder_url: str) -> None:
    texts = ["a cat sat", "a cat sits", "quarterly revenue fell"]
    with EmbeddingModel(small_embedder_url, "smollm2", batch_size=2, dimensions=576) as model:
        vectors = model.embed(texts)
        again = model.embed(texts[::-1])[::-1]
    assert vectors.shape == (3, 576)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-6)
    np.testing.assert_allclose(vectors, again, atol=1e-2)  # a batch of other texts is summed in another order
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2]
