"""Vectors for answer relevance from a server: asked once, by the judge's rules on where a server may be."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.conftest import Run, Write
from tests.evaluation.preparation.http_app import App, Asked
from tests.judge.models import answering, dataset, model_server, url_of

from rag_titan.judge import Judge
from rag_titan.models.embed import EmbeddingModel

COMMAND = (
    "judge",
    "--input",
    "data.json",
    "--output",
    "judged.json",
    "--model",
    "tiny",
    "--metrics",
    "answer_relevance",
)
EMBEDDER = ("--embedder", "server", "--embedding-model", "vectors")


def with_vectors(fails: Callable[[], bool] = lambda: False) -> Callable[[Asked], None]:
    """A server of both kinds; a text's vector is its length and 1."""

    def answer(asked: Asked) -> None:
        if not asked.path.endswith("/embeddings"):
            answering()(asked)
        elif fails():
            asked.json({"error": {"message": "out of memory"}}, 500)
        else:
            vectors = [{"index": i, "embedding": [float(len(text)), 1.0]} for i, text in enumerate(asked.body["input"])]
            asked.json({"data": vectors})

    return answer


def asked_for_vectors(app: App) -> int:
    return sum(request.path.endswith("/embeddings") for request in app.requests)


def test_vectors_of_a_server_are_asked_for_once(run: Run, write: Write, tmp_path: Path) -> None:
    write(dataset(3))
    with model_server(with_vectors()) as app:
        for _ in range(2):
            done = run(*COMMAND, *EMBEDDER, "--base-url", url_of(app))
            assert (done.code, done.err) == (0, "")
            assert (len(app.requests), asked_for_vectors(app)) == (6, 3)
    stored = json.loads((tmp_path / "judged.json").read_text())["queries"][0]["verdicts"]
    own, others = len("How long is leave?"), len("Leave is 20 days. It never ends.?")
    cosine = (own * others + 1) / ((own**2 + 1) * (others**2 + 1)) ** 0.5
    assert stored["question_similarities"] == pytest.approx([cosine] * 3)


def test_vectors_that_fail_are_errors_of_their_questions_and_asked_for_again(tmp_path: Path) -> None:
    turns = iter(range(1000))
    with model_server(with_vectors(lambda: next(turns) < 8)) as app:
        done = []
        for _ in range(2):
            embedder = EmbeddingModel(url_of(app), "vectors", sleep=lambda _: None)
            with Judge(
                "tiny", url_of(app), metrics=["answer_relevance"], embedder=embedder, concurrency=1,
                cache=tmp_path / "c.db",
            ) as judge:  # fmt: skip
                judged = judge.judge(dataset(3))
            done.append((judged.done, [failure.reason for failure in judged.failures], judged.spent.calls))
            embedder.close()
    assert done == [(1, ["failed: no vectors from the embedder"] * 2, 3), (3, [], 0)]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--embedder", "server"), "--embedding-model: must be given with --embedder server"),
        ((*EMBEDDER, "--embedding-url", "http://192.0.2.1/v1"), "must be on this machine, got 192.0.2.1"),
        ((*EMBEDDER, "--embedding-url", "ftp://127.0.0.1"), "must be an address such as"),
        (("--embedding-model", "vectors"), "must come with --embedder server"),
    ],
)
def test_what_cannot_be_is_one_sentence(run: Run, write: Write, more: tuple[str, ...], said: str) -> None:
    write(dataset(1))
    done = run(*COMMAND, *more, "--base-url", "http://127.0.0.1:9/v1")
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert said in done.err
