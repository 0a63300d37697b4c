"""What a server answers instead of an answer, in words that say what to do."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping
from typing import Any

_EXCERPT = 200  # characters of a server's own words
_AGAIN = frozenset((408, 429))  # and every 5xx
_ADVICE = {
    400: "Read what the server says.",
    401: "Name the environment variable that holds the key with api_key_env.",
    403: "Look at what the key may do.",
    404: "Correct base_url; that of an OpenAI-compatible server mostly ends in /v1.",
    413: "Send less at a time.",
    429: "Ask less often.",
}


class Unusable(Exception):
    """An answer of no use.

    must, got, do  the parts of the sentence "must ..., got .... What to do."
    again          another try may help
    wait           seconds that the server asks to wait before it, None if it does not
    """

    def __init__(self, must: str, got: str, do: str = "", *, again: bool = False, wait: float | None = None) -> None:
        super().__init__(must, got)
        self.must, self.got, self.do = must, got, do
        self.again, self.wait = again, wait

    def sentence(self, attempts: int = 1) -> str:
        """The whole of it, after so many tries.

        >>> Unusable("be reachable", "no connection", "Start the server.").sentence(4)
        'must be reachable, got no connection in the last of 4 tries. Start the server.'
        """
        tries = f" in the last of {attempts} tries" if attempts > 1 else ""
        return f"must {self.must}, got {self.got}{tries}.{' ' if self.do else ''}{self.do}"


def refusal(status: int, headers: Mapping[str, str], body: bytes) -> Unusable:
    """What an HTTP status that is no success says. Header names are in lower case.

    >>> refusal(404, {}, b'{"error": {"message": "The model `x` does not exist"}}').sentence()
    'must know the model, got HTTP 404: The model `x` does not exist. Correct its name or load it on the server first.'
    """
    words, code = _words(body)
    got = f"HTTP {status}{': ' + words if words else ''}".rstrip(".")
    if 300 <= status < 400:
        return Unusable("answer itself", f"{got}, a redirect", "Write the address that it leads to as base_url.")
    if code == "model_not_found" or (status == 404 and "model" in words.lower()):
        return Unusable("know the model", got, "Correct its name or load it on the server first.")
    if status in _AGAIN or status >= 500:
        advice = _ADVICE.get(status, "Look into the server's log.")
        return Unusable("answer with HTTP 200", got, advice, again=True, wait=_retry_after(headers))
    return Unusable("answer with HTTP 200", got, _ADVICE.get(status, ""))


def excerpt(text: str) -> str:
    """The begin of a text on one line, without characters that a terminal would obey.

    >>> excerpt("bad\\n  \\x1b[2Jgateway")
    'bad [2Jgateway'
    """
    text = " ".join("".join(c if c.isprintable() else " " for c in text[: 4 * _EXCERPT]).split())
    return f"{text[:_EXCERPT]}{'…' if len(text) > _EXCERPT else ''}"


def error_words(value: Any) -> str:
    """The words of an error in the JSON of a server: OpenAI's and Ollama's forms and those of common frameworks."""
    if isinstance(value, str):
        return excerpt(value)
    if isinstance(value, Mapping):
        for key in ("error", "message", "detail"):
            if value.get(key):
                return error_words(value[key])
    return excerpt(json.dumps(value))


def _words(body: bytes) -> tuple[str, str | None]:
    """The server's own words, and the code of the error where there is one."""
    text = body.decode("utf-8", "replace")
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return excerpt(text), None
    error = value.get("error") if isinstance(value, dict) else None
    code = error.get("code") if isinstance(error, dict) else None
    return error_words(value) if value else "", code if isinstance(code, str) else None


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """The seconds of Retry-After, which may be a number or a date (RFC 9110, section 10.2.3)."""
    from email.utils import parsedate_to_datetime  # rarely needed

    value, date = headers.get("retry-after", ""), headers.get("date")
    try:
        seconds = float(value)
    except ValueError:
        try:
            now = parsedate_to_datetime(date).timestamp() if date else time.time()  # the server's clock, if it says so
            seconds = parsedate_to_datetime(value).timestamp() - now
        except (ValueError, OverflowError):
            return None
    return max(0.0, seconds) if math.isfinite(seconds) else None
