"""The real packages, with models that are made up: indexed, asked and evaluated."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from rag_titan.evaluation import RAGEvaluator, collect_dataset
from rag_titan.pipeline.adapters import HaystackPipeline, LangChainPipeline, LlamaIndexPipeline

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"  # read when Haystack is imported

pytestmark = [
    pytest.mark.integrations,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # of the packages among themselves
]

LEAVE, SICK, BIKES = "Annual leave is 25 days.", "Sick pay is full for six weeks.", "Every second bike is free."
TEXTS = {"hr.md": f"{LEAVE}\n\n{SICK}", "fleet.md": BIKES}
GOLDEN = [
    {
        "id": "g1", "question": "How long is annual leave?", "expected_evidence": ["leave is 25 days"],
        "expected_answer": "It is 25 days.", "required_facts": ["25 days"], "answerable": True,
    },
    {
        "id": "g2", "question": "Which bike is free?", "expected_evidence": ["Every second bike"],
        "expected_answer": "Every second one.", "required_facts": ["second"], "answerable": True,
    },
]  # fmt: skip
ANSWER = "It is 25 days [1]."
VECTORS = {LEAVE: [1.0, 0.0, 0.0], SICK: [0.6, 0.8, 0.0], BIKES: [0.0, 0.6, 0.8]}
QUESTION_VECTORS = {"How long is annual leave?": [1.0, 0.1, 0.0], "Which bike is free?": [0.1, 0.9, 0.0]}
# So the first question finds leave, sick, bikes, and the second sick, bikes, leave.


def check(dataset: Mapping[str, Any], context: int) -> None:
    """The first question is answered, the second finds its passage at rank 2.

    context  how many passages of the three reach the prompt
    """
    assert sorted((c["doc_id"], c["start"], c["end"]) for c in dataset["chunks"]) == [
        ("fleet.md", 0, 26), ("hr.md", 0, 24), ("hr.md", 26, 57),
    ]  # fmt: skip
    text = {chunk["id"]: chunk["text"].strip() for chunk in dataset["chunks"]}
    first, second = dataset["queries"]
    assert [text[i] for i in first["retrieved_ids"]] == [LEAVE, SICK, BIKES]
    assert [text[i] for i in second["retrieved_ids"]] == [SICK, BIKES, LEAVE]
    assert [text[i] for i in first["context_ids"]] == [LEAVE, SICK, BIKES][:context]
    assert [len(query["context_ids"]) for query in (first, second)] == [context, context]
    assert "error" not in first
    assert "error" not in second
    report = RAGEvaluator(k=2).evaluate(**dataset)
    retrieval = report["retrieval"]["summary"]
    assert (retrieval["recall_at_k"], retrieval["mrr_at_k"], retrieval["precision_at_k"]) == (1.0, 0.75, 0.5)
    assert report["augmentation"]["summary"]["context_recall"] == (1.0 if context > 1 else 0.5)
    assert report["chunking"]["coverage"] == 1.0
    assert report["warnings"] == []


def check_answer(query: Mapping[str, Any], steps: tuple[str, ...]) -> None:
    """The answer cites the first passage, and the steps were timed, within the whole."""
    assert (query["answer"], query["citations"]) == ("It is 25 days.", query["context_ids"][:1])
    assert (query["output_tokens"], query["total_tokens"]) == (4, 24)
    times = [query[f"{step}_latency_ms"] for step in steps]
    assert all(ms > 0 for ms in times)
    assert sum(times) <= query["latency_ms"]
    assert {key for key in query if key.endswith("_ms")} == {*(f"{step}_latency_ms" for step in steps), "latency_ms"}


# --- LangChain -----------------------------------------------------------------------------------------------


def langchain_parts() -> dict[str, Any]:
    pytest.importorskip("langchain_core")
    from langchain_core.documents import Document
    from langchain_core.embeddings import Embeddings
    from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage
    from langchain_core.prompts import ChatPromptTemplate
    from langchain_core.vectorstores import InMemoryVectorStore

    class Fixed(Embeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [VECTORS[text] for text in texts]

        def embed_query(self, text: str) -> list[float]:
            return QUESTION_VECTORS[text]

    chunks = [
        Document(text, metadata={"source": f"docs/{name}", "start_index": TEXTS[name].index(text)})
        for text, name in ((LEAVE, "hr.md"), (SICK, "hr.md"), (BIKES, "fleet.md"))
    ]
    store = InMemoryVectorStore(Fixed())
    store.add_documents(chunks)
    usage = {"input_tokens": 20, "output_tokens": 4, "total_tokens": 24}
    model = GenericFakeChatModel(messages=iter([AIMessage(ANSWER, usage_metadata=usage) for _ in GOLDEN]))
    prompt = ChatPromptTemplate.from_template("Answer from this:\n{context}\nQuestion: {question}")
    return {"chunks": chunks, "store": store, "embeddings": Fixed(), "prompt": prompt, "model": model}


def test_langchain_by_its_steps() -> None:
    parts = langchain_parts()
    from langchain_core.documents import BaseDocumentCompressor
    from langchain_core.output_parsers import StrOutputParser

    class First(BaseDocumentCompressor):
        def compress_documents(self, documents: Any, query: str, callbacks: Any = None) -> Any:
            return documents[:1]

    prompts: list[str] = []

    def seen(value: Any) -> Any:
        prompts.append(value.to_string())
        return value

    app = LangChainPipeline(
        parts["store"].as_retriever(search_kwargs={"k": 3}),
        parts["prompt"] | seen | parts["model"] | StrOutputParser(),
        reranker=First(), chunks=parts["chunks"], documents=TEXTS, embeddings=parts["embeddings"],
    )  # fmt: skip
    dataset = collect_dataset(app, None, GOLDEN, include_embeddings=True)
    check(dataset, context=1)
    check_answer(dataset["queries"][0], ("retrieval", "rerank", "generation"))
    assert dataset["queries"][0]["reranked_ids"] == ["chunk_1"]
    assert prompts[0].endswith(f"Answer from this:\n{LEAVE}\nQuestion: How long is annual leave?")
    assert dataset["embeddings"]["query_vectors"]["g2"] == [0.1, 0.9, 0.0]


def test_langchain_with_scores() -> None:
    parts = langchain_parts()
    app = LangChainPipeline(
        lambda question: parts["store"].similarity_search_with_score(question, k=3),
        parts["prompt"] | parts["model"],
        chunks=parts["chunks"], documents=TEXTS,
    )  # fmt: skip
    dataset = collect_dataset(app, None, GOLDEN)
    check(dataset, context=3)
    check_answer(dataset["queries"][0], ("retrieval", "generation"))
    assert dataset["queries"][1]["retrieved_scores"] == pytest.approx([0.861, 0.596, 0.110], abs=1e-3)


def test_langchain_as_one_chain() -> None:
    parts = langchain_parts()
    from langchain_core.output_parsers import StrOutputParser
    from langchain_core.runnables import RunnablePassthrough

    retriever = parts["store"].as_retriever(search_kwargs={"k": 3})
    context = retriever | (lambda documents: "\n".join(document.page_content for document in documents))
    chain = (
        {"context": context, "question": RunnablePassthrough()} | parts["prompt"] | parts["model"] | StrOutputParser()
    )
    dataset = collect_dataset(LangChainPipeline(chain=chain, chunks=parts["chunks"], documents=TEXTS), None, GOLDEN)
    check(dataset, context=3)
    check_answer(dataset["queries"][0], ("retrieval", "generation"))


# --- LlamaIndex ----------------------------------------------------------------------------------------------


def llama_index_parts() -> dict[str, Any]:
    pytest.importorskip("llama_index.core")
    from llama_index.core import Document, VectorStoreIndex
    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.llms import CompletionResponse, CustomLLM, LLMMetadata
    from llama_index.core.llms.callbacks import llm_completion_callback
    from llama_index.core.node_parser import SentenceSplitter
    from llama_index.core.postprocessor.types import BaseNodePostprocessor

    class Fixed(BaseEmbedding):
        def _get_query_embedding(self, query: str) -> list[float]:
            return QUESTION_VECTORS[query]

        def _get_text_embedding(self, text: str) -> list[float]:
            return next(vector for known, vector in VECTORS.items() if known in text)

        async def _aget_query_embedding(self, query: str) -> list[float]:
            return QUESTION_VECTORS[query]

    class Fake(CustomLLM):
        @property
        def metadata(self) -> LLMMetadata:
            return LLMMetadata()

        @llm_completion_callback()
        def complete(self, prompt: str, formatted: bool = False, **_: Any) -> CompletionResponse:
            usage = {"prompt_tokens": 20, "completion_tokens": 4, "total_tokens": 24}
            return CompletionResponse(text=ANSWER, raw={"usage": usage})

        def stream_complete(self, prompt: str, formatted: bool = False, **_: Any) -> Any:
            raise NotImplementedError

    class First(BaseNodePostprocessor):
        def _postprocess_nodes(self, nodes: list[Any], query_bundle: Any = None) -> list[Any]:
            return nodes[:1]

    documents = [Document(text=text, metadata={"file_path": name}, id_=f"id of {name}") for name, text in TEXTS.items()]
    splitter = SentenceSplitter(
        chunk_size=10, chunk_overlap=0, tokenizer=str.split, paragraph_separator="\n\n",
        chunking_tokenizer_fn=lambda text: re.findall(r"[^.]+\.\s*", text),
    )  # fmt: skip
    nodes = splitter.get_nodes_from_documents(documents)
    index = VectorStoreIndex(nodes, embed_model=Fixed())
    return {"documents": documents, "nodes": nodes, "index": index, "llm": Fake(), "embed": Fixed(), "first": First()}


@pytest.mark.parametrize("keeps", [3, 1])
def test_llama_index_as_one_query_engine(keeps: int) -> None:
    parts = llama_index_parts()
    kept = [] if keeps == 3 else [parts["first"]]
    engine = parts["index"].as_query_engine(llm=parts["llm"], similarity_top_k=3, node_postprocessors=kept)
    app = LlamaIndexPipeline(
        query_engine=engine, chunks=parts["index"], documents=parts["documents"], embeddings=parts["embed"]
    )
    dataset = collect_dataset(app, None, GOLDEN, include_embeddings=True)
    check(dataset, context=keeps)
    check_answer(dataset["queries"][0], ("retrieval", "generation"))
    assert ("reranked_ids" in dataset["queries"][0]) == (keeps == 1)
    assert dataset["queries"][0]["retrieved_scores"] == pytest.approx([0.995, 0.677, 0.060], abs=1e-3)
    assert dataset["embeddings"]["query_vectors"]["g1"] == [1.0, 0.1, 0.0]


def test_llama_index_by_its_steps() -> None:
    parts = llama_index_parts()
    from llama_index.core import get_response_synthesizer

    app = LlamaIndexPipeline(
        parts["index"].as_retriever(similarity_top_k=3), get_response_synthesizer(llm=parts["llm"]),
        reranker=[parts["first"]], chunks=parts["nodes"], documents=parts["documents"],
    )  # fmt: skip
    dataset = collect_dataset(app, None, GOLDEN)
    check(dataset, context=1)
    query = dataset["queries"][0]
    assert (query["answer"], query["citations"]) == ("It is 25 days.", query["reranked_ids"])
    assert all(query[f"{step}_latency_ms"] > 0 for step in ("retrieval", "rerank", "generation"))


# --- Haystack ------------------------------------------------------------------------------------------------


def haystack_parts() -> dict[str, Any]:
    pytest.importorskip("haystack")
    from haystack import Document, component
    from haystack.components.preprocessors import DocumentSplitter
    from haystack.components.rankers import LostInTheMiddleRanker
    from haystack.components.retrievers.in_memory import InMemoryEmbeddingRetriever
    from haystack.document_stores.in_memory import InMemoryDocumentStore

    @component
    class Embedder:
        @component.output_types(embedding=list[float])
        def run(self, text: str) -> dict[str, Any]:
            return {"embedding": QUESTION_VECTORS[text]}

    @component
    class Generator:
        @component.output_types(replies=list[str], meta=list[dict[str, Any]])
        def run(self, prompt: str) -> dict[str, Any]:
            usage = {"prompt_tokens": 20, "completion_tokens": 4, "total_tokens": 24}
            return {"replies": [ANSWER], "meta": [{"usage": usage}]}

    documents = [Document(content=text, meta={"file_path": name}) for name, text in TEXTS.items()]
    splitter = DocumentSplitter(split_by="passage", split_length=1, split_overlap=0)
    splitter.warm_up()
    split = splitter.run(documents)["documents"]
    split = [replace(each, embedding=VECTORS[(each.content or "").strip()]) for each in split]
    store = InMemoryDocumentStore()
    store.write_documents(split)
    retriever = InMemoryEmbeddingRetriever(store, top_k=3)
    ranker, found = LostInTheMiddleRanker(top_k=1), {"documents": documents, "store": store, "retriever": retriever}
    return {**found, "embedder": Embedder(), "ranker": ranker, "generator": Generator()}


def test_haystack_as_one_pipeline() -> None:
    parts = haystack_parts()
    from haystack import Pipeline
    from haystack.components.builders import PromptBuilder

    template = "{% for d in documents %}{{ d.content }} {% endfor %}Question: {{ question }}"
    pipeline = Pipeline()
    for name in ("embedder", "retriever", "ranker", "generator"):
        pipeline.add_component(name, parts[name])
    pipeline.add_component("builder", PromptBuilder(template, required_variables=["documents", "question"]))
    pipeline.connect("embedder.embedding", "retriever.query_embedding")
    pipeline.connect("retriever.documents", "ranker.documents")
    pipeline.connect("ranker.documents", "builder.documents")
    pipeline.connect("builder", "generator")
    app = HaystackPipeline(
        "retriever", "generator", reranker="ranker", pipeline=pipeline,
        inputs=lambda question: {"embedder": {"text": question}, "builder": {"question": question}},
        chunks=parts["store"], documents=parts["documents"],
    )  # fmt: skip
    dataset = haystack_dataset(app)
    check_answer(dataset["queries"][0], ())
    assert dataset["queries"][0]["reranked_ids"] == dataset["queries"][0]["context_ids"]


def test_haystack_by_its_steps() -> None:
    parts = haystack_parts()

    def retrieve(question: str) -> Any:
        return parts["retriever"].run(query_embedding=parts["embedder"].run(text=question)["embedding"])

    app = HaystackPipeline(
        retrieve, lambda question, documents: parts["generator"].run(prompt=question), reranker=parts["ranker"],
        chunks=parts["store"], documents=parts["documents"],
    )  # fmt: skip
    dataset = haystack_dataset(app)
    check_answer(dataset["queries"][0], ("retrieval", "rerank", "generation"))
    assert dataset["queries"][0]["retrieved_scores"] == pytest.approx([1.0, 0.68, 0.06], abs=1e-3)


def haystack_dataset(app: HaystackPipeline) -> dict[str, Any]:
    """The splitter leaves the empty line at the end of the first passage; without it all is as with the others."""
    dataset = collect_dataset(app, None, GOLDEN)
    assert next(c for c in dataset["chunks"] if c["text"].startswith(LEAVE))["end"] == 26
    for chunk in dataset["chunks"]:
        chunk["end"] -= len(chunk["text"]) - len(chunk["text"].rstrip())
        chunk["text"] = chunk["text"].rstrip()
    check(dataset, context=1)
    return dataset
