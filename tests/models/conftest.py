"""The server of a real small model, once for all tests that need one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.models.small_model import serving_small_model


@pytest.fixture(scope="session")
def small_model_url() -> Iterator[str]:
    """Where SmolLM2 can be asked in OpenAI's way. Tests elsewhere: `from tests.models.conftest import small_model_url`.

    Mark what uses it with `llm`.
    """
    with serving_small_model() as url:
        yield url


@pytest.fixture(scope="session")
def small_embedder_url() -> Iterator[str]:
    """The same model, asked for vectors."""
    with serving_small_model(embedding=True) as url:
        yield url
