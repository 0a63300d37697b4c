"""Three small RAG apps on fake models, each run with OpenInference's instrumentation; the spans that they left."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"  # read when Haystack is imported

LEAVE, SICK, BIKES = "Annual leave is 25 days.", "Sick pay is full for six weeks.", "Every second bike is free."
TEXTS = {"leave": LEAVE, "sick": SICK, "bikes": BIKES}
QUESTION, ANSWER = "How long is annual leave?", "It is 25 days."

Run = Callable[[Callable[[], Any]], Sequence[ReadableSpan]]


@contextmanager
def traced(instrumentor: Any) -> Iterator[Run]:
    """Runs a function under the instrumentation; gives its spans in the order in which they ended."""
    exporter, provider = InMemorySpanExporter(), TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    instrumentor.instrument(tracer_provider=provider)

    def run(app: Callable[[], Any]) -> Sequence[ReadableSpan]:
        exporter.clear()
        app()
        return exporter.get_finished_spans()

    try:
        yield run
    finally:
        instrumentor.uninstrument()


def langchain_app(ids: bool = True) -> Callable[[], Any]:
    """Two retrievers in an ensemble, the documents (with ids or without) as text in the prompt, a chat model."""
    from langchain_core.callbacks import CallbackManagerForRetrieverRun
    from langchain_core.documents import Document
    from langchain_core.language_models.fake_chat_models import FakeListChatModel
    from langchain_core.output_parsers import StrOutputParser
    from langchain_core.prompts import ChatPromptTemplate
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.runnables import RunnablePassthrough

    # The instrumentation calls it; LangChain lifts the filters of pytest when it is imported.
    warnings.filterwarnings("ignore", message="Calling .text")

    class Fixed(BaseRetriever):
        names: list[str]

        def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
            return [
                Document(id=name if ids else None, page_content=TEXTS[name], metadata={"source": "hr.pdf"})
                for name in self.names
            ]

    class Ensemble(BaseRetriever):
        retrievers: list[Fixed]

        def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
            found = [r.invoke(query, config={"callbacks": run_manager.get_child()}) for r in self.retrievers]
            return [found[1][0], found[0][0]]

    retriever = Ensemble(retrievers=[Fixed(names=["sick", "bikes"]), Fixed(names=["leave"])])
    prompt = ChatPromptTemplate.from_template("Answer from this:\n{context}\nQuestion: {question}")
    chain: Any = (
        {"context": retriever | _joined, "question": RunnablePassthrough()}
        | prompt
        | FakeListChatModel(responses=[ANSWER])
        | StrOutputParser()
    )
    return lambda: chain.invoke(QUESTION, config={"metadata": {"session_id": "s1", "language": "en"}})


def _joined(documents: list[Any]) -> str:
    return "\n\n".join(document.page_content for document in documents)


def llama_index_app(streaming: bool = False) -> Callable[[], Any]:
    """An index in memory, a reranker that turns the order and keeps two, a query engine with a mock model."""
    from llama_index.core import MockEmbedding, VectorStoreIndex
    from llama_index.core.instrumentation import get_dispatcher
    from llama_index.core.instrumentation.events.rerank import ReRankEndEvent, ReRankStartEvent
    from llama_index.core.llms import MockLLM
    from llama_index.core.postprocessor.types import BaseNodePostprocessor
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

    dispatcher = get_dispatcher(__name__)

    class Turning(BaseNodePostprocessor):
        def _postprocess_nodes(
            self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
        ) -> list[NodeWithScore]:
            dispatcher.event(ReRankStartEvent(query=query_bundle, nodes=nodes, top_n=2, model_name="turning"))
            kept = nodes[::-1][:2]
            dispatcher.event(ReRankEndEvent(nodes=kept))
            return kept

    vectors = {"leave": [1.0, 1.0], "sick": [1.0, 0.5], "bikes": [1.0, 0.0]}  # the mock embeds a question as (0.5, 0.5)
    nodes = [TextNode(id_=name, text=text, embedding=vectors[name]) for name, text in TEXTS.items()]
    index = VectorStoreIndex(nodes, embed_model=MockEmbedding(embed_dim=2))
    engine = index.as_query_engine(
        llm=MockLLM(max_tokens=5), similarity_top_k=3, node_postprocessors=[Turning()], streaming=streaming
    )

    def ask() -> Any:
        response: Any = engine.query(QUESTION)
        return list(response.response_gen) if streaming else response

    return ask


def haystack_app() -> Callable[[], Any]:
    """BM25 in memory, a prompt builder, a generator that says how many tokens it used."""
    from haystack import Document, Pipeline
    from haystack.components.builders import PromptBuilder
    from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
    from haystack.document_stores.in_memory import InMemoryDocumentStore

    store = InMemoryDocumentStore()
    store.write_documents([Document(id=name, content=text) for name, text in TEXTS.items()])
    template = "Answer from this: {% for d in documents %}{{ d.content }} {% endfor %}Question: {{ question }}"
    pipeline = Pipeline()
    pipeline.add_component("retriever", InMemoryBM25Retriever(store, top_k=2))
    pipeline.add_component("builder", PromptBuilder(template, required_variables=["documents", "question"]))
    pipeline.add_component("generator", fake_generator())
    pipeline.connect("retriever.documents", "builder.documents")
    pipeline.connect("builder", "generator")
    return lambda: pipeline.run({"retriever": {"query": QUESTION}, "builder": {"question": QUESTION}})


def fake_generator() -> Any:
    """A component; its class stands in the module under its name, where the instrumentation looks for it."""
    from haystack import component

    class FakeGenerator:
        @component.output_types(replies=list[str], meta=list[dict[str, Any]])
        def run(self, prompt: str) -> dict[str, Any]:
            usage = {"prompt_tokens": 20, "completion_tokens": 4, "total_tokens": 24}
            return {"replies": [ANSWER], "meta": [{"usage": usage}]}

    FakeGenerator.__qualname__ = "FakeGenerator"
    made = component(FakeGenerator)
    globals()["FakeGenerator"] = made
    return made()
