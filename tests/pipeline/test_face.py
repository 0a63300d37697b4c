"""The names of the pipeline, each loaded when it is asked for."""

from __future__ import annotations

import subprocess
import sys

import pytest

from rag_titan import pipeline


def test_every_name_is_there_and_documented() -> None:
    assert [name for name in pipeline.__all__ if not getattr(pipeline, name).__doc__] == []
    assert sorted(pipeline.__all__) == pipeline.__all__ == dir(pipeline)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        pipeline.nonsense  # noqa: B018  # to ask is the test


def test_the_face_loads_nothing_until_it_is_asked() -> None:
    loaded = "any(name.startswith(('numpy', 'rag_titan.evaluation')) for name in sys.modules)"
    code = f"import sys, rag_titan.pipeline; sys.exit({loaded})"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
