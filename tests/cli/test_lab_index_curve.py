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


def test_a_module_in_the_current_folder_is_found_and_its_growth_is_said(run: Run) -> None:
    scan = "from rag_titan.lab import exact_search"
    scan += (
        "\ndef build(vectors, metric):\n    return lambda queries, k: exact_search(queries, vectors, k, metric)[0]\n"
    )
    Path("an_index_here.py").write_text(scan)
    done = run("lab", "index-curve", "--index", "an_index_here:build", *SMALL)
    assert (done.code, done.err) == (0, "")
    assert done.lines[0].startswith(
        "an_index_here:build, cosine, top 10 of vectors of 8 (made in clusters), 5 queries, "
    )
    assert "note: no verdict on growth: the largest size must be 10 times the smallest" in done.lines


def test_sizes_follow_the_vectors_and_a_query_is_one(run: Run) -> None:
    np.save("v.npy", np.random.default_rng(0).normal(size=(41, 4)))
    done = run("lab", "index-curve", "--index", "exact", "--vectors", "v.npy", "--asked", "1", "--rounds", "1")
    assert [line.split()[0] for line in done.lines[2:4]] == ["4", "40"]
    assert ", 1 query, best of 1 round in" in done.lines[0]


def test_nothing_that_can_be_found_leaves_the_recall_blank(run: Run) -> None:
    np.save("v.npy", np.zeros((40, 4)))
    done = run("lab", "index-curve", "--index", "exact", "--vectors", "v.npy", "--asked", "5", "--rounds", "1")
    assert done.code == 0
    assert "note: 5 of 5 queries have no neighbour, being zeros or asked of zeros: not in the recall" in done.lines


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--index", "hnsw"), "faiss-hnsw"),
        (("--index", "exact", "--sizes", "many"), "--sizes"),
        (("--index", "exact", "--build", "M"), "--build"),
        (("--index", "exact", "--values", "3"), "no parameter"),
        (("--index", "exact", "--vectors", "absent.npy"), "absent.npy"),
        (("--index", "exact", "--sizes", ""), "sizes: must name one corpus size"),
        (("--index", "exact", "--sizes", "0"), "sizes: must be whole numbers from 1"),
        (("--index", "exact", "--sizes", "2000000000"), "GiB are free"),
        (("--index", "exact", "--build", "M=3"), "build: must be left out"),
        (("--index", "exact", "--min-recall", "nan"), "least_recall"),
        (("--index", "tests.lab.own_index:failing", "--sizes", "20"), "KeyError"),
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
