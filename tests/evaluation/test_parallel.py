"""Several processes on one file: the report, the errors and the warnings are those of one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag_titan.errors import DatasetError, SettingsError
from rag_titan.evaluation import RAGEvaluator, evaluator, parallel
from rag_titan.evaluation.data.decoding import QUERIES, Intake
from rag_titan.evaluation.data.files import File, LineRows, Part

LINE = {"relevance": {"a": 2, "b": 1}, "retrieved_ids": ["c", "a", "b"], "latency_ms": 12.5}


def written(folder: Path, lines: list[str]) -> Path:
    path = folder / "queries.jsonl"
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def queries(n: int = 60) -> list[str]:
    return [json.dumps({"id": f"q{i}", **LINE, "latency_ms": i * 1.1, "extra": "é" * (i % 7)}) for i in range(n)]


def report(path: Path, processes: int, **options: Any) -> dict[str, Any]:
    options = {"k": 2, "also_at": (1,), **options}
    made = RAGEvaluator(**options).evaluate_path(path, per_query=None, processes=processes)
    made["meta"].pop("created_at")
    return made


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluator, "LEAST", 200)


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[parallel.Outcome | None]:
    """What the workers of this test came to."""
    outcomes: list[parallel.Outcome | None] = []

    class Watched(parallel.Worker):
        def result(self) -> parallel.Outcome | None:
            outcomes.append(super().result())
            return outcomes[-1]

    monkeypatch.setattr(evaluator, "Worker", Watched)
    return outcomes


def test_the_report_is_the_same(tmp_path: Path, started: list[parallel.Outcome | None]) -> None:
    lines = queries()
    lines[40] = json.dumps({"id": "odd", "expected_chunk_id": ["a"], "latency_ms": 3})
    path = written(tmp_path, lines)
    assert report(path, 3) == report(path, 1)
    assert [outcome is not None for outcome in started] == [True, True]


def test_a_bad_record_in_a_later_part_is_named_by_its_line(
    tmp_path: Path, started: list[parallel.Outcome | None]
) -> None:
    lines = queries()
    lines[47] = '{"id": "q47", "retrieved_ids": "a"}'
    with pytest.raises(DatasetError, match=r"^queries\.jsonl line 48: retrieved_ids"):
        report(written(tmp_path, lines), 2)
    assert started == [None]


def test_ids_that_stand_in_two_parts_are_found(tmp_path: Path) -> None:
    lines = queries()
    lines[59] = json.dumps({"id": "q3", **LINE})
    with pytest.raises(
        DatasetError, match=r'^queries\.jsonl line 60: id: duplicate id "q3", as in queries\.jsonl line 4'
    ):
        report(written(tmp_path, lines), 2)


def test_a_worker_that_dies_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path, queries())
    expected = report(path, 1)
    monkeypatch.setattr(parallel, "_RUN", "raise SystemExit(1)")
    assert report(path, 2) == expected
    monkeypatch.setattr(parallel.sys, "executable", str(tmp_path / "no-python"))
    assert report(path, 2) == expected


def test_a_tokenizer_of_ones_own_stays_in_this_process(tmp_path: Path, started: list[parallel.Outcome | None]) -> None:
    report(written(tmp_path, queries()), 2, conventions={"tokenizer": lambda text: []})
    assert started == []


@pytest.mark.parametrize("wanted", [0, -1, True, 1.5, "2"])
def test_the_number_of_processes_is_a_whole_number_from_1(tmp_path: Path, wanted: Any) -> None:
    with pytest.raises(SettingsError, match="processes: must be a whole number from 1"):
        report(written(tmp_path, queries(3)), wanted)


TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=8)


@settings(max_examples=60)
@given(texts=st.lists(TEXT, min_size=1, max_size=30), most=st.integers(1, 6), blank=st.integers(0, 3))
def test_parts_hold_every_record_once_with_its_line(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], most: int, blank: int
) -> None:
    lines = [json.dumps({"id": f"q{i}", "question": text}, ensure_ascii=i % 2 == 0) for i, text in enumerate(texts)]
    path = written(tmp_path_factory.mktemp("parts"), [*lines, *[""] * blank])
    whole = LineRows(QUERIES, File(path))
    parts = File(path).parts(most, 1)
    assert parts[0].start == 0
    assert parts[-1].stop is None
    assert len(parts) <= most
    found = [row for part in parts for row in numbered(whole.within(part))]
    assert found == numbered(whole)


def test_empty_lines_between_two_parts_are_refused_as_in_one(tmp_path: Path) -> None:
    path = written(tmp_path, ['{"id": "a"}', "", '{"id": "b"}'])
    rows = LineRows(QUERIES, File(path))
    with pytest.raises(DatasetError, match="line 2: must hold a query, got an empty line"):
        numbered(rows)
    with pytest.raises(DatasetError, match="line 2: must hold a query, got an empty line"):
        numbered(rows.within(Part(0, 13)))


def test_what_cannot_be_read_from_its_middle_stays_whole(tmp_path: Path) -> None:
    import gzip

    packed = tmp_path / "queries.jsonl.gz"
    packed.write_bytes(gzip.compress(b'{"id": "a"}\n{"id": "b"}\n' * 400))
    assert File(packed).parts(4, 1) == [Part()]
    assert File("-").parts(4, 1) == [Part()]
    assert File(tmp_path / "absent.jsonl").parts(4, 1) == [Part()]


def numbered(rows: LineRows[Any]) -> list[tuple[int, str]]:
    return [
        (number, query.question)
        for numbers, records in rows.read(Intake())
        for number, query in zip(numbers, records, strict=True)
    ]
