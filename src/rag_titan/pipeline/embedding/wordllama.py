"""WordLlama: static vectors of 256 dimensions that come with the package; the default, without any network."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rag_titan.errors import MissingExtraError
from rag_titan.pipeline.embedding.unit import unit, well_formed
from rag_titan.pipeline.parts import Vectors
from rag_titan.pipeline.quiet import quietly

MOST_CHARACTERS = 100_000  # of a text; the library pads a batch to its longest text, some 1 kB a token
_BATCH = 64


class WordLlamaEmbedder:
    """The mean of the word vectors of a text. Of a text beyond 100,000 characters the beginning counts.

    It is loaded when first used. Raises MissingExtraError without wordllama.
    """

    name = "wordllama l2_supercat 256"

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._model: Any = None

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Vectors:
        """(n, 256) unit vectors, (zero ones for blank texts); questions and passages are alike."""
        model = self._loaded()
        cleaned = [well_formed(text[:MOST_CHARACTERS]) for text in texts]
        order = sorted(range(len(cleaned)), key=lambda place: len(cleaned[place]))
        found = np.zeros((len(cleaned), 256), dtype=np.float32)
        while order:
            size = max(1, min(_BATCH, MOST_CHARACTERS // (len(cleaned[order[-1]]) or 1)))
            batch, order = order[-size:], order[:-size]
            found[batch] = model.embed([cleaned[place] for place in batch], norm=False, batch_size=size)
        blank = [place for place, text in enumerate(cleaned) if not text.strip()]
        found[blank] = 0.0  # white space is a word to the model
        return unit(found, len(cleaned))

    def _loaded(self) -> Any:
        with self._lock:
            if self._model is None:
                self._model = _load()
            return self._model


def _load() -> Any:
    try:
        with quietly():
            import wordllama
    except ImportError:
        raise MissingExtraError("wordllama", "pipeline") from None
    return wordllama.WordLlama.load(cache_dir=Path(wordllama.__file__).parent, disable_download=True)
