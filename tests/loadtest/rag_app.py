"""A RAG app over HTTP: keyword search of the small pipeline, and a model server whose tokens are streamed on."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from tests.evaluation.preparation.http_app import Asked, serving
from tests.pipeline.small import LEAVE, TRAVEL, embedder

from rag_titan.models.chat import ChatModel
from rag_titan.pipeline.chunking.chunkers import PackingChunker
from rag_titan.pipeline.indexing import index_documents
from rag_titan.pipeline.parts import Document
from rag_titan.pipeline.titan import RAGTitan

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n"


@contextmanager
def rag_app(model_url: str, max_tokens: int = 8) -> Iterator[str]:
    """Its address. One answer is generated at a time, as the model has one slot; what waits for it says how long."""
    rag = RAGTitan("simple", {"retriever": "bm25"}, embedder=embedder())
    documents = [Document("leave.md", LEAVE), Document("travel.md", TRAVEL)]
    index_documents(documents, PackingChunker("section", 30), rag.embedder, rag.store)
    slot = threading.Lock()
    with ChatModel(model_url, "smollm2", seed=1, max_tokens=max_tokens) as model:

        def answer(asked: Asked) -> None:
            searched = rag.retriever.retrieve(asked.body["question"], 1)
            context = "\n".join(one.chunk.text for one in searched.found)
            asked.wfile.write(HEAD)
            waits = time.perf_counter()
            with slot:
                queue_ms = (time.perf_counter() - waits) * 1000
                prompt = f"{context}\n\nQuestion: {asked.body['question']}"
                reply = model.chat(
                    prompt, on_text=lambda text: _event(asked, {"choices": [{"delta": {"content": text}}]})
                )
            parts = {"search_ms": searched.search_ms, "queue_ms": queue_ms, "generation_ms": reply.latency_ms}
            _event(asked, {"choices": [{"delta": {}, "finish_reason": "stop"}], **parts})
            asked.wfile.write(b"0\r\n\r\n")

        with serving(answer) as app:
            yield app.url


def _event(asked: Asked, event: object) -> None:
    data = f"data: {json.dumps(event)}\n\n".encode()
    asked.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
    asked.wfile.flush()
