"""The chunk table and its documents: ids as codes, texts, and the way from a logged text back to its chunk."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from rag_titan.evaluation.data.documents import Documents
from rag_titan.evaluation.data.forms import composed
from rag_titan.evaluation.data.layout import Layout
from rag_titan.evaluation.data.normal import normal_text
from rag_titan.evaluation.data.notices import Notices
from rag_titan.evaluation.data.records import Chunk
from rag_titan.evaluation.data.vocabulary import Vocabularies


@dataclass(frozen=True)
class Corpus:
    """The chunks of the index in the order given; a chunk's code is its place in that order.

    given    False where no chunk table was passed at all
    notices  where what cannot be placed is told
    words    the vocabulary that the batches of queries over this corpus share
    """

    chunks: tuple[Chunk, ...] = ()
    documents: Documents = field(default_factory=Documents)
    given: bool = False
    notices: Notices | None = None
    words: Vocabularies = field(default_factory=Vocabularies, compare=False, repr=False)

    @cached_property
    def codes(self) -> dict[str, int]:
        """{chunk id: code}"""
        return {chunk.id or "": code for code, chunk in enumerate(self.chunks)}

    @cached_property
    def composed(self) -> dict[str, str]:
        """{its composed form: chunk id} of the ids that can have several forms."""
        return composed(self.codes)

    @cached_property
    def layout(self) -> Layout:
        """Every chunk at its place in the documents."""
        return Layout.of(self.chunks, self.documents, self.notices)

    def text_of(self, chunk_id: str) -> str | None:
        """The text of a chunk, None where it or its text is not known."""
        code = self.codes.get(chunk_id)
        return None if code is None else self.layout.texts[code]

    @cached_property
    def id_of_text(self) -> dict[str, str]:
        """{normalised text: id of the first chunk that has it}"""
        known: dict[str, str] = {}
        for chunk, text in zip(self.chunks, self.layout.texts, strict=True):
            if text is not None:
                known.setdefault(normal_text(text), chunk.id or "")
        return known

    def ids_of_texts(self, texts: Sequence[str]) -> list[str]:
        """The chunk id of each logged text; a text of no chunk gets an id made from its words, always the same one."""
        known = self.id_of_text
        return [known.get(text) or text_id(text) for text in map(normal_text, texts)]

    def with_texts(self, texts: Iterable[str]) -> Corpus:
        """The same corpus and, behind its chunks, the logged texts that are no chunk of it."""
        extra = {
            text_id(normal): text
            for text in dict.fromkeys(texts)
            if (normal := normal_text(text)) not in self.id_of_text
        }
        if not extra:
            return self
        logged = tuple(Chunk(id=name, text=text) for name, text in extra.items())
        return replace(self, chunks=self.chunks + logged, notices=None)


def text_id(normal: str) -> str:
    """An id for a text that is no chunk.

    >>> text_id("two words")
    'text:8f809bbae58b'
    """
    return "text:" + hashlib.blake2b(normal.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()
