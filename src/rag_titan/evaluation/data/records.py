"""The dataset format, key by key: what a query, a chunk, a document and a piece of evidence may hold.

This is the one place where the keys stand; the JSON Schema (`rag-titan schema dataset`), the check of unknown keys, the
fast decoder and the cleaner that explains what is wrong derive from it. `None` means not given. An id is text here:
whole numbers become text in `cleaning.py`, which takes over every record that these types refuse.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

ID = "id"
GRADE = "grade"
SLICE = "slice"

Id = Annotated[
    str, Meta(min_length=1, description="an id; a whole number means the same as its digits", extra={"role": ID})
]
Grade = Annotated[float, Meta(extra={"role": GRADE})]
Ids = list[Id]
EXACT = 2**53  # up to here a float64 holds every whole number
Offset = Annotated[int, Meta(ge=-EXACT, le=EXACT)]
Count = Annotated[int, Meta(ge=0, le=EXACT)]
Amount = Annotated[float, Meta(ge=0)]
Scalar = str | Annotated[float, Meta(extra={"role": SLICE})] | int | bool | None


class Evidence(Struct, forbid_unknown_fields=True, omit_defaults=True, gc=False, kw_only=True):
    """A quote ({"quote", "occurrence"}), a span ({"start", "end", "doc_id"}), or {"any_of": [...]}: one is enough.

    >>> Evidence(start=3)
    Traceback (most recent call last):
    ValueError: must have a quote, or start and end, or any_of
    """

    quote: Annotated[str | None, Meta(description="an exact quote; must occur once, or have an `occurrence`")] = None
    occurrence: Annotated[
        Annotated[int, Meta(ge=1, le=EXACT)] | None,
        Meta(description="which occurrence of the quote, from 1, over the documents in order"),
    ] = None
    start: Annotated[Count | None, Meta(description="first character in the document, from 0")] = None
    end: Annotated[Count | None, Meta(description="one past the last character")] = None
    doc_id: Annotated[Id | None, Meta(description="which document; needed when there are several")] = None
    any_of: Annotated[list[str | Evidence] | None, Meta(description="alternatives: one of them is enough")] = None

    def __post_init__(self) -> None:
        span = self.start is not None and self.end is not None
        if not span and self.quote is None and self.any_of is None:
            raise ValueError("must have a quote, or start and end, or any_of")
        if self.start is not None and self.end is not None and self.start > self.end:
            raise ValueError(f"must end at or after its start, got start {self.start} and end {self.end}")


class Claim(Struct, omit_defaults=True, gc=False, kw_only=True):
    """A statement of the answer and a person's verdict on it."""

    supported: Annotated[bool, Meta(description="the sources say so")]
    text: Annotated[str | None, Meta(description="the statement")] = None


Verdict = Literal["supported", "contradicted", "not_supported"]


class JudgedClaim(Struct, omit_defaults=True, gc=False, kw_only=True):
    """One statement, and what a judge or a person says of it: who bears it out, and who does not."""

    text: Annotated[str | None, Meta(description="the statement")] = None
    context: Annotated[Verdict | None, Meta(description="by the whole context that the generator was given")] = None
    chunks: Annotated[dict[Id, Verdict] | None, Meta(description="by single retrieved chunks: {chunk_id: verdict}")] = (
        None
    )
    reference: Annotated[Verdict | None, Meta(description="a statement of the answer: by the reference answer")] = None
    answer: Annotated[Verdict | None, Meta(description="a statement of the reference answer: by the answer")] = None
    evidence: Annotated[str | None, Meta(description="the words that the verdict stands on")] = None
    by: Annotated[str | None, Meta(description="who settled it: judge, rule or a person's name")] = None


class Verdicts(Struct, omit_defaults=True, gc=False, kw_only=True):
    """What a judge, or a person, said of one question. Scores are computed from it; no model is asked for them."""

    answer_claims: Annotated[list[JudgedClaim] | None, Meta(description="the statements of the answer")] = None
    reference_claims: Annotated[list[JudgedClaim] | None, Meta(description="the statements of the reference")] = None
    useful_chunks: Annotated[
        dict[Id, bool] | None, Meta(description="{chunk_id: does it help to arrive at the reference answer?}")
    ] = None
    chunk_relevance: Annotated[
        dict[Id, Annotated[float, Meta(ge=0)]] | None,
        Meta(description="{chunk_id: 0 no, 1 partly, 2 wholly relevant to the question}"),
    ] = None
    question_similarities: Annotated[
        list[Grade] | None, Meta(description="cosine of the question to each that the answer would answer")
    ] = None
    embedder: Annotated[str | None, Meta(description="whose vectors these cosines are of")] = None
    noncommittal: Annotated[bool | None, Meta(description="the answer evades the question")] = None
    judge: Annotated[
        str | None, Meta(description="who judged: the model, and the hash of its prompts and settings")
    ] = None
    unjudged: Annotated[
        dict[str, str] | None, Meta(description="{metric: why there is no verdict}: a failure, or nothing to judge")
    ] = None


class Query(Struct, forbid_unknown_fields=True, omit_defaults=True, gc=False, kw_only=True):
    """One question: gold labels, and what each part of the system logged."""

    id: Annotated[Id, Meta(description="unique id")]
    question: Annotated[str | None, Meta(description="the question as asked")] = None
    tags: Annotated[dict[str, Scalar] | None, Meta(description="slices, such as language or tenant")] = None

    expected_chunk_ids: Annotated[Ids | None, Meta(description="gold chunk ids")] = None
    relevance: Annotated[dict[Id, Grade] | None, Meta(description="graded gold labels {chunk_id: grade}")] = None
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
    verdicts: Annotated[Verdicts | None, Meta(description="what a judge said; `rag-titan judge` writes it")] = None
    answerable: Annotated[
        bool | None,
        Meta(description="can the question be answered from the documents; counts where given, true as well"),
    ] = None
    abstained: Annotated[bool | None, Meta(description="did the system refuse")] = None
    task_success: Annotated[bool | None, Meta(description="your verdict on the answer")] = None

    latency_ms: Annotated[float | None, Meta(description="request to answer, in milliseconds")] = None
    embedding_latency_ms: Annotated[float | None, Meta(description="embedding of the question")] = None
    search_latency_ms: Annotated[float | None, Meta(description="index search")] = None
    retrieval_latency_ms: Annotated[float | None, Meta(description="the whole retrieval")] = None
    rerank_latency_ms: Annotated[float | None, Meta(description="reranking")] = None
    generation_latency_ms: Annotated[float | None, Meta(description="the model's time")] = None
    time_to_first_token_ms: Annotated[float | None, Meta(description="from the model's start to the first token")] = (
        None
    )
    output_tokens: Annotated[float | None, Meta(description="tokens that the model wrote")] = None
    total_tokens: Annotated[float | None, Meta(description="tokens that the request used")] = None
    cost_usd: Annotated[float | None, Meta(description="cost of the request in US dollars")] = None

    validated: Annotated[bool | None, Meta(description="a person checked the gold labels")] = None
    error: Annotated[str | None, Meta(description="why this question has no output")] = None
    timestamp: Annotated[str | float | None, Meta(description="when it was asked")] = None


GOLD = (
    "expected_chunk_ids",
    "relevance",
    "expected_evidence",
    "required_evidence_ids",
    "expected_answer",
    "expected_answers",
    "required_facts",
    "expected_citations",
    "answerable",
)
"""The keys of a query that a person wrote before the system ran: what `fingerprints.gold` is made of."""


class Chunk(Struct, forbid_unknown_fields=True, omit_defaults=True, gc=False, kw_only=True):
    """A chunk of the index."""

    id: Annotated[Id | None, Meta(description="unique id; default chunk_1, chunk_2, ...")] = None
    text: Annotated[str | None, Meta(description="the chunk's text")] = None
    start: Annotated[Offset | None, Meta(description="first character in the document, from 0")] = None
    end: Annotated[Offset | None, Meta(description="one past the last character")] = None
    doc_id: Annotated[Id | None, Meta(description="which document; needed when there are several")] = None
    metadata: Annotated[dict[str, Any] | None, Meta(description='any keys, as {"source": "hr.pdf", "page": 4}')] = None


class Document(Struct, forbid_unknown_fields=True, omit_defaults=True, gc=False, kw_only=True):
    """A source text, where the documents come as a list."""

    text: Annotated[str, Meta(description="the source text")]
    id: Annotated[Id | None, Meta(description="unique id; default: `source`")] = None
    source: Annotated[Id | None, Meta(description="the id when `id` is missing, such as hr.pdf")] = None
    category: Annotated[str | None, Meta(description="a kind of document, for profiles and samples")] = None


class Embeddings(Struct, forbid_unknown_fields=True, omit_defaults=True, gc=False, kw_only=True):
    """Vectors and what the vector index holds and returned; each by id."""

    vectors: Annotated[dict[Id, list[float]], Meta(description="{chunk_id: vector}")]
    query_vectors: Annotated[dict[Id, list[float]] | None, Meta(description="{query_id: vector}")] = None
    relevant_ids: Annotated[dict[Id, Ids] | None, Meta(description="{query_id: gold chunk ids}")] = None
    indexed_ids: Annotated[Ids | None, Meta(description="chunk ids really stored in the index")] = None
    index_results: Annotated[dict[Id, Ids] | None, Meta(description="{query_id: chunk ids the index returned}")] = None


class Inputs(Struct, omit_defaults=True, gc=False, kw_only=True):
    """What `RAGEvaluator.evaluate()` takes, and what a dataset file holds. Only what is passed is scored."""

    chunks: Annotated[list[str | Chunk] | None, Meta(description="the chunks of your index: texts or objects")] = None
    queries: Annotated[list[Query] | None, Meta(description="gold labels and outputs, one object a question")] = None
    document_text: Annotated[str | None, Meta(description="the source text of one document")] = None
    documents: Annotated[
        dict[Id, str] | list[Document] | None, Meta(description="the source texts of several documents: {doc_id: text}")
    ] = None
    embeddings: Annotated[Embeddings | None, Meta(description="vectors and vector-index results")] = None
    max_context_tokens: Annotated[Amount | None, Meta(description="the context budget, in words")] = None
    expected_chunks: Annotated[
        list[str | Chunk] | None, Meta(description="ideal chunks marked by a person, for boundary_f1")
    ] = None
    expected_evidence: Annotated[
        list[str | Evidence] | None, Meta(description="quotes or spans that must stay in one chunk")
    ] = None
    structural_blocks: Annotated[
        list[str | Evidence] | None, Meta(description="tables, lists or code that must stay whole")
    ] = None
    required_metadata: Annotated[list[str] | None, Meta(description="metadata keys that every chunk must have")] = None
    expected_metadata: Annotated[
        dict[Id, dict[str, Any]] | None, Meta(description="correct metadata values: {chunk_id: {key: value}}")
    ] = None
    size_limits: Annotated[
        tuple[Amount, Amount] | None, Meta(description="valid chunk size, in words: [least, most]")
    ] = None
    boundary_tolerance: Annotated[Amount | None, Meta(description="characters two boundaries may differ")] = None
    sentence_vectors: Annotated[
        dict[Id, list[list[float]]] | None, Meta(description="one vector per sentence: {chunk_id: [vector, ...]}")
    ] = None
    chunk_vectors: Annotated[
        dict[Id, list[float]] | None, Meta(description="{chunk_id: vector}; default: the vectors in `embeddings`")
    ] = None
