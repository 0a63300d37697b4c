"""What people and models said, out of the values that tracing tools log: texts, JSON of messages, inputs of chains."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rag_titan.evaluation.importers.spans import structured

_QUESTIONS = (
    *("question", "query", "query_str", "user_query", "user_question", "user_input", "user_message", "chat_input"),
    *("input", "message", "prompt", "text", "content", "query_bundle", "messages", "inputs", "data", "args", "kwargs"),
)
_ANSWERS = (
    *(
        "answer",
        "response",
        "final_answer",
        "output",
        "outputs",
        "result",
        "output_text",
        "completion",
        "generated_text",
    ),
    *("text", "content", "replies", "answers", "generations", "choices", "message", "messages", "parts", "kwargs"),
)
_ASKED = ("user", "human")
_SAID = ("assistant", "ai", "aimessage", "aimessagechunk", "model", "bot")
_ROLES = ("role", "type", "message.role")
_DEEPEST = 12


def question_in(value: Any) -> str | None:
    """The question in the input of an application; None where nothing says which part it is.

    >>> question_in('{"data": {"retriever": {"query": "How long?"}, "llm": {"top_k": 3}}}')
    'How long?'
    >>> question_in({"messages": [{"role": "user", "content": "How long?"}, {"role": "assistant", "content": "Days."}]})
    'How long?'
    >>> question_in({"top_k": 3, "stream": True})
    """
    return _text_in(structured(value), _QUESTIONS, _ASKED, 0)


def answer_in(value: Any) -> str | None:
    """The answer in the output of an application or a model.

    >>> answer_in('{"llm": {"replies": ["25 days."], "meta": [{"model": "m"}]}}')
    '25 days.'
    >>> answer_in([{"role": "assistant", "parts": [{"type": "text", "content": "25 days."}]}])
    '25 days.'
    """
    return _text_in(structured(value), _ANSWERS, _SAID, 0)


def cited_in(value: Any) -> list[str] | None:
    """The ids that the output of an application names as its `citations`."""
    value = structured(value)
    listed = value.get("citations") if isinstance(value, dict) else None
    if not isinstance(listed, list):
        return None
    names = ("id", "chunk_id", "document_id", "doc_id")
    ids = [next((i[n] for n in names if n in i), None) if isinstance(i, dict) else i for i in listed]
    known = all(isinstance(i, str | int) and not isinstance(i, bool) and str(i) for i in ids)
    return [str(i) for i in ids] if known else None


def _text_in(value: Any, names: tuple[str, ...], roles: tuple[str, ...], depth: int) -> str | None:
    if isinstance(value, str):
        return value if value.strip() else None
    if depth > _DEEPEST or not value:
        return None
    if isinstance(value, list):
        return _text_of_list(value, names, roles, depth)
    if not isinstance(value, dict):
        return None
    for name in names:
        if name in value:
            text = _text_in(structured(value[name]), names, roles, depth + 1)
            if text is not None:
                return text
    nested = [item for item in value.values() if isinstance(item, dict)]
    for item in nested:
        text = _text_in(item, names, roles, depth + 1)
        if text is not None:
            return text
    alone = [item for item in value.values() if isinstance(item, str) and item.strip()]
    return alone[0] if depth == 0 and len(value) == 1 and alone else None


def _text_of_list(value: list[Any], names: tuple[str, ...], roles: tuple[str, ...], depth: int) -> str | None:
    """Of messages the last of the right role; of texts, or parts of one, a single one or the first."""
    messages = [item for item in value if isinstance(item, dict)]
    roled = [(_role(item), item) for item in messages]
    if any(role in (*_ASKED, *_SAID) for role, _ in roled):
        of_role = [item for role, item in roled if role in roles]
        return _text_in(_content(of_role[-1]), names, roles, depth + 1) if of_role else None
    texts = [_text_in(item, names, roles, depth + 1) for item in value]
    given = [text for text in texts if text is not None]
    parted = messages and all(role == "text" for role, _ in roled)
    return ("".join(given) if parted else given[0]) if given else None


def _role(message: Mapping[str, Any]) -> str:
    inner = message.get("kwargs") if isinstance(message.get("kwargs"), dict) else message
    inner = inner if isinstance(inner, Mapping) else message
    for name in _ROLES:
        role = inner.get(name)
        if isinstance(role, str) and role.lower() != "constructor":
            return role.lower()
    return ""


def _content(message: Mapping[str, Any]) -> Any:
    for name in ("content", "message.content", "parts", "text", "kwargs", "data"):
        if message.get(name):
            return message[name]
    return None


# --- attributes with numbers in their names ---------------------------------------------------------------------------


def numbered(attributes: Mapping[str, Any], prefix: str) -> list[dict[str, Any]]:
    """The list whose items were logged as prefix.0.name, prefix.1.name, ..., in the order of their numbers.

    >>> numbered({"a.b.10.id": "y", "a.b.9.id": "x", "a.b.9.score": 1}, "a.b")
    [{'id': 'x', 'score': 1}, {'id': 'y'}]
    """
    items: dict[int, dict[str, Any]] = {}
    start = f"{prefix}."
    for key, value in attributes.items():
        if key.startswith(start):
            number, _, name = key[len(start) :].partition(".")
            if number.isascii() and number.isdigit() and len(number) < 10:
                items.setdefault(int(number), {})[name] = value
    return [items[number] for number in sorted(items)]


def messages_of(attributes: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, str]]:
    """The messages under a prefix, each with its role and its text."""
    for item in numbered(attributes, prefix):
        role = str(item.get("message.role") or item.get("role") or "").lower()
        parts = [item.get("message.content") or item.get("content") or ""]
        for name, value in item.items():
            before, dot, last = name.rpartition(".")
            if dot and last in ("text", "content") and item.get(f"{before}.type") not in ("reasoning", "thinking"):
                parts.append(value if name != "message.content" else "")
        texts = [part for part in parts if isinstance(part, str) and part]
        if texts:
            yield role, "\n".join(texts)
