"""Every step of a question is written down, and the answer is the same as without that."""

from __future__ import annotations

from typing import Any

import pytest
from tests.pipeline.small import LEAVE, TRAVEL, embedder

from rag_titan.pipeline.chunking.chunkers import PackingChunker
from rag_titan.pipeline.indexing import index_documents
from rag_titan.pipeline.parts import Document
from rag_titan.pipeline.titan import RAGTitan
from rag_titan.pipeline.tracing import Trace

QUESTION = "What is the limit for a hotel, and how many days of annual leave does an employee receive?"


def titan(rag_type: str = "simple", **settings: Any) -> RAGTitan:
    made = RAGTitan(rag_type, {"retriever": "bm25", "abstain_below": 0.1, **settings}, embedder=embedder())
    documents = [Document("leave.md", LEAVE), Document("travel.md", TRAVEL)]
    index_documents(documents, PackingChunker("section", 20), made.embedder, made.store)
    return made


def without_times(record: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in record.items() if not key.endswith("_ms")}


@pytest.mark.parametrize("reranker", ["none", "sentence"])
@pytest.mark.parametrize("rag_type", ["simple", "adaptive"])
def test_the_answer_is_the_same_as_without_a_trace(rag_type: str, reranker: str) -> None:
    plain, traced = (titan(rag_type, reranker=reranker) for _ in range(2))
    assert without_times(Trace(traced).ask(QUESTION)) == without_times(plain.ask(QUESTION))


def test_the_steps_say_what_was_given_and_what_came_of_it() -> None:
    trace = Trace(titan("adaptive"))
    record = trace.ask(QUESTION)
    assert [step["step"] for step in trace.steps[:4]] == ["retrieve", "retrieve", "rerank", "generate"]
    assert [step["query"] for step in trace.steps[:2]] == record["route"]["queries"]
    assert all(step["ms"] >= 0 for step in trace.steps)
    best = trace.steps[0]["found"][0]
    assert (best["id"].partition("#")[0], best["doc_id"]) == ("travel.md", "travel.md")
    assert "95 euros" in TRAVEL[best["start"] : best["end"]]
    assert [one["id"] for one in trace.steps[2]["ranked"]] == trace.steps[3]["context"]
    assert trace.steps[-1]["context"] == [chunk.id for chunk in trace.context] == record["context_ids"]
    assert trace.steps[-1]["text"] == record["answer"]


def test_the_steps_are_those_of_the_latest_question_and_one_that_fails_says_so() -> None:
    class Broken:
        def generate(self, question: str, context: Any) -> Any:
            raise TimeoutError("slow")

    made = titan()
    trace = Trace(made)
    trace.ask(QUESTION)
    made.generator = Broken()
    broken = Trace(made)
    with pytest.raises(TimeoutError):
        broken.ask("Is breakfast included?")
    assert [step["query"] for step in broken.steps] == ["Is breakfast included?"] * 3
    assert broken.steps[-1]["error"] == "TimeoutError: slow"
    assert broken.steps[-1]["ms"] >= 0
