"""What a chain, an engine or a generator returned -> the answer, its sources and the tokens it took."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from rag_titan.errors import DatasetError
from rag_titan.pipeline.adapters.passages import documents_in, first, is_list

_ANSWERS = ("answer", "result", "response", "replies", "answers", "output", "output_text", "text")
_SOURCES = ("source_documents", "source_nodes", "context", "documents")
_METADATA = ("response_metadata", "meta", "metadata")
_USAGES = ("usage_metadata", "token_usage", "usage")
_OUTPUT = ("output_tokens", "completion_tokens", "eval_count")
_INPUT = ("input_tokens", "prompt_tokens", "prompt_eval_count")


@dataclass(frozen=True)
class Usage:
    """Tokens of one or several calls of a model; None for what no model said."""

    output: int | None = None
    total: int | None = None

    @classmethod
    def of(cls, told: Any) -> Usage:
        """From the counts of a model's response, in the names of OpenAI, LangChain or Ollama, or what holds them.

        >>> Usage.of({"token_usage": {"prompt_tokens": 20, "completion_tokens": 4}})
        Usage(output=4, total=24)
        """
        told = first(told, *_USAGES) or told
        output, given, total = (_count(first(told, *names)) for names in (_OUTPUT, _INPUT, ("total_tokens",)))
        if total is None and output is not None and given is not None:
            total = output + given
        return cls(output, total)

    def __add__(self, other: Usage) -> Usage:
        return Usage(_sum(self.output, other.output), _sum(self.total, other.total))


@dataclass(frozen=True)
class Answer:
    """What came back.

    sources    the documents that came with it, as the framework holds them; None where none did
    citations  the ids or documents that it cites, where it says so
    """

    text: str
    sources: list[Any] | None = None
    citations: list[Any] | None = None
    abstained: bool | None = None
    usage: Usage = field(default_factory=Usage)


def answer_of(value: Any) -> Answer:
    """A text, a message, a response with its source nodes, a generated answer, or a dict that has one of them.

    Raises DatasetError for what holds no text.

    >>> answer_of({"answer": "25 days", "context": [{"page_content": "..."}]})
    Answer(text='25 days', sources=[{'page_content': '...'}], citations=None, abstained=None, \
usage=Usage(output=None, total=None))
    """
    if isinstance(value, Answer):
        return value
    if isinstance(value, str):
        return Answer(value)
    if callable(getattr(value, "get_response", None)):  # of LlamaIndex, while it is streamed
        value = value.get_response()
    if isinstance(value, Mapping):
        return _in_mapping(value)
    text = _in_object(value)
    if text is None:
        raise DatasetError("answer", f"must be text, or hold one, got {type(value).__name__}.")
    sources = first(value, "source_nodes", "documents")
    return Answer(text, list(sources) if is_list(sources) else None, _referenced(sources), usage=_usage_in(value))


def _in_mapping(value: Mapping[str, Any]) -> Answer:
    found = first(value, *_ANSWERS)
    answer = answer_of(found[0] if is_list(found) and found else found)
    sources, citations, meta = first(value, *_SOURCES), first(value, "citations"), first(value, "meta")
    told = meta[0] if is_list(meta) and meta else value if meta is None else meta
    abstained = value.get("abstained")
    return replace(
        answer,
        sources=documents_in(sources, "answer") if is_list(sources) else answer.sources,
        citations=list(citations) if is_list(citations) else answer.citations,
        abstained=abstained if isinstance(abstained, bool) else answer.abstained,
        usage=answer.usage if answer.usage != Usage() else Usage.of(told),
    )


def _in_object(value: Any) -> str | None:
    """The text of a LangChain message, a LlamaIndex response, or an answer or message of Haystack."""
    text = first(value, "content", "response", "data", "text")
    if is_list(text):  # a message in blocks
        blocks = (block if isinstance(block, str) else first(block, "text") for block in text)
        return "".join(block for block in blocks if isinstance(block, str))
    if text is None or callable(text):
        return None
    return str(text)


def _usage_in(value: Any) -> Usage:
    for told in (first(value, "usage_metadata"), *(first(value, name) for name in _METADATA)):
        usage = Usage() if told is None else Usage.of(told)
        if usage != Usage():
            return usage
    return Usage()


def _referenced(documents: Any) -> list[Any] | None:
    """The documents that Haystack's AnswerBuilder found to be referenced; None where it did not look."""
    marked = [(document, first(document, "meta")) for document in documents or ()]
    if not any(isinstance(meta, Mapping) and "referenced" in meta for _, meta in marked):
        return None
    return [document for document, meta in marked if isinstance(meta, Mapping) and meta.get("referenced") is True]


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _sum(*counts: int | None) -> int | None:
    known: Iterable[int] = [count for count in counts if count is not None]
    return sum(known) if known else None
