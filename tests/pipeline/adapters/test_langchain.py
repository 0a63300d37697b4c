"""LangChain apps by things that behave as LangChain's do; test_frameworks.py has the real ones."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace as Thing
from typing import Any

import pytest
from tests.pipeline.adapters.clock import Clock

from rag_titan.errors import SettingsError
from rag_titan.evaluation import RAGEvaluator, collect_answers, collect_dataset
from rag_titan.pipeline.adapters import LangChainPipeline
from rag_titan.pipeline.adapters.langchain import Context, Listener

LEAVE, SICK = "Annual leave is 25 days.", "Sick pay is full for six weeks."
DOCUMENTS = {"hr.md": f"{LEAVE} {SICK}"}
GOLDEN = [{"id": "g1", "question": "How long is leave?", "expected_evidence": ["leave is 25 days"], "answerable": True}]


def document(text: str, name: str | None = None, **metadata: Any) -> Thing:
    return Thing(page_content=text, id=name, metadata={"source": "hr.md", **metadata})


CHUNKS = [document(SICK, start_index=25), document(LEAVE, start_index=3)]  # the second offset is wrong
FOUND = [document(SICK, "uuid-1", start_index=25), document(LEAVE, "uuid-2", start_index=3)]


class Runnable:
    """Has `invoke` alone, and takes its time."""

    def __init__(self, give: Callable[[Any], Any], clock: Clock, ms: float) -> None:
        self.give, self.clock, self.ms = give, clock, ms

    def invoke(self, asked: Any) -> Any:
        self.clock.tick(self.ms)
        return self.give(asked)


def note(seen: list[Any], value: Any, then: Any) -> Any:
    seen.append(value)
    return then


def app(clock: Clock, **parts: Any) -> LangChainPipeline:
    given: dict[str, Any] = {
        "retriever": Runnable(lambda question: FOUND, clock, 30),
        "answer": Runnable(lambda asked: "25 days [2].", clock, 500),
        "chunks": CHUNKS,
        "documents": DOCUMENTS,
    }
    return LangChainPipeline(**{**given, **parts})


def test_chunks_get_ids_and_the_offsets_that_are_right(clock: Clock) -> None:
    first, second = app(clock).index()["chunks"]
    assert (first["id"], first["doc_id"], first["start"], first["end"]) == ("chunk_1", "hr.md", 25, 56)
    assert second == {"id": "chunk_2", "text": LEAVE, "doc_id": "hr.md", "metadata": CHUNKS[1].metadata}


def test_a_question_is_recorded_step_by_step(clock: Clock) -> None:
    def dropped(question: str, documents: list[Any]) -> list[Any]:
        clock.tick(7)
        return documents[1:]

    [query] = collect_dataset(app(clock, reranker=dropped), None, GOLDEN)["queries"]
    assert {key: query[key] for key in query if key not in GOLDEN[0]} == {
        "expected_chunk_ids": ["chunk_2"],
        "retrieved_ids": ["chunk_1", "chunk_2"],
        "reranked_ids": ["chunk_2"],
        "context_ids": ["chunk_2"],
        "answer": "25 days [2].",  # the context has one chunk
        "retrieval_latency_ms": pytest.approx(30),
        "rerank_latency_ms": pytest.approx(7),
        "generation_latency_ms": pytest.approx(500),
        "latency_ms": pytest.approx(537),
    }


def test_markers_become_citations_and_the_report_has_the_stages(clock: Clock) -> None:
    dataset = collect_dataset(app(clock), None, GOLDEN)
    assert (dataset["queries"][0]["answer"], dataset["queries"][0]["citations"]) == ("25 days.", ["chunk_2"])
    report = RAGEvaluator(k=2).evaluate(**dataset)
    assert report["retrieval"]["summary"]["recall_at_k"] == 1.0
    assert report["retrieval"]["summary"]["mrr_at_k"] == 0.5
    assert report["augmentation"]["summary"]["context_recall"] == 1.0
    assert report["warnings"] == []


def test_scores_of_pairs_are_recorded_and_the_answer_gets_the_documents_alone(clock: Clock) -> None:
    seen: list[Any] = []
    pairs = list(zip(FOUND, (0.9, 0.4), strict=True))
    run = app(clock, retriever=lambda question: pairs, answer=lambda question, documents: note(seen, documents, "x"))
    assert run.ask("?")["retrieved_scores"] == [0.9, 0.4]
    assert seen == [FOUND]


def test_a_chain_gets_the_question_under_both_names_and_documents_that_print_as_text(clock: Clock) -> None:
    seen: list[Any] = []
    app(clock, answer=Runnable(lambda asked: note(seen, asked, "x"), clock, 0)).ask("How long?")
    assert seen == [{"question": "How long?", "input": "How long?", "context": FOUND}]
    assert f"{seen[0]['context']}" == f"{SICK}\n\n{LEAVE}"
    assert f"{Context()}" == ""


def test_a_compressor_reranks(clock: Clock) -> None:
    class Compressor:
        def compress_documents(self, documents: Any, query: str) -> Any:
            return [each for each in documents if query.split()[2] in each.page_content]

    run = app(clock, reranker=Compressor())
    run.index()
    assert run.ask("How long leave")["reranked_ids"] == ["chunk_2"]


def test_nothing_found_is_a_miss_and_an_empty_context(clock: Clock) -> None:
    run = app(clock, retriever=lambda question: [])
    run.index()
    assert {key: run.ask("?")[key] for key in ("retrieved_ids", "context_ids")} == {
        "retrieved_ids": [],
        "context_ids": [],
    }


def test_a_passage_that_is_no_chunk_is_recorded_with_its_text(clock: Clock) -> None:
    run = app(clock, retriever=lambda question: [document("Unknown."), FOUND[1]])
    run.index()
    record = run.ask("?")
    assert record["retrieved_texts"] == ["Unknown.", LEAVE]
    assert record["context"] == f"Unknown.\n\n{LEAVE}"
    assert "retrieved_ids" not in record
    assert "context_ids" not in record


def test_without_chunks_it_can_be_asked_and_not_measured_against_quotes(clock: Clock) -> None:
    run = app(clock, chunks=None)
    [record] = collect_answers(GOLDEN, run.ask).queries
    assert record["retrieved_ids"] == record["context_ids"] == ["uuid-1", "uuid-2"]
    assert record["retrieved_texts"] == [SICK, LEAVE]
    assert record["context"] == f"{SICK}\n\n{LEAVE}"
    with pytest.raises(SettingsError, match=r"^chunks: must be the list .*, got NoneType\. .* collect_answers"):
        collect_dataset(run, None, GOLDEN)


def test_chunks_may_come_from_a_function_that_indexes_the_files(clock: Clock) -> None:
    seen: list[Any] = []
    run = app(clock, chunks=lambda files: note(seen, files, CHUNKS))
    assert len(run.index("docs")["chunks"]) == 2
    assert seen == ["docs"]


def test_what_a_step_raises_is_the_error_of_its_question_alone(clock: Clock) -> None:
    def broken(question: str) -> list[Any]:
        if "long" in question:
            raise TimeoutError("no answer in 5 s")
        return FOUND

    golden = [*GOLDEN, {"id": "g2", "question": "Sick pay?", "answerable": True}]
    first, second = collect_dataset(app(clock, retriever=broken), None, golden)["queries"]
    assert first["error"] == "TimeoutError: no answer in 5 s"
    assert second["retrieved_ids"] == ["chunk_1", "chunk_2"]


@pytest.mark.parametrize("given", [None, 3])
def test_an_answer_without_text_is_the_error_of_its_question(clock: Clock, given: Any) -> None:
    [query] = collect_dataset(app(clock, answer=lambda question, documents: given), None, GOLDEN)["queries"]
    assert query["error"].startswith("DatasetError: answer: must be text, or hold one, got")


def test_embeddings_are_of_questions_and_of_chunks(clock: Clock) -> None:
    embeddings = Thing(embed_documents=lambda texts: [[1.0, 0.0] for _ in texts], embed_query=lambda text: [0.0, 1.0])
    found = collect_dataset(app(clock, embeddings=embeddings), None, GOLDEN, include_embeddings=True)["embeddings"]
    assert found == {"vectors": {"chunk_1": [1.0, 0.0], "chunk_2": [1.0, 0.0]}, "query_vectors": {"g1": [0.0, 1.0]}}
    function = app(clock, embeddings=lambda texts, query: [[float(query)] for _ in texts])
    assert collect_dataset(function, None, GOLDEN, include_embeddings=True)["embeddings"]["query_vectors"] == {
        "g1": [1.0]
    }


def test_without_embeddings_none_can_be_asked_for(clock: Clock) -> None:
    with pytest.raises(SettingsError, match="include_embeddings"):
        collect_dataset(app(clock), None, GOLDEN, include_embeddings=True)


@pytest.mark.parametrize(
    ("parts", "sentence"),
    [
        ({}, "chain: must be given, or a retriever and an answer in its place, got none of them."),
        ({"retriever": print}, "chain: must be given, or a retriever and an answer in its place, got a retriever."),
        (
            {"chain": print, "answer": print},
            "chain: must be given, or a retriever and an answer in its place, got a chain and an answer.",
        ),
        ({"retriever": 3, "answer": print}, "retriever: must be a function or have a method invoke, got int."),
        ({"retriever": print, "answer": "x"}, "answer: must be a function or have a method invoke, got str."),
        (
            {"retriever": print, "answer": print, "reranker": 3},
            "reranker: must be a function or have a method compress_documents, got int.",
        ),
        ({"chain": 3}, "chain: must be a function or have a method invoke, got int."),
        (
            {"chain": print, "embeddings": 3},
            "embeddings: must be a function or have a method embed_documents, got int.",
        ),
    ],
)
def test_what_is_no_part_is_refused(parts: dict[str, Any], sentence: str) -> None:
    with pytest.raises(SettingsError) as raised:
        LangChainPipeline(**parts)
    assert str(raised.value) == sentence


# --- a chain that retrieves by itself ------------------------------------------------------------------------


class Chain:
    """Tells its callbacks what LangChain's chains do."""

    def __init__(self, clock: Clock, output: Any) -> None:
        self.clock, self.output = clock, output
        self.asked: list[Any] = []

    def invoke(self, asked: Any, config: dict[str, Any] | None = None) -> Any:
        self.asked.append(asked)
        [listener] = (config or {})["callbacks"]
        self._retrieve(listener)
        listener.on_chat_model_start({}, [[]], run_id="m")
        self.clock.tick(90)
        listener.on_llm_new_token("25", run_id="m")
        self.clock.tick(410)
        listener.on_llm_new_token(" days", run_id="m")
        usage = {"input_tokens": 20, "output_tokens": 4, "total_tokens": 24}
        message = Thing(message=Thing(usage_metadata=usage))
        listener.on_llm_end(Thing(generations=[[message]], llm_output=None), run_id="m")
        return self.output

    def _retrieve(self, listener: Any) -> None:
        listener.on_retriever_start({}, "?", run_id="outer", parent_run_id="chain")
        for name in ("a", "b"):
            listener.on_retriever_start({}, "?", run_id=name, parent_run_id="outer")
            self.clock.tick(10)
            listener.on_retriever_end(FOUND[:1], run_id=name, parent_run_id="outer")
        listener.on_retriever_end(FOUND, run_id="outer", parent_run_id="chain")


def test_what_a_chain_does_inside_is_heard(clock: Clock) -> None:
    run = LangChainPipeline(chain=Chain(clock, "25 days"), chunks=CHUNKS, documents=DOCUMENTS)
    run.index()
    assert run.ask("How long?") == {
        "retrieved_ids": ["chunk_1", "chunk_2"],
        "context_ids": ["chunk_1", "chunk_2"],
        "answer": "25 days",
        "retrieval_latency_ms": pytest.approx(20),
        "time_to_first_token_ms": pytest.approx(90),
        "generation_latency_ms": pytest.approx(500),
        "output_tokens": 4,
        "total_tokens": 24,
        "latency_ms": pytest.approx(520),
    }


def test_the_documents_that_a_chain_returns_are_its_context(clock: Clock) -> None:
    chain = Chain(clock, {"input": "?", "context": FOUND[1:], "answer": "25 days"})
    run = LangChainPipeline(chain=chain, question_key="input", chunks=CHUNKS, documents=DOCUMENTS)
    run.index()
    record = run.ask("?")
    assert (record["retrieved_ids"], record["context_ids"]) == (["chunk_1", "chunk_2"], ["chunk_2"])
    assert chain.asked == [{"input": "?"}]


def test_of_a_chain_that_tells_nothing_only_the_answer_is_recorded(clock: Clock) -> None:
    assert LangChainPipeline(chain=lambda question: "25 days").ask("?") == {"answer": "25 days", "latency_ms": 0.0}


def test_the_listener_ends_what_began_only() -> None:
    listener = Listener()
    listener.on_retriever_end(FOUND, run_id="unknown")
    listener.on_llm_end(Thing(generations=[], llm_output={"token_usage": {"total_tokens": 7}}), run_id="unknown")
    assert (listener.documents, listener.times, listener.usage.total) == (None, {}, 7)
