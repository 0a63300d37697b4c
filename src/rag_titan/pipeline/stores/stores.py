"""Which store the settings name."""

from __future__ import annotations

from rag_titan.pipeline.parts import Embedder, Store
from rag_titan.pipeline.settings import Settings
from rag_titan.pipeline.stores.memory import MemoryStore
from rag_titan.pipeline.stores.sqlite import SqliteStore


def store_of(settings: Settings, embedder: Embedder, chunking: str | None = None) -> Store:
    """The SQLite file of the settings, or a store in memory.

    Raises SettingsError for a file that is no store or was built with another embedder, and MissingExtraError.
    """
    return SqliteStore(settings.store, embedder.name, chunking) if settings.store else MemoryStore()
