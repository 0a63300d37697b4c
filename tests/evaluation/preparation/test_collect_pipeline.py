"""Golden questions put to a pipeline: every question once, with its gold, and a run that was stopped goes on."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rag_titan.errors import DatasetError, SettingsError
from rag_titan.evaluation import RAGEvaluator, collect_dataset
from rag_titan.evaluation.data.notices import Notices

TEXT = "Leave is 25 days. Sick pay is full. Travel needs approval."
CHUNKS = [
    {"id": "c1", "text": TEXT[:18], "start": 0, "end": 18, "doc_id": "hr.md"},
    {"id": "c2", "text": TEXT[18:36], "start": 18, "end": 36, "doc_id": "hr.md"},
    {"id": "c3", "text": TEXT[36:], "start": 36, "end": 58, "doc_id": "hr.md"},
]
QUESTIONS: list[dict[str, Any]] = [
    {"id": "g1", "question": "How many days?", "expected_chunk_ids": ["c1"], "expected_evidence": ["25 days"]},
    {"id": "g2", "question": "Is sick pay full?", "relevance": {"c2": 2}},
]


class Fake:
    """A pipeline that always finds the same."""

    def __init__(self, answer: Any = "It is 25 days [1], see [c3].") -> None:
        self.answer = answer
        self.threads: set[int] = set()

    def index(self, files: Any) -> Mapping[str, Any]:
        self.files = files
        return {"chunks": CHUNKS, "documents": {"hr.md": TEXT}, "indexed_ids": ["c1", "c2", "c3"]}

    def ask(self, question: str) -> Mapping[str, Any]:
        self.threads.add(threading.get_ident())
        if isinstance(self.answer, Exception):
            raise self.answer
        return {
            "retrieved_ids": ["c2", "c1", "c3"], "reranked_ids": ["c1", "c2", "c3"], "context_ids": ["c1", "c2"],
            "answer": self.answer, "search_latency_ms": 3.0, "generation_latency_ms": 40.0, "total_tokens": 90,
            "cost_usd": 0.001,
        }  # fmt: skip


class Embedding(Fake):
    """One that has vectors too."""

    def embed(self, texts: Sequence[str], *, query: bool) -> list[list[float]]:
        return [[float(len(text)), float(query)] for text in texts]


class Shelf:
    """What is indexed and never asked."""

    def index(self, files: Any) -> dict[str, Any]:
        return {"chunks": [], "documents": {}}


def test_a_pipeline_gives_the_inputs_of_an_evaluation() -> None:
    pipeline = Embedding()
    dataset = collect_dataset(pipeline, ["hr.md"], QUESTIONS, include_embeddings=True)
    assert pipeline.files == ["hr.md"]
    assert pipeline.threads == {threading.get_ident()}  # a store of it may be bound to the thread that opened it
    assert list(dataset) == ["chunks", "documents", "queries", "embeddings"]
    assert dataset["chunks"] == CHUNKS
    first = dataset["queries"][0]
    assert (first["answer"], first["citations"]) == ("It is 25 days, see.", ["c1", "c3"])
    assert first["latency_ms"] > 0
    assert dataset["embeddings"]["query_vectors"] == {"g1": [14.0, 1.0], "g2": [17.0, 1.0]}
    assert dataset["embeddings"]["vectors"]["c1"] == [18.0, 0.0]
    report = RAGEvaluator(k=2).evaluate(**dataset)
    assert report["retrieval"]["summary"]["recall_at_k"] == 1.0
    assert report["reranking"]["summary"]["mrr_gain"] == 0.0  # g1: 1/2 to 1; g2: 1 to 1/2
    assert report["chunking"]["coverage"] == 1.0
    assert report["embedding"]["index_coverage"] == 1.0
    assert report["end_to_end"]["mean_cost_usd"] == 0.001


def test_gold_chunks_come_from_ids_quotes_or_files_whichever_is_there_first() -> None:
    questions = [
        {"id": "ids", "question": "?", "expected_chunk_ids": ["c3"], "expected_evidence": ["25 days"]},
        {"id": "quote", "question": "?", "expected_evidence": ["Sick pay is full"], "required_evidence_ids": ["hr.md"]},
        {"id": "file", "question": "?", "required_evidence_ids": ["hr.md"]},
        {"id": "lost", "question": "?", "expected_evidence": ["not there"]},
    ]
    notices = Notices()
    queries = collect_dataset(Fake(), [], questions, notices=notices)["queries"]
    assert [query.get("expected_chunk_ids") for query in queries] == [["c3"], ["c2"], ["c1", "c2", "c3"], None]
    assert any("lost" in text for text in notices.texts())


def test_an_answer_without_markers_and_citations_of_the_pipeline_stay() -> None:
    dataset = collect_dataset(Fake("In  [2020]:\n two  spaces"), [], QUESTIONS)
    assert dataset["queries"][0]["answer"] == "In  [2020]:\n two  spaces"
    assert "citations" not in dataset["queries"][0]


def test_what_a_question_raises_is_its_error() -> None:
    dataset = collect_dataset(Fake(ValueError("model is gone")), [], QUESTIONS)
    assert dataset["queries"][1] == {**QUESTIONS[1], "error": "ValueError: model is gone"}
    assert RAGEvaluator().evaluate(**dataset)["end_to_end"]["error_rate"] == 1.0


def test_embeddings_need_a_pipeline_that_embeds() -> None:
    pipeline = Fake()
    with pytest.raises(SettingsError, match="include_embeddings: must be False for a pipeline without a method embed"):
        collect_dataset(pipeline, [], QUESTIONS, include_embeddings=True)
    assert not hasattr(pipeline, "files")


@pytest.mark.parametrize(("pipeline", "method"), [(object(), "index"), (None, "index"), (Shelf, "ask")])
def test_what_is_no_pipeline_is_refused(pipeline: Any, method: str) -> None:
    with pytest.raises(SettingsError, match=f"^pipeline: must have the methods index and ask, got .* without {method}"):
        collect_dataset(pipeline, ["leave.md"], [])


def test_a_pipeline_must_give_a_vector_for_each_text() -> None:
    class Short(Embedding):
        def embed(self, texts: Sequence[str], *, query: bool) -> list[list[float]]:
            return super().embed(texts, query=query)[1:]

    with pytest.raises(DatasetError, match=r"^pipeline\.embed: must give one vector for each of 3 texts, got 2\."):
        collect_dataset(Short(), [], QUESTIONS, include_embeddings=True)


@pytest.mark.parametrize("index", [None, ["c1"], {"chunks": CHUNKS}, {"chunks": None, "documents": {}}])
def test_a_pipeline_must_give_chunks_and_documents(index: Any) -> None:
    class Bare(Fake):
        def index(self, files: Any) -> Any:
            return index

    with pytest.raises(
        DatasetError, match=r'^pipeline\.index: must return {"chunks": \.\.\., "documents": \.\.\.}, got '
    ):
        collect_dataset(Bare(), [], QUESTIONS)


def test_chunks_that_break_a_rule_are_refused_before_anything_is_asked() -> None:
    class Twice(Fake):
        def index(self, files: Any) -> Mapping[str, Any]:
            return {"chunks": [*CHUNKS, CHUNKS[0]], "documents": {"hr.md": TEXT}}

    pipeline = Twice()
    with pytest.raises(DatasetError, match=r'^chunks\[3\]\.id: duplicate id "c1"'):
        collect_dataset(pipeline, [], QUESTIONS)
    assert pipeline.threads == set()


# --- a run that is written as it goes ---------------------------------------------------------------

MANY = [{"id": f"g{i}", "question": f"question {i}?", "expected_evidence": ["25 days"]} for i in range(1, 5)]


class Recording(Fake):
    """Remembers what it was asked; questions in `failing` raise."""

    def __init__(self, *failing: str) -> None:
        super().__init__()
        self.failing = failing
        self.asked: list[str] = []

    def ask(self, question: str) -> Mapping[str, Any]:
        self.asked.append(question)
        if question in self.failing:
            raise TimeoutError("slow")
        return super().ask(question)


def without_times(queries: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [{key: value for key, value in query.items() if not key.endswith("_ms")} for query in queries]


def test_a_run_is_a_folder_that_can_be_evaluated(tmp_path: Path) -> None:
    dataset = collect_dataset(Fake(), [], QUESTIONS, output=tmp_path / "run")
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == [
        "chunks.jsonl", "documents.jsonl", "queries.jsonl", "queries.jsonl.journal",
    ]  # fmt: skip
    report = RAGEvaluator(k=2).evaluate_path(tmp_path / "run")
    memory = RAGEvaluator(k=2).evaluate(**dataset)
    assert report | {"meta": None} == memory | {"meta": None}


def test_a_run_with_embeddings_writes_them_and_one_without_leaves_no_old_ones(tmp_path: Path) -> None:
    dataset = collect_dataset(Embedding(), [], QUESTIONS, include_embeddings=True, output=tmp_path)
    file = tmp_path / "embeddings.npz"
    with np.load(file) as arrays:
        assert sorted(arrays.files) == ["ids", "indexed_ids", "query_ids", "query_vectors", "vectors"]
    report = RAGEvaluator(k=2).evaluate_path(tmp_path)
    memory = RAGEvaluator(k=2).evaluate(**dataset)
    assert report["embedding"]["index_coverage"] == 1.0
    assert report | {"meta": None} == memory | {"meta": None}
    before = file.read_bytes()
    collect_dataset(Embedding(), [], QUESTIONS, include_embeddings=True, output=tmp_path)
    assert file.read_bytes() == before  # the same data, the same bytes
    collect_dataset(Embedding(), [], QUESTIONS, output=tmp_path)
    assert not file.exists()


def test_a_file_holds_the_questions_alone(tmp_path: Path) -> None:
    collect_dataset(Fake(), [], QUESTIONS, output=tmp_path / "run.jsonl")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run.jsonl", "run.jsonl.journal"]


def test_a_later_run_asks_only_what_is_missing(tmp_path: Path) -> None:
    collect_dataset(Recording(), [], MANY[:2], output=tmp_path)
    pipeline, counts = Recording(), list[int]()
    dataset = collect_dataset(pipeline, [], MANY, output=tmp_path, progress=counts.append)
    assert pipeline.asked == ["question 3?", "question 4?"]
    assert counts == [2, 3, 4]
    whole = collect_dataset(Recording(), [], MANY)
    assert without_times(dataset["queries"]) == without_times(whole["queries"])


def test_what_failed_is_kept_and_asked_again_when_so_wished(tmp_path: Path) -> None:
    notices = Notices()
    first = collect_dataset(Recording("question 2?"), [], MANY, output=tmp_path, notices=notices)
    assert first["queries"][1]["error"] == "TimeoutError: slow"
    assert notices.texts() == ["failed, TimeoutError: slow: g2."]
    pipeline = Recording()
    assert "error" in collect_dataset(pipeline, [], MANY, output=tmp_path)["queries"][1]
    assert pipeline.asked == []
    assert "error" not in collect_dataset(pipeline, [], MANY, output=tmp_path, retry_errors=True)["queries"][1]
    assert pipeline.asked == ["question 2?"]
    collect_dataset(pipeline, [], MANY, output=tmp_path, fresh=True)
    assert len(pipeline.asked) == 5


def test_answers_about_other_chunks_or_of_another_pipeline_are_not_mixed_into_a_run(tmp_path: Path) -> None:
    class Other(Recording):
        identity: Mapping[str, str] = {"settings": "k = 2"}

    class Shorter(Recording):
        def index(self, files: Any) -> Mapping[str, Any]:
            return {"chunks": CHUNKS[:2], "documents": {"hr.md": TEXT}}

    Shorter.__qualname__, Shorter.__module__ = Recording.__qualname__, Recording.__module__
    collect_dataset(Recording(), [], MANY, output=tmp_path)
    with pytest.raises(SettingsError, match="got another chunks"):
        collect_dataset(Shorter(), [], MANY, output=tmp_path)
    with pytest.raises(SettingsError, match="got another pipeline and another settings"):
        collect_dataset(Other(), [], MANY, output=tmp_path)


@pytest.mark.parametrize("name", ["queries.jsonl", "chunks.jsonl", "documents.jsonl", "embeddings.npz"])
def test_records_of_others_are_refused_before_anything_is_indexed(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text("{}")
    pipeline = Fake()
    with pytest.raises(SettingsError, match=f"must not take the place of records that another command wrote.*{name}"):
        collect_dataset(pipeline, [], QUESTIONS, output=tmp_path)
    assert not hasattr(pipeline, "files")


KILLED = """
import os, signal, sys
from tests.evaluation.preparation.test_collect_pipeline import MANY, Recording
from rag_titan.evaluation import collect_dataset

class Killed(Recording):
    identity = {"name": "killed"}

    def ask(self, question):
        if question == "question 3?":
            os.kill(os.getpid(), signal.SIGKILL)
        return super().ask(question)

collect_dataset(Killed(), [], MANY, output=sys.argv[1])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no such signal")
def test_a_run_that_was_killed_loses_only_the_question_that_was_running(tmp_path: Path) -> None:
    class Same(Recording):
        identity: Mapping[str, str] = {"name": "killed"}

    done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], check=False)
    assert done.returncode == -9
    assert sorted(path.name for path in tmp_path.iterdir()) == ["queries.jsonl.journal"]
    pipeline = Same()
    dataset = collect_dataset(pipeline, [], MANY, output=tmp_path)
    assert pipeline.asked == ["question 3?", "question 4?"]
    lines = (tmp_path / "queries.jsonl").read_text().splitlines()
    assert [json.loads(line)["id"] for line in lines] == [query["id"] for query in dataset["queries"]]
