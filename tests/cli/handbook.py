"""A handbook to index, and vectors that count words in the place of a model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.pipeline.small import GOLDEN, counted, handbook

from rag_titan.pipeline import comparing, titan
from rag_titan.pipeline.embedding.embedders import CallableEmbedder

__all__ = ["GOLDEN", "handbook", "settings", "without_model"]


def without_model(monkeypatch: pytest.MonkeyPatch, name: str = "counts") -> None:
    """Embed by counting words."""

    def embedder(_: Any) -> CallableEmbedder:
        return CallableEmbedder(lambda texts: [[0.1, *some] for some in counted(texts)], name)

    monkeypatch.setattr(titan, "embedder_of", embedder)
    monkeypatch.setattr(comparing, "embedder_of", embedder)


def settings(**values: object) -> list[str]:
    """As --set wants them; chunks of some sentences unless they say otherwise."""
    own: dict[str, object] = {"chunk_size": 20, "chunk_overlap": 0, "abstain_below": 0.2, **values}
    return [word for name, value in own.items() for word in ("--set", f"{name}={value}")]


def folder(path: Path) -> Path:
    """The handbook in a folder."""
    path.mkdir()
    handbook(path)
    return path
