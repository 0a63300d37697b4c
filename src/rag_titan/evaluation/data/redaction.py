"""Texts of the data as their length and a hash, where no text of them may come out."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

KEY = "RAG_TITAN_REDACT_KEY"
_DIGITS = 8


@dataclass(frozen=True)
class Redaction:
    """What stands in the place of a text: equal texts are seen to be equal, and nothing else is said of them.

    key  hashes are made with it. Without one, who guesses a text can see that the guess is right: the hash of a short
         or a well-known text gives it away.

    >>> Redaction()("25 days")
    '[text: 7 characters, sha256 56b1fca7]'
    >>> Redaction(b"secret")("25 days")
    '[text: 7 characters, hmac-sha256 10dc4465]'
    """

    key: bytes = field(default=b"", repr=False)

    @classmethod
    def from_environment(cls) -> Redaction:
        """With the key in the environment variable RAG_TITAN_REDACT_KEY, if there is one."""
        return cls(os.fsencode(os.environ.get(KEY, "")))

    def __call__(self, text: str) -> str:
        """The text's length in characters, and the first digits of its hash."""
        import hashlib
        import hmac

        data = text.encode("utf-8", "surrogatepass")
        if self.key:
            name, digest = "hmac-sha256", hmac.new(self.key, data, hashlib.sha256).hexdigest()
        else:
            name, digest = "sha256", hashlib.sha256(data).hexdigest()
        return f"[text: {len(text)} characters, {name} {digest[:_DIGITS]}]"
