"""The pages that are printed from the code say what the code says."""

from __future__ import annotations

import subprocess
import sys

from tests.architecture.source_tree import ROOT

from rag_titan.evaluation import CATALOGUE

DOCS = ROOT / "docs"


def test_no_printed_page_is_stale() -> None:
    done = subprocess.run(
        [sys.executable, DOCS / "make_pages.py", "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_page_of_metrics_names_every_metric() -> None:
    page = (DOCS / "metrics.md").read_text(encoding="utf-8")
    assert [row.name for row in CATALOGUE.values() if f"`{row.key}`" not in page or row.title not in page] == []
