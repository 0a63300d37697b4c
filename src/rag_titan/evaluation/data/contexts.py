"""What the model was given to read: the text of the prompt context of each query."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rag_titan.evaluation.data.numerals import join_percent
from rag_titan.evaluation.data.tokens import Split
from rag_titan.evaluation.data.vocabulary import CodedTexts, Vocabulary
from rag_titan.evaluation.measures.ragged import Ints, Ragged, offsets_of
from rag_titan.evaluation.measures.text import take

Mask = NDArray[np.bool_]


class Contexts:
    """The contexts of n queries: `context` where it is given, else the texts of the chunks in `context_ids`.

    A text that several queries share is cut into tokens once.

    >>> chunks = {"c1": "x y", "c2": "z"}
    >>> contexts = Contexts(["a b", None, None], [None, ["c1", "c2"], ["c3"]], chunks.get, Vocabulary())
    >>> contexts.known.tolist(), contexts.wordless.tolist()  # no text is known of c3
    ([True, True, False], [False, False, True])
    """

    def __init__(
        self,
        texts: Sequence[str | None],
        ids: Sequence[Sequence[str] | None],
        text_of: Callable[[str], str | None],
        vocabulary: Vocabulary,
    ) -> None:
        self._vocabulary = vocabulary
        places: dict[str, int] = {}  # chunk id -> place among the texts
        self._texts: list[str | None] = []
        lists: list[list[int]] = []
        for text, chunks in zip(texts, ids, strict=True):
            lists.append(
                [] if text is not None or chunks is None else [self._place(c, places, text_of) for c in chunks]
            )
            if text is not None:
                lists[-1].append(len(self._texts))
                self._texts.append(text)
        self._lists = Ragged(
            np.array([place for some in lists for place in some], dtype=np.int64),
            offsets_of(np.fromiter(map(len, lists), np.int64, len(lists))),
        )
        given = np.array([t is not None or c is not None for t, c in zip(texts, ids, strict=True)], dtype=bool)
        unknown = np.array([text is None for text in self._texts], dtype=bool)
        self.wordless: Mask = self._lists.sums(unknown[self._lists.values]) > 0
        self.known: Mask = given & ~self.wordless

    def _place(self, chunk: str, places: dict[str, int], text_of: Callable[[str], str | None]) -> int:
        if chunk not in places:
            places[chunk] = len(self._texts)
            self._texts.append(text_of(chunk))
        return places[chunk]

    @cached_property
    def _coded(self) -> CodedTexts:
        return CodedTexts(self._vocabulary, ["" if text is None else join_percent(text) for text in self._texts])

    def sizes(self, rows: Ints) -> Ints:
        """(n_rows,) white-space pieces in the contexts of the given queries."""
        return take(self._lists, rows).sums(self._coded.pieces.lengths[take(self._lists, rows).values]).astype(np.int64)

    def tokens(self, split: Split, rows: Ints) -> Ragged:
        """(n_rows lists) the tokens of the contexts of the given queries, text after text."""
        wanted = take(self._lists, rows)
        tokens = self._coded.tokens(split, wanted.values)
        return Ragged(tokens.values, tokens.offsets[wanted.offsets])
