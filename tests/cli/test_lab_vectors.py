"""rag-titan lab vectors."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from tests.cli.conftest import Run
from tests.lab.spaces import Space


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    """60 unit vectors, and queries of another length."""
    space = Space(0, d=16)
    np.save(tmp_path / "v.npy", space.vectors(60))
    np.save(tmp_path / "q.npy", 3 * space.vectors(4))
    return tmp_path / "v.npy"


def test_clean_vectors_have_no_findings(run: Run, stored: Path) -> None:
    done = run("lab", "vectors", "--vectors", stored, "--fail-on-finding")
    assert (done.code, done.err) == (0, "")
    assert done.lines[-1] == "0 findings."


def test_a_finding_names_ids_and_fails_where_that_is_asked_for(run: Run, stored: Path) -> None:
    done = run("lab", "vectors", "--vectors", stored, "--queries", "q.npy")
    assert done.code == 0
    assert any(line.startswith("norm_mismatch: the indexed vectors are of length 1") for line in done.lines)
    assert "  ids: 0, 1, 2, 3" in done.lines
    assert run("lab", "vectors", "--vectors", stored, "--queries", "q.npy", "--fail-on-finding").code == 1


def test_json_is_printed_and_written(run: Run, stored: Path) -> None:
    done = run("lab", "vectors", "--vectors", stored, "--json", "--output", "out.json")
    assert json.loads(done.out) == json.loads(Path("out.json").read_text())
    assert json.loads(done.out)["findings"] == []


def test_a_dataset_brings_its_own_queries(run: Run, tmp_path: Path) -> None:
    np.savez(
        tmp_path / "embeddings.npz", ids=np.array(["a", "b"]), vectors=np.eye(2), query_ids=np.array(["q"]),
        query_vectors=np.array([[2.0, 0.0]]),
    )  # fmt: skip
    (tmp_path / "queries.jsonl").write_text('{"id": "q"}\n')
    for given in (tmp_path, tmp_path / "embeddings.npz"):
        found = json.loads(run("lab", "vectors", "--vectors", given, "--json").out)
        assert [(one["kind"], one["ids"]) for one in found["findings"]] == [("norm_mismatch", ["q"])]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--vectors", "absent.npy"), "absent.npy"),
        (("--vectors", "v.npy", "--output", "v.npy"), "--output"),
        (("--vectors", "v.npy", "--queries", "w.npy"), "must have 16 numbers a vector"),
        (("--vectors", "v.npy", "--plot", "p.gif"), "p.gif"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(
    run: Run, stored: Path, arguments: tuple[str, ...], said: str
) -> None:
    np.save("w.npy", np.ones((2, 3)))
    done = run("lab", "vectors", *arguments)
    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert len(done.err.splitlines()) == 1


@pytest.mark.lab
def test_the_gap_is_drawn(run: Run, stored: Path) -> None:
    pytest.importorskip("altair")
    pytest.importorskip("vl_convert")
    assert run("lab", "vectors", "--vectors", stored, "--plot", "gap.svg").code == 0
    assert "Similarity gap" in Path("gap.svg").read_text()


def test_how_many_vectors_are_of_each_model_is_called_a_lower_bound(run: Run, tmp_path: Path) -> None:
    np.save(tmp_path / "v.npy", np.vstack([Space(0).vectors(1400), Space(100).vectors(600)]))
    line = next(line for line in run("lab", "vectors", "--vectors", "v.npy").lines if line.startswith("  models"))
    assert re.fullmatch(r"  models +at least 1,\d+ and \d+ of 2,000 looked at", line)
