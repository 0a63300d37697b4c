"""The settings of the pipeline: what is refused, and where they come from."""

from __future__ import annotations

import pytest

from rag_titan.errors import SettingsError
from rag_titan.pipeline.settings import Settings


@pytest.mark.parametrize("name", ["candidates", "k", "chunk_size", "tries"])
def test_a_whole_number_that_nothing_can_count_to_is_refused(name: str) -> None:
    assert getattr(Settings.of({name: 10**9}, environ={}), name) == 10**9
    with pytest.raises(SettingsError, match=rf"^{name}: must be at most 1,000,000,000, got 10{{20}}\.$"):
        Settings.of({name: 10**20}, environ={})
