"""Do the words that a judge quotes stand in the text?"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from functools import cached_property

from rag_titan.evaluation.data.tokens import space_out
from rag_titan.judge.numbers import TextNumbers
from rag_titan.judge.prompts import unmarked

_LEFT_OUT = re.compile(r"\s*(?:\[\.\.\.\]|\[…\]|\.\.\.+|…)\s*")
_WORD = re.compile(r"\w+")
_UNSEEN = "Cf"  # soft hyphens, zero widths, directions: nobody copies what cannot be seen


class Text:
    """A text that claims are checked against; its words and its numbers are looked for once.

    >>> text = Text("Leave is 25 days. It lapses on 30 April.")
    >>> [text.quotes(words) for words in ("leave IS 25 days", "Leave ... 30 April", "30 April ... Leave", "26 days")]
    [True, True, False, False]
    >>> Text("员工每年有25天年休假。").quotes("25天年休假")
    True
    """

    def __init__(self, text: str, asked: str = "") -> None:
        self.text = text
        self._asked = asked

    @cached_property
    def unmarked(self) -> str:
        """As it stands between marks."""
        return unmarked(self.text)

    @cached_property
    def digest(self) -> str:
        """A hash of it, which stands for it where control words are made."""
        return hashlib.sha256(self.text.encode("utf-8", "replace")).hexdigest()

    @cached_property
    def numbers(self) -> TextNumbers:
        """Its numbers, with those of the question."""
        return TextNumbers(self.text, self._asked)

    @cached_property
    def _words(self) -> str:
        return _plain(self.text)

    def quotes(self, evidence: str) -> bool:
        """True where the words stand there in a row; letter case, punctuation and white space do not matter, and "..."
        stands for what was left out."""
        place = 0
        pieces = [_plain(piece) for piece in _LEFT_OUT.split(evidence)]
        pieces = [piece for piece in pieces if piece.strip()]
        for piece in pieces:
            found = self._words.find(piece, place)
            if found < 0:
                return False
            place = found + len(piece) - 1
        return bool(pieces)


def _plain(text: str) -> str:
    """The words with a space on each side; in scripts without spaces each character is a word."""
    text = unicodedata.normalize("NFKC", text)
    if not text.isascii():
        text = space_out("".join(char for char in text if unicodedata.category(char) != _UNSEEN))
    return f" {' '.join(_WORD.findall(text.casefold()))} "
