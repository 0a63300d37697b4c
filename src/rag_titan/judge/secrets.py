"""Keys, which must stand in nothing that is shown or kept, should a server send them back."""

from __future__ import annotations

from collections.abc import Iterable

_HIDDEN = "***"
_LEAST = 4  # characters of a secret; a shorter one would take letters out of words
_LEAST_IN_TEXT = 16  # shorter keys, such as "ollama", are words that an answer may hold


class Secrets:
    """Takes secrets out of texts.

    >>> hidden = Secrets(["sk-0123456789abcdef", "ollama"])
    >>> hidden.out_of_error("you sent ollama"), hidden.out_of_text("ollama runs models, sk-0123456789abcdef opens")
    ('you sent ***', 'ollama runs models, *** opens')
    """

    def __init__(self, secrets: Iterable[str]) -> None:
        known = sorted({secret for secret in secrets if len(secret) >= _LEAST}, key=len, reverse=True)
        self._all, self._long = known, [secret for secret in known if len(secret) >= _LEAST_IN_TEXT]

    def out_of_error(self, text: str) -> str:
        """What a server says of itself, without any of them."""
        return _without(text, self._all)

    def out_of_text(self, text: str) -> str:
        """What a model says, without those that are no word."""
        return _without(text, self._long)

    def out_of_bytes(self, body: bytes) -> bytes:
        """The same of what came, before a part of it is cut out, and a secret in two."""
        for secret in self._long:
            body = body.replace(secret.encode(), _HIDDEN.encode())
        return body


def _without(text: str, secrets: Iterable[str]) -> str:
    for secret in secrets:
        text = text.replace(secret, _HIDDEN)
    return text
