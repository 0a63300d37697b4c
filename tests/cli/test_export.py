"""rag-titan export: TREC files from a dataset, a table from a report."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.conftest import Run, Write, dataset, query


def test_trec_files_of_a_dataset(run: Run, write: Write, tmp_path: Path) -> None:
    write(dataset(query(), query("q 2", retrieved_ids=[])))
    done = run("export", "trec", "--input", "data.json", "--output", "out")
    assert (done.code, done.err) == (0, "")
    assert done.lines == [
        "Topics: 2 with gold labels, 1 with a ranking",
        "What to know:",
        "  - an empty ranking cannot stand in a run; trec_eval -c counts these topics as 0: q 2.",
        "  - ids with white space or a leading # are written with % and hexadecimal digits: q 2.",
        "Written: out/qrels.txt, out/run.txt",
    ]
    assert (tmp_path / "out" / "qrels.txt").read_text() == "q1 0 c1 1\nq%202 0 c1 1\n"


def test_a_dataset_with_neither_exits_3(run: Run, write: Write) -> None:
    write(dataset({"id": "q1", "answer": "yes"}))
    done = run("export", "trec", "--input", "data.json", "--output", "out")
    assert (done.code, done.lines[-1]) == (3, "Nothing to write.")


def test_bad_records_can_be_left_out(run: Run, write: Write) -> None:
    write(dataset(query(), {"id": "q2", "retrieved_ids": "c1"}))
    assert run("export", "trec", "--input", "data.json", "--output", "out").code == 2
    done = run("export", "trec", "--input", "data.json", "--output", "out", "--skip-bad-records")
    assert done.code == 0
    assert done.lines[1].startswith("Left out: 1 bad records, the first: queries[1].retrieved_ids")


@pytest.mark.parametrize("name", ["table.csv", pytest.param("table.parquet", marks=pytest.mark.parquet)])
def test_a_table_of_the_questions(run: Run, write: Write, tmp_path: Path, name: str) -> None:
    if name.endswith(".parquet"):
        pytest.importorskip("pyarrow")
    write(dataset())
    run("evaluate", "--input", "data.json")
    done = run("export", "per-query", "--report", "report.json", "--output", name)
    assert (done.code, done.out) == (0, f"Written: {name}\n")
    assert (tmp_path / name).stat().st_size


def test_what_is_wrong_is_one_sentence(run: Run, write: Write) -> None:
    write(dataset())
    run("evaluate", "--input", "data.json", "--per-query", "none")
    for arguments, said in (
        (("per-query", "--report", "report.json", "--output", "t.csv"), "must hold the values of each question"),
        (("per-query", "--report", "absent.json", "--output", "t.csv"), "absent.json"),
        (("per-query", "--report", "report.json", "--output", "report.json"), "must not be the report"),
        (("trec", "--input", "data.json", "--output", "data.json"), "must be a folder, got the file data.json"),
    ):
        done = run("export", *arguments)
        assert (done.code, said in done.err, "Traceback" in done.err) == (2, True, False), done.err
