"""The dataset format, key by key: what a query, a chunk and a piece of evidence may hold.

This is the one place where the keys stand; the JSON Schema (`rag-titan schema dataset`), the check of unknown keys and
the fast decoder derive from it. `None` means not given. An id is text here: whole numbers are turned into text on the
slow path (`dataset.py`), which also explains what is wrong with a record that these types refuse.
"""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, Struct

Id = Annotated[str, Meta(description="an id; whole numbers and text mean the same id")]
Ids = list[Id]
Scalar = str | float | int | bool | None


class Evidence(Struct, forbid_unknown_fields=True, gc=False, kw_only=True):
    """A span ({"start", "end", "doc_id"}), a quote ({"quote", "occurrence"}), or {"any_of": [...]} of which one is enough."""

    quote: Annotated[str | None, Meta(description="an exact quote; must occur once, unless `occurrence` is given")] = None
    occurrence: Annotated[int | None, Meta(description="which occurrence of the quote, from 1, over the documents in order")] = None
    start: Annotated[int | None, Meta(description="first character in the document, from 0")] = None
    end: Annotated[int | None, Meta(description="one past the last character")] = None
    doc_id: Annotated[Id | None, Meta(description="which document; needed when there are several")] = None
    any_of: Annotated[list[str | Evidence] | None, Meta(description="alternatives: one of them is enough")] = None


class Claim(Struct, gc=False, kw_only=True):
    """A statement of the answer and a person's verdict on it."""

    supported: Annotated[bool, Meta(description="the sources say so")]
    text: Annotated[str | None, Meta(description="the statement")] = None


class Query(Struct, forbid_unknown_fields=True, gc=False, kw_only=True):
    """One question: gold labels, and what each part of the system logged."""

    id: Annotated[Id, Meta(description="unique id")]
    question: Annotated[str | None, Meta(description="the question as asked")] = None
    tags: Annotated[dict[str, Scalar] | None, Meta(description="slices, such as language or tenant")] = None

    expected_chunk_ids: Annotated[Ids | None, Meta(description="gold chunk ids")] = None
    relevance: Annotated[dict[str, float] | None, Meta(description="graded gold labels {chunk_id: grade}")] = None
    expected_evidence: Annotated[
        list[str | Evidence] | None, Meta(description="exact quotes, or spans, that hold the answer")
    ] = None
    required_evidence_ids: Annotated[Ids | None, Meta(description="gold files or pages, such as hr.pdf#p4")] = None

    retrieved_ids: Annotated[Ids | None, Meta(description="what the retriever returned, best first")] = None
    retrieved_scores: Annotated[list[float | None] | None, Meta(description="their scores")] = None
    retrieved_texts: Annotated[list[str] | None, Meta(description="their texts, when the log has no ids")] = None
    reranked_ids: Annotated[Ids | None, Meta(description="what the reranker returned, best first")] = None
    reranked_texts: Annotated[list[str] | None, Meta(description="their texts, when the log has no ids")] = None
    context_ids: Annotated[Ids | None, Meta(description="the chunks that went into the prompt, in order")] = None
    context: Annotated[str | None, Meta(description="the prompt context as text, instead of context_ids")] = None

    answer: Annotated[str | None, Meta(description="the generated answer")] = None
    expected_answer: Annotated[str | None, Meta(description="the validated reference answer")] = None
    expected_answers: Annotated[list[str] | None, Meta(description="several references; the best one counts")] = None
    required_facts: Annotated[list[str] | None, Meta(description="phrases that the answer must contain")] = None
    citations: Annotated[Ids | None, Meta(description="cited source ids")] = None
    expected_citations: Annotated[Ids | None, Meta(description="source ids that should be cited")] = None
    verified_claims: Annotated[list[Claim] | None, Meta(description="your labels of the answer's statements")] = None
    answerable: Annotated[bool | None, Meta(description="can the question be answered from the documents")] = None
    abstained: Annotated[bool | None, Meta(description="did the system refuse")] = None
    task_success: Annotated[bool | None, Meta(description="your verdict on the answer")] = None

    latency_ms: Annotated[float | None, Meta(description="request to answer, in milliseconds")] = None
    embedding_latency_ms: Annotated[float | None, Meta(description="embedding of the question")] = None
    search_latency_ms: Annotated[float | None, Meta(description="index search")] = None
    retrieval_latency_ms: Annotated[float | None, Meta(description="the whole retrieval")] = None
    rerank_latency_ms: Annotated[float | None, Meta(description="reranking")] = None
    generation_latency_ms: Annotated[float | None, Meta(description="the model's time")] = None
    time_to_first_token_ms: Annotated[float | None, Meta(description="from the model's start to its first token")] = None
    output_tokens: Annotated[float | None, Meta(description="tokens that the model wrote")] = None
    total_tokens: Annotated[float | None, Meta(description="tokens that the request used")] = None
    cost_usd: Annotated[float | None, Meta(description="cost of the request in US dollars")] = None

    validated: Annotated[bool | None, Meta(description="a person checked the gold labels")] = None
    error: Annotated[str | None, Meta(description="why this question has no output")] = None
    timestamp: Annotated[str | float | None, Meta(description="when it was asked")] = None


class Chunk(Struct, gc=False, kw_only=True):
    """A chunk of the index."""

    id: Annotated[Id | None, Meta(description="unique id; default chunk_1, chunk_2, ...")] = None
    text: Annotated[str | None, Meta(description="the chunk's text")] = None
    start: Annotated[int | None, Meta(description="first character in the document, from 0")] = None
    end: Annotated[int | None, Meta(description="one past the last character")] = None
    doc_id: Annotated[Id | None, Meta(description="which document; needed when there are several")] = None
    metadata: Annotated[dict[str, Any] | None, Meta(description='any keys, such as {"source": "hr.pdf", "page": 4}')] = None


class Embeddings(Struct, gc=False, kw_only=True, forbid_unknown_fields=True):
    """Vectors and what the vector index holds and returned; each by id."""

    vectors: Annotated[dict[str, list[float]], Meta(description="{chunk_id: vector}")]
    query_vectors: Annotated[dict[str, list[float]] | None, Meta(description="{query_id: vector}")] = None
    relevant_ids: Annotated[dict[str, Ids] | None, Meta(description="{query_id: gold chunk ids}")] = None
    indexed_ids: Annotated[Ids | None, Meta(description="chunk ids really stored in the index")] = None
    index_results: Annotated[dict[str, Ids] | None, Meta(description="{query_id: chunk ids the index returned}")] = None
