"""Embedding models: batches, order, prefixes, and vectors that are none."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.evaluation.preparation.http_app import App, Asked
from tests.models.scripted import Naps, base_url, scripted, whole

from rag_titan.errors import ServiceError, SettingsError
from rag_titan.models.embed import EmbeddingModel
from rag_titan.pipeline.parts import Embedder

APIS = pytest.mark.parametrize("api", ["openai", "ollama"])


def embedding_model(app: App, api: str = "openai", **more: Any) -> EmbeddingModel:
    return EmbeddingModel(base_url(app, api), "tiny", api, **({"sleep": Naps()} | more))  # type: ignore[arg-type]


def vector(text: str) -> list[float]:
    """Another direction for another length."""
    return [float(len(text)), 3.0, 4.0]


def lengths(asked: Asked) -> None:
    """Vectors that tell the length of each text; those of OpenAI in the reverse order."""
    vectors = [vector(text) for text in asked.body["input"]]
    if asked.path == "/api/embed":
        asked.json({"model": "tiny", "embeddings": vectors})
        return
    assert asked.path == "/v1/embeddings"
    data = [{"object": "embedding", "index": i, "embedding": v} for i, v in enumerate(vectors)]
    asked.json({"data": data[::-1], "model": "tiny", "usage": {"prompt_tokens": 1, "total_tokens": 1}})


def unit(rows: list[list[float]]) -> NDArray[np.float64]:
    return np.array([np.array(row) / np.sqrt(sum(x * x for x in row)) for row in rows])


@APIS
def test_texts_become_unit_vectors_in_their_order(api: str) -> None:
    texts = ["", "a", "bb", "ccc", "dddd"]
    with scripted(lengths) as app, embedding_model(app, api, batch_size=2) as model:
        embedder: Embedder = model
        vectors = embedder.embed(texts)
        assert [request.body["input"] for request in app.requests] == [["", "a"], ["bb", "ccc"], ["dddd"]]
    assert (vectors.dtype.name, vectors.shape) == ("float32", (5, 3))
    np.testing.assert_allclose(vectors, unit([vector(text) for text in texts]), atol=1e-7)
    assert model.dimensions == 3


@APIS
def test_what_is_asked(api: str) -> None:
    with scripted(lengths) as app, embedding_model(app, api, extra={"truncate": False}) as model:
        model.embed(["a"])
        form = {"encoding_format": "float"} if api == "openai" else {}
        assert app.requests[0].body == {"model": "tiny", "input": ["a"], "truncate": False} | form


def test_questions_and_passages_get_their_prefixes() -> None:
    with scripted(lengths) as app, embedding_model(app, query_prefix="query: ", passage_prefix="passage: ") as model:
        model.embed(["a"])
        model.embed(["b"], query=True)
        assert [request.body["input"] for request in app.requests] == [["passage: a"], ["query: b"]]


def test_the_name_tells_apart_what_gives_other_vectors() -> None:
    with scripted(lengths) as app:
        options: list[dict[str, Any]] = [
            {}, {"query_prefix": "q: "}, {"passage_prefix": "q: "}, {"query_prefix": "q", "passage_prefix": "p"},
            {"extra": {"dimensions": 256}}, {"extra": {"dimensions": 512}},
        ]  # fmt: skip
        names = [embedding_model(app, **more).name for more in options]
        assert len(set(names)) == len(names)
        assert names[0] == embedding_model(app, batch_size=7, dimensions=3).name == "tiny"
        assert names[3] == "tiny, query prefix 'q', passage prefix 'p'"


def test_no_texts_ask_nobody() -> None:
    with scripted(lengths) as app, embedding_model(app) as model:
        assert model.embed([]).shape == (0, 0)
        model.embed(["a"])
        assert model.embed([]).shape == (0, 3)
        assert len(app.requests) == 1


def test_vectors_far_from_one_become_unit_vectors_too() -> None:
    with scripted(whole({"embeddings": [[1e-300, 0], [3e300, 4e300], [-2, 0]]})) as app:
        vectors = embedding_model(app, "ollama").embed(["a", "b", "c"])
    np.testing.assert_allclose(vectors, np.array([[1, 0], [0.6, 0.8], [-1, 0]]), atol=1e-7)


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ({"embeddings": [[0.0, 0.0]]}, "must answer with vectors that have a direction, got one of zeros, NaN or"),
        (
            {"embeddings": [[float("nan"), 1.0]]},
            "must answer with vectors that have a direction, got one of zeros, NaN",
        ),
        (
            {"embeddings": [[float("inf"), 1.0]]},
            "must answer with vectors that have a direction, got one of zeros, NaN",
        ),
        ({"embeddings": [[1, 2], [1, 2]]}, "must answer with 1 vectors, got 2. Lower batch_size."),
        ({"embeddings": []}, "must answer with 1 vectors, got 0."),
        ({"embeddings": [[1, None]]}, "must answer with vectors of numbers, got something else."),
        ({"embeddings": [["1", "2"]]}, "must answer with vectors of numbers"),
        ({"embeddings": [[[1], [2]]]}, "must answer with vectors of numbers"),
        ({"embeddings": [[[1], 2]]}, "must answer with vectors of numbers"),
        ({"embeddings": [[10**400, 2]]}, "must answer with vectors of numbers"),
        ({"embeddings": [[True, False]]}, "must answer with vectors of numbers"),
        ({"embeddings": [[]]}, 'must answer with vectors, got {"embeddings": [[]]}.'),
        ({"embeddings": "AAAA"}, "must answer with vectors, got"),
        ({"error": "no model"}, "must answer, got an error (no model)."),
        ({}, "must answer with vectors, got {}."),
        ([], "must answer with a JSON object, got '[]'."),
        (b"<html>", "must answer in JSON, got an HTML page (<html>)."),
    ],
)
def test_what_is_no_vector_is_named(value: Any, problem: str) -> None:
    with scripted(whole(value), whole({"embeddings": [[3, 4, 0, 0]]})) as app:
        model = embedding_model(app, "ollama")
        with pytest.raises(ServiceError) as caught:
            model.embed(["a"])
        assert str(caught.value).startswith(f"{base_url(app, 'ollama')}/api/embed: {problem}")
        assert model.embed(["a"]).shape == (1, 4)  # a wrong answer decides nothing
        model.close()


@pytest.mark.parametrize("indexes", [[0, 0], [1, 2], ["0", "1"], [None, 1]])
def test_an_index_that_cannot_be_is_named(indexes: list[Any]) -> None:
    data = [{"index": index, "embedding": [1.0]} for index in indexes]
    named = pytest.raises(ServiceError, match="must answer with one vector for each text, got the indexes")
    with scripted(whole({"data": data})) as app, embedding_model(app) as model, named:
        model.embed(["a", "b"])


def test_without_indexes_the_order_is_that_of_the_texts() -> None:
    with scripted(whole({"data": [{"embedding": [2, 0]}, {"embedding": [0, 2]}]})) as app:
        assert embedding_model(app).embed(["a", "b"]).tolist() == [[1, 0], [0, 1]]


@pytest.mark.parametrize("data", [{"embedding": [1]}, [[1.0]], "no"])
def test_data_of_another_form_is_named(data: Any) -> None:
    named = pytest.raises(ServiceError, match=r"must answer with vectors, got \{")
    with scripted(whole({"data": data})) as app, embedding_model(app) as model, named:
        model.embed(["a"])


def dimensions_error(model: EmbeddingModel, texts: list[str]) -> str:
    with model, pytest.raises(ServiceError) as caught:
        model.embed(texts)
    return str(caught.value).partition(": ")[2]


def test_other_dimensions_than_wanted_or_than_before_are_refused() -> None:
    end = "Correct model or dimensions."
    with scripted(lengths) as app:
        error = dimensions_error(embedding_model(app, dimensions=768), ["a"])
    assert error == f"must answer with vectors of 768 dimensions, got 3. {end}"
    with scripted(whole({"embeddings": [[1, 2]]}), whole({"embeddings": [[1, 2, 3]]})) as app:
        error = dimensions_error(embedding_model(app, "ollama", batch_size=1), ["a", "b"])
    assert error == f"must answer with vectors of 2 dimensions, got 3. {end}"
    with scripted(whole({"embeddings": [[1, 2, 3], [1, 2]]})) as app:
        error = dimensions_error(embedding_model(app, "ollama"), ["a", "b"])
    assert error == f"must answer with vectors of 2 dimensions, got 3. {end}"


@APIS
def test_a_busy_server_is_asked_again(api: str) -> None:
    naps = Naps()
    with scripted(whole(b"", 429, {"retry-after": "3"}), whole(b"", 500), lengths) as app:
        assert embedding_model(app, api, sleep=naps).embed(["a"]).shape == (1, 3)
    assert (naps.seconds[0], len(naps.seconds)) == (3.0, 2)


def test_threads_share_a_client() -> None:
    with scripted(lengths) as app, embedding_model(app, batch_size=3) as model, ThreadPoolExecutor(8) as pool:
        batches = [["x" * i, "y" * (i + 1)] for i in range(20)]
        for batch, vectors in zip(batches, pool.map(model.embed, batches), strict=True):
            np.testing.assert_allclose(vectors, unit([vector(text) for text in batch]), atol=1e-7)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"batch_size": 0}, "batch_size: must be a whole number from 1, got 0."),
        ({"dimensions": True}, "dimensions: must be a whole number from 1, got True."),
        ({"model": ""}, "model: must be the name of a model, got ''."),
        ({"api": "x"}, "api: must be one of openai, ollama, got 'x'."),
    ],
)
def test_an_option_that_cannot_be_is_refused(options: dict[str, Any], error: str) -> None:
    with pytest.raises(SettingsError) as caught:
        EmbeddingModel(**({"base_url": "http://127.0.0.1:1", "model": "tiny"} | options))
    assert str(caught.value).startswith(error)


def test_it_says_what_it_is() -> None:
    with scripted(lengths) as app, embedding_model(app, "ollama") as model:
        assert repr(model) == f"EmbeddingModel('tiny' at {base_url(app, 'ollama')}/api/embed)"
