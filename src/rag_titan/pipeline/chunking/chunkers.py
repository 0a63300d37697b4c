"""The chunkers. They differ in what a text is cut into, one inside the other, and in the units of a chunk's size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from rag_titan.evaluation.data.tokens import token_spans
from rag_titan.pipeline.chunking.boundaries import Boundaries
from rag_titan.pipeline.chunking.outline import Outline
from rag_titan.pipeline.chunking.packing import Level, spans
from rag_titan.pipeline.chunking.pieces import pieces_of
from rag_titan.pipeline.parts import Chunk, Chunker, Document, Mark
from rag_titan.pipeline.settings import Settings

# What is whole in a chunk where it fits, from the coarsest; after these the words of a reader, and pieces of them.
LEVELS: dict[str, tuple[str, ...]] = {
    "words": (),
    "characters": (),
    "tokens": (),
    "recursive": ("sections", "paragraphs", "lines", "sentences", "bodies"),
    "sentence": ("sentences", "bodies", "lines"),
    "paragraph": ("paragraphs", "sentences", "bodies", "lines"),
    "section": ("sections", "paragraphs", "sentences", "bodies", "lines"),
    "page": ("pages", "paragraphs", "sentences", "bodies", "lines"),
}
_ALONE = {"section": "sections", "page": "pages"}  # chunkers that pack none of these with another
_APART = ("sections", "pages", "paragraphs")
_UNITS = ("characters", "tokens")  # chunkers named for their unit; it is words for all others

MOST_AT_ONCE = 1 << 22  # characters: the arrays of a longer document would fill the memory
_TAIL = 1 << 10


@dataclass(frozen=True)
class PackingChunker:
    """Packs as much into a chunk as fits.

    name     one of LEVELS
    size     the most that a chunk holds: words as the evaluation counts them; characters or tokens for these chunkers.
             Only a character that is several tokens can be more
    overlap  how much of the end of a chunk, at most, the next one starts with: whole sentences for the chunkers that
             keep them, else whole words; none where no whole one is that short

    >>> document = Document("hr.txt", "Leave is 25 days. Ask HR first. They know.")
    >>> for chunk in PackingChunker("sentence", 6, 3).chunks(document):
    ...     print(chunk.id, chunk.start, chunk.text)
    hr.txt#1 0 Leave is 25 days.
    hr.txt#2 18 Ask HR first. They know.
    """

    name: str
    size: int
    overlap: int = 0

    def chunks(self, document: Document) -> list[Chunk]:
        """The chunks in order, none of them blank: document.text[start:end] is the text, without space around it.

        Without overlap every word of the document stands whole in one of them, but words longer than 256 characters or
        than a chunk. A document of more than MOST_AT_ONCE characters is chunked part by part.
        """
        outline = Outline(document)
        places = [
            (start + offset, end + offset)
            for offset, text, marks in self._parts(document)
            for start, end in self._spans(text, marks)
        ]
        return [
            Chunk(
                id=f"{document.id}#{number}",
                text=document.text[start:end],
                start=start,
                end=end,
                doc_id=document.id,
                metadata=outline.metadata(start, end),
            )
            for number, (start, end) in enumerate(places, 1)
        ]

    def _spans(self, text: str, marks: Sequence[Mark]) -> Iterator[tuple[int, int]]:
        pieces = pieces_of(text, self.name if self.name in _UNITS else "words", self.size)
        boundaries = Boundaries(text, marks, pieces.starts)
        levels = [
            Level(getattr(boundaries, what), apart=what in _APART, alone=what == _ALONE.get(self.name))
            for what in LEVELS[self.name]
        ]
        again = boundaries.sentences if self.overlap and levels else None
        return spans(pieces, [*levels, Level(pieces.words)], self.size, self.overlap, again)

    def _parts(self, document: Document) -> Iterator[tuple[int, str, list[Mark]]]:
        """(where it starts, its text, its marks) of each part that is chunked at once."""
        start, marks = 0, sorted(document.marks, key=lambda mark: mark.start)
        while start < len(document.text):
            end = self._part_end(document.text, start, marks)
            inside = [mark for mark in marks if start <= mark.start < end]
            moved = [replace(mark, start=mark.start - start, end=min(mark.end, end) - start) for mark in inside]
            yield start, document.text[start:end], moved
            start = end

    def _part_end(self, text: str, start: int, marks: Sequence[Mark]) -> int:
        """The last place of the second half of a part where a new page or section, paragraph, line or word begins."""
        if len(text) - start <= MOST_AT_ONCE:
            return len(text)
        most, least = start + MOST_AT_ONCE, start + MOST_AT_ONCE // 2
        kind = "page" if self.name == "page" else "heading"
        found = [mark.start for mark in marks if mark.kind == kind and least < mark.start <= most]
        if found:
            return found[-1]
        for separator in ("\n\n", "\n", " "):
            place = text.rfind(separator, least, most)
            if place >= 0:
                return place + len(separator)
        tail = max(start, most - _TAIL)
        words = token_spans(text[tail:most])[0]
        return tail + int(words[-1]) if len(words) and words[-1] > 0 else most


def chunker_of(settings: Settings) -> Chunker:
    """The chunker that the settings name, of their size and overlap.

    >>> chunker_of(Settings(chunker="words", chunk_size=200)).chunks(Document("a.txt", "  "))
    []
    """
    return PackingChunker(settings.chunker, settings.chunk_size, settings.chunk_overlap)


def chunking_of(chunker: Chunker) -> str:
    """What makes its chunks differ from those of others, in a few words; of one of your own its `name`, or its class.

    >>> chunking_of(PackingChunker("words", 200, 20))
    'words 200/20'
    """
    if isinstance(chunker, PackingChunker):
        return f"{chunker.name} {chunker.size}/{chunker.overlap}"
    return str(getattr(chunker, "name", type(chunker).__qualname__))
