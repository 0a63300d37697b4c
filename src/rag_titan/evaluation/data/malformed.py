"""What is wrong with a text that is no JSON, in words that say what to do."""

from __future__ import annotations

from json import JSONDecodeError

from rag_titan.errors import HIDDEN, DatasetError
from rag_titan.evaluation.data.plain import quoted

_PYTHON_WORDS = {"None": "null", "True": "true", "False": "false"}


def not_json(text: str, error: JSONDecodeError) -> str:
    """The rule that a text breaks which `json.loads` refused with that error.

    >>> from json import loads
    >>> def rule(text):
    ...     try:
    ...         loads(text)
    ...     except JSONDecodeError as error:
    ...         return not_json(text, error)
    >>> rule('{"id": 1,}')
    'must be JSON, got a comma before }. Remove the comma.'
    >>> rule('{"id": 1')
    'must be JSON, but it ends in the middle: the file seems to be cut off. Write it again.'
    """
    at = text[error.pos :].lstrip()
    before = text[: error.pos].rstrip()
    if not text.strip():
        return "must hold JSON, got nothing. Remove it."
    if error.msg.startswith(("Unterminated", "Invalid control")):
        return _unclosed(error)
    if not at:
        return "must be JSON, but it ends in the middle: the file seems to be cut off. Write it again."
    if at[0] in "]}" and before.endswith(","):
        return f"must be JSON, got a comma before {at[0]}. Remove the comma."
    if error.msg == "Extra data":
        return _extra(at)
    if at[0] == "'":
        return "must be JSON, got texts in single quotes. Write it with json.dumps(), not with str()."
    for word, json_word in _PYTHON_WORDS.items():
        if at.startswith(word):
            return f"must be JSON, got {word}. Write {json_word}; json.dumps() does."
    return f"must be JSON, got {quoted(at)} in column {error.colno} ({error.msg.lower()}). Write it with json.dumps()."


def _unclosed(error: JSONDecodeError) -> str:
    if error.msg.startswith("Unterminated"):
        return f"must be JSON, but the text from column {error.colno} on has no end: it is cut off. Write it again."
    return f"must be JSON, got a line break or tab inside a text in column {error.colno}. Write \\n or \\t."


def _extra(rest: str) -> str:
    if rest.rstrip() == ",":
        return "must be JSON, got a comma after it. Remove the comma."
    if rest[0] == "{":
        return "must be one object, got another one behind it. Put each on a line of its own."
    return f"must be one JSON value, got {quoted(rest)} behind it. Remove that."


def utf8(data: bytes, where: str, redacted: str | None = None) -> str:
    """The text of UTF-8 bytes; DatasetError says which byte is none. Surrogates, which Python can write, pass.

    redacted  the place without anything of the data

    >>> utf8(b"caf\\xe9", "line 3")
    Traceback (most recent call last):
    rag_titan.errors.DatasetError: line 3: must be UTF-8, got the byte 0xe9 as byte 4. Save the file as UTF-8.
    """
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError as error:
        byte, place = data[error.start], error.start + 1
        rule = f"must be UTF-8, got the byte 0x{byte:02x} as byte {place}. Save the file as UTF-8."
        raise DatasetError(where, rule, f"{redacted}: must be UTF-8{HIDDEN}" if redacted else None) from None
