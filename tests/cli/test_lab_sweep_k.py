"""rag-titan lab sweep-k: the table, the knee, the runs of each K, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Run, Write, query

pytest.importorskip("kneed")
pytestmark = pytest.mark.lab
COMMAND = ("lab", "sweep-k", "--k", "1,2,3,6")


def run_of(right: int) -> dict[str, object]:
    ids = [f"c{i}" for i in range(6)]
    return {
        "chunks": [{"id": name, "text": "four words in it"} for name in ids],
        "queries": [
            query(f"q{i}", expected_chunk_ids=["c0", "c1"], retrieved_ids=ids, answer="yes", task_success=i < right)
            for i in range(20)
        ],
    }


def test_the_table_the_knee_and_the_answers(run: Run, write: Write, tmp_path: Path) -> None:
    data, other = write(run_of(18)), write(run_of(2), "run6.json")
    done = run(*COMMAND, "--input", data, "--run", f"2={data}", "--run", f"6={other}", "--plot", "k.svg")
    assert (done.code, done.err) == (0, "")
    assert [line.split()[:2] for line in done.lines[3:7]] == [
        ["1", "0.500"], ["2", "1.000"], ["3", "1.000"], ["6", "1.000"],
    ]  # fmt: skip
    assert any(line.startswith("Knee at K = 2: recall is 1.000, it rises by 0.500") for line in done.lines)
    assert any(line.startswith("Answers are best at K = 2 (task_success_rate 0.900), and worse") for line in done.lines)
    page = (tmp_path / "k.svg").read_text()
    assert ">knee at 2<" in page
    assert [f">{name}<" in page for name in ("Recall", "Precision", "F1", "nDCG", "context tokens")] == [True] * 5
    whole = json.loads(run(*COMMAND, "--input", data, "--json", "--output", "k.json").out)
    assert whole == json.loads((tmp_path / "k.json").read_text())
    assert (whole["knee"]["k"], whole["answers"]) == (2, None)


def test_no_picture_of_the_prompt_where_no_text_is_known(run: Run, write: Write, tmp_path: Path) -> None:
    data = write({"queries": run_of(3)["queries"]})
    assert run(*COMMAND, "--input", data, "--plot", "k.html").code == 0
    page = (tmp_path / "k.html").read_text()
    assert (page.count("<svg"), ">context tokens<" in page) == (1, False)


def test_what_cannot_be_measured_is_said(run: Run, write: Write) -> None:
    data = run_of(3)
    alone = run(*COMMAND, "--input", write({"queries": data["queries"]}))
    assert any(line.startswith("Note: no context tokens, since the texts of the chunks") for line in alone.lines)
    assert "no context tokens" not in run(*COMMAND, "--input", write(data)).out
    unranked = write([{"id": "q1", "expected_chunk_ids": ["c0"]}, {"id": "q2", "retrieved_ids": ["c0"]}])
    for ranking in ("retrieved", "reranked"):
        done = run(*COMMAND, "--input", unranked, "--ranking", ranking)
        assert (done.code, done.out) == (2, "")
        assert done.err.startswith(f"rag-titan: queries: must have {ranking}_ids and expected_chunk_ids")


def test_what_is_refused(run: Run, write: Write) -> None:
    data = write(run_of(3))
    for option, said in (
        ("5", "--run: must be K=FILE, got '5'. Write it as 5=run5.jsonl."),
        ("x=run.json", "--run: must be K=FILE, got 'x=run.json'."),
    ):
        done = run(*COMMAND, "--input", data, "--run", option)
        assert (done.code, done.err.startswith(f"rag-titan: {said}")) == (2, True)
    twice = run(*COMMAND, "--input", data, "--run", f"3={data}", "--run", f"3={data}")
    assert twice.err.startswith("rag-titan: --run: must give each K once, got 3 twice.")
    assert run("lab", "sweep-k", "--input", data, "--k", "three").err.startswith(
        "rag-titan: --k: must be whole numbers"
    )
    assert run("lab", "sweep-k", "--input", data, "--k", "0").code == 2
    assert run(*COMMAND, "--input", data, "--plot", "k.pdf").code == 2
