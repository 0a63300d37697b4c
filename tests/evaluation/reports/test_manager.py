from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_titan.errors import DatasetError, SettingsError
from rag_titan.evaluation.reports.manager import ReportManager, load, to_json
from rag_titan.evaluation.writing import write

manager = ReportManager()


def refuse(token: str) -> None:
    raise AssertionError(f"{token} in JSON")


def test_a_report_comes_back_as_it_was_saved(report: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "new" / "folders" / "report.json"
    manager.save_json(report, path)
    assert manager.load_json(path) == report
    assert manager.load_json(str(path)) == report
    assert [file.name for file in path.parent.iterdir()] == ["report.json"]


def test_the_same_report_is_the_same_file_byte_for_byte(report: dict[str, Any], tmp_path: Path) -> None:
    manager.save_json(report, tmp_path / "a.json")
    manager.save_json(manager.load_json(tmp_path / "a.json"), tmp_path / "b.json")
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()


def test_each_question_has_a_line(report: dict[str, Any]) -> None:
    assert '\n   {"id": "q1", "recall_at_k": 0.0},\n' in to_json(report)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(st.dictionaries(st.text(), VALUES, max_size=4))
def test_what_is_laid_out_reads_as_what_it_was(report: dict[str, Any]) -> None:
    text = to_json(report)
    assert json.loads(text, parse_constant=refuse) == report
    text.encode("utf-8")


def test_lone_surrogates_and_other_scripts_survive(tmp_path: Path) -> None:
    report = {"meta": {}, "queries": [{"id": "\ud83d लो"}]}
    manager.save_json(report, tmp_path / "r.json")
    assert "लो" in (tmp_path / "r.json").read_text(encoding="utf-8")
    assert manager.load_json(tmp_path / "r.json") == report
    manager.save_markdown({**report, "warnings": ["\ud83d"]}, tmp_path / "r.md")


def test_numbers_of_numpy_are_written_as_plain_ones() -> None:
    report = {"at": {10: {"x": np.float32(0.5)}}, "n": np.int64(3), "yes": np.bool_(True), "list": np.array([1, 2])}
    assert json.loads(to_json(report)) == {"at": {"10": {"x": 0.5}}, "n": 3, "yes": True, "list": [1, 2]}


@pytest.mark.parametrize("value", [float("nan"), float("inf"), np.float64("nan"), np.float32("-inf")])
def test_no_nan_is_written_and_the_error_names_its_place(value: float, tmp_path: Path) -> None:
    report = {"retrieval": {"per_query": [{"id": "q1", "x": 1.0}, {"id": "q2", "x": value}]}}
    with pytest.raises(
        DatasetError, match=r"^report\.retrieval\.per_query\[1\]\.x: must be a finite number or None, got"
    ):
        manager.save_json(report, tmp_path / "r.json")
    assert not list(tmp_path.iterdir())


def test_what_json_has_no_form_for_is_an_error() -> None:
    with pytest.raises(DatasetError, match="something that JSON can hold, got set"):
        to_json({"x": {1, 2}})
    circle: dict[str, Any] = {}
    circle["x"] = {"x": [[circle]]}
    with pytest.raises(DatasetError, match=r"^report"):
        to_json(circle)


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "r.json"
    write(path, "old")

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(SettingsError, match=r"r\.json: must be a file that can be written \(No space left on device\)"):
        write(path, "new")
    assert path.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["r.json"]


def test_a_draft_is_flushed_to_the_disk_before_it_takes_the_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []
    fsync, replace = os.fsync, Path.replace
    monkeypatch.setattr(os, "fsync", lambda number: (seen.append("fsync"), fsync(number)))
    monkeypatch.setattr(Path, "replace", lambda self, target: (seen.append("replace"), replace(self, target))[1])
    write(tmp_path / "r.md", "text")
    assert seen == ["fsync", "replace"]


def test_links_and_permissions_of_the_file_stay(tmp_path: Path) -> None:
    real, link = tmp_path / "real.json", tmp_path / "link.json"
    write(real, "old")
    real.chmod(0o640)
    link.symlink_to(real)
    write(link, "new")
    assert link.is_symlink()
    assert real.read_text() == "new"
    assert stat.S_IMODE(real.stat().st_mode) == 0o640


def test_what_is_no_ordinary_file_is_written_to_directly() -> None:
    write("/dev/null", "text")


@pytest.fixture
def places(tmp_path: Path) -> dict[str, Path]:
    (tmp_path / "file").write_text("")
    return {"folder": tmp_path, "under a file": tmp_path / "file" / "r.json"}


@pytest.mark.parametrize("name", ["folder", "under a file"])
def test_a_place_that_cannot_be_written_is_an_error_with_the_path(name: str, places: dict[str, Path]) -> None:
    with pytest.raises(SettingsError, match="must be a file that can be written"):
        write(places[name], "text")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "got an empty file"),
        (b"\n ", "got an empty file"),
        (b'{"retrieval": {"summary": {"recall_at_k": 0', "got one that breaks off at line 1"),
        (b'{"retrieval": {"summary', "got one that breaks off at line 1"),
        (b'{"retrieval": {},', "got one that breaks off at line 1"),
        (b"# RAG evaluation report\n", "got something else at line 1, column 1"),
        (b"\xff\xfe\x00", "bytes that are no UTF-8 text"),
        (b"[1, 2]", "must be a report of rag-titan, got other JSON"),
        (b'{"a": 1}', "must be a report of rag-titan, got other JSON"),
        (b'{"queries": [], "chunks": []}', "got a dataset. Evaluate it first"),
        (b"[" * 100_000, "got something that no report holds"),
        (b'{"meta": ' + b"9" * 5000 + b"}", "got something that no report holds"),
    ],
)
def test_what_is_no_report_is_named(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "baseline.json"
    path.write_bytes(content)
    with pytest.raises(DatasetError, match=message) as error:
        load(path)
    assert error.value.where == str(path)


def test_a_missing_file_and_a_folder_are_named(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="there is no such file"):
        load(tmp_path / "none.json")
    with pytest.raises(DatasetError, match=r"must be a file that can be read \(Is a directory\)"):
        load(tmp_path)


def test_a_byte_order_mark_is_dropped_and_nan_is_not_measured(tmp_path: Path) -> None:
    (tmp_path / "old.json").write_bytes(b'\xef\xbb\xbf{"end_to_end": {"answer_f1": NaN}}')
    assert load(tmp_path / "old.json") == {"end_to_end": {"answer_f1": None}}


def test_the_manager_compares_lists_and_follows(report: dict[str, Any]) -> None:
    baseline = json.loads(json.dumps(report))
    baseline["retrieval"]["summary"]["recall_at_k"] = 0.9
    for row in baseline["retrieval"]["per_query"]:
        row["recall_at_k"] = 0.9
    assert [item["metric"] for item in manager.regressions(report, baseline)] == ["retrieval.recall_at_k"]
    assert not manager.regressions(report, baseline, tolerance=0.5)
    assert manager.compare(report, baseline)["comparable"]
    assert [(row["query_id"], row["stage"]) for row in manager.failed_queries(report)] == [("q1", "retrieval")]
    assert manager.trends([baseline, report])["retrieval.recall_at_k"] == pytest.approx(-0.4)
