"""What the parts of the pipeline hand to each other, and what each of them must be able to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]


@dataclass(frozen=True)
class Mark:
    """Something that stands at text[start:end] of a document: a page, a heading, a table or a block of code.

    kind   "page", "heading", "table" or "code"
    label  the number of the page, the text of the heading
    level  of a heading, from 1
    """

    kind: str
    start: int
    end: int
    label: str = ""
    level: int = 0


@dataclass(frozen=True)
class Document:
    """A loaded file: its text, and what stands where in it, in order.

    id        its path as it was given, relative to the folder that was given
    warnings  what could not be read of it
    """

    id: str
    text: str
    marks: Sequence[Mark] = ()
    warnings: Sequence[str] = ()


@dataclass(frozen=True)
class Chunk:
    """A piece of a document: document.text[start:end] == text.

    metadata  "source" (the document), and where there are any "page", "headings" (the path of headings above it) and
              "columns" (the row with their names, where the chunk starts in a table below it)
    """

    id: str
    text: str
    start: int
    end: int
    doc_id: str
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def record(self) -> dict[str, Any]:
        """As a record of the dataset format."""
        return {
            "id": self.id, "text": self.text, "start": self.start, "end": self.end, "doc_id": self.doc_id,
            "metadata": dict(self.metadata),
        }  # fmt: skip


@dataclass(frozen=True)
class Found:
    """A chunk that was found, and its score: higher is better, and comparable within one list only."""

    chunk: Chunk
    score: float


@dataclass(frozen=True)
class Retrieved:
    """What a search found, best first, and how long it took in ms; None for a question that was not embedded."""

    found: list[Found]
    search_ms: float
    embedding_ms: float | None = None


@dataclass(frozen=True)
class Generated:
    """What a generator wrote from the chunks of the context.

    text                     with markers [1], [2], ... that cite the chunks by their place in the context
    abstained                it says that the context has no answer
    output_tokens and so on  None where the generator cannot know
    """

    text: str
    abstained: bool = False
    output_tokens: int | None = None
    total_tokens: int | None = None
    cost_usd: float | None = None
    time_to_first_token_ms: float | None = None


class Chunker(Protocol):
    """Cuts documents into chunks."""

    def chunks(self, document: Document) -> list[Chunk]:
        """The chunks of a document, in order."""


class Embedder(Protocol):
    """Texts -> vectors.

    name  names the model and everything that changes its vectors: a store that was built with another is refused
    """

    name: str

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Vectors:
        """(n, d) unit vectors; `query` says whether the texts are questions or passages."""


class Store(Protocol):
    """Keeps chunks and their vectors."""

    def replace(self, doc_id: str, chunks: Sequence[Chunk], vectors: Vectors) -> None:
        """Put these chunks in the place of all that the document had, wholly or not at all."""

    def chunks(self) -> Sequence[Chunk]:
        """All chunks, in the order of document ids and places."""

    def nearest(self, vector: Vectors, k: int) -> list[Found]:
        """The k chunks whose vectors have the greatest dot product with (d,) `vector`, best first."""

    def matching(self, question: str, k: int) -> list[Found]:
        """At most k chunks that share words with the question, by BM25, best first."""

    def frequencies(self, words: Sequence[str]) -> list[int]:
        """(n,) how many chunks have each word, as `matching` compares words."""

    def size(self) -> int:
        """How many chunks there are."""


class Retriever(Protocol):
    """Question -> chunks."""

    def retrieve(self, question: str, k: int) -> Retrieved:
        """At most k chunks, best first."""


class Reranker(Protocol):
    """Orders what was retrieved."""

    def rerank(self, question: str, found: Sequence[Found], k: int) -> list[Found]:
        """At most k of them, best first."""


class Generator(Protocol):
    """Question and context -> answer."""

    def generate(self, question: str, context: Sequence[Chunk]) -> Generated:
        """The answer, which cites the chunks of the context by their place in it."""
