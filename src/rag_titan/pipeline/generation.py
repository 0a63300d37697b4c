"""Who writes the answer: sentences of the context, or a model."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rag_titan.pipeline.extractive import ExtractiveGenerator
from rag_titan.pipeline.parts import Chunk, Embedder, Generated, Generator
from rag_titan.pipeline.prompts import ABSTENTION, messages
from rag_titan.pipeline.settings import Settings

if TYPE_CHECKING:
    from rag_titan.models.chat import ChatModel

_THOUGHTS = re.compile(r"\A\s*<think>.*?</think>\s*", re.DOTALL)
_MARKER = re.compile(r"\[\d+\]")
_SPACE = re.compile(r"\s+")


def generator_of(settings: Settings, embedder: Embedder) -> Generator:
    """The generator that the settings name. Raises MissingExtraError without httpx for one behind a server."""
    if settings.generator == "extractive":
        return ExtractiveGenerator(embedder, settings.abstain_below)
    from rag_titan.pipeline.servers import chat_model

    return ModelGenerator(chat_model(settings))


class ModelGenerator:
    """A chat model writes the answer from the numbered chunks (see `pipeline.prompts`)."""

    def __init__(self, model: ChatModel) -> None:
        self.name = model.model
        self._model = model

    def generate(self, question: str, context: Sequence[Chunk]) -> Generated:
        """The answer. Raises ServiceError. Without any chunk the model is not asked."""
        if not context:
            return Generated(ABSTENTION, abstained=True)
        answer = self._model.chat(messages(question, context))
        text = _THOUGHTS.sub("", answer.text).strip()
        return Generated(
            text,
            abstained=abstains(text),
            output_tokens=answer.output_tokens,
            total_tokens=answer.total_tokens,
            cost_usd=answer.cost_usd,
            time_to_first_token_ms=answer.time_to_first_token_ms,
        )


def abstains(text: str) -> bool:
    """Whether a model says, in the words that it was given, that the context has no answer; and cites nothing.

    >>> abstains("**The documents do not answer this question**"), abstains("25 days [1].")
    (True, False)
    """
    said = _SPACE.sub(" ", text.casefold().replace("*", ""))
    return ABSTENTION.casefold().rstrip(".") in said and not _MARKER.search(text)
