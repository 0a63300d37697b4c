"""The model servers that the settings name."""

from __future__ import annotations

from typing import Any, cast

from rag_titan.models.chat import ChatModel
from rag_titan.models.embed import EmbeddingModel
from rag_titan.models.options import Api, Timeouts
from rag_titan.pipeline.settings import Settings


def chat_model(settings: Settings) -> ChatModel:
    """The model that writes the answers. Raises SettingsError for an address that is none, MissingExtraError."""
    prices: Any = None
    if settings.input_price is not None and settings.output_price is not None:
        prices = {settings.model: {"input": settings.input_price, "output": settings.output_price}}
    return ChatModel(
        settings.url,
        settings.model,
        cast(Api, settings.generator),
        api_key_env=settings.api_key_name or None,
        timeouts=_timeouts(settings),
        prices=prices,
    )


def embedding_model(settings: Settings) -> EmbeddingModel:
    """The model that embeds. Raises as `chat_model`."""
    return EmbeddingModel(
        settings.embedding_url,
        settings.embedding_model,
        cast(Api, settings.embedder),
        api_key_env=settings.api_key_name or None,
        query_prefix=settings.query_prefix,
        passage_prefix=settings.passage_prefix,
        timeouts=_timeouts(settings),
    )


def _timeouts(settings: Settings) -> Timeouts:
    patience = settings.timeout
    return Timeouts(
        connect=min(patience, Timeouts.connect),
        first_byte=patience,
        between_chunks=patience,
        total=max(patience, Timeouts.total),
    )
