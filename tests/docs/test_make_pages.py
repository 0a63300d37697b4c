"""The pages that are printed from the code are up to date, and name everything there is."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from rag_titan.evaluation import CATALOGUE

DOCS = Path(__file__).parents[2] / "docs"


def test_the_pages_are_what_the_code_says() -> None:
    done = subprocess.run(
        [sys.executable, str(DOCS / "make_pages.py"), "--check"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_every_metric_has_a_row() -> None:
    page = (DOCS / "metrics.md").read_text()
    assert [row.key for row in CATALOGUE.values() if f"`{row.key}`" not in page] == []
