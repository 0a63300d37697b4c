"""What a span says, by the conventions of OpenInference, OpenTelemetry GenAI, OpenLLMetry and TruLens."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rag_titan.evaluation.importers.span_texts import answer_in, messages_of, numbered, question_in
from rag_titan.evaluation.importers.spans import EVALUATION, TRULENS, Span, structured

RETRIEVER, SEARCH, RERANKER, EMBEDDING, LLM, PROMPT, CHAIN = (
    *("retriever", "search", "reranker", "embedding", "llm", "prompt"),
    "chain",
)
_KINDS = {
    "openinference.span.kind": {
        "RETRIEVER": RETRIEVER, "RERANKER": RERANKER, "EMBEDDING": EMBEDDING, "LLM": LLM, "PROMPT": PROMPT,
        "EVALUATOR": EVALUATION,
    },
    f"{TRULENS}span_type": {
        "RETRIEVAL": RETRIEVER, "RERANKING": RERANKER, "EMBEDDING": EMBEDDING, "GENERATION": LLM,
        "EVAL": EVALUATION, "EVAL_ROOT": EVALUATION,
    },
    "gen_ai.operation.name": {
        "RETRIEVAL": RETRIEVER, "RERANK": RERANKER, "EMBEDDINGS": EMBEDDING, "CHAT": LLM, "TEXT_COMPLETION": LLM,
        "GENERATE_CONTENT": LLM,
    },
    "llm.request.type": {"CHAT": LLM, "COMPLETION": LLM, "RERANK": RERANKER, "EMBEDDING": EMBEDDING},
}  # fmt: skip
_OF_A_CALL = re.compile(r"llm\.(model_name|output_messages|input_messages|token_count|prompts|choices|cost)\b")
_CONTEXTS = ("context", "context_str", "contexts", "retrieved_context", "retrieved_contexts")
_FIRST_TOKENS = ("first token stream event", "llm.content.completion.chunk", "gen_ai.content.chunk", "first_token")


@dataclass(frozen=True, slots=True)
class Passage:
    """A document that a retriever or a reranker returned, as far as the span says."""

    id: str | None
    text: str | None
    score: float | None = None
    metadata: Mapping[str, Any] | None = None


def kind_of(span: Span) -> str:
    """What the span does: RETRIEVER, SEARCH (in a vector index), RERANKER, EMBEDDING, LLM, PROMPT, EVALUATION or CHAIN.

    A span that is marked LLM and only fills a prompt template, as Haystack's PromptBuilder, is a PROMPT.
    """
    attributes = span.attributes
    for name, kinds in _KINDS.items():
        said = attributes.get(name)
        if isinstance(said, str) and said:
            kind = kinds.get(said.upper(), CHAIN)
            if kind == LLM and "llm.prompt_template.template" in attributes:
                return LLM if any(map(_OF_A_CALL.match, attributes)) else PROMPT
            if kind != CHAIN:
                return kind
    if any(event.name == "db.query.result" for event in span.events) or "db.vector.query.top_k" in attributes:
        return SEARCH
    models = ("gen_ai.request.model", "llm.model_name", "gen_ai.response.model")
    said = any(attributes.get(name) for name in _KINDS)
    return LLM if not said and any(name in attributes for name in models) else CHAIN


def is_record(span: Span) -> bool:
    """True for the root of a TruLens record: a question and an answer of an application, whatever else was logged."""
    return span.attributes.get(f"{TRULENS}span_type") == "record_root"


# --- documents --------------------------------------------------------------------------------------------------------


def retrieved(span: Span, key: str | None) -> list[Passage] | None:
    """What the retriever returned, best first; None where the span does not say, [] where it says nothing was found.

    key  the key of the documents' metadata that holds their ids, where it is not `document.id`
    """
    for prefix in ("retrieval.documents", "gen_ai.retrieval.documents"):
        found = _passages(span.attributes, prefix, key)
        if found:
            return _with_ids_of_output(found, span, key)
        if span.attributes.get(prefix) == []:
            return []
    texts = span.attributes.get(f"{TRULENS}retrieval.retrieved_contexts")
    if isinstance(texts, list):
        return _of_texts(texts, span.attributes.get(f"{TRULENS}retrieval.retrieved_scores"))
    listed = numbered(span.attributes, f"{TRULENS}retrieval.retrieved_contexts")
    if listed:
        return [_passage(item, key) for item in listed]
    events = [e.attributes for e in span.events if e.name == "db.query.result"]
    if events:
        return [_passage({k.removeprefix("db.query.result."): v for k, v in e.items()}, key) for e in events]
    return _of_output(span, key)


def reranker_lists(span: Span, key: str | None) -> tuple[list[Passage] | None, list[Passage] | None]:
    """What went into the reranker and what came out, in order; None where the span does not say."""
    given = _passages(span.attributes, "reranker.input_documents", key) or None
    returned = _passages(span.attributes, "reranker.output_documents", key) or None
    texts = span.attributes.get(f"{TRULENS}reranking.input_context_texts")
    if given is None and isinstance(texts, list):
        given = _of_texts(texts, span.attributes.get(f"{TRULENS}reranking.input_context_scores"))
        ranks = span.attributes.get(f"{TRULENS}reranking.output_ranks")
        if isinstance(ranks, list) and all(isinstance(r, int) and 0 <= r < len(given) for r in ranks):
            returned = [given[rank] for rank in ranks]
    return given, (_of_output(span, key) if returned is None else returned)


def _passages(attributes: Mapping[str, Any], prefix: str, key: str | None) -> list[Passage]:
    items = numbered(attributes, prefix)
    return [_passage({name.removeprefix("document."): v for name, v in item.items()}, key) for item in items]


def _passage(item: Mapping[str, Any], key: str | None) -> Passage:
    text = next(
        (item[n] for n in ("content", "document", "page_content", "text") if isinstance(item.get(n), str)), None
    )
    metadata = structured(item.get("metadata"))
    if not isinstance(metadata, dict):
        metadata = {n.removeprefix("metadata."): v for n, v in item.items() if n.startswith("metadata.")}
    name = item.get("id") if key is None else metadata.get(key)
    score = number(item.get("score"))
    return Passage(_id(name), text, score, metadata or None)


def _id(value: Any) -> str | None:
    if isinstance(value, bool) or not isinstance(value, str | int) or not str(value).strip():
        return None
    return str(value)


def _of_texts(texts: list[Any], scores: Any) -> list[Passage]:
    scores = scores if isinstance(scores, list) and len(scores) == len(texts) else [None] * len(texts)
    pairs = zip(texts, scores, strict=True)
    return [Passage(None, text if isinstance(text, str) else None, number(score)) for text, score in pairs]


def _of_output(span: Span, key: str | None) -> list[Passage] | None:
    """The documents in the output of a span, where that is a list of objects, or says that there are none."""
    value = structured(span.attributes.get("output.value"))
    listed = value.get("documents") if isinstance(value, dict) else value
    if not isinstance(listed, list):
        return None
    known = all(isinstance(i, dict) and {"page_content", "content", "text"} & i.keys() for i in listed)
    return [_passage(item, key) for item in listed] if known else None


def _with_ids_of_output(found: list[Passage], span: Span, key: str | None) -> list[Passage]:
    """LangChain's spans name the documents' ids in the output alone; taken where its texts are the same."""
    if any(passage.id is not None for passage in found):
        return found
    other = _of_output(span, key)
    if other is None or [p.text for p in other] != [p.text for p in found]:
        return found
    pairs = zip(found, other, strict=True)
    return [Passage(o.id, f.text, f.score, f.metadata) for f, o in pairs]


# --- texts ------------------------------------------------------------------------------------------------------------


def asked(span: Span) -> str | None:
    """The question in the input of a span."""
    of_query = ("retrieval.query_text", "gen_ai.retrieval.query.text", "reranker.query", "reranking.query_text")
    for name in (f"{TRULENS}record_root.input", *of_query, *(f"{TRULENS}{name}" for name in of_query)):
        if isinstance(span.attributes.get(name), str) and span.attributes[name].strip():
            return str(span.attributes[name])
    for name in ("input.value", "traceloop.entity.input"):
        text = question_in(_unquoted(name, span.attributes.get(name)))
        if text is not None:
            return text
    prompts = list(_prompts(span))
    return next((text for role, text in reversed(prompts) if role in ("user", "human", "")), None)


def output_of(span: Span) -> Any:
    """The output as it was logged."""
    names = (f"{TRULENS}record_root.output", "output.value", "traceloop.entity.output", f"{TRULENS}call.return")
    name = next((name for name in names if span.attributes.get(name) not in (None, "")), "")
    return _unquoted(name, span.attributes.get(name))


def _unquoted(name: str, value: Any) -> Any:
    """OpenLLMetry writes all values as JSON, a text with quotes around it."""
    if name.startswith("traceloop.") and isinstance(value, str) and value[:1] == '"':
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


def answered(span: Span) -> str | None:
    """The answer in the output of a span."""
    for prefix in ("llm.output_messages", "gen_ai.output.messages", "gen_ai.completion"):
        texts = [text for _, text in messages_of(span.attributes, prefix)]
        if texts:
            return texts[-1]
    for event in span.events:
        text = answer_in(event.attributes.get("gen_ai.completion"))
        if text is not None:
            return text
    return answer_in(output_of(span))


def _prompts(span: Span) -> Iterator[tuple[str, str]]:
    for prefix in ("llm.input_messages", "gen_ai.input.messages", "gen_ai.prompt"):
        yield from messages_of(span.attributes, prefix)
    prompts = span.attributes.get("llm.prompts")
    yield from (("", text) for text in (prompts if isinstance(prompts, list) else [prompts]) if isinstance(text, str))
    items = numbered(span.attributes, "llm.prompts")
    yield from (("", str(item["prompt.text"])) for item in items if "prompt.text" in item)


def prompt_of(span: Span) -> str | None:
    """All that a model was given to read."""
    return "\n".join(text for _, text in _prompts(span)) or None


def context_of(span: Span) -> str | None:
    """The prompt context, where the span logs it as a variable of the template or an argument of the call."""
    variables = structured(span.attributes.get("llm.prompt_template.variables"))
    sources = [variables] if isinstance(variables, dict) else []
    sources.append({name: span.attributes.get(f"{TRULENS}call.kwargs.{name}") for name in _CONTEXTS})
    sources.append({name: span.attributes.get(f"llm.prompt_template.variables.{name}") for name in _CONTEXTS})
    for source in sources:
        for name in _CONTEXTS:
            value = source.get(name)
            texts = value if isinstance(value, list) else [value]
            if texts and all(isinstance(text, str) for text in texts):
                return "\n\n".join(map(str, texts))
    return None


# --- numbers ----------------------------------------------------------------------------------------------------------


def number(value: Any) -> float | None:
    """A finite number, also where it is written as text."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        read = float(value)
    except (ValueError, OverflowError):
        return None
    return read if math.isfinite(read) else None


def _amount(span: Span, *names: str) -> float | None:
    """The first of these that is a number of at least 0."""
    found = (number(span.attributes.get(name)) for name in names)
    return next((value for value in found if value is not None and value >= 0), None)


def output_tokens(span: Span) -> float | None:
    """Tokens that the model wrote."""
    usage = ("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens")
    return _amount(span, "llm.token_count.completion", *usage, f"{TRULENS}cost.num_completion_tokens")


def total_tokens(span: Span) -> float | None:
    """Tokens that were read and written."""
    totals = ("gen_ai.usage.total_tokens", "llm.usage.total_tokens")
    total = _amount(span, "llm.token_count.total", *totals, f"{TRULENS}cost.num_tokens")
    if total is not None:
        return total
    usage = ("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens")
    read = _amount(span, "llm.token_count.prompt", *usage, f"{TRULENS}cost.num_prompt_tokens")
    written = output_tokens(span)
    return None if read is None or written is None else read + written


def cost(span: Span) -> float | None:
    """US dollars; an amount in another currency is none."""
    total = _amount(span, "llm.cost.total", "gen_ai.usage.cost")
    if total is not None:
        return total
    if str(span.attributes.get(f"{TRULENS}cost.cost_currency") or "USD").upper() == "USD":
        total = _amount(span, f"{TRULENS}cost.cost")
    parts = (_amount(span, "llm.cost.prompt"), _amount(span, "llm.cost.completion"))
    return total if None in parts else sum(part for part in parts if part is not None)


def first_token_ms(span: Span) -> float | None:
    """Milliseconds from the start of the span to the first token, from its events or what it says in seconds."""
    said = _amount(span, "gen_ai.response.time_to_first_chunk", "gen_ai.server.time_to_first_token")
    if said is not None:
        return said * 1000
    times = [e.time for e in span.events if e.time is not None and e.name.lower() in _FIRST_TOKENS]
    if not times or span.start is None or min(times) < span.start:
        return None
    return (min(times) - span.start) / 1e6


def tags_of(span: Span) -> dict[str, Any]:
    """Session, user and metadata: the scalars among them."""
    attributes = span.attributes
    named = {
        "session_id": ("session.id", "gen_ai.conversation.id"),
        "user_id": ("user.id", "enduser.id"),
        "app_name": (f"{TRULENS}app_name",),
        "app_version": (f"{TRULENS}app_version",),
        "run": (f"{TRULENS}run.name",),
    }
    tags = {tag: attributes[n] for tag, names in named.items() for n in reversed(names) if n in attributes}
    metadata = structured(attributes.get("metadata"))
    more = dict(metadata) if isinstance(metadata, dict) else {}
    for prefix in ("metadata.", "traceloop.association.properties."):
        more |= {name.removeprefix(prefix): v for name, v in attributes.items() if name.startswith(prefix)}
    for name, value in more.items():
        if not str(name).startswith(("ls_", "lc_")):  # LangChain's notes to itself
            tags.setdefault(str(name), value)
    return {tag: v for tag, v in tags.items() if isinstance(v, str | int | float) and tag and v != ""}
