"""Embedding models behind an OpenAI-compatible server or Ollama."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag_titan.models.options import Api, Retries, Timeouts, merged, model_name, path_of, whole_number
from rag_titan.models.refusals import Unusable, error_words, excerpt
from rag_titan.models.streams import json_object
from rag_titan.models.transport import Client, Clock, ModelServer, Reply, Sleep

Vectors = NDArray[np.float32]
PATHS = {"openai": "/embeddings", "ollama": "/api/embed"}


class EmbeddingModel(Client):
    """An embedding model that a server runs: `EmbeddingModel("http://127.0.0.1:11434", "nomic-embed-text", "ollama")`.

    base_url        of an OpenAI-compatible server with its version (http://127.0.0.1:8080/v1), of Ollama without a path
    api             "openai" (/embeddings) or "ollama" (/api/embed)
    batch_size      texts in a request
    dimensions      what the vectors must have; None: what the first ones have
    query_prefix    put before questions, passage_prefix before passages, for models that were trained so
    extra           further members of every request, such as {"dimensions": 256}
    name            names the model and everything above that changes its vectors

    The rest is as for ChatModel. Nothing is sent while it is made. Threads may share it.

    Raises SettingsError for an option that cannot be, and MissingExtraError without httpx.
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        api: Api = "openai",
        *,
        api_key_env: str | None = None,
        batch_size: int = 32,
        dimensions: int | None = None,
        query_prefix: str = "",
        passage_prefix: str = "",
        timeouts: Timeouts | None = None,
        retries: Retries | None = None,
        extra: Mapping[str, Any] | None = None,
        clock: Clock = time.perf_counter,
        sleep: Sleep = time.sleep,
    ) -> None:
        path = path_of(api, PATHS)
        self.model, self.api = model_name(model), api
        self.batch_size = whole_number(batch_size, "batch_size", low=1)
        self.dimensions = None if dimensions is None else whole_number(dimensions, "dimensions", low=1)
        self._prefixes = {True: query_prefix, False: passage_prefix}
        self._extra = dict(extra or {})
        self._lock = threading.Lock()
        self.name = _name(model, query_prefix, passage_prefix, self._extra)
        self._server = ModelServer(
            base_url, path, api_key_env=api_key_env, timeouts=timeouts, retries=retries, clock=clock, sleep=sleep
        )

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Vectors:
        """(n, d) unit vectors of the texts, in their order; no texts, no request: (0, d), or (0, 0) before the first.

        query  whether they are questions or passages: which prefix they get

        Raises ServiceError, also for vectors of another length than the first ones, or without a direction.
        """
        prefix = self._prefixes[bool(query)]
        batches = [texts[start : start + self.batch_size] for start in range(0, len(texts), self.batch_size)]
        found = [self._batch([prefix + text for text in batch]) for batch in batches]
        return np.concatenate(found) if found else np.empty((0, self.dimensions or 0), dtype=np.float32)

    def __repr__(self) -> str:
        """Model and address."""
        return f"EmbeddingModel({self.name!r} at {self._server.where})"

    def _batch(self, texts: list[str]) -> Vectors:
        form = {"encoding_format": "float"} if self.api == "openai" else {}
        body = merged({"model": self.model, "input": texts} | form, self._extra)

        def read(reply: Reply) -> Vectors:
            value = json_object(reply.whole(), reply.content_type)
            if error := value.get("error"):
                raise Unusable("answer", f"an error ({error_words(error)})", "Look into the server's log.")
            rows = _openai_rows(value) if self.api == "openai" else value.get("embeddings")
            return self._checked(rows, len(texts), value)

        return self._server.ask(body, read)

    def _checked(self, rows: Any, n: int, value: Mapping[str, Any]) -> Vectors:
        """The rows as unit vectors; Unusable when they are not n of the right length, finite and above zero."""
        if not isinstance(rows, list) or not all(isinstance(row, list) and row for row in rows):
            raise Unusable("answer with vectors", excerpt(json.dumps(value)), "Correct base_url or api.")
        if len(rows) != n:
            raise Unusable(f"answer with {n} vectors", f"{len(rows)}", "Lower batch_size.")
        lengths = {len(row) for row in rows}
        self._check_lengths(lengths, self.dimensions or min(lengths))
        vectors = _unit(rows)
        with self._lock:  # the first answer decides for all threads
            wanted = self.dimensions = self.dimensions or vectors.shape[1]
        self._check_lengths(lengths, wanted)
        return vectors

    @staticmethod
    def _check_lengths(lengths: set[int], wanted: int) -> None:
        if lengths != {wanted}:
            got = ", ".join(map(str, sorted(lengths - {wanted})))
            raise Unusable(f"answer with vectors of {wanted} dimensions", got, "Correct model or dimensions.")


def _unit(rows: list[list[Any]]) -> Vectors:
    try:
        given = np.asarray(rows)
    except ValueError:  # lists among the numbers
        given = np.empty(0, dtype=object)
    if given.dtype.kind not in "if" or given.ndim != 2:
        raise Unusable("answer with vectors of numbers", "something else", "Correct base_url or api.")
    array = given.astype(np.float64)
    longest = np.abs(array).max(axis=1, keepdims=True)  # before squaring: neither overflow nor underflow
    if not (np.isfinite(longest) & (longest > 0)).all():
        raise Unusable(
            "answer with vectors that have a direction", "one of zeros, NaN or infinity", "Look at the texts."
        )
    array /= longest
    unit: Vectors = (array / np.linalg.norm(array, axis=1, keepdims=True)).astype(np.float32)
    return unit


def _openai_rows(value: Mapping[str, Any]) -> Any:
    """The vectors in the order of the texts: each has its index, and servers need not keep the order."""
    data = value.get("data")
    if not isinstance(data, list) or not all(isinstance(item, dict) for item in data):
        return None
    places = [item.get("index", place) for place, item in enumerate(data)]
    if not all(isinstance(place, int) for place in places) or sorted(places) != list(range(len(data))):
        raise Unusable("answer with one vector for each text", f"the indexes {excerpt(str(places))}")
    return [item.get("embedding") for _, item in sorted(zip(places, data, strict=True), key=lambda pair: pair[0])]


def _name(model: str, query_prefix: str, passage_prefix: str, extra: Mapping[str, Any]) -> str:
    parts = [model]
    if query_prefix:
        parts.append(f"query prefix {query_prefix!r}")
    if passage_prefix:
        parts.append(f"passage prefix {passage_prefix!r}")
    if extra:
        parts.append(json.dumps(extra, sort_keys=True, default=repr))
    return ", ".join(parts)
