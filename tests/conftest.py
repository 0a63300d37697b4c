"""Hypothesis profiles, and the rule that CI may not skip a test because a library is absent.

dev   the default: few examples, the same ones every time
ci    more of them, with RAG_TITAN_CI=1
"""

from __future__ import annotations

import os
from collections.abc import Generator
from typing import TypeVar

import pytest
from hypothesis import settings

STRICT = os.environ.get("RAG_TITAN_CI") == "1"
ABSENT = "could not import"  # how pytest.importorskip begins its reason

Report = TypeVar("Report", pytest.TestReport, pytest.CollectReport)

settings.register_profile("dev", deadline=None, derandomize=True, max_examples=50)
settings.register_profile("ci", deadline=None, derandomize=True, max_examples=200)
settings.load_profile("ci" if STRICT else "dev")


def _refused(report: Report) -> Report:
    """The report of a test or a file that was skipped for want of a library, as a failure."""
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else ""
    if STRICT and report.outcome == "skipped" and ABSENT in reason:
        report.outcome = "failed"
        report.longrepr = f"CI must run this: {reason}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """In CI a test that its library's absence would skip fails."""
    return _refused((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """The same for a whole file."""
    return _refused((yield))
