"""The settings of the pipeline: what is refused, and where they come from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rag_titan.errors import SettingsError
from rag_titan.pipeline.settings import Settings


@pytest.mark.parametrize("name", ["candidates", "k", "chunk_size", "tries"])
def test_a_whole_number_that_nothing_can_count_to_is_refused(name: str) -> None:
    assert getattr(Settings.of({name: 10**9}, environ={}), name) == 10**9
    with pytest.raises(SettingsError, match=rf"^{name}: must be at most 1,000,000,000, got 10{{20}}\.$"):
        Settings.of({name: 10**20}, environ={})


def test_a_variable_with_a_slip_of_the_pen_is_named_with_the_nearest() -> None:
    with pytest.raises(SettingsError, match=r"^RAG_TITAN_CHUNKSIZE: .* the nearest is 'RAG_TITAN_CHUNK_SIZE'\.$"):
        Settings.of(environ={"RAG_TITAN_CHUNKSIZE": "50"})


def test_variables_of_other_parts_and_the_key_of_a_server_are_left_alone() -> None:
    environ = {"RAG_TITAN_CI": "1", "RAG_TITAN_API_KEY": "x", "RAG_TITAN_K": "3", "CHUNK_SIZ": "7"}
    assert Settings.of(environ=environ) == Settings(k=3)


def test_a_table_with_a_slip_of_the_pen_is_named_with_the_nearest(tmp_path: Path) -> None:
    file = tmp_path / "rag-titan.toml"
    file.write_text("[pipelin]\nk = 3\n", encoding="utf-8")
    with pytest.raises(SettingsError, match=r"rag-titan\.toml: unknown key 'pipelin'; the nearest is 'pipeline'\.$"):
        Settings.of(file=file, environ={})
    file.write_text("k = 3\n[gates.retrieval]\nrecall_at_k = 0.5\n", encoding="utf-8")
    assert Settings.of(file=file, environ={}) == Settings()


@pytest.mark.parametrize("settings", [5, "k=3", [("k", 3)]])
def test_settings_are_named_values(settings: Any) -> None:
    with pytest.raises(SettingsError, match=r"^settings: must be \{name: value\} or a Settings, got "):
        Settings.of(settings, environ={})
