"""The chunk table: ids as codes, texts, and the way from a logged text back to its chunk."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from rag_titan.evaluation.data.records import Chunk


@dataclass(frozen=True)
class Corpus:
    """The chunks of the index in the order given; a chunk's code is its place in that order."""

    chunks: tuple[Chunk, ...]

    @classmethod
    def empty(cls) -> Corpus:
        """No chunk table was given."""
        return cls(())

    @cached_property
    def codes(self) -> dict[str, int]:
        """{chunk id: code}"""
        return {chunk.id or "": code for code, chunk in enumerate(self.chunks)}

    @cached_property
    def id_of_text(self) -> dict[str, str]:
        """{normalised text: id of the first chunk that has it}"""
        known: dict[str, str] = {}
        for chunk in self.chunks:
            if chunk.text is not None:
                known.setdefault(normal_text(chunk.text), chunk.id or "")
        return known

    def ids_of_texts(self, texts: Sequence[str]) -> list[str]:
        """The chunk id of each logged text; a text of no chunk gets an id made from its own words, the same every time."""
        known = self.id_of_text
        return [known.get(text) or text_id(text) for text in map(normal_text, texts)]


def normal_text(text: str) -> str:
    """A text as it is compared with chunk texts: NFC, white space squeezed.

    >>> normal_text(" two \\n words ")
    'two words'
    """
    return " ".join(unicodedata.normalize("NFC", text).split())


def text_id(normal: str) -> str:
    """An id for a text that is no chunk.

    >>> text_id("two words")
    'text:8f809bbae58b'
    """
    return "text:" + hashlib.blake2b(normal.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()
