"""The values of questions: from lists, from Parquet, or said to be missing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rag_titan.evaluation.catalogue import ROWS
from rag_titan.evaluation.evaluator import RAGEvaluator
from rag_titan.evaluation.reports.compare import compare
from rag_titan.evaluation.reports.manager import ReportManager
from rag_titan.evaluation.reports.pairing import items_of, pair_of

MANAGER = ReportManager()


def run(found: int, per_query: str | Path | None, n: int = 20) -> dict[str, Any]:
    """A report on questions of which the first `found` have their chunk retrieved."""
    queries = [
        {
            "id": f"q{i}",
            "expected_chunk_ids": ["a"],
            "retrieved_ids": ["a" if i < found else "b"],
            "latency_ms": i + 1.0,
        }
        for i in range(n)
    ]
    return RAGEvaluator(k=1).evaluate(queries=queries, per_query=per_query)


def test_lists_become_columns_with_nan_for_what_is_no_number() -> None:
    rows = [{"id": "a", "recall_at_k": 1}, {"id": 2, "recall_at_k": None}, "x", {"recall_at_k": 1}, {"id": "c"}]
    items = items_of({"retrieval": {"summary": {}, "per_query": rows}, "generation": {"per_query": "none"}}, ROWS)
    assert items.ids == ["a", "2", "c"]
    np.testing.assert_array_equal(items.columns["retrieval.recall_at_k"], [1.0, np.nan, np.nan])
    assert items.stages == {"retrieval"}


def test_a_question_that_a_stage_lacks_is_not_measured_there() -> None:
    now = {
        "retrieval": {"summary": {"mrr_at_k": 1.0}, "per_query": [{"id": q, "mrr_at_k": 1.0} for q in "ab"]},
        "embedding": {"query_topk_recall": 1.0, "per_query": [{"id": "b", "query_topk_recall": 1.0}]},
    }
    items = items_of(now, ROWS)
    assert items.ids == ["b", "a"]
    np.testing.assert_array_equal(items.columns["embedding.query_topk_recall"], [1.0, np.nan])


def test_a_report_without_values_says_so() -> None:
    assert items_of({}, ROWS).missing == "was made without values of the questions"
    assert pair_of({}, {}, ROWS).missing == "the current report was made without values of the questions"


@pytest.mark.parquet
class TestParquet:
    """The same from the file that a report names."""

    @pytest.fixture(autouse=True)
    def _needs_pyarrow(self) -> None:
        pytest.importorskip("pyarrow")

    def saved(self, folder: Path, found: int, n: int = 20) -> dict[str, Any]:
        folder.mkdir(parents=True, exist_ok=True)
        MANAGER.save_json(run(found, folder / "rows.parquet", n), folder / "report.json")
        return MANAGER.load_json(folder / "report.json")

    def test_it_is_paired_as_lists_are(self, tmp_path: Path) -> None:
        from_files = compare(self.saved(tmp_path / "now", 10), self.saved(tmp_path / "before", 18))
        assert from_files == compare(run(10, "report"), run(18, "report"))
        assert from_files["regressions"][0]["paired"] is True

    def test_added_questions_leave_the_shared_ones_to_compare(self, tmp_path: Path) -> None:
        now, before = self.saved(tmp_path / "now", 18, n=30), self.saved(tmp_path / "before", 18)
        result = compare(now, before)
        assert result["questions"] == {"current": 30, "baseline": 20, "shared": 20}
        assert not result["regressions"]

    def test_it_is_found_beside_the_report(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        MANAGER.save_json(run(10, "runs/rows.parquet"), "runs/report.json")
        assert items_of(MANAGER.load_json("runs/report.json"), ROWS).missing is None
        (tmp_path / "runs").rename(tmp_path / "moved")
        moved = MANAGER.load_json("moved/report.json")
        assert moved["meta"]["per_query"] == "moved/rows.parquet"
        assert len(items_of(moved, ROWS).ids) == 20

    def test_a_file_that_another_run_wrote_over_is_not_used(self, tmp_path: Path) -> None:
        before = self.saved(tmp_path, 18)
        now = self.saved(tmp_path, 10)
        result = compare(now, before)
        assert "which holds the values of another run by now" in result["notes"][0]
        entry = result["regressions"][0]
        assert (entry["paired"], entry["wins"]) == (False, None)

    @pytest.mark.parametrize("content", [None, b"", b"PAR1 no parquet", "folder", "other"])
    def test_a_file_that_is_gone_or_something_else_is_said(self, tmp_path: Path, content: Any) -> None:
        before, now = self.saved(tmp_path / "before", 18), self.saved(tmp_path / "now", 10)
        file = tmp_path / "before" / "rows.parquet"
        file.unlink()
        if content == "folder":
            file.mkdir()
        elif content == "other":
            import pyarrow as pa
            import pyarrow.parquet as pq

            pq.write_table(pa.table({"number": [1]}), file)
        elif content is not None:
            file.write_bytes(content)
        result = compare(now, before)
        assert result["notes"][0].startswith("Not paired by question: the baseline ")
        assert str(file) in result["notes"][0]
        recall = next(e for e in result["regressions"] if e["metric"] == "retrieval.recall_at_k")
        assert recall["paired"] is False
        assert recall["p"] is not None, "the means and their intervals are in the report"


def test_without_pyarrow_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    items = items_of({"meta": {"per_query": "rows.parquet"}}, ROWS)
    assert items.missing is not None
    assert "rag-titan[parquet]" in items.missing


@pytest.mark.parametrize("named", ["", "a\0b", "x" * 5000])
def test_a_name_that_is_none_is_no_file(tmp_path: Path, named: str) -> None:
    MANAGER.save_json({"meta": {"per_query": named}}, tmp_path / "r.json")
    report = MANAGER.load_json(tmp_path / "r.json")
    assert report["meta"]["per_query"] == named
    assert items_of(report, ROWS).missing
