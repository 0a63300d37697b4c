"""Metrics of other packages, found among what is installed."""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

import pytest

from rag_titan.errors import SettingsError
from rag_titan.evaluation import RAGEvaluator
from rag_titan.evaluation.catalogue import ROWS
from rag_titan.evaluation.plugins import installed_metrics

MODULE = """
import numpy as np
from rag_titan.evaluation.metric import MEAN, RATE, Metric, Stage

ROW = Metric(
    key={key!r}, stage=Stage.RETRIEVAL, title="t", formula="f", advice="a", kind=RATE, per="query", needs=(),
    compute=lambda inputs: np.ones(len(inputs.table)), reduce=MEAN,
)
ROWS = [ROW]
NONSENSE = "a text"
"""


@pytest.fixture(autouse=True)
def _forget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "modules", dict(sys.modules))  # what a test imports is gone after it


def install(
    place: Path, package: str, key: str = "always", entry: str = "ROW", group: str = "rag_titan.metrics"
) -> str:
    """A package as an installer leaves it; returns the part of the path on which it is."""
    info = place / f"{package}-1.0.dist-info"
    info.mkdir(parents=True)
    (place / f"{package}.py").write_text(MODULE.format(key=key))
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{group}]\nmine = {package}:{entry}\n")
    return str(place)


@pytest.mark.parametrize("entry", ["ROW", "ROWS"])
def test_a_metric_of_another_package_is_computed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, entry: str) -> None:
    monkeypatch.syspath_prepend(install(tmp_path, "theirs", entry=entry))
    report = RAGEvaluator().evaluate(queries=[{"id": "q", "retrieved_ids": []}])
    assert report["retrieval"]["summary"]["always"] == 1.0


def test_a_package_in_a_zip_file_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path / "unpacked", "zipped")
    archive = tmp_path / "packed.zip"
    with zipfile.ZipFile(archive, "w") as file:
        for path in (tmp_path / "unpacked").rglob("*"):
            file.write(path, path.relative_to(tmp_path / "unpacked"))
    monkeypatch.syspath_prepend(str(archive))
    assert [row.key for row in installed_metrics()] == ["always"]


def test_packages_without_metrics_do_not_cost_the_machinery_that_reads_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [install(tmp_path, "other", group="console_scripts"), str(tmp_path / "absent")])
    monkeypatch.setitem(sys.modules, "importlib.metadata", None)  # to import it is an error now
    assert installed_metrics() == ()


def test_two_packages_with_one_name_are_both_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(install(tmp_path / "a", "alpha"))
    monkeypatch.syspath_prepend(install(tmp_path / "b", "beta"))
    with pytest.raises(SettingsError, match=r"metric retrieval.always: beta and alpha both define it; remove one"):
        installed_metrics()


def test_a_name_of_ours_is_not_free(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(install(tmp_path, "theirs", key="recall_at_k"))
    with pytest.raises(SettingsError, match=r"retrieval.recall_at_k: theirs and rag-titan both define it"):
        installed_metrics(ROWS)


def test_what_is_no_metric_is_told_with_its_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(install(tmp_path, "theirs", entry="NONSENSE"))
    with pytest.raises(SettingsError, match=r"theirs: mine: must be a Metric or a list of them, got str"):
        installed_metrics()
