"""rag-titan lab index-curve."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.cli.conftest import Run

SMALL = ("--sizes", "100,200", "--dimensions", "8", "--asked", "5", "--rounds", "2")


def test_a_table_with_a_line_for_each_size(run: Run) -> None:
    done = run("lab", "index-curve", "--index", "exact", *SMALL)
    assert (done.code, done.err) == (0, "")
    assert [line.split()[:2] for line in done.lines[2:4]] == [["100", "1.000"], ["200", "1.000"]]
    assert done.lines[-1] == "0 findings."


def test_a_value_that_is_too_small_is_a_finding(run: Run) -> None:
    own = ("--index", "tests.lab.own_index:lossy", "--parameter", "probes", "--values", "2,10", "--at", "2")
    done = run("lab", "index-curve", *own, *SMALL, "--json", "--output", "o.json", "--fail-on-finding")
    assert done.code == 1
    assert json.loads(done.out) == json.loads(Path("o.json").read_text())
    assert {one["kind"] for one in json.loads(done.out)["findings"]} == {"low_recall"}


def test_given_vectors_are_searched(run: Run) -> None:
    np.save("v.npy", np.random.default_rng(0).normal(size=(50, 4)))
    done = run(
        "lab", "index-curve", "--index", "exact", "--vectors", "v.npy", "--sizes", "40", "--asked", "10", "--json"
    )
    assert json.loads(done.out)["dimensions"] == 4
    assert json.loads(done.out)["generated"] is False


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--index", "hnsw"), "faiss-hnsw"),
        (("--index", "exact", "--sizes", "many"), "--sizes"),
        (("--index", "exact", "--build", "M"), "--build"),
        (("--index", "exact", "--values", "3"), "no parameter"),
        (("--index", "exact", "--vectors", "absent.npy"), "absent.npy"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(run: Run, arguments: tuple[str, ...], said: str) -> None:
    done = run("lab", "index-curve", *arguments)
    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert len(done.err.splitlines()) == 1


@pytest.mark.lab
def test_both_curves_are_drawn(run: Run) -> None:
    pytest.importorskip("altair")
    pytest.importorskip("vl_convert")
    assert run("lab", "index-curve", "--index", "exact", *SMALL, "--plot", "curve.html").code == 0
    assert Path("curve.html").read_text().count("<svg") == 2
